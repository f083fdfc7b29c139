"""listings/queries.py: listings in pages."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import ListingRemoved, ListingReviewed, ListingSaved
from core.ledger import Ledger
from core.rows import Delivery, DeliveryState, Listing, Review
from core.state import State
from kinds.bots import BOTS
from kinds.servers import SERVERS
from listings.queries import count_of, deliveries_page, page
from tests.support.committed_rows import a_delivery, a_finished_delivery, a_listing
from tests.support.examples import examples
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_REF, OWNER

IDS = [str(10**17 + number) for number in range(9)]
reviews = st.sampled_from(["in_review", "approved", "denied"])


def ids(rows: Sequence[Listing] | Sequence[Delivery]) -> list[str]:
    return [row.id for row in rows]


def pages(state: State, prefix: str, review: Review | None, limit: int) -> list[list[str]]:
    """Return all pages, from the first to the last."""
    shown, after = page(state, prefix, after=None, review=review, limit=limit)
    found = [ids(shown)]
    while after is not None:
        shown, after = page(state, prefix, after=after, review=review, limit=limit)
        found.append(ids(shown))
    return found


@examples(200)
@given(
    st.dictionaries(st.tuples(st.sampled_from([BOTS.prefix, SERVERS.prefix]), st.sampled_from(IDS)), reviews),
    st.sampled_from([BOTS.prefix, SERVERS.prefix]),
    st.none() | reviews,
    st.integers(1, 5),
)
def test_the_pages_together_are_the_listings_in_order(
    listed: dict[tuple[str, str], Review], prefix: str, review: Review | None, limit: int
) -> None:
    state = empty_state()
    for (kind, listing_id), reviewed in listed.items():
        state.apply(ListingSaved(kind + listing_id, OWNER, BOT_PROFILE, reviewed, NOW_MS))
    expected = sorted(
        listing_id
        for (kind, listing_id), reviewed in listed.items()
        if kind == prefix and review in {None, reviewed}
    )
    found = pages(state, prefix, review, limit)
    assert [listing_id for shown in found for listing_id in shown] == expected
    assert all(len(shown) == limit for shown in found[:-1])
    assert found[-1] or not expected, "no page is empty, but the first one of nothing"


def test_a_kind_is_counted_without_the_kinds_before_and_behind_it() -> None:
    state = empty_state()
    for kind in (BOTS.prefix, SERVERS.prefix, "emojis/", "templates/"):
        for listing_id in IDS[: len(kind)]:
            state.apply(ListingSaved(kind + listing_id, OWNER, BOT_PROFILE, "approved", NOW_MS))

    assert (count_of(state, BOTS.prefix), count_of(state, SERVERS.prefix)) == (
        len(BOTS.prefix),
        len(SERVERS.prefix),
    )


def test_without_listings_there_is_one_empty_page(state: State) -> None:
    assert page(state, BOTS.prefix, after=None, review=None, limit=5) == ([], None)


def test_a_page_that_is_just_full_is_the_last(ledger: Ledger, state: State) -> None:
    for listing_id in IDS[:2]:
        a_listing(ledger, BOTS.ref(listing_id))
    shown, after = page(state, BOTS.prefix, after=None, review=None, limit=2)
    assert (ids(shown), after) == (IDS[:2], None)


def test_a_cursor_is_the_id_of_the_last_row_shown(ledger: Ledger, state: State) -> None:
    for listing_id in IDS[:3]:
        a_listing(ledger, BOTS.ref(listing_id))
    assert page(state, BOTS.prefix, after=None, review=None, limit=2)[1] == IDS[1]


@pytest.mark.parametrize("gone", [IDS[0], IDS[1]])
def test_rows_may_go_between_pages(ledger: Ledger, state: State, gone: str) -> None:
    for listing_id in IDS[:4]:
        a_listing(ledger, BOTS.ref(listing_id))
    _, after = page(state, BOTS.prefix, after=None, review=None, limit=2)
    ledger.commit([ListingRemoved(BOTS.ref(gone))])
    shown, last = page(state, BOTS.prefix, after=after, review=None, limit=2)
    assert (ids(shown), last) == (IDS[2:4], None)


def test_rows_may_come_between_pages(ledger: Ledger, state: State) -> None:
    for listing_id in (IDS[1], IDS[3], IDS[5]):
        a_listing(ledger, BOTS.ref(listing_id))
    _, after = page(state, BOTS.prefix, after=None, review=None, limit=2)
    a_listing(ledger, BOTS.prefix + IDS[0])
    a_listing(ledger, BOTS.prefix + IDS[4])
    shown, _ = page(state, BOTS.prefix, after=after, review=None, limit=5)
    assert ids(shown) == [IDS[4], IDS[5]]


def test_a_row_that_changes_leaves_the_pages_of_its_old_review(ledger: Ledger, state: State) -> None:
    a_listing(ledger, BOTS.prefix + IDS[0], review="in_review")
    ledger.commit([ListingReviewed(BOTS.prefix + IDS[0], "approved", None, NOW_MS)])
    assert page(state, BOTS.prefix, after=None, review="in_review", limit=5) == ([], None)
    assert ids(page(state, BOTS.prefix, after=None, review="approved", limit=5)[0]) == [IDS[0]]


@pytest.fixture
def five_deliveries(ledger: Ledger) -> None:
    """From the oldest to the newest: two that are finished, three that are pending."""
    a_listing(ledger)
    for number in range(5):
        queue = a_finished_delivery if number < 2 else a_delivery
        queue(ledger, f"d{number}", at_ms=NOW_MS + number)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, [["d4"], ["d3"], ["d2"], ["d1"], ["d0"]]),
        (2, [["d4", "d3"], ["d2", "d1"], ["d0"]]),
        (5, [["d4", "d3", "d2", "d1", "d0"]]),
        (9, [["d4", "d3", "d2", "d1", "d0"]]),
    ],
)
@pytest.mark.usefixtures("five_deliveries")
def test_the_pages_of_a_log_together_are_the_log_newest_first(
    state: State, limit: int, expected: list[list[str]]
) -> None:
    shown, after = deliveries_page(state, BOT_REF, after=None, limit=limit)
    found = [ids(shown)]
    while after is not None:
        shown, after = deliveries_page(state, BOT_REF, after=after, limit=limit)
        found.append(ids(shown))
    assert found == expected


@pytest.mark.parametrize(
    ("only", "expected"),
    [("pending", [["d4", "d3"], ["d2"]]), ("delivered", [["d1", "d0"]]), ("failed", [[]])],
)
@pytest.mark.usefixtures("five_deliveries")
def test_the_pages_of_one_state_leave_out_all_others(
    state: State, only: DeliveryState, expected: list[list[str]]
) -> None:
    shown, after = deliveries_page(state, BOT_REF, after=None, limit=2, only=only)
    found = [ids(shown)]
    while after is not None:
        shown, after = deliveries_page(state, BOT_REF, after=after, limit=2, only=only)
        found.append(ids(shown))
    assert found == expected


@pytest.mark.usefixtures("five_deliveries")
def test_what_is_queued_between_pages_of_a_log_moves_nothing(ledger: Ledger, state: State) -> None:
    _, after = deliveries_page(state, BOT_REF, after=None, limit=2)
    a_delivery(ledger, "new", at_ms=NOW_MS + 9)
    assert ids(deliveries_page(state, BOT_REF, after=after, limit=2)[0]) == ["d2", "d1"]


@pytest.mark.usefixtures("five_deliveries")
def test_behind_a_delivery_that_is_no_longer_kept_come_the_older_ones(state: State) -> None:
    assert ids(deliveries_page(state, BOT_REF, after=f"{NOW_MS + 2}-forgotten", limit=2)[0]) == ["d1", "d0"]
    assert deliveries_page(state, BOT_REF, after=f"{NOW_MS}-forgotten", limit=2) == ([], None)
    assert deliveries_page(state, OTHER_REF, after=None, limit=2) == ([], None)
