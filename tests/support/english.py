"""Texts of pages in English, for tests of what says them."""

from web.localization import for_operators
from web.texts import Words

_ENGLISH = for_operators()


def english(words: Words) -> str:
    return _ENGLISH.say(words)
