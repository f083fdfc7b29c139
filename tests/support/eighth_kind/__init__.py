"""Kinds of listings that the program does not know. A file declares each, and `launcher.py` serves them."""
