"""The actual server counts of bots. A bot comes in; its count goes out, or None.

A count comes from the operator, from a lookup service of the platform, or from nowhere. Nothing that a lookup
service does wrong reaches the caller as an error: an unknown count is None.
"""
