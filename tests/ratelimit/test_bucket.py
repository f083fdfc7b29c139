"""ratelimit/bucket.py beside its model: the takes of each window, kept one by one."""

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rows import Policy
from ratelimit.bucket import NS, Buckets, Decision
from tests.support.examples import examples
from tests.support.generated_events import histories

TWO_IN_TEN = Policy(requests=2, window_seconds=10)
WINDOW_NS = 10_000_000_000

keys = st.sampled_from(["a", "b", "c"])
pauses_ns = st.sampled_from([0, 1, NS - 1, NS, 3 * NS, WINDOW_NS - 1, WINDOW_NS]) | st.integers(
    0, 2 * WINDOW_NS
)
policies = st.sampled_from([TWO_IN_TEN, Policy(1, 10), Policy(3, 1), Policy(4, 20)])
steps = st.tuples(st.sampled_from(["take", "take", "give back", "peek"]), keys, pauses_ns, policies)


@dataclass
class Window:
    started_ns: int
    kept: list[Decision] = field(default_factory=list)


class Model:
    """The model: it follows the documentation word by word."""

    def __init__(self) -> None:
        self.windows: dict[str, Window] = {}
        self.taken: list[tuple[str, Window, Decision]] = []

    def open_window(self, key: str, policy: Policy, now_ns: int) -> Window | None:
        window = self.windows.get(key)
        ended = window is None or now_ns >= window.started_ns + policy.window_seconds * NS
        return None if ended else window

    def expected(self, key: str, policy: Policy, now_ns: int, *, takes: int) -> Decision:
        """Return the decision about a request for so many tokens."""
        window = self.open_window(key, policy, now_ns) or Window(now_ns)
        allowed = len(window.kept) < policy.requests
        used = len(window.kept) + takes * allowed
        end_ns = window.started_ns + policy.window_seconds * NS
        return Decision(
            allowed,
            policy.requests,
            max(policy.requests - used, 0),
            math.ceil((end_ns - now_ns) / NS),
            policy.window_seconds,
            window.started_ns,
        )

    def take(self, key: str, policy: Policy, now_ns: int, decision: Decision) -> None:
        if decision.allowed:
            window = self.open_window(key, policy, now_ns) or Window(now_ns)
            window.kept.append(decision)
            self.windows[key] = window
            self.taken.append((key, window, decision))

    def give_back(self) -> tuple[str, Decision]:
        key, window, decision = self.taken.pop(0)
        window.kept.remove(decision)
        if not window.kept and self.windows.get(key) is window:
            del self.windows[key]
        return key, decision


@examples(200)
@given(histories(steps, 40))
def test_the_buckets_equal_their_model(history: list[tuple[str, str, int, Policy]]) -> None:
    buckets, model, now_ns = Buckets(), Model(), 0
    for what, key, pause_ns, policy in history:
        now_ns += pause_ns
        if what == "take":
            decision = buckets.take(key, policy, now_ns)
            assert decision == model.expected(key, policy, now_ns, takes=1)
            model.take(key, policy, now_ns, decision)
        elif what == "peek":
            assert buckets.peek(key, policy, now_ns) == model.expected(key, policy, now_ns, takes=0)
        elif model.taken:
            buckets.give_back(*model.give_back())
    assert len(buckets) == len(model.windows)


@examples(200)
@given(policies, st.lists(pauses_ns, min_size=1, max_size=20))
def test_the_promised_wait_is_exact(policy: Policy, pauses: list[int]) -> None:
    buckets, now_ns = Buckets(), 0
    for pause_ns in pauses:
        now_ns += pause_ns
        decision = buckets.take("a", policy, now_ns)
        while decision.allowed:
            decision = buckets.take("a", policy, now_ns)
        end_ns = decision.started_ns + policy.window_seconds * NS
        assert not buckets.peek("a", policy, end_ns - 1).allowed
        assert not buckets.take("a", policy, end_ns - 1).allowed
        assert end_ns <= now_ns + decision.reset_seconds * NS < end_ns + NS
        assert buckets.peek("a", policy, end_ns).allowed
        assert buckets.peek("a", policy, now_ns + decision.reset_seconds * NS).allowed


