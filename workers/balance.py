"""A worker's share of the connections to all workers.

All workers accept from one socket, and the kernel wakes all of them for each new connection. A worker that
has more connections than another one leaves it to that one for a moment, and then takes it all the same: the
other one may be busy.
"""

from workers.common_memory import ACCEPTS, CONNECTIONS, CommonMemory

SLACK = 16
"""A worker with up to a sixteenth more connections than another one has as many."""


class Balance:
    """The connections of one worker beside those of the others."""

    def __init__(self, memory: CommonMemory, worker: int) -> None:
        self._words = memory.words
        self._own = memory.head(worker)
        self._others = [memory.head(each) for each in range(1, memory.workers + 1) if each != worker]

    def accepts(self, *, is_accepting: bool) -> None:
        """Note whether this worker accepts connections."""
        self._words[self._own + ACCEPTS] = int(is_accepting)

    def has(self, connections: int) -> None:
        """Note how many connections this worker has."""
        self._words[self._own + CONNECTIONS] = connections

    @property
    def others_accept(self) -> bool:
        return any(self._words[other + ACCEPTS] for other in self._others)

    def is_our_turn(self, connections: int) -> bool:
        """Return true if no worker that accepts has fewer connections."""
        words = self._words
        fewest = min(
            (words[other + CONNECTIONS] for other in self._others if words[other + ACCEPTS]),
            default=connections,
        )
        return connections <= fewest + fewest // SLACK
