"""A demo platform with listings, users and votes: `make demo`.

A seed makes 60 bots, 20 servers and some listings of each other kind, their owners, voters and moderators,
the votes and likes of 90 days, and some reviews. The rules of the gateway write them into a data folder, each
at its time. Then the gateway serves the folder, beside the stand-in for the chat platform (`examples/`),
which has the same users, applications, servers and templates, and draws the icons.

Invariant: everything follows from the seed and the time of the end, except the sealing keys and the
operator's token.

    people.py    the users
    plan.py      the listings: their texts, owners, times and numbers
    media.py     the files of the listings, drawn and played
    trees.py     the channels and roles of templates
    votes.py     the votes of a listing, day by day
    story.py     all happenings, in the order of time
    folder.py    the data folder that they are written into
    known.py     the facts that the chat platform has
"""
