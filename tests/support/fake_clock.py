"""The clock of tests."""

from core.clock import NS_PER_MS, NS_PER_SECOND


class FakeClock:
    """A clock that stands still until a test advances or sets it."""

    def __init__(self, now_ms: int = 1_750_000_000_000, monotonic_ns: int = 0) -> None:
        self._now_ms = now_ms
        self._monotonic_ns = monotonic_ns
        self._steady_ahead_ms = now_ms - monotonic_ns // NS_PER_MS

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ns(self) -> int:
        return self._monotonic_ns

    def steady_ms(self) -> int:
        return self._steady_ahead_ms + self._monotonic_ns // NS_PER_MS

    def set_wall(self, seconds: float) -> None:
        """Set the wall clock forward, or back with a negative number. No time passes."""
        self._now_ms += round(seconds * 1_000)

    def advance(self, seconds: float) -> None:
        self._now_ms += round(seconds * 1_000)
        self._monotonic_ns += round(seconds * NS_PER_SECOND)

    def advance_ms(self, milliseconds: int) -> None:
        self._now_ms += milliseconds
        self._monotonic_ns += milliseconds * NS_PER_MS
