"""An outbox with everything around it in memory, and a model of it."""

from dataclasses import dataclass, replace
from itertools import count

from hypothesis.stateful import RuleBasedStateMachine

from core.clock import Moment
from core.events import DeliveryAttempted, DeliveryQueued, EndpointHealthSet, Event
from core.ledger import Ledger
from core.rows import Attempt, Suspension
from tests.support.memory_ledger import MemoryJournal, empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF, listed
from tests.support.sender_stage import RETRY, URL
from webhook.outbox import PATIENT_PROBES, Due, Outbox, OutboxPolicy

ONE_EACH = OutboxPolicy(in_flight=4, in_flight_per_endpoint=1, catch_up_gap_ms=20, look_ups=4)
WIDE = OutboxPolicy(in_flight=1_000, in_flight_per_endpoint=1_000, catch_up_gap_ms=20, look_ups=4)
POLICY = OutboxPolicy(in_flight=4, in_flight_per_endpoint=2, catch_up_gap_ms=5, look_ups=4)
SHORT = replace(RETRY, kept_ms=60)
REFS = [BOT_REF, OTHER_REF, SERVER_REF]


class Post:
    """An outbox with a ledger in memory, where everything is durable at once.

    `now_ms` is steady time. The wall clock, which dates facts, is `ahead_ms` ahead of it.
    """

    def __init__(self, policy: OutboxPolicy, *refs: str) -> None:
        self.policy = policy
        self.now_ms = NOW_MS
        self.ahead_ms = 0
        self.ledger = Ledger(empty_state(), MemoryJournal(), head=0)
        self.ledger.subscribe(lambda position, events: self.outbox.on_record(position, events, self.now))
        self.start()
        for ref in refs:
            self.commit(*listed(ref, url=URL))

    @property
    def now(self) -> Moment:
        return Moment(self.now_ms, self.now_ms + self.ahead_ms)

    def start(self) -> None:
        self.outbox = Outbox(self.policy, RETRY, self.ledger.state, self.now)

    def commit(self, *events: Event) -> None:
        self.ledger.commit(events)

    def queue(self, *names: str, ref: str = BOT_REF, test: bool = False) -> None:
        for name in names:
            self.commit(DeliveryQueued(name, ref, "5", test, self.now.wall_ms))

    def take(self) -> list[Due]:
        return self.outbox.take(self.now_ms, self.ledger.head)

    def left(self) -> list[str]:
        """Return the attempts that leave now if each one ends at once."""
        names: list[str] = []
        while taken := self.take():
            names += [due.delivery_id for due in taken]
            for due in taken:
                self.outbox.release(due)
        return names

    def leaving(self) -> list[str]:
        """Return the attempts that leave from now on, each at its time."""
        names = self.left()
        while (due_ms := self.outbox.next_due_ms()) is not None:
            self.now_ms = due_ms
            names += self.left()
        return names

    def timetable(self) -> list[tuple[int, int]]:
        """Return (milliseconds from now, number of attempts that leave), until nothing is due any more."""
        began_ms, table = self.now_ms, []
        while True:
            if number := len(self.left()):
                table.append((self.now_ms - began_ms, number))
            due_ms = self.outbox.next_due_ms()
            if due_ms is None:
                return table
            self.now_ms = due_ms

    def time_out(self, due: Due) -> None:
        """Let the attempt fail slowly. The delivery waits again."""
        self.come_back(due)
        self.outbox.release(due, slow=True)

    def come_back(self, due: Due) -> None:
        self.put_off(due, 0)

    def put_off(self, due: Due, wait_ms: int) -> None:
        """Commit a failed attempt whose next one is due after `wait_ms`."""
        made = self.ledger.state.deliveries.pending[due.delivery_id].made
        attempt = Attempt(self.now.wall_ms, 0, None, "timeout", "")
        next_ms = self.now.wall_ms + wait_ms
        self.commit(DeliveryAttempted(due.delivery_id, due.ref, made + 1, attempt, "held", next_ms))

    def make_slow(self, *refs: str) -> None:
        for ref in refs:
            self.queue(f"first of {ref}", ref=ref)
        while taken := self.take():
            for due in taken:
                self.outbox.release(due, slow=due.ref in refs)

    def suspend(self, ref: str, for_ms: int, times: int = 1) -> None:
        suspension = Suspension(self.now.wall_ms, "timeout", times, self.now.wall_ms + for_ms)
        self.commit(EndpointHealthSet(ref, 10, suspension))

    def recover(self, ref: str) -> None:
        self.commit(EndpointHealthSet(ref, 0, None))


@dataclass
class Waiting:
    """A waiting delivery of the model, due in steady time.

    `arrived` is the number of calls of `take` before it joined its line.
    """

    ref: str
    due_ms: int
    position: int
    arrived: int | None = None


