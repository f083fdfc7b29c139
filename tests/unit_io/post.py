"""An outbox at work, with everything around it made of memory; and a model of it."""

from dataclasses import dataclass
from itertools import count

from hypothesis.stateful import RuleBasedStateMachine

from core.events import DeliveryAttempted, DeliveryQueued, EndpointHealthSet, Event
from core.ledger import Ledger
from core.rows import Attempt, Suspension
from tests.unit_io.disk import empty_state
from tests.unit_io.rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF, listed
from tests.unit_io.stage import KEPT_MS, URL, MemoryJournal
from webhook.line import PATIENT_PROBES
from webhook.outbox import Due, Outbox, OutboxPolicy

ONE_EACH = OutboxPolicy(in_flight=4, in_flight_per_endpoint=1, catch_up_gap_ms=20, kept_ms=KEPT_MS)
WIDE = OutboxPolicy(in_flight=1_000, in_flight_per_endpoint=1_000, catch_up_gap_ms=20, kept_ms=KEPT_MS)
TIMED_OUT = Attempt(NOW_MS, 0, None, "timeout", "")
POLICY = OutboxPolicy(in_flight=4, in_flight_per_endpoint=2, catch_up_gap_ms=5, kept_ms=60)
REFS = [BOT_REF, OTHER_REF, SERVER_REF]


class Post:
    """An outbox with a ledger in memory, where everything is durable at once."""

    def __init__(self, policy: OutboxPolicy, *refs: str) -> None:
        self.policy = policy
        self.now_ms = NOW_MS
        self.ledger = Ledger(empty_state(), MemoryJournal(), head=0)
        self.ledger.subscribe(lambda position, events: self.outbox.on_record(position, events))
        self.start()
        for ref in refs:
            self.commit(*listed(ref, url=URL))

    def start(self) -> None:
        self.outbox = Outbox(self.policy, self.ledger.state, self.now_ms)

    def commit(self, *events: Event) -> None:
        self.ledger.commit(events)

    def queue(self, *names: str, ref: str = BOT_REF, test: bool = False) -> None:
        for name in names:
            self.commit(DeliveryQueued(name, ref, "5", test, self.now_ms))

    def take(self) -> list[Due]:
        return self.outbox.take(self.now_ms, self.ledger.head)

    def left(self) -> list[str]:
        """What leaves now, when each attempt is over at once."""
        names: list[str] = []
        while taken := self.take():
            names += [due.delivery_id for due in taken]
            for due in taken:
                self.outbox.release(due)
        return names

    def leaving(self) -> list[str]:
        """What leaves from now on, each when its time has come."""
        names = self.left()
        while (due_ms := self.outbox.next_due_ms()) is not None:
            self.now_ms = due_ms
            names += self.left()
        return names

    def timetable(self) -> list[tuple[int, int]]:
        """(milliseconds from now, how many leave), until nothing is due any more."""
        began_ms, table = self.now_ms, []
        while True:
            if number := len(self.left()):
                table.append((self.now_ms - began_ms, number))
            due_ms = self.outbox.next_due_ms()
            if due_ms is None:
                return table
            self.now_ms = due_ms

    def time_out(self, due: Due) -> None:
        """The attempt fails slowly, and the delivery comes back."""
        self.come_back(due)
        self.outbox.release(due, slow=True)

    def come_back(self, due: Due) -> None:
        self.commit(DeliveryAttempted(due.delivery_id, due.ref, 1, TIMED_OUT, "held", self.now_ms))

    def make_slow(self, *refs: str) -> None:
        for ref in refs:
            self.queue(f"first of {ref}", ref=ref)
        while taken := self.take():
            for due in taken:
                self.outbox.release(due, slow=due.ref in refs)

    def suspend(self, ref: str, for_ms: int, times: int = 1) -> None:
        suspension = Suspension(self.now_ms, "timeout", times, self.now_ms + for_ms)
        self.commit(EndpointHealthSet(ref, 10, suspension))

    def recover(self, ref: str) -> None:
        self.commit(EndpointHealthSet(ref, 0, None))


@dataclass
class Waiting:
    """A delivery as the model remembers it. `arrived` counts the takes before it came to its line."""

    ref: str
    due_ms: int
    position: int
    arrived: int | None = None


