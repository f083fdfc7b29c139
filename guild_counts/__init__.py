"""The actual server counts of bots. A bot comes in; its count goes out, or None.

A count comes from the operator, from a lookup service of the platform, from the chat platform itself, or from
nowhere. Nothing that they do wrong reaches the caller as an error: an unknown count is None.
"""
