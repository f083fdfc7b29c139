"""Failures that are nobody's mistake: `languages/refusals.py` has what a request may not do."""

from languages.texts import Words, in_english


class SearchUnavailable(Exception):
    """SQLite has failed or is not there, or too many searches wait."""


class Unavailable(Exception):
    """The journal takes no writes: its disk is full or failed, or the process is stopping."""

    def __init__(self, reason: Words) -> None:
        super().__init__(in_english(reason))
        self.reason = reason


class PlaceLost(Exception):
    """The journal cannot be read on from this place: it no longer reaches back so far, cannot be read there,
    or the place is of another journal."""
