"""The parts of a gateway that the operator looks into."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from actions.users import UserView
from core.clock import Clock
from core.ledger import Ledger
from core.state import State
from handlers.public import PublicApi
from journal.journal import Journal
from listings.ownership import Ownership
from metrics.collectors import Scraping
from serving.timeline import LoopLag, Timeline
from snapshot.recovery import Folded
from snapshot.snapshotter import Snapshotter
from watchers.concerns import Concern
from watchers.failing_endpoints import FailingEndpoints
from watchers.journal_tail import JournalTail
from watchers.recent_errors import RecentErrors
from webhook.outbox import Outbox


@dataclass(frozen=True)
class ProcessSources:
    """Calls that ask about the process as a whole."""

    readiness: Callable[[], str | None]
    """Returns the reason why the gateway is not ready; None if it is."""
    fleet: Callable[[], dict[str, Any] | None]
    """Returns the node of the fleet as `Node.standing` describes it; None outside of a fleet."""
    connections: Callable[[], dict[str, int]]
    resident_bytes: Callable[[], int | None]
    concerns: Callable[[], tuple[Concern, ...]]


@dataclass(frozen=True)
class GatewayParts:
    """The parts that the functions of the operator's pages read.

    Args:
        started_ns: the monotonic time of the start.
        window_ms: how long a vote counts as recent.
        fold: folds the disk up to a position.
        user: returns what is known of a user by the id, at a time (Unix ms).
    """

    clock: Clock
    started_ns: int
    ledger: Ledger
    journal: Journal
    snapshotter: Snapshotter
    fold: Callable[[int], Awaitable[Folded]]
    outbox: Outbox
    public: PublicApi
    user: Callable[[str, int], UserView]
    ownership: Ownership
    window_ms: int
    process: ProcessSources
    lag: LoopLag
    timeline: Timeline
    failing: FailingEndpoints
    tail: JournalTail
    errors: RecentErrors
    scraping: Scraping

    @property
    def state(self) -> State:
        return self.ledger.state
