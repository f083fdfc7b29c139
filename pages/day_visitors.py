"""The visitors of a day who were counted, as digests, in memory alone.

Invariant: it holds at most `MOST` of them. While it is full, nobody is new.
"""

MOST = 100_000


class DayVisitors:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._day = 0
        self._counted = set[int]()

    def is_new(self, digest: str, day: int) -> bool:
        """Remember a visitor by a digest in hexadecimal. Return true at the first time on a day."""
        if day != self._day:
            self._day, self._counted = day, set()
        key = _key(digest)
        if key in self._counted or len(self._counted) >= self._most:
            return False
        self._counted.add(key)
        return True

    def forget(self, digest: str) -> None:
        """Forget a visitor who could not be counted."""
        self._counted.discard(_key(digest))


def _key(digest: str) -> int:
    return int(digest[:16], 16)
