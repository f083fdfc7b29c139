"""Numbers of votes since the start. Law: it reads the log, so what was never committed is not counted."""

from collections.abc import Sequence

from core.events import Event, VoteCast


class VoteTally:
    """Votes by where they were cast: here, or at another node of the fleet.

    Votes that come in a copy, as whole leaves, are not counted: nobody cast them just now.
    """

    def __init__(self) -> None:
        self.here = 0
        self.elsewhere = 0

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) is VoteCast:
                if event.node:
                    self.elsewhere += 1
                else:
                    self.here += 1
