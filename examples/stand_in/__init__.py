"""The parts of `chat_platform.py`.

Invariant: they answer as the platform does, and import nothing of ours.
"""
