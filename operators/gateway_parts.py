"""The parts of a gateway that the operator looks into."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from actions.tools import Tools
from core.state import State
from handlers.public import PublicApi
from metrics.collectors import Scraping, Sources
from operators.journal_tail import JournalTail
from operators.recent_errors import RecentErrors
from serving.timeline import Timeline
from snapshot.recovery import Folded
from watchers.failing_endpoints import FailingEndpoints
from workers.siblings import AmongWorkers


@dataclass(frozen=True)
class GatewayParts:
    """The parts that the functions of the operator's pages read.

    Args:
        tools: the tools of actions, with the state and the clock.
        numbers: the parts that `/metrics` reads, too.
        started_ns: the monotonic time of the start.
        fold: folds the disk up to a position.
        resident_bytes: returns the memory of the process; None while the kernel does not tell.
        workers: the workers of this machine; None for a gateway that serves alone.
    """

    tools: Tools
    numbers: Sources
    started_ns: int
    fold: Callable[[int], Awaitable[Folded]]
    public: PublicApi
    resident_bytes: Callable[[], int | None]
    timeline: Timeline
    failing: FailingEndpoints
    tail: JournalTail
    errors: RecentErrors
    scraping: Scraping
    workers: AmongWorkers | None = None

    @property
    def state(self) -> State:
        return self.tools.ledger.state
