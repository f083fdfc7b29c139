"""Pages: server-made HTML. A request comes in, a page goes out as a value, and then as bytes.

There are two kinds of visitor, each with pages of their own: the operator (`debug/`), and people who sign in
through the chat platform (`people/`). `audiences.py` says in what they differ.

Invariants: a GET changes nothing, but for the way back from the platform; a page works without script; it
asks no other host for anything but the platform for pictures; whoever is known by a cookie changes something
from a page of ours alone. The debug pages show what the JSON endpoints of `handlers/` answer, so that a page
and its JSON twin say the same.
"""
