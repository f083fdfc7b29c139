"""Pages: server-made HTML. A request comes in, a page goes out as a value, and then as bytes.

There are two kinds of visitor, each with pages of their own: the operator (`operators/`), and people who sign
in through the chat platform (`people/`). `audiences.py` says in what they differ.

Invariants: a GET changes nothing, but for the way back from the platform; a page works without script; it
asks no other host for anything but the platform for pictures; whoever is known by a cookie changes something
from a page of ours alone. A page shows what its JSON endpoint answers, so that both say the same.
"""