class OutboxModel(RuleBasedStateMachine):
    """A simple outbox: plain lists that are searched from end to end.

    It reads the wall clock once for each fact, and counts in steady time from there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(empty_state(), MemoryJournal(), head=0)
        self.state = self.ledger.state
        self.ledger.subscribe(lambda position, events: self.outbox.on_record(position, events, self.now))
        self.now_ms, self.ahead_ms, self.durable, self.takes = NOW_MS, 0, 0, 0
        self.ids = map(str, count(1))  # of deliveries, and of their users
        self.tests: set[str] = set()
        self.waiting: dict[str, Waiting] = {}
        self.in_flight: list[Due] = []
        self.slow: set[str] = set()  # endpoints whose last attempt took too long
        self.gone: set[str] = set()  # endpoints that were removed, and have had no attempt since
        self.places: dict[str, tuple[int, int]] = {}  # in line: the time of the vote, and a number
        self.orders = count(1)
        self.asked: dict[str, int] = {}  # the wait of each delivery after its last attempt
        self.probes: dict[str, int] = {}  # times of the next probes of suspended endpoints
        self.left: dict[str, tuple[int, int]] = {}  # the place of the last one that left the line
        self.held: dict[str, int] = {}
        self.paced: set[str] = set()  # endpoints that have had to catch up
        self.left_ms: dict[str, int] = {}
        self.stopped_until: int | None = None
        self.outbox = Outbox(POLICY, SHORT, self.state, self.now)
        for ref in REFS:
            self.commit(*listed(ref, url=URL))

    @property
    def now(self) -> Moment:
        return Moment(self.now_ms, self.now_ms + self.ahead_ms)

    def commit(self, *events: Event) -> None:
        position = self.ledger.commit(events)
        for event in events:
            if isinstance(event, DeliveryQueued):
                self.is_queued(event, position)
            if isinstance(event, DeliveryAttempted) and event.next_attempt_ms is not None:
                self.asked[event.delivery_id] = event.next_attempt_ms - event.attempt.at_ms
                due_ms = self.now_ms + self.asked[event.delivery_id]
                self.waiting[event.delivery_id] = Waiting(event.ref, due_ms, position)
            if isinstance(event, EndpointHealthSet) and event.suspension is not None:
                self.probes[event.ref] = event.suspension.probe_ms - self.ahead_ms
        self.waiting = {
            name: one for name, one in self.waiting.items() if name in self.state.deliveries.pending
        }

    def is_queued(self, event: DeliveryQueued, position: int) -> None:
        name = event.delivery_id
        self.asked[name] = 0
        order = next(self.orders)
        if name in {due.delivery_id for due in self.in_flight if not due.urgent}:
            order = self.places[name][1]
        self.places[name] = (self.now_ms, order)
        self.waiting[name] = Waiting(event.ref, self.now_ms, position)

    def start(self) -> None:
        """Start again from the facts. No wait becomes longer than it was."""
        self.waiting, self.places, wall_ms = {}, {}, self.now.wall_ms
        for row in self.state.deliveries.pending.values():
            wait_ms = min(max((row.next_attempt_ms or 0) - wall_ms, 0), self.asked[row.id])
            self.waiting[row.id] = Waiting(row.ref, self.now_ms + wait_ms, position=0)
            self.places[row.id] = (self.now_ms - max(wall_ms - row.since_ms, 0), next(self.orders))
        for ref in self.state.listings.refs:
            if (suspension := self.suspension(ref)) is not None:
                self.probes[ref] = self.now_ms + max(suspension.probe_ms - wall_ms, 0)
        self.outbox = Outbox(POLICY, SHORT, self.state, self.now)

    def suspension(self, ref: str) -> Suspension | None:
        webhook = self.state.listings[ref].webhook
        return webhook.suspension if webhook is not None else None

    def next_vote(self, ref: str) -> str:
        """Return the first vote of the line. A late probe takes the one after the last that left."""
        votes = sorted(self.votes(ref), key=self.places.__getitem__)
        suspension, (since_ms, _) = self.suspension(ref), self.places[votes[0]]
        if suspension is None or suspension.times <= PATIENT_PROBES:
            return votes[0]
        if since_ms <= self.now_ms - SHORT.kept_ms:
            return votes[0]
        last = self.left.get(ref, (0, 0))
        return next((name for name in votes if self.places[name] > last), votes[0])

    def line(self, ref: str) -> list[tuple[str, Waiting]]:
        """Return the deliveries in the line of an endpoint."""
        return [
            (name, one) for name, one in self.waiting.items() if one.ref == ref and one.arrived is not None
        ]

    def votes(self, ref: str) -> list[str]:
        return [name for name, _ in self.line(ref) if name not in self.tests]

    def tests_in_flight(self, ref: str) -> int:
        return sum(due.ref == ref and due.urgent for due in self.in_flight)

    def may_leave(self, ref: str, at_ms: int, *, at_pace: bool) -> bool:
        """Return true if the first of the line may leave at that time, if nothing happens before.

        With `at_pace`, the gap between webhooks of an endpoint that catches up counts, too.
        """
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
            return running == 0 and self.probes[ref] <= at_ms
        return running < (1 if ref in self.slow else POLICY.in_flight_per_endpoint)
