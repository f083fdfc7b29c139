"""Which delivery is due: nothing early, nothing beyond the caps, nothing forgotten."""

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from core.events import DeliveryAttempted, DeliveryQueued
from core.rows import Attempt, Delivery
from tests.unit_io.rows import BOT_REF, NOW_MS, voted
from webhook.outbox import DeliveryPolicy, Outbox

POLICY = DeliveryPolicy(retries=3, retry_delay_ms=5_000, in_flight=4, in_flight_per_endpoint=2)
REFS = ["bots/1", "bots/2", "servers/3"]


@dataclass(frozen=True)
class Queued:
    """A delivery as the model remembers it."""

    id: str
    ref: str
    due_ms: int
    position: int


class OutboxMachine(RuleBasedStateMachine):
    """The outbox beside a plain list that is searched from end to end."""

    def __init__(self) -> None:
        super().__init__()
        self.outbox = Outbox(POLICY)
        self.now_ms = 0
        self.head = 0
        self.durable = 0
        self.waiting: list[Queued] = []
        self.in_flight: list[str] = []
        self.slow: set[str] = set()  # endpoints whose last attempt timed out

    @rule(ref=st.sampled_from(REFS))
    def a_vote_is_cast(self, ref: str) -> None:
        self.head += 1
        queued = Queued(f"d{self.head}", ref, self.now_ms, self.head)
        event = DeliveryQueued(queued.id, ref, "5", test=False, at_ms=queued.due_ms)
        self.outbox.on_record(self.head, [voted(5), event])
        self.waiting.append(queued)

    @rule(ref=st.sampled_from(REFS), delay_ms=st.integers(0, 20))
    def an_attempt_is_to_be_made_again(self, ref: str, delay_ms: int) -> None:
        self.head += 1
        queued = Queued(f"d{self.head}", ref, self.now_ms + delay_ms, self.head)
        failure = Attempt(self.now_ms, 0, 500, "http_500", "")
        event = DeliveryAttempted(queued.id, ref, 1, failure, "retry", next_attempt_ms=queued.due_ms)
        self.outbox.on_record(self.head, [event])
        self.waiting.append(queued)

    @rule(ref=st.sampled_from(REFS))
    def an_attempt_is_final(self, ref: str) -> None:
        self.head += 1
        success = Attempt(self.now_ms, 0, 204, None, "")
        self.outbox.on_record(self.head, [DeliveryAttempted("other", ref, 1, success, "delivered", None)])

    @rule(milliseconds=st.integers(1, 15))
    def time_passes(self, milliseconds: int) -> None:
        self.now_ms += milliseconds

    @rule(back=st.integers(0, 3))
    def the_disk_keeps_up(self, back: int) -> None:
        self.durable = max(self.durable, self.head - back)

    @precondition(lambda self: self.in_flight)
    @rule(which=st.integers(0, 99), slow=st.booleans())
    def an_attempt_ends(self, which: int, slow: bool) -> None:
        ref = self.in_flight.pop(which % len(self.in_flight))
        self.slow = self.slow | {ref} if slow else self.slow - {ref}
        self.outbox.release(ref, slow=slow)

    @rule()
    def deliveries_are_taken(self) -> None:
        self.take()

    def take(self) -> None:
        for due in self.outbox.take(self.now_ms, self.durable):
            queued = next(queued for queued in self.waiting if queued.id == due.delivery_id)
            assert queued.due_ms <= self.now_ms
            assert queued.position <= self.durable
            line = [other for other in self.ready() if other.ref == queued.ref]
            assert min(line, key=lambda other: (other.due_ms, other.position)) == queued
            assert self.has_room(queued.ref)
            self.waiting.remove(queued)
            self.in_flight.append(queued.ref)
        assert not [queued for queued in self.ready() if self.has_room(queued.ref)]
        later = [queued.due_ms for queued in self.waiting if queued.position <= self.durable]
        expected = min((due_ms for due_ms in later if due_ms > self.now_ms), default=None)
        full = len(self.in_flight) >= POLICY.in_flight
        assert self.outbox.next_due_ms() == (None if full else expected)

    def ready(self) -> list[Queued]:
        """What may leave as far as time and disk are concerned."""
        return [q for q in self.waiting if q.due_ms <= self.now_ms and q.position <= self.durable]

    def has_room(self, ref: str) -> bool:
        room = 1 if ref in self.slow else POLICY.in_flight_per_endpoint
        return len(self.in_flight) < POLICY.in_flight and self.in_flight.count(ref) < room

    @invariant()
    def the_caps_are_kept(self) -> None:
        assert self.outbox.in_flight == len(self.in_flight) <= POLICY.in_flight
        assert max(Counter(self.in_flight).values(), default=0) <= POLICY.in_flight_per_endpoint

    def teardown(self) -> None:
        """Everything leaves in the end."""
        self.now_ms, self.durable = self.now_ms + 20, self.head
        rounds = len(self.waiting) + 1
        for _ in range(rounds):
            self.take()
            while self.in_flight:
                self.outbox.release(self.in_flight.pop())
            self.slow.clear()
        assert self.waiting == []
        assert (self.outbox.in_flight, self.outbox.next_due_ms()) == (0, None)


