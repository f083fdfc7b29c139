"""ratelimit/common_counts.py: the workers of a machine have one limit together."""

import itertools
import mmap
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rows import Policy
from ratelimit import common_counts
from ratelimit.bucket import NS, Buckets, Decision
from ratelimit.common_counts import DIGEST, ENTRY_WORDS, SLOTS, WORDS, CommonBuckets
from tests.support.forked_process import ForkedProcess

WORKERS = 3
FIVE_IN_TEN = Policy(requests=5, window_seconds=10)
KEYS = ("a", "b", "c")
steps = st.lists(
    st.tuples(
        st.sampled_from(["take", "take", "take", "peek", "give back", "restart"]),
        st.integers(0, WORKERS - 1),
        st.sampled_from(KEYS),
        st.sampled_from([0, 1, NS // 3, NS, 4 * NS, 10 * NS]),  # the time before it
    ),
    max_size=60,
)


def worker(words: memoryview, number: int) -> CommonBuckets:
    others = [WORDS * other for other in range(WORKERS) if other != number]
    return CommonBuckets(words, WORDS * number, others)


def workers() -> tuple[memoryview, list[CommonBuckets]]:
    words = memoryview(bytearray(WORDS * WORKERS * 8)).cast("Q")
    return words, [worker(words, number) for number in range(WORKERS)]


@given(steps)
def test_workers_decide_as_one_limiter_would_whichever_is_asked(
    steps: list[tuple[str, int, str, int]],
) -> None:
    words, all_of = workers()
    model, now_ns = Buckets(), 1_000 * NS
    newest: dict[tuple[int, str], tuple[Decision, Decision]] = {}
    for act, number, key, passed_ns in steps:
        now_ns += passed_ns
        if act == "restart":
            all_of[number] = worker(words, number)
            newest = {place: both for place, both in newest.items() if place[0] != number}
        elif act == "give back":
            ours, of_model = newest.pop((number, key), (None, None))
            if ours is not None and of_model is not None:
                all_of[number].give_back(key, ours)
                model.give_back(key, of_model)
        elif act == "peek":
            assert all_of[number].peek(key, FIVE_IN_TEN, now_ns) == model.peek(key, FIVE_IN_TEN, now_ns)
        else:
            ours, of_model = (each.take(key, FIVE_IN_TEN, now_ns) for each in (all_of[number], model))
            assert ours == of_model
            newest[number, key] = (ours, of_model)


def test_two_windows_that_open_at_the_same_moment_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _, (one, two, _) = workers()
    with monkeypatch.context() as racing:
        racing.setattr(CommonBuckets, "_elsewhere", lambda *_: [])  # neither sees the other open
        one.take("a", FIVE_IN_TEN, 1_000)
        two.take("a", FIVE_IN_TEN, 1_007)
    assert two.take("a", FIVE_IN_TEN, 2_000).started_ns == 1_000
    assert [each.take("a", FIVE_IN_TEN, 2_001).remaining for each in (one, two)] == [1, 0]
    assert not two.take("a", FIVE_IN_TEN, 1_000 + 10 * NS - 1).allowed
    assert two.take("a", FIVE_IN_TEN, 1_000 + 10 * NS).remaining == 4


def test_takes_at_the_same_moment_never_exceed_the_limit() -> None:
    _, all_of = workers()
    policy, allowed = Policy(requests=3_000, window_seconds=10), [0] * WORKERS

    def take(number: int) -> None:
        for _ in range(3_000):
            allowed[number] += all_of[number].take("a", policy, 1_000).allowed

    threads = [threading.Thread(target=take, args=(number,)) for number in range(WORKERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sum(allowed) <= 3_000
    while all_of[0].take("a", policy, 1_001).allowed:
        allowed[0] += 1
    assert sum(allowed) == 3_000


def test_other_machines_are_told_of_takes_of_this_worker_alone() -> None:
    _, (one, two, _) = workers()
    one.take("a", FIVE_IN_TEN, 1_000)
    two.take("a", FIVE_IN_TEN, 1_000)
    assert one.told() == {"a": 1}
    one.heard("a", FIVE_IN_TEN, 2_000, 2)  # of another machine; each worker hears it itself
    assert one.take("a", FIVE_IN_TEN, 3_000).remaining == 0


def test_a_key_that_finds_no_place_is_counted_by_its_worker_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_counts, "TRIES", 0)
    _, (one, two, _) = workers()
    assert [one.take("a", FIVE_IN_TEN, 1_000).allowed for _ in range(6)] == [True] * 5 + [False]
    assert two.take("a", FIVE_IN_TEN, 1_000).remaining == 4


def test_two_keys_never_share_a_place_while_both_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_counts, "_digest", lambda key: int(key))
    _, (one, two, _) = workers()
    first, second = "7", str(7 + common_counts.SLOTS)  # of the same place
    for each, key in ((one, first), (two, second), (one, second), (two, first)):
        each.take(key, FIVE_IN_TEN, 1_000)
    assert [one.take(key, FIVE_IN_TEN, 2_000).remaining for key in (first, second)] == [2, 2]


def test_an_entry_that_is_over_leaves_its_place_also_when_a_longer_window_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(common_counts, "_digest", lambda key: int(key))
    _, (one, two, _) = workers()
    first, second = "7", str(7 + SLOTS)  # of the same place
    one.take(first, FIVE_IN_TEN, 0)
    two.take(second, FIVE_IN_TEN, 11 * NS)
    one.take(first, Policy(requests=5, window_seconds=60), 12 * NS)
    one.take(second, FIVE_IN_TEN, 13 * NS)
    assert two.take(second, FIVE_IN_TEN, 14 * NS).remaining == 2


def test_a_key_that_two_workers_claim_in_two_places_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _, (one, two, _) = workers()
    one.take("a", FIVE_IN_TEN, 1_000)
    place, places = CommonBuckets._place, [one._windows["a"].at + ENTRY_WORDS]

    def free_a_moment_ago(buckets: CommonBuckets, digest: int, now_ns: int) -> int:
        return places.pop() if places else place(buckets, digest, now_ns)

    monkeypatch.setattr(CommonBuckets, "_place", free_a_moment_ago)
    assert two.take("a", FIVE_IN_TEN, 1_001).remaining == 3
    assert one.take("a", FIVE_IN_TEN, 1_002).remaining == 2


BOUND_SECONDS = 60
BARRIERS = 2 * WORDS
"""The place behind two tables: for each process, the number of barriers that it has reached, and its last
answer."""


class BarrierWords:
    """The words of a process that waits for the other one at a barrier before it notes its first digest."""

    def __init__(self, words: memoryview, number: int) -> None:
        self.words = words
        self._number = number
        self._is_first = True

    def __getitem__(self, at: int) -> int:
        return int(self.words[at])

    def __setitem__(self, at: int, value: int) -> None:
        if self._is_first and at % ENTRY_WORDS == DIGEST:
            self._is_first = False
            self.reach()
        self.words[at] = value

    def reach(self) -> None:
        own, deadline = BARRIERS + self._number, time.monotonic() + BOUND_SECONDS
        self.words[own] += 1
        while self.words[BARRIERS + 1 - self._number] < self.words[own]:
            assert time.monotonic() < deadline
            time.sleep(0.001)


def mapped(path: Path) -> memoryview:
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")


def take_beside_another(path: Path, number: int, own: str, other: str) -> None:
    words = BarrierWords(mapped(path), number)
    buckets = CommonBuckets(words, number * WORDS, [(1 - number) * WORDS])  # type: ignore[arg-type]
    for key in (own, other, own):
        remaining = buckets.take(key, FIVE_IN_TEN, 1_000).remaining
        words.reach()
    words.words[BARRIERS + 2 + number] = remaining


def test_two_processes_that_claim_one_place_at_the_same_moment_lose_no_entry(tmp_path: Path) -> None:
    path, place = tmp_path / "words", common_counts._digest("a") % SLOTS
    path.write_bytes(bytes((BARRIERS + 4) * 8))
    same = next(key for key in map(str, itertools.count()) if common_counts._digest(key) % SLOTS == place)
    keys = ("a", same)
    processes = [
        ForkedProcess(take_beside_another, path, number, keys[number], keys[1 - number])
        for number in range(2)
    ]
    assert [each.wait(BOUND_SECONDS) for each in processes] == [0, 0]
    assert [*mapped(path)[BARRIERS + 2 :]] == [2, 2]