def test_all_tokens_are_back_at_once_when_the_window_ends() -> None:
    buckets = Buckets()
    buckets.take("a", TWO_IN_TEN, 0)
    buckets.take("a", TWO_IN_TEN, WINDOW_NS - 1)
    assert not buckets.take("a", TWO_IN_TEN, WINDOW_NS - 1).allowed
    first = buckets.take("a", TWO_IN_TEN, WINDOW_NS)
    assert (first.allowed, first.remaining, first.started_ns) == (True, 1, WINDOW_NS)
    assert buckets.take("a", TWO_IN_TEN, WINDOW_NS).allowed


def test_a_window_begins_with_its_first_take_and_not_with_the_clock() -> None:
    buckets = Buckets()
    first = buckets.take("a", TWO_IN_TEN, 7 * NS)
    second = buckets.take("a", TWO_IN_TEN, 12 * NS)
    assert (first.reset_seconds, second.reset_seconds) == (10, 5)
    assert not buckets.take("a", TWO_IN_TEN, 17 * NS - 1).allowed
    assert buckets.take("a", TWO_IN_TEN, 17 * NS).allowed


def test_keys_are_counted_apart() -> None:
    buckets = Buckets()
    for _ in range(2):
        buckets.take("a", TWO_IN_TEN, 0)
    assert not buckets.take("a", TWO_IN_TEN, 0).allowed
    assert buckets.take("b", TWO_IN_TEN, 0).remaining == 1


def test_the_only_take_given_back_closes_the_window() -> None:
    buckets = Buckets()
    buckets.give_back("a", buckets.take("a", TWO_IN_TEN, 0))
    assert len(buckets) == 0
    assert buckets.take("a", TWO_IN_TEN, 5 * NS).reset_seconds == 10


def test_a_refusal_gives_nothing_back() -> None:
    buckets = Buckets()
    for _ in range(2):
        buckets.take("a", TWO_IN_TEN, 0)
    buckets.give_back("a", buckets.take("a", TWO_IN_TEN, 0))
    assert not buckets.take("a", TWO_IN_TEN, 0).allowed


def test_a_take_of_a_window_that_ended_is_not_given_back_to_the_next() -> None:
    buckets = Buckets()
    late = buckets.take("a", TWO_IN_TEN, 0)
    buckets.take("a", TWO_IN_TEN, WINDOW_NS)
    buckets.give_back("a", late)
    assert buckets.take("a", TWO_IN_TEN, WINDOW_NS).remaining == 0


def test_what_was_used_stays_used_when_the_policy_changes() -> None:
    buckets = Buckets()
    for _ in range(2):
        buckets.take("a", TWO_IN_TEN, 0)
    assert buckets.take("a", Policy(3, 10), NS).remaining == 0
    stricter = buckets.peek("a", Policy(1, 10), NS)
    assert (stricter.allowed, stricter.remaining) == (False, 0)


@pytest.mark.parametrize("started_ns", [-4 * NS, 6 * NS])
def test_a_restored_window_goes_on_where_it_was(started_ns: int) -> None:
    buckets = Buckets()
    buckets.restore("a", started_ns, 1)
    assert buckets.take("a", TWO_IN_TEN, started_ns + 5 * NS).reset_seconds == 5
    assert not buckets.take("a", TWO_IN_TEN, started_ns + WINDOW_NS - 1).allowed
    assert buckets.take("a", TWO_IN_TEN, started_ns + WINDOW_NS).allowed


def test_a_forgotten_key_starts_afresh() -> None:
    buckets = Buckets()
    for _ in range(2):
        buckets.take("a", TWO_IN_TEN, 0)
    buckets.forget("a")
    buckets.forget("never seen")
    assert len(buckets) == 0
    assert buckets.take("a", TWO_IN_TEN, NS).remaining == 1


