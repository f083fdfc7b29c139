"""Kinds of listings, each declared once: the fields of its profile, and what its listings can do.

In: nothing. Out: `KINDS` of `registry.py`, over which other rooms iterate. A kind is declared in a file of
its own, such as `bots.py`. Invariant: no other room names a kind in order to decide what to do.
"""
