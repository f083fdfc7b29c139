"""A platform that looks alive: `make demo`.

60 bots and 20 servers, their owners, voters and moderators, and the votes of 90 days, from a seed. The rules
of the gateway write them into a data folder, each at its time. Then the gateway serves it beside the stand-in
for the chat platform (`examples/`), which knows the same users, applications and servers, and draws pictures.

Invariant: a seed and the time of the end decide everything but the sealing keys and the operator's token.

    people.py    who is there
    plan.py      the listings: their texts, owners, times and numbers
    votes.py     the votes of a listing, day by day
    story.py     everything that happens, in the order of time
    folder.py    the data folder that it is written into
    known.py     the facts that the chat platform has on it
"""
