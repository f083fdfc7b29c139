"""votes/queries.py: a search finds everything that names a user, while the log grows."""

import pytest

from core.actors import user_actor
from core.events import (
    DeliveryMerged,
    DeliveryQueued,
    Event,
    ListingMerged,
    ListingRemoved,
    Merged,
    OwnerMessageQueued,
    VoteCast,
    VotesMerged,
)
from core.ledger import Ledger
from core.rows import AuditEntry, Delivery, Listing, Reviewed
from core.state import State
from tests.support.committed_rows import a_delivery, a_finished_delivery, a_listing
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import (
    BOT_PROFILE,
    BOT_REF,
    NOW_MS,
    OTHER_REF,
    OTHER_USER,
    OWNER,
    SERVER_REF,
    USER,
)
from tests.support.slots_set import actual_count_set
from votes.queries import Search, Searches


@pytest.fixture
def searches(ledger: Ledger) -> Searches:
    for ref in (BOT_REF, OTHER_REF, SERVER_REF):
        a_listing(ledger, ref)
    searches = Searches(ledger.state)
    ledger.subscribe(searches.on_record)
    return searches


def run(search: Search) -> set[str]:
    for _ in search.slices():
        pass
    return search.refs


def a_leaf(user: str) -> bytes:
    """Return the votes of a listing for which this user alone has voted."""
    other = empty_state()
    other.apply(VoteCast(BOT_REF, user, 1, NOW_MS, node="other.1"))
    leaf = other.votes.next_leaf(BOT_REF, -1)
    assert leaf is not None
    return leaf


def an_acted_row(user: str) -> Listing:
    act = AuditEntry(NOW_MS, user_actor(user), "edited")
    return Listing(
        BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("in_review", NOW_MS), audit_log=(act,)
    )


def test_a_listing_with_an_act_of_the_user_is_found(ledger: Ledger, searches: Searches) -> None:
    ledger.commit([actual_count_set(OTHER_REF, 5, at_ms=NOW_MS, by=user_actor(USER))])
    with searches.of(USER) as search:
        assert run(search) == {OTHER_REF}
    with searches.of(OTHER_USER) as search:
        assert run(search) == set()


def test_found_are_listings_with_votes_or_deliveries_of_the_user(ledger: Ledger, searches: Searches) -> None:
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS), VoteCast(BOT_REF, OTHER_USER, 1, NOW_MS)])
    a_finished_delivery(ledger, "first", OTHER_REF)
    a_delivery(ledger, "second", SERVER_REF, user=OTHER_USER)
    with searches.of(USER) as search:
        assert run(search) == {BOT_REF, OTHER_REF}
    with searches.of(OTHER_USER) as search:
        assert run(search) == {BOT_REF, SERVER_REF}


def test_votes_that_came_before_their_listing_are_found(ledger: Ledger, searches: Searches) -> None:
    unlisted = "bots/999999999999999999"
    ledger.commit([Merged("other.1", 1), VoteCast(unlisted, USER, 1, NOW_MS, node="other.1")])
    with searches.of(USER) as search:
        assert run(search) == {unlisted}


@pytest.mark.parametrize(
    "event",
    [
        VoteCast(BOT_REF, USER, 1, NOW_MS),
        VoteCast(BOT_REF, USER, 1, NOW_MS, node="other.1"),
        DeliveryQueued("first", BOT_REF, USER, test=True, at_ms=NOW_MS),
        DeliveryMerged(Delivery("first", BOT_REF, USER, False, NOW_MS, NOW_MS, owner="other.1")),
        VotesMerged(BOT_REF, ("other.1",), a_leaf(USER)),
        VotesMerged(BOT_REF, ("other.1",), b"", ((int(USER), "other.1", 1, NOW_MS),)),
        actual_count_set(BOT_REF, 5, at_ms=NOW_MS, by=user_actor(USER)),
        OwnerMessageQueued(BOT_REF, user_actor(USER), "approved", None, NOW_MS),
        ListingMerged(an_acted_row(USER)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_gets_to_know_the_user_behind_the_search_is_found(
    ledger: Ledger, searches: Searches, event: Event
) -> None:
    with searches.of(USER) as search:
        assert run(search) == set()
        ledger.commit([event])
        assert search.refs == {BOT_REF}


@pytest.mark.parametrize(
    "event",
    [
        VoteCast(BOT_REF, OTHER_USER, 1, NOW_MS),
        DeliveryQueued("first", BOT_REF, OTHER_USER, test=True, at_ms=NOW_MS),
        DeliveryMerged(Delivery("first", BOT_REF, OTHER_USER, False, NOW_MS, NOW_MS, owner="other.1")),
        VotesMerged(BOT_REF, ("other.1",), a_leaf(OTHER_USER)),
        actual_count_set(BOT_REF, 5, at_ms=NOW_MS, by=user_actor(OTHER_USER)),
        OwnerMessageQueued(BOT_REF, user_actor(OTHER_USER), "approved", None, NOW_MS),
        ListingMerged(an_acted_row(OTHER_USER)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_is_of_others_is_not_found(ledger: Ledger, searches: Searches, event: Event) -> None:
    with searches.of(USER) as search:
        ledger.commit([event])
        assert run(search) == set()


def test_two_searches_run_beside_each_other(ledger: Ledger, searches: Searches) -> None:
    with searches.of(USER) as one, searches.of(OTHER_USER) as other:
        ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS), VoteCast(SERVER_REF, OTHER_USER, 1, NOW_MS)])
        assert (one.refs, other.refs) == ({BOT_REF}, {SERVER_REF})


def test_a_search_that_has_ended_notes_nothing_more(ledger: Ledger, searches: Searches) -> None:
    with searches.of(USER) as search:
        pass
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    assert search.refs == set()


def test_a_search_that_is_given_up_ends(ledger: Ledger, searches: Searches) -> None:
    with pytest.raises(TimeoutError), searches.of(USER) as search:
        raise TimeoutError
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    assert search.refs == set()


def test_a_listing_that_goes_between_two_slices_is_nothing_to_stumble_over(
    ledger: Ledger, searches: Searches, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("votes.queries.SLICE_LISTINGS", 1)
    ledger.commit([VoteCast(SERVER_REF, USER, 1, NOW_MS)])
    with searches.of(USER) as search:
        slices = search.slices()
        next(slices)
        ledger.commit([ListingRemoved(OTHER_REF)])
        assert len(list(slices)) == 1
        assert search.refs == {SERVER_REF}
    assert list(state.listings.refs) == [BOT_REF, SERVER_REF]
