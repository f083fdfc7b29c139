"""A demo platform with listings, users and votes: `make demo`.

A seed makes 60 bots and 20 servers, their owners, voters and moderators, and the votes of 90 days. The rules
of the gateway write them into a data folder, each at its time. Then the gateway serves the folder, beside the
stand-in for the chat platform (`examples/`), which has the same users, applications and servers, and draws
their pictures.

Invariant: everything follows from the seed and the time of the end, except the sealing keys and the
operator's token.

    people.py    the users
    plan.py      the listings: their texts, owners, times and numbers
    votes.py     the votes of a listing, day by day
    story.py     all happenings, in the order of time
    folder.py    the data folder that they are written into
    known.py     the facts that the chat platform has
"""