TestOutbox = OutboxMachine.TestCase
TestOutbox.settings = settings(max_examples=100, stateful_step_count=40, derandomize=True, deadline=None)


def test_a_slow_endpoint_does_not_take_every_place() -> None:
    outbox = Outbox(POLICY)
    for number in range(10):
        outbox.add(f"slow{number}", "bots/1", due_ms=0, position=1)
    outbox.add("quick", "bots/2", due_ms=1, position=1)

    taken = outbox.take(now_ms=1, durable=1)

    assert [due.delivery_id for due in taken] == ["slow0", "slow1", "quick"]


def test_an_endpoint_s_line_is_served_in_its_order_as_room_comes() -> None:
    outbox = Outbox(POLICY)
    for number in range(5):
        outbox.add(f"d{number}", "bots/1", due_ms=number, position=1)
    left = [due.delivery_id for due in outbox.take(now_ms=9, durable=1)]
    while outbox.in_flight:
        outbox.release("bots/1")
        left += [due.delivery_id for due in outbox.take(now_ms=9, durable=1)]
    assert left == ["d0", "d1", "d2", "d3", "d4"]


def test_an_endpoint_s_line_is_served_in_its_order_when_several_places_come_free_at_once() -> None:
    outbox = Outbox(POLICY)
    for number in range(8):
        outbox.add(f"d{number}", "bots/1", due_ms=0, position=1)
    left: list[str] = []
    while taken := outbox.take(now_ms=0, durable=1):
        left += [due.delivery_id for due in taken]
        for due in taken:
            outbox.release(due.ref)
    assert left == [f"d{number}" for number in range(8)]


def delivery(tries: int) -> Delivery:
    return Delivery("d", BOT_REF, "5", test=False, queued_ms=NOW_MS, next_attempt_ms=NOW_MS, tries=tries)


@pytest.mark.parametrize("tries", range(5))
def test_an_answer_that_accepts_delivers(tries: int) -> None:
    attempt = Attempt(NOW_MS, 7, 204, None, "")
    event = Outbox(POLICY).outcome(delivery(tries), attempt)
    assert event == DeliveryAttempted("d", BOT_REF, 1, attempt, "delivered", None)


@pytest.mark.parametrize(("status", "error"), [(500, "http_500"), (302, "http_302"), (None, "timeout")])
@pytest.mark.parametrize("tries", range(3))
def test_a_failure_is_tried_again_a_delay_after_it_ended(status: int | None, error: str, tries: int) -> None:
    attempt = Attempt(NOW_MS, 7, status, error, "")
    event = Outbox(POLICY).outcome(delivery(tries), attempt)
    assert event == DeliveryAttempted("d", BOT_REF, 1, attempt, "retry", NOW_MS + 7 + 5_000)


def test_after_the_retries_a_failure_is_final() -> None:
    attempt = Attempt(NOW_MS, 7, None, "refused", "")
    event = Outbox(POLICY).outcome(delivery(tries=3), attempt)
    assert event == DeliveryAttempted("d", BOT_REF, 1, attempt, "failed", None)
