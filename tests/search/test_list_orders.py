"""search/list_orders.py: orders follow all changes, and no reader is shown a listing twice or misses one."""

import contextlib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import month_of_day
from core.events import Event, ListingRemoved, ListingReviewed, ListingSaved, VoteCast, VotesRemoved
from core.state import State
from core.vote_counts import VotesOfListing
from kinds.bots import BotProfile
from languages.refusals import Invalid
from search import catalogue, list_orders, order_chunks
from search.catalogue import Catalogue, IndexKey, ShownListing, folded
from search.list_orders import (
    FRESH_SECONDS,
    KEPT_SECONDS,
    SORTS,
    STALE_SECONDS,
    ListOrder,
    ListOrders,
    Sort,
    trend,
    trend_periods,
)
from tests.support.examples import examples
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, NOW_MS, OWNER

DAY = 20_260
MONTH = month_of_day(DAY)
BOTS = IndexKey("bots/")
SECOND = 1_000_000_000


@pytest.fixture(scope="module", autouse=True, params=[True, False], ids=["number ids", "text ids"])
def _ids_are_numbers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run each test for a kind whose ids are numbers, and for one whose ids are any texts."""
    kind = SimpleNamespace(has_snowflakes=request.param)
    with mock.patch.object(list_orders, "kind_of", return_value=kind):
        yield


class VotesOf(NamedTuple):
    """The votes of one listing at one moment, by month, and by the day with which a period begins."""

    by_month: Mapping[int, int]
    by_day: Mapping[int, int]

    @property
    def total(self) -> int:
        return sum(self.by_month.values())

    def in_month(self, month: int) -> int:
        return self.by_month.get(month, 0)

    def in_days(self, periods: Sequence[range]) -> list[int]:
        return [self.by_day.get(period.start, 0) for period in periods]


class Votes:
    """Votes by month and day, which a test sets."""

    def __init__(self) -> None:
        self.by_month: dict[tuple[str, int], int] = {}
        self.by_day: dict[tuple[str, int], int] = {}

    def of(self, ref: str) -> VotesOfListing:
        by_month, by_day = (
            {key: count for (other, key), count in counts.items() if other == ref}
            for counts in (self.by_month, self.by_day)
        )
        return cast(VotesOfListing, VotesOf(by_month, by_day))


class Scene(NamedTuple):
    """A catalogue with votes, and its orders."""

    state: State
    catalogue: Catalogue
    votes: Votes
    orders: ListOrders

    def happen(self, *events: Event) -> None:
        for event in events:
            self.state.apply(event)
        self.catalogue.on_record(1, events)

    def vote(self, ref: str, times: int = 1, month: int = MONTH) -> None:
        self.happen(VoteCast(ref, "1", 1, NOW_MS))
        self.votes.by_month[ref, month] = self.votes.of(ref).in_month(month) + times

    def made(self, order: ListOrder, day: int = DAY, now_ns: int = 0) -> None:
        for _ in self.orders.renew(order, day, now_ns):
            pass

    def page(
        self, order: ListOrder, after: str | None, most: int = 2, now_ns: int = 0
    ) -> tuple[list[str], str | None]:
        snapshot, is_due = self.orders.newest(order, DAY, now_ns)
        if is_due:
            self.made(order, now_ns=now_ns)
            snapshot, _ = self.orders.newest(order, DAY, now_ns)
        assert snapshot is not None
        found, _ = self.orders.page(snapshot, after, most, now_ns)
        return [*found.rows], found.next

    def walked(self, order: ListOrder, now_ns: int = 0) -> list[str]:
        refs, after = self.page(order, None, now_ns=now_ns)
        while after is not None:
            more, after = self.page(order, after, now_ns=now_ns)
            refs += more
        return refs


def ref(number: int) -> str:
    return f"bots/{10**17 + number}"


def approved(number: int, name: str = "", categories: tuple[str, ...] = ("Music",)) -> ListingSaved:
    profile = BotProfile(
        name or f"Bot {number}",
        BOT_PROFILE.short_description,
        BOT_PROFILE.description,
        categories,
        text_language="de" if number % 4 == 1 else "en",
    )
    return ListingSaved(ref(number), OWNER, profile, "approved", NOW_MS + number % 7)


def scene(count: int = 0, first: int = 1, most_places: int = 1_000_000) -> Scene:
    state = empty_state()
    catalogue, votes = Catalogue(state), Votes()
    for _ in catalogue.survey():
        pass
    orders = ListOrders(catalogue, votes, first, most_places)
    catalogue.watchers.append(orders.moved)
    state.before_change.append(orders.changing)
    found = Scene(state, catalogue, votes, orders)
    found.happen(*(approved(number) for number in range(count)))
    return found


def in_order(at: Scene, sort: Sort, refs: Iterable[str]) -> list[str]:
    """The model: everything sorted in one piece."""
    rows = at.state.listings
    return sorted(
        refs,
        key=lambda each: (
            {
                "month": -at.votes.of(each).in_month(MONTH),
                "votes": -at.votes.of(each).total,
                "newest": -rows[each].created_ms,
                "name": folded(rows[each].profile.name),
            }[sort],
            each,
        ),
    )


@examples(60)
@given(
    st.lists(st.tuples(st.text("aÄåB", max_size=3), st.integers(0, 4), st.integers(0, 4)), max_size=30),
    st.sampled_from(SORTS),
)
def test_an_order_is_that_of_a_plain_sort(rows: list[tuple[str, int, int]], sort: Sort) -> None:
    at = scene()
    for number, (name, now, before) in enumerate(rows):
        at.happen(approved(number, f"x{name}"))
        at.votes.by_month |= {(ref(number), MONTH): now, (ref(number), MONTH - 1): before}
    assert at.walked(ListOrder(BOTS, sort)) == in_order(at, sort, map(ref, range(len(rows))))


@pytest.mark.parametrize("sort", SORTS)
def test_thousands_are_sorted_in_slices_as_in_one_piece(sort: Sort) -> None:
    at = scene(3_000)
    for number in range(0, 3_000, 3):
        at.votes.by_month[ref(number), MONTH] = number * 7919 % 2_500
    order = ListOrder(BOTS, sort)
    slices = sum(1 for _ in at.orders.build(order, DAY, 0))
    snapshot, _ = at.orders.newest(order, DAY, 0)
    assert slices > 3_000 / catalogue.SLICE
    assert snapshot is not None
    page, _ = at.orders.page(snapshot, None, 3_000, 0)
    assert page.rows == in_order(at, sort, map(ref, range(3_000)))


@examples(60)
@given(
    st.lists(st.integers(0, 9), max_size=40),
    st.integers(1, 4),
    st.integers(0, KEPT_SECONDS - 1),
    st.sampled_from(["month", "votes"]),
)
def test_nobody_is_shown_twice_or_missed_because_of_votes_meanwhile(
    voted: list[int], most: int, pause: int, sort: Sort
) -> None:
    at, order, now_ns = scene(10), ListOrder(BOTS, sort), 0
    for number in range(10):
        at.vote(ref(number), number)
    expected = in_order(at, sort, map(ref, range(10)))
    shown, after = at.page(order, None, most)
    while after is not None:
        for number in voted:
            at.vote(ref(number), 3)
        now_ns += pause * SECOND
        at.page(order, None, most, now_ns)  # others begin meanwhile, and read a newer snapshot
        more, after = at.page(order, after, most, now_ns)
        shown += more
    assert shown == expected


changes = st.lists(
    st.tuples(
        st.sampled_from(["vote", "vote", "lose", "save", "save", "hide", "drain", "make", "begin"]),
        st.integers(0, 30),
        st.integers(0, 3),
    ),
    max_size=60,
)
LIVE: list[ListOrder] = [
    *(ListOrder(BOTS, sort) for sort in SORTS),
    ListOrder(BOTS, "trending"),
    ListOrder(BOTS, "month", MONTH - 1),
    ListOrder(IndexKey("bots/", category="Other"), "votes"),
    ListOrder(IndexKey("bots/", category="Music", language="en"), "month"),
]


def happen(at: Scene, what: str, number: int, other: int) -> None:
    votes, held = at.votes, ref(number) in at.state.listings
    match what:
        case "vote" if held:
            at.vote(ref(number), other, MONTH - number % 2)
            votes.by_day[ref(number), trend_periods(DAY)[0].start] = 10 * other
        case "lose" if held:
            at.happen(VotesRemoved(ref(number), ("1",), "Bought.", NOW_MS))
            for counts in (votes.by_month, votes.by_day):
                for key in [key for key in counts if key[0] == ref(number)]:
                    del counts[key]
        case "save":
            categories = (("Music",), ("Other",), ("Music", "Other"))[other % 3]
            at.happen(approved(number, f"Bot {number * other}", categories))
        case "hide" if held:
            denied = ListingReviewed(ref(number), "denied", "No.", NOW_MS)
            at.happen(denied if other else ListingRemoved(ref(number), NOW_MS))


@pytest.mark.parametrize("most", [2, 1_000], ids=["small chunks", "large chunks"])
@examples(100)
@given(changes, st.integers(0, 40))
def test_an_order_that_follows_all_changes_is_that_of_a_plain_sort(
    most: int, moves: list[tuple[str, int, int]], begins: int
) -> None:
    at, making, now_ns = scene(20), None, 0
    with mock.patch.multiple(order_chunks, MOST=most), mock.patch.object(catalogue, "SLICE", 3):
        for order in LIVE[: begins % len(LIVE)]:
            at.made(order)
        for what, number, other in moves:
            happen(at, what, number, other)
            if making is not None and next(making, "end") == "end":
                making = None
            elif what == "drain" and making is None:
                now_ns += FRESH_SECONDS * SECOND
                making = at.orders.drain(now_ns)
            elif what == "make" and making is None:
                making = at.orders.renew(LIVE[number % len(LIVE)], DAY, now_ns)
        for _ in making or ():
            pass
        for order in LIVE:
            at.made(order, now_ns=now_ns)
            shown, _ = at.orders.newest(order, DAY, now_ns)
            assert shown is not None
            expected = sorted(
                (place, each)
                for each, entry in at.catalogue.entries.items()
                if (place := place_of(order, entry, at.votes.of(each))) is not None
            )
            page, total = at.orders.page(shown, None, 100, now_ns)
            assert page.rows == [each for _, each in expected]
            assert order.is_partial or total == len(expected)
            assert all(1 <= len(ids) <= most for _, ids in shown.places.chunks)


def place_of(order: ListOrder, entry: ShownListing, votes: VotesOfListing) -> Any:
    """The model of a sort key; None for a listing that is not in the order."""
    month = MONTH if order.month is None else order.month
    key: Any = {
        "month": -votes.in_month(month),
        "votes": -votes.total,
        "trending": -trend(*votes.in_days(trend_periods(DAY))),
        "newest": -entry.since_ms,
        "name": entry.name,
    }[order.sort]
    is_left_out = key == 0 and (order.sort == "trending" or order.month is not None)
    return key if entry.is_under(order.key.parts) and not is_left_out else None


def test_what_is_no_longer_approved_is_left_out_of_a_frozen_order() -> None:
    at, order = scene(6), ListOrder(BOTS, "month")
    first, after = at.page(order, None)
    at.happen(ListingRemoved(ref(2), NOW_MS), ListingReviewed(ref(4), "denied", "No.", NOW_MS))
    second, last = at.page(order, after)
    assert (first, second, last) == ([ref(0), ref(1)], [ref(3), ref(5)], None)


@examples(200)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=30),
    st.integers(0, 20),
    st.integers(0, 30),
    st.sampled_from(SORTS),
    st.sampled_from(["", "en"]),
)
def test_a_list_counts_the_rows_that_its_readers_meet_whatever_comes_and_goes_meanwhile(
    moves: list[tuple[int, bool]], before: int, during: int, sort: Sort, language: str
) -> None:
    key = IndexKey("bots/", category="Music", language=language)
    at, order, rest = scene(5), ListOrder(key, sort), iter(moves)

    def move(times: int) -> None:
        for number, comes in islice(rest, times):
            held = ref(number) in at.state.listings
            if comes:
                at.happen(approved(number, categories=("Music",) if number % 3 else ("Fun", "Music")))
            elif held and number % 2:
                at.happen(approved(number, categories=("Fun",)))
            elif held:
                at.happen(ListingRemoved(ref(number), NOW_MS))

    def met() -> None:
        snapshot, _ = at.orders.newest(order, DAY, 0)
        assert snapshot is not None
        page, total = at.orders.page(snapshot, None, 100, 0)
        assert total == len(page.rows)

    move(before)
    with mock.patch.object(catalogue, "SLICE", 2):
        for _ in at.orders.build(order, DAY, 0):
            move(during % 4)
    met()
    for _ in moves:
        move(1)
        met()


def test_a_snapshot_that_is_gone_goes_on_behind_the_sort_key_of_the_last_listing_shown() -> None:
    cases: list[tuple[Sort, str]] = [("month", ref(4)), ("newest", ref(4)), ("name", ref(1))]
    for sort, last in cases:
        at, order = scene(6), ListOrder(BOTS, sort)
        for number in range(6):
            at.vote(ref(number), number)
        before, after = at.page(order, None)
        assert before[-1] == last
        restarted = at._replace(orders=ListOrders(at.catalogue, at.votes, first=1_000))
        at.happen(approved(13, "A new one"))
        at.vote(ref(13), 100)
        rest, _ = restarted.page(order, after, most=10)
        assert ref(13) not in rest
        assert [*before, *rest] == in_order(at, sort, map(ref, range(6)))


def test_editions_leave_when_nobody_has_read_them_for_long_or_there_are_too_many_places() -> None:
    at, order = scene(4, most_places=10), ListOrder(BOTS, "month")
    at.page(order, None)
    assert at.orders.places == 4
    for number in range(4):
        at.vote(ref(0))
        at.page(order, None, now_ns=(number + 1) * FRESH_SECONDS * SECOND)
        assert at.orders.places <= 12
    at.vote(ref(0))
    at.page(order, None, now_ns=10 * KEPT_SECONDS * SECOND)
    assert at.orders.places == 4


def test_editions_are_bounded_however_few_places_they_have() -> None:
    at = scene(1)
    orders = ListOrders(at.catalogue, at.votes, 1, most_orders=3)
    for number in range(10):
        for _ in orders.build(ListOrder(IndexKey("servers/", keyword=str(number)), "month"), DAY, 0):
            pass
    kept = [
        number
        for number in range(10)
        if orders.newest(ListOrder(IndexKey("servers/", keyword=str(number)), "month"), DAY, 0)[0] is not None
    ]
    assert kept == [7, 8, 9]


def test_no_order_is_made_again_while_nothing_has_changed_or_too_soon() -> None:
    at, order, by_name = scene(3), ListOrder(BOTS, "month"), ListOrder(BOTS, "name")
    at.made(order)
    at.made(by_name)
    assert at.orders.newest(order, DAY, 10 * STALE_SECONDS * SECOND)[1] is False
    at.vote(ref(1))
    assert at.orders.newest(order, DAY, (FRESH_SECONDS - 1) * SECOND)[1] is False
    shown, is_due = at.orders.newest(order, DAY, FRESH_SECONDS * SECOND)
    assert (shown is not None, is_due) == (True, True)
    before, _ = at.orders.newest(by_name, DAY, 0)
    at.made(order, now_ns=FRESH_SECONDS * SECOND)
    assert at.orders.newest(by_name, DAY, STALE_SECONDS * SECOND) == (before, False)
    at.happen(approved(7))
    assert at.orders.newest(by_name, DAY, 2 * FRESH_SECONDS * SECOND)[1] is True


def test_an_order_of_another_month_or_one_that_is_stale_is_shown_to_nobody_who_begins() -> None:
    at, order = scene(3), ListOrder(BOTS, "month")
    at.made(order)
    assert at.orders.newest(order, DAY + 31, 0) == (None, True)
    at.vote(ref(1))
    assert at.orders.newest(order, DAY, STALE_SECONDS * SECOND) == (None, True)


def test_an_index_key_has_its_own_order() -> None:
    at = scene()
    at.happen(approved(1, categories=("Music", "Other")), approved(2, categories=("Other",)), approved(3))
    assert at.walked(ListOrder(IndexKey("bots/", category="Other"), "name")) == [ref(1), ref(2)]
    assert at.walked(ListOrder(IndexKey("bots/", category="Economy"), "name")) == []
    assert at.walked(ListOrder(IndexKey("servers/"), "name")) == []


def test_a_list_of_several_conditions_has_what_meets_all_of_them() -> None:
    at = scene()
    at.happen(
        *(
            approved(number, categories=("Music", "Other") if number % 2 else ("Other",))
            for number in range(6)
        )
    )
    both = ListOrder(IndexKey("bots/", category="Music", language="en"), "name")
    assert at.walked(both) == [ref(3)]
    assert at.walked(ListOrder(IndexKey("bots/", category="Other", language="de"), "name")) == [
        ref(1),
        ref(5),
    ]


def test_the_ranking_of_a_month_has_those_with_votes_in_it() -> None:
    at = scene(4)
    at.vote(ref(1), 2, MONTH - 1)
    at.vote(ref(2), 5, MONTH - 1)
    at.vote(ref(3), 9)
    assert at.walked(ListOrder(BOTS, "month", MONTH - 1)) == [ref(2), ref(1)]
    assert at.walked(ListOrder(BOTS, "month", MONTH)) == [ref(3)]
    assert at.walked(ListOrder(BOTS, "month"))[0] == ref(3)


def test_what_grows_most_is_trending_and_few_votes_are_no_trend() -> None:
    at = scene(6)
    recent, before = trend_periods(DAY)
    assert (len(recent), len(before), before.stop, recent.stop) == (7, 21, recent.start, DAY + 1)
    votes = {0: (10, 0), 1: (100, 300), 2: (500, 300), 3: (60, 0), 4: (24, 0), 5: (1_000, 0)}
    for number, (now, then) in votes.items():
        at.votes.by_day[ref(number), recent.start] = now
        at.votes.by_day[ref(number), before.start] = then
    assert at.walked(ListOrder(BOTS, "trending")) == [ref(5), ref(2), ref(3)]


@pytest.mark.parametrize("after", ["", "x", "0", "é", "lQ", "kgEC", "=" * 5, "A" * 10_000])
def test_a_cursor_that_is_none_is_refused(after: str) -> None:
    at = scene(3)
    with pytest.raises(Invalid):
        at.page(ListOrder(BOTS, "month"), after)


def test_a_cursor_of_an_order_by_name_is_none_of_an_order_by_votes() -> None:
    at = scene(5)
    _, by_name = at.page(ListOrder(BOTS, "name"), None)
    _, by_votes = at.page(ListOrder(BOTS, "votes"), None)
    cases: list[tuple[Sort, str | None]] = [("votes", by_name), ("name", by_votes)]
    for sort, after in cases:
        with pytest.raises(Invalid):
            at.page(ListOrder(BOTS, sort), after)


@examples(200)
@given(st.binary(max_size=40), st.sampled_from(SORTS))
def test_any_text_for_a_cursor_is_refused_or_begins_somewhere(content: bytes, sort: Sort) -> None:
    at = scene(3)
    with contextlib.suppress(Invalid):
        at.page(ListOrder(BOTS, sort), urlsafe_b64encode(content).decode())
