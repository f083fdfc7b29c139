"""Stickers: a kind of listing that the program does not know. One file declares it, another one serves it."""
