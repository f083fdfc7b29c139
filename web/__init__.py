"""Pages: server-made HTML. A request comes in, a page goes out as a value, and then as bytes.

There are two audiences, each with its own pages: the operator (`operators/`), and people who sign in through
the chat platform (`pages/`). `audiences.py` declares how they differ.

Invariants: a GET changes nothing, except the return from the platform; a page works without script; it loads
nothing from other hosts, except pictures of the platform; a visitor known by a cookie changes something only
from one of our pages. A page shows what its JSON endpoint answers, so both say the same.
"""
