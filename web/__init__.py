"""Pages: server-made HTML for people. A request comes in, a page goes out as a value, and then as bytes.

Invariants: a GET changes nothing; a page works without script; a page asks no other host for anything;
whoever is known by a cookie changes something from a page of ours alone. The contents of pages come from the
JSON endpoints of `handlers/`, so that a page and its JSON twin say the same.
"""