def test_a_take_of_a_forgotten_key_has_nothing_to_give_back() -> None:
    buckets = Buckets()
    decision = buckets.take("a", TWO_IN_TEN, 0)
    buckets.forget("a")
    buckets.give_back("a", decision)
    assert len(buckets) == 0


def test_junk_evicts_no_live_key_and_takes_no_more_than_the_capacity() -> None:
    buckets, now_ns = Buckets(capacity=100), 0
    for number in range(50):
        for _ in range(2):
            buckets.take(f"live {number}", TWO_IN_TEN, now_ns)
    for number in range(10_000):
        now_ns += 1
        assert buckets.take(f"junk {number}", TWO_IN_TEN, now_ns).remaining == 1
        assert len(buckets) <= 100
    assert not any(buckets.take(f"live {number}", TWO_IN_TEN, now_ns).allowed for number in range(50))


def test_junk_leaves_when_its_windows_have_ended() -> None:
    buckets = Buckets(capacity=100)
    for number in range(100):
        buckets.take(f"junk {number}", TWO_IN_TEN, 0)
    for number in range(60):
        buckets.take(f"new {number}", TWO_IN_TEN, WINDOW_NS)
    assert len(buckets) == 60


def test_a_key_beyond_the_capacity_is_answered_as_unused_and_not_remembered() -> None:
    buckets = Buckets(capacity=1)
    buckets.take("a", TWO_IN_TEN, 0)
    for _ in range(3):
        decision = buckets.take("b", TWO_IN_TEN, NS)
        assert (decision.allowed, decision.remaining, decision.reset_seconds) == (True, 1, 10)
    buckets.give_back("b", decision)
    assert len(buckets) == 1


def test_a_key_that_opens_a_new_window_stands_behind_the_others() -> None:
    buckets = Buckets(capacity=5)
    for key in "abcde":
        buckets.take(key, TWO_IN_TEN, 0)
    for key in "cfghi":
        buckets.take(key, TWO_IN_TEN, WINDOW_NS)
    assert [buckets.peek(key, TWO_IN_TEN, WINDOW_NS).remaining for key in "cfghi"] == [1] * 5


def test_what_was_taken_elsewhere_counts_in_an_open_window() -> None:
    buckets = Buckets()
    first = buckets.take("a", Policy(5, 10), 0)
    assert buckets.add("a", Policy(5, 10), WINDOW_NS - 1, 2)
    after = buckets.take("a", Policy(5, 10), WINDOW_NS - 1)
    assert (after.remaining, after.started_ns) == (1, first.started_ns)


@pytest.mark.parametrize("key", ["a", "b"])
def test_nothing_is_counted_where_no_window_is_open(key: str) -> None:
    buckets = Buckets()
    buckets.take("a", TWO_IN_TEN, 0)
    assert not buckets.add(key, TWO_IN_TEN, WINDOW_NS, 2)
    assert buckets.peek(key, TWO_IN_TEN, WINDOW_NS).remaining == 2


moments = st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([0, 1, NS, WINDOW_NS - 1, WINDOW_NS]))


@examples(200)
@given(st.integers(0, 5), histories(moments, 60))
def test_a_newcomer_is_remembered_when_there_is_room_among_the_live(
    capacity: int, history: list[tuple[str, int]]
) -> None:
    buckets, live, now_ns, policy = Buckets(capacity), dict[str, int](), 0, Policy(1, 10)
    for key, pause_ns in history:
        now_ns += pause_ns
        live = {key: end_ns for key, end_ns in live.items() if now_ns < end_ns}
        assert buckets.take(key, policy, now_ns).allowed == (key not in live)
        if key not in live and len(live) < capacity:
            live[key] = now_ns + WINDOW_NS
        assert len(live) <= len(buckets) <= capacity
