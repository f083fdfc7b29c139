"""The cooldowns of votes that are gone, erased by their users or struck out. Invariant: neither ends a
cooldown.

Without them somebody could vote, be forgotten, and vote again, and each vote would send a webhook. A
pseudonym stands for a listing and a user: a keyed digest, which tells nobody who it was. It goes when its
cooldown is over.
"""

from collections.abc import Iterable, Mapping

KEPT = 100_000
"""Pseudonyms that are kept: those whose cooldowns end last."""

Cooldown = tuple[str, int]
"""A pseudonym, and the end of its cooldown (Unix ms)."""


class CooldownTable:
    def __init__(self) -> None:
        self._ends: dict[str, int] = {}
        self.ends: Mapping[str, int] = self._ends
        """The end of each cooldown, by pseudonym."""

    def keep(self, cooldowns: Iterable[Cooldown], now_ms: int) -> None:
        """Take cooldowns, and drop those that are over. Of two ends of one cooldown the later one holds."""
        for pseudonym, end_ms in cooldowns:
            self._ends[pseudonym] = max(end_ms, self._ends.get(pseudonym, 0))
        left = [(end_ms, pseudonym) for pseudonym, end_ms in self._ends.items() if end_ms > now_ms]
        if len(left) > KEPT:
            left = sorted(left)[-KEPT:]
        if len(left) < len(self._ends):
            self._ends.clear()
            self._ends.update((pseudonym, end_ms) for end_ms, pseudonym in left)
