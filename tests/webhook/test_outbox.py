"""webhook/outbox.py: no delivery leaves early or beyond a limit, and none is forgotten."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from core.events import DeliveryAttempted, DeliveryQueued, EndpointHealthSet, Event, UserErased
from core.rows import Attempt, Delivery, Outcome, Suspension, Webhook
from tests.support.examples import affordable
from tests.support.outbox_model import POLICY, REFS, SHORT, WIDE, OutboxModel, Post, Waiting
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF
from tests.support.sender_stage import URL
from tests.support.slots_set import webhook_removed, webhook_saved
from webhook.outbox import PATIENT_PROBES, RESTART_BATCH, RESTART_GAP_MS, Due

refs = st.sampled_from(REFS)
soon = st.integers(1, 12)


class OutboxMachine(OutboxModel):
    """The outbox beside its model.

    The pace of catching up is tested by example: here an endpoint that has recovered may or may not wait.
    """

    # -- steps -----------------------------------------------------------------------------------------

    @rule(ref=refs, test=st.sampled_from([False, False, True]), number=st.integers(1, 3))
    def events_are_queued(self, ref: str, test: bool, number: int) -> None:
        for _ in range(number):
            name = next(self.ids)
            self.tests |= {name} if test else set()
            self.commit(DeliveryQueued(name, ref, name, test, self.now.wall_ms))

    @precondition(lambda self: any(self.state.deliveries.finished.values()))
    @rule(choice=st.data())
    def a_finished_one_is_sent_again(self, choice: st.DataObject) -> None:
        row: Delivery = choice.draw(
            st.sampled_from([row for rows in self.state.deliveries.finished.values() for row in rows])
        )
        self.commit(DeliveryQueued(row.id, row.ref, row.user, row.test, self.now.wall_ms))

    @precondition(lambda self: self.in_flight)
    @rule(
        which=st.integers(0, 99),
        outcome=st.sampled_from(["delivered", "retry", "held", "failed"]),
        wait_ms=st.integers(0, 12),
        health=st.sampled_from(["as it was", "as it was", "suspended", "flows"]),
        slow=st.booleans(),
    )
    def an_attempt_ends(self, which: int, outcome: Outcome, wait_ms: int, health: str, slow: bool) -> None:
        due = self.in_flight.pop(which % len(self.in_flight))
        row = self.state.deliveries.pending.get(due.delivery_id)
        if row is not None:
            at_ms = self.now.wall_ms
            next_ms = at_ms + wait_ms if outcome in {"retry", "held"} else None
            attempt = Attempt(at_ms, 0, 500, None, "")
            judged: list[Event] = [
                DeliveryAttempted(row.id, row.ref, row.made + 1, attempt, outcome, next_ms)
            ]
            if health == "suspended":
                times = 1 + wait_ms % 2 * PATIENT_PROBES
                suspension = Suspension(at_ms, "timeout", times, at_ms + wait_ms + 1)
                judged.append(EndpointHealthSet(row.ref, 10, suspension))
            elif health == "flows":
                self.paced.add(row.ref)
                judged.append(EndpointHealthSet(row.ref, 0, None))
            self.commit(*judged)
        if due.ref not in self.gone:
            self.slow = self.slow | {due.ref} if slow else self.slow - {due.ref}
        self.outbox.release(due, slow=slow)

    @precondition(lambda self: self.in_flight)
    @rule(which=st.integers(0, 99), wait_ms=soon)
    def one_is_put_back_since_its_endpoint_wants_nothing_now(self, which: int, wait_ms: int) -> None:
        due = self.in_flight.pop(which % len(self.in_flight))
        self.an_endpoint_is_held(due.ref, wait_ms)
        self.outbox.put_back(due, self.now_ms)
        if due.delivery_id in self.state.deliveries.pending:
            self.waiting[due.delivery_id] = Waiting(due.ref, self.now_ms, 0, arrived=self.takes)
            self.gone.discard(due.ref)
        self.outbox.release(due)

    @rule(ref=refs, wait_ms=soon)
    def an_endpoint_is_held(self, ref: str, wait_ms: int) -> None:
        self.outbox.hold(ref, self.now_ms + wait_ms)
        self.held[ref] = max(self.held.get(ref, 0), self.now_ms + wait_ms)

    @rule(wait_ms=soon)
    def nothing_can_leave(self, wait_ms: int) -> None:
        self.stopped_until = self.now_ms + wait_ms
        self.outbox.stop(self.stopped_until)

    @rule()
    def everything_can_leave_again(self) -> None:
        self.stopped_until = None
        self.outbox.resume()

    @rule(ref=refs, anew=st.booleans())
    def a_webhook_is_saved(self, ref: str, anew: bool) -> None:
        if self.suspension(ref) is not None:
            self.paced.add(ref)
        removed = [webhook_removed(ref)] if anew else []
        self.commit(*removed, webhook_saved(ref, Webhook(URL, self.now.wall_ms)))
        self.held.pop(ref, None)
        self.slow.discard(ref)
        self.gone |= {ref} if anew else set()

    @precondition(lambda self: self.state.deliveries.pending)
    @rule(choice=st.data())
    def a_user_is_erased(self, choice: st.DataObject) -> None:
        row: Delivery = choice.draw(st.sampled_from(list(self.state.deliveries.pending.values())))
        self.commit(UserErased(row.user, (row.ref,)))

    @rule()
    def the_gateway_starts_again(self) -> None:
        self.in_flight, self.slow, self.gone, self.held, self.left_ms = [], set(), set(), {}, {}
        self.left = {}
        self.stopped_until, self.paced = None, set(REFS)
        self.start()

    @rule(by_ms=st.integers(-90, 90))
    def the_wall_clock_is_set(self, by_ms: int) -> None:
        self.ahead_ms += by_ms

    # -- invariants ------------------------------------------------------------------------------------

    @rule(passed_ms=st.integers(0, 8), back=st.integers(0, 2))
    def deliveries_are_taken_some_time_later(self, passed_ms: int, back: int) -> None:
        self.now_ms += passed_ms
        self.durable = max(self.durable, self.ledger.head - back)
        self.take()

    def take(self) -> None:
        self.takes += 1
        for one in self.waiting.values():
            if one.arrived is None and one.position <= self.durable and one.due_ms <= self.now_ms:
                one.arrived = self.takes
                self.gone.discard(one.ref)
        for due in self.outbox.take(self.now_ms, self.durable):
            self.leaves(due)
        assert not [ref for ref in REFS if self.may_leave(ref, self.now_ms, at_pace=True)]
        self.is_called_again_in_time()

    def leaves(self, due: Due) -> None:
        ref = due.ref
        assert self.may_leave(ref, self.now_ms, at_pace=False)
        assert due.slow == (ref in self.slow)
        assert due.urgent == (due.delivery_id in self.tests)
        assert due.probe == (not due.urgent and self.suspension(ref) is not None)
        row = self.state.deliveries.pending.get(due.delivery_id)
        assert due.expired == (self.places[due.delivery_id][0] <= self.now_ms - SHORT.kept_ms)
        if due.urgent:
            assert not self.tests_in_flight(ref)
            tests = {name: one.arrived or 0 for name, one in self.line(ref) if name in self.tests}
            assert tests[due.delivery_id] == min(tests.values())
        else:
            # A removed delivery may still have a turn as a probe.
            assert due.delivery_id == self.next_vote(ref) or (due.probe and row is None)
            self.left[ref] = self.places[due.delivery_id]
        assert due.urgent or self.tests_in_flight(ref) or len(self.votes(ref)) == len(self.line(ref))
        self.waiting.pop(due.delivery_id, None)
        self.in_flight.append(due)
        self.left_ms[ref] = self.now_ms

    def is_called_again_in_time(self) -> None:
        due_ms = self.outbox.next_due_ms()
        assert due_ms is None or due_ms > self.now_ms
        moments = {one.due_ms for one in self.waiting.values()} | {
            *self.held.values(),
            self.stopped_until or 0,
        }
        moments |= {left_ms + POLICY.catch_up_gap_ms for left_ms in self.left_ms.values()}
        moments |= {self.probes[ref] for ref in REFS if self.suspension(ref) is not None}
        for moment in sorted(moment for moment in moments if moment > self.now_ms):
            if any(self.may_leave(ref, moment, at_pace=True) for ref in REFS):
                assert due_ms is not None
                assert due_ms <= moment
                break

    @invariant()
    def the_caps_are_kept(self) -> None:
        assert self.outbox.in_flight == len(self.in_flight) <= POLICY.in_flight
        assert sum(due.slow for due in self.in_flight) <= POLICY.in_flight // 2
        votes = Counter(due.ref for due in self.in_flight if not due.urgent)
        assert max(votes.values(), default=0) <= POLICY.in_flight_per_endpoint
        assert {*self.outbox.suspended} == {ref for ref in REFS if self.suspension(ref) is not None}
        assert self.outbox.stopped == (self.stopped_until is not None)

    def teardown(self) -> None:
        """Every delivery leaves in the end, without another event from outside."""
        self.durable = self.ledger.head
        for _ in range(20 * (len(self.state.deliveries.pending) + len(REFS)) + 20):
            self.take()
            if self.in_flight:
                self.an_attempt_ends(0, "delivered", 0, "flows", slow=False)
                self.durable = self.ledger.head
            elif (due_ms := self.outbox.next_due_ms()) is not None:
                self.now_ms = due_ms
        assert not self.state.deliveries.pending
        assert (self.outbox.in_flight, self.outbox.next_due_ms()) == (0, None)
        assert self.outbox._entries == {}
        remembered = self.slow | {*self.outbox.suspended}
        assert {*self.outbox._queues} <= remembered, "which is all that is to be remembered"


TestOutbox = OutboxMachine.TestCase
TestOutbox.settings = settings(
    max_examples=affordable(100), stateful_step_count=50, derandomize=True, deadline=None
)


def test_what_was_due_before_a_start_leaves_after_it_in_batches() -> None:
    number = 2 * RESTART_BATCH + 50
    refs = [f"bots/{10**17 + each}" for each in range(number)]
    post = Post(WIDE, *refs)
    for ref in refs:
        post.queue(f"of {ref}", ref=ref)
    post.now_ms += 3_600_000
    post.start()
    assert post.timetable() == [(0, RESTART_BATCH), (RESTART_GAP_MS, RESTART_BATCH), (2 * RESTART_GAP_MS, 50)]


def test_what_was_due_before_a_start_for_one_endpoint_leaves_at_its_pace_and_in_order() -> None:
    post = Post(WIDE, BOT_REF)
    names = [f"d{number}" for number in range(4)]
    post.queue(*names)
    post.now_ms += 3_600_000
    post.start()
    for name in names:
        assert post.left() == [name]
        post.now_ms += 19
        assert post.left() == []
        post.now_ms += 1


def test_an_endpoint_is_forgotten_if_all_that_was_due_for_it_before_a_start_is_erased() -> None:
    refs = [f"bots/{10**17 + each}" for each in range(RESTART_BATCH + 1)]
    post = Post(WIDE, *refs)
    for ref in refs:
        post.queue(f"of {ref}", ref=ref)
    post.now_ms += 3_600_000
    post.start()
    post.commit(UserErased("5", tuple(refs)))
    assert post.leaving() == []
    assert post.outbox._queues == {}


def test_a_suspension_outlives_a_restart() -> None:
    post = Post(WIDE, BOT_REF)
    post.suspend(BOT_REF, for_ms=60)
    post.queue("first", "second")
    post.start()
    assert post.outbox.suspended == [BOT_REF]
    assert post.take() == []
    assert post.outbox.next_due_ms() == NOW_MS + 60
    post.now_ms += 60
    assert [due.probe for due in post.take()] == [True]


def test_while_nothing_can_leave_one_at_a_time_is_let_through() -> None:
    post = Post(WIDE, BOT_REF, OTHER_REF)
    post.outbox.stop(NOW_MS + 30)
    post.queue("a", "b")
    post.queue("c", ref=OTHER_REF)
    assert post.take() == []
    assert (post.outbox.stopped, post.outbox.next_due_ms()) == (True, NOW_MS + 30)
    post.now_ms += 30
    (due,) = post.take()
    post.now_ms += 30
    assert (post.take(), post.outbox.next_due_ms()) == ([], None), "its end wakes the outbox"
    post.outbox.resume()
    post.outbox.release(due)
    assert len(post.take()) == 2
    assert not post.outbox.stopped