class OutboxModel(RuleBasedStateMachine):
    """What an outbox must do, told by plain lists that are searched from end to end."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(empty_state(), MemoryJournal(), head=0)
        self.state = self.ledger.state
        self.ledger.subscribe(lambda position, events: self.outbox.on_record(position, events))
        self.now_ms = self.durable = self.takes = 0
        self.ids = map(str, count(1))  # of deliveries, and of their users
        self.tests: set[str] = set()
        self.waiting: dict[str, Waiting] = {}
        self.in_flight: list[Due] = []
        self.slow: set[str] = set()  # endpoints whose last attempt took too long
        self.gone: set[str] = set()  # endpoints that were removed, and have been sent nothing since
        self.places: dict[str, tuple[int, int]] = {}  # in line: the time of the vote, and the order
        self.orders = count(1)
        self.left: dict[str, tuple[int, int]] = {}  # the place of the last one that left the line
        self.held: dict[str, int] = {}
        self.paced: set[str] = set()  # endpoints that have ever been caught up with
        self.left_ms: dict[str, int] = {}
        self.stopped_until: int | None = None
        self.outbox = Outbox(POLICY, self.state, self.now_ms)
        for ref in REFS:
            self.commit(*listed(ref, url=URL))

    def commit(self, *events: Event) -> None:
        position = self.ledger.commit(events)
        for event in events:
            if isinstance(event, DeliveryQueued):
                self.is_queued(event, position)
            if isinstance(event, DeliveryAttempted) and event.next_attempt_ms is not None:
                self.waiting[event.delivery_id] = Waiting(event.ref, event.next_attempt_ms, position)
        self.waiting = {name: one for name, one in self.waiting.items() if name in self.state.pending}

    def is_queued(self, event: DeliveryQueued, position: int) -> None:
        name = event.delivery_id
        order = next(self.orders)
        if name in {due.delivery_id for due in self.in_flight if not due.urgent}:
            order = self.places[name][1]
        self.places[name] = (self.state.pending[name].since_ms, order)
        self.waiting[name] = Waiting(event.ref, event.at_ms, position)

    def suspension(self, ref: str) -> Suspension | None:
        webhook = self.state.listings[ref].webhook
        return webhook.suspension if webhook is not None else None

    def next_vote(self, ref: str) -> str:
        """The first of the line, but for late probes the one behind the last that left."""
        votes = sorted(self.votes(ref), key=self.places.__getitem__)
        suspension, (since_ms, _) = self.suspension(ref), self.places[votes[0]]
        if suspension is None or suspension.times <= PATIENT_PROBES:
            return votes[0]
        if since_ms <= self.now_ms - POLICY.kept_ms:
            return votes[0]
        last = self.left.get(ref, (0, 0))
        return next((name for name in votes if self.places[name] > last), votes[0])

    def line(self, ref: str) -> list[tuple[str, Waiting]]:
        """Those who have come to the endpoint's line."""
        return [
            (name, one) for name, one in self.waiting.items() if one.ref == ref and one.arrived is not None
        ]

    def votes(self, ref: str) -> list[str]:
        return [name for name, _ in self.line(ref) if name not in self.tests]

    def tests_in_flight(self, ref: str) -> int:
        return sum(due.ref == ref and due.urgent for due in self.in_flight)

    def may_leave(self, ref: str, at_ms: int, *, at_pace: bool) -> bool:
        """Whether the first of the line may leave then, if nothing happens before; `at_pace` in any case."""
        if self.stopped_until is None:
            has_place = len(self.in_flight) < POLICY.in_flight
        else:
            has_place = not self.in_flight and self.stopped_until <= at_ms
        if not has_place or at_ms < self.held.get(ref, 0):
            return False
        if at_pace and ref in self.paced and at_ms < self.left_ms.get(ref, -99) + POLICY.catch_up_gap_ms:
            return False
        if ref in self.slow and sum(due.slow for due in self.in_flight) >= POLICY.in_flight // 2:
            return False
        line = {
            name
            for name, one in self.waiting.items()
            if one.ref == ref and one.position <= self.durable and one.due_ms <= at_ms
        }
        if line & self.tests and not self.tests_in_flight(ref):
            return True
        return bool(line - self.tests) and self.has_room(ref, at_ms)

    def has_room(self, ref: str, at_ms: int) -> bool:
        running = sum(due.ref == ref for due in self.in_flight)
        suspension = self.suspension(ref)
        if suspension is not None:
            return running == 0 and suspension.probe_ms <= at_ms
        return running < (1 if ref in self.slow else POLICY.in_flight_per_endpoint)
