"""Copies: a node that cannot catch up from streams takes the state of another node through Redis.

In: the request of another node, or the name of a donor. Out: an `Offer` with what a copy will hold, pieces
in Redis, and merged facts. Invariants: a copy says only what is durable at its donor; it brings back nobody
whom either side has erased; cursors move only when the whole copy is merged. The room knows the members,
and nothing of streams.
"""
