"""listings/stats.py: an update with one wrong field changes nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import ListingMerged
from core.ledger import Ledger
from core.rows import BotCounts, Listing, NodeWindow, Policy, Reviewed, StatsWindow
from core.state import State
from languages.refusals import Refusal
from listings.stats import StatsUpdate, check_difference, committed_window, read_stats, update_stats
from ratelimit.bucket import Buckets
from tests.support.committed_rows import a_listing
from tests.support.examples import examples
from tests.support.fake_clock import FakeClock
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, HOUR_MS, NOW_MS, OWNER

WINDOW_SECONDS = 7_200
NOT_A_COUNT: list[Any] = [
    None,
    True,
    False,
    "5",
    "",
    [5],
    {},
    -1,
    -1.0,
    0.5,
    1e300,
    10**30,
    float("nan"),
    float("inf"),
    float("-inf"),
]


def update(
    ledger: Ledger,
    *,
    servers: int | None = None,
    commands: int | None = None,
    window_ms: int = NOW_MS,
    now_ms: int = NOW_MS,
) -> StatsWindow:
    """Commit an update, and return the window that it was counted in."""
    events = update_stats(
        ledger.state,
        BOT_REF,
        StatsUpdate(servers, commands),
        window_started_ms=window_ms,
        window_seconds=WINDOW_SECONDS,
        now_ms=now_ms,
    )
    ledger.commit(events)
    window = ledger.state.listings[BOT_REF].window
    assert window is not None
    return window


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"server_count": 5}, StatsUpdate(5, None)),
        ({"command_count": 5}, StatsUpdate(None, 5)),
        ({"server_count": 0, "command_count": 0}, StatsUpdate(0, 0)),
        ({"server_count": 10_000_000, "command_count": 1_000}, StatsUpdate(10_000_000, 1_000)),
        ({"server_count": 1.0, "command_count": 1e3}, StatsUpdate(1, 1_000)),
        ({"server_count": -0.0}, StatsUpdate(0, None)),
        ({"server_count": 5, "colour": "red"}, StatsUpdate(5, None)),
    ],
)
def test_the_counts_of_a_body(body: dict[str, Any], read: StatsUpdate) -> None:
    update = read_stats(body)
    assert update == read
    assert type(update.server_count) in {int, type(None)}


@pytest.mark.parametrize("body", [{}, {"colour": "red"}, {"Server_count": 5}])
def test_one_of_the_counts_is_required(body: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match="no_count_given"):
        read_stats(body)


@pytest.mark.parametrize("value", [*NOT_A_COUNT, 10_000_001, 10_000_000.5])
def test_a_server_count_is_an_integer_from_0_to_10_million(value: object) -> None:
    with pytest.raises(Refusal, match="server_count_out_of_range"):
        read_stats({"server_count": value, "command_count": 5})


@pytest.mark.parametrize("value", [*NOT_A_COUNT, 1_001, 1_000.5])
def test_a_command_count_is_an_integer_from_0_to_1000(value: object) -> None:
    with pytest.raises(Refusal, match="command_count_out_of_range"):
        read_stats({"server_count": 5, "command_count": value})


def test_the_server_count_is_checked_first() -> None:
    with pytest.raises(Refusal, match="server_count_out_of_range"):
        read_stats({"command_count": -1, "server_count": -1})


@examples(200)
@given(st.dictionaries(st.sampled_from(["server_count", "command_count"]), st.floats() | st.integers()))
def test_any_number_is_a_count_or_is_refused(body: dict[str, float]) -> None:
    try:
        read = read_stats(body)
    except Refusal:
        assert not body or any(
            not 0 <= value <= limit or value % 1
            for value, limit in [(body.get("server_count", 0), 10**7), (body.get("command_count", 0), 1_000)]
        )
    else:
        assert (read.server_count, read.command_count) == (
            body.get("server_count"),
            body.get("command_count"),
        )


@pytest.mark.parametrize(
    ("actual", "allowed"),
    [(0, 50), (1, 50), (500, 50), (509, 50), (510, 51), (1_000, 100), (1_009, 100), (10_000_000, 1_000_000)],
)
def test_the_allowed_difference_is_50_or_a_tenth_of_the_actual_count(actual: int, allowed: int) -> None:
    for given_count in (actual - allowed, actual, actual + allowed):
        check_difference(given_count, actual, 50)
    for given_count in (actual - allowed - 1, actual + allowed + 1):
        with pytest.raises(Refusal, match="server_count_too_far_off") as refusal:
            check_difference(given_count, actual, 50)
        assert refusal.value.facts == {"given": given_count, "max_difference": allowed, "actual": actual}


def test_the_allowed_difference_may_be_set_higher() -> None:
    check_difference(1_200, 1_000, 200)
    with pytest.raises(Refusal, match="server_count_too_far_off"):
        check_difference(1_201, 1_000, 200)


def test_an_update_writes_both_counts(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    update(ledger, servers=5, commands=7, now_ms=NOW_MS + 1)
    bot = state.listings[BOT_REF]
    assert bot.counts == BotCounts(5, 7, NOW_MS + 1)


def counts(state: State) -> tuple[int | None, int | None]:
    pushed = state.listings[BOT_REF].counts
    assert pushed is not None
    return pushed.server_count, pushed.command_count


def test_an_update_leaves_the_other_count_alone(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    update(ledger, servers=5)
    assert counts(state) == (5, None)
    update(ledger, commands=0)
    assert counts(state) == (5, 0)
    update(ledger, servers=0)
    assert counts(state) == (0, 0)


def test_a_bot_that_does_not_exist_has_no_counts(state: State) -> None:
    with pytest.raises(Refusal, match="no_such"):
        update_stats(
            state,
            BOT_REF,
            StatsUpdate(5, None),
            window_started_ms=NOW_MS,
            window_seconds=WINDOW_SECONDS,
            now_ms=NOW_MS,
        )


def test_updates_of_one_window_are_counted_together(ledger: Ledger) -> None:
    a_listing(ledger)
    assert update(ledger, servers=5) == StatsWindow(NOW_MS, 1)
    assert update(ledger, servers=5, now_ms=NOW_MS + HOUR_MS) == StatsWindow(NOW_MS, 2)


@pytest.mark.parametrize("drift_ms", [-HOUR_MS + 1, -1, 1, HOUR_MS - 1])
def test_a_window_is_known_again_though_the_clocks_drift(ledger: Ledger, drift_ms: int) -> None:
    a_listing(ledger)
    update(ledger, servers=5)
    assert update(ledger, servers=5, window_ms=NOW_MS + drift_ms) == StatsWindow(NOW_MS, 2)


@pytest.mark.parametrize("apart_ms", [HOUR_MS, 2 * HOUR_MS])
def test_another_window_is_counted_from_one(ledger: Ledger, apart_ms: int) -> None:
    a_listing(ledger)
    update(ledger, servers=5)
    assert update(ledger, servers=5, window_ms=NOW_MS + apart_ms) == StatsWindow(NOW_MS + apart_ms, 1)


def test_a_window_after_a_clock_was_set_back_is_still_the_latest(ledger: Ledger) -> None:
    a_listing(ledger)
    update(ledger, servers=5)
    assert update(ledger, servers=5, window_ms=NOW_MS - HOUR_MS) == StatsWindow(NOW_MS + 1, 1)


def row(own: StatsWindow | None = None, *others: NodeWindow) -> Listing:
    return Listing(
        BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS), window=own, windows=others
    )


def test_a_bot_that_was_never_updated_has_no_window() -> None:
    assert committed_window(row(), WINDOW_SECONDS) is None


def test_without_a_fleet_the_window_is_the_own_one() -> None:
    assert committed_window(row(StatsWindow(NOW_MS, 2)), WINDOW_SECONDS) == StatsWindow(NOW_MS, 2)


@pytest.mark.parametrize("own", [None, StatsWindow(NOW_MS + 5, 4)])
def test_windows_of_all_nodes_are_one_that_began_with_the_first(own: StatsWindow | None) -> None:
    others = NodeWindow("a.1", NOW_MS, 1), NodeWindow("b.1", NOW_MS + HOUR_MS - 1, 2)
    used = 3 + (own.used if own is not None else 0)
    assert committed_window(row(own, *others), WINDOW_SECONDS) == StatsWindow(NOW_MS, used)


@pytest.mark.parametrize("newest_is_own", [True, False])
def test_a_window_that_began_half_a_window_before_the_newest_is_over(newest_is_own: bool) -> None:
    times = [NOW_MS, NOW_MS + HOUR_MS][:: 1 if newest_is_own else -1]
    committed = committed_window(
        row(StatsWindow(times[1], 2), NodeWindow("a.1", times[0], 2)), WINDOW_SECONDS
    )
    assert committed == StatsWindow(NOW_MS + HOUR_MS, 2)


def test_an_update_counts_what_this_node_has_committed_alone(ledger: Ledger) -> None:
    ledger.commit([ListingMerged(row(None, NodeWindow("b.1", NOW_MS, 2)))])
    assert update(ledger, servers=5) == StatsWindow(NOW_MS, 1)
    assert ledger.state.listings[BOT_REF].windows == (NodeWindow("b.1", NOW_MS, 2),)


steps = st.tuples(
    st.integers(0, WINDOW_SECONDS),  # seconds that pass
    st.integers(-WINDOW_SECONDS * 200, WINDOW_SECONDS * 200),  # how wrong the wall clock is then, in ms
    st.booleans(),  # true if the update is refused
)


@examples(200)
@given(st.lists(steps, max_size=20))
def test_the_committed_windows_are_the_limiters(history: list[tuple[int, int, bool]]) -> None:
    """A restart restores the limiter's windows from the listing."""
    journal, clock, buckets = MemoryJournal(), FakeClock(), Buckets()
    ledger, policy = Ledger(empty_state(), journal, head=0), Policy(3, WINDOW_SECONDS)
    a_listing(ledger)
    for seconds, wrong_ms, refused in history:
        clock.advance(seconds)
        now_ns, now_ms = clock.monotonic_ns(), clock.now_ms() + wrong_ms
        decision = buckets.take(BOT_REF, policy, now_ns)
        if decision.allowed and refused:
            buckets.give_back(BOT_REF, decision)
        elif decision.allowed:
            open_ms = (now_ns - decision.started_ns) // 1_000_000
            window = update(ledger, servers=5, window_ms=now_ms - open_ms, now_ms=now_ms)
            assert window.used == policy.requests - decision.remaining
    assert fold(journal.records).digest() == ledger.state.digest()
