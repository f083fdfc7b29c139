"""The way to Redis: one connection, sealed envelopes, loops that survive outages, and their pace.

In: commands and content of the other rooms. Out: entries as they stand in Redis, and UNREACHABLE or
Foreign. Invariant: no command is sent twice by this room, and no content leaves it unsealed. It knows
nothing of votes.
"""
