"""The parts of a gateway as its builders return them, and the instruments that measure it. No logic."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.api import Api
from gateway.delivery import Delivering, Egress
from gateway.fleet import Fleet
from gateway.front import Front
from gateway.sites import Sites
from gateway.store import Runtime, Store
from handlers.route import PAGE
from operators.journal_tail import JournalTail
from operators.operator_pages import ALL_ROUTES
from operators.recent_errors import RecentErrors
from serving.application import RunningRequests
from serving.kept_pages import KeptPages
from serving.timeline import Gauges, LoopLag, Timeline, resident_bytes
from serving.traffic import Traffic
from votes.numbers import UseTally
from votes.queries import Searches
from watchers.failing_endpoints import FailingEndpoints
from webhook.attempt_tally import AttemptTally, MessageTally

UPLOADS_AT_ONCE = 8
"""The number of largest uploads whose bodies may be in memory together; half of them from one address."""


@dataclass(frozen=True)
class Instruments:
    """Counts and buffers of one process."""

    running: RunningRequests
    traffic: Traffic
    lag: LoopLag
    votes: UseTally
    attempts: AttemptTally
    messages: MessageTally
    failing: FailingEndpoints
    tail: JournalTail
    errors: RecentErrors
    timeline: Timeline
    memory: Callable[[], int | None]
    """Returns the resident memory; None while the kernel does not tell."""


def instruments(runtime: Runtime, store: Store, errors: RecentErrors) -> Instruments:
    clock, ledger, votes = runtime.clock, store.ledger, UseTally()
    traffic, lag = Traffic([*(route.name for route in ALL_ROUTES), PAGE]), LoopLag(clock)
    memory = runtime.observers.calling("memory", resident_bytes)
    gauges = Gauges(
        votes=lambda: votes.here + votes.elsewhere,
        head=lambda: ledger.head,
        durable=lambda: store.journal.durable_position,
        resident_bytes=memory,
    )
    return Instruments(
        RunningRequests(UPLOADS_AT_ONCE * runtime.settings.files.upload_bytes),
        traffic,
        lag,
        votes,
        AttemptTally(),
        MessageTally(),
        FailingEndpoints(ledger.state),
        JournalTail(clock),
        errors,
        Timeline(clock, traffic, lag, gauges),
        memory,
    )


@dataclass(frozen=True)
class Parts:
    """The parts of one gateway."""

    runtime: Runtime
    front: Front
    store: Store
    egress: Egress
    searches: Searches
    fleet: Fleet
    delivery: Delivering
    api: Api
    sites: Sites
    measured: Instruments
    kept: KeptPages
