"""Kinds of listings that the program does not know. A file declares each, and `launcher.py` serves them."""

from tests.support.eighth_kind.cards import CARDS
from tests.support.eighth_kind.clips import CLIPS
from tests.support.eighth_kind.recipes import RECIPES
from tests.support.eighth_kind.stickers import STICKERS

SCRATCH = (STICKERS, CARDS, RECIPES, CLIPS)
