"""Stickers: a kind of listing that the program does not know. Its declaration and its launcher are all of it."""
