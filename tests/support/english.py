"""Texts of pages in English, for tests."""

from languages.texts import Words
from web.localization import for_operators

_ENGLISH = for_operators()


def english(words: Words) -> str:
    return _ENGLISH.say(words)
