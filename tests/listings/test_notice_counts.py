"""listings/notice_counts.py: the number at the bell is that of the page of notices, and most
pages look it up."""

from collections.abc import Iterator

import pytest

from core.actors import user_actor
from core.events import (
    CoOwnerSaved,
    CoOwnersEnded,
    EndpointHealthSet,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    OwnerSet,
    UserErased,
)
from core.ledger import Ledger
from core.rows import CoOwner, HandOver, Suspension
from core.state import State
from listings.notice_counts import KEPT_MS, NoticeCounts
from listings.notices import NoticeSearch, notices_of
from listings.ownership import Ownership
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, DAY_MS, NOW_MS, OTHER_REF, OWNER, USER, listed

MODERATOR = user_actor("900000000000000009")


@pytest.fixture
def counts(ledger: Ledger, state: State) -> Iterator[NoticeCounts]:
    """Each test ends with counts that are those of a search."""
    ownership = Ownership(state)
    counts = NoticeCounts(state, ownership)
    ledger.subscribe(ownership.on_record)
    ledger.subscribe(counts.on_record)
    ledger.commit(listed(url="https://hooks.example/"))
    for _ in ownership.survey():
        pass
    yield counts
    for user in (OWNER, USER):
        search = NoticeSearch(state, user, ownership.noticed_by(user), 50, NOW_MS + 9)
        for _ in search.slices():
            pass
        assert unread(counts, user) == search.unread


def unread(counts: NoticeCounts, user: str = OWNER, read_ms: int = 0, now_ms: int = NOW_MS + 9) -> int:
    return counts.unread(user, read_ms, now_ms)


def denied(ledger: Ledger, at_ms: int = NOW_MS + 5, ref: str = BOT_REF) -> None:
    ledger.commit([ListingReviewed(ref, "denied", "No.", at_ms, by=MODERATOR)])


def test_a_decision_is_counted_until_it_is_read(ledger: Ledger, counts: NoticeCounts) -> None:
    before = unread(counts)
    denied(ledger)
    assert unread(counts) == before + 1
    assert unread(counts, read_ms=NOW_MS + 5) == 0
    assert unread(counts, read_ms=NOW_MS + 4) == 1


def test_a_suspended_endpoint_is_counted_while_it_is_suspended(ledger: Ledger, counts: NoticeCounts) -> None:
    before = unread(counts)
    ledger.commit([EndpointHealthSet(BOT_REF, 10, Suspension(NOW_MS + 1, "timeout", 1, NOW_MS + 60_000))])
    assert unread(counts) == before + 1
    ledger.commit([EndpointHealthSet(BOT_REF, 0, None)])
    assert unread(counts) == before


def test_an_invitation_is_counted_until_it_is_answered(ledger: Ledger, counts: NoticeCounts) -> None:
    assert unread(counts, USER) == 0
    ledger.commit([CoOwnerSaved(BOT_REF, CoOwner("c1", user_actor(USER), NOW_MS + 1), NOW_MS + 1)])
    assert unread(counts, USER) == 1
    assert unread(counts, USER, read_ms=NOW_MS + 1) == 0
    ledger.commit([CoOwnersEnded(BOT_REF, ("c1",), "invitation_declined", NOW_MS + 2)])
    assert unread(counts, USER) == 0


def test_an_offer_is_counted_until_it_lapses(ledger: Ledger, counts: NoticeCounts) -> None:
    offered = HandOver(user_actor(USER), NOW_MS + 1, NOW_MS + 1 + DAY_MS)
    ledger.commit([OwnerSet(BOT_REF, OWNER, offered, "hand_over_offered", NOW_MS + 1)])
    assert unread(counts, USER) == 1
    assert unread(counts, USER, now_ms=NOW_MS + 1 + DAY_MS) == 0


def test_the_counts_follow_a_listing_to_its_new_owner_and_away(ledger: Ledger, counts: NoticeCounts) -> None:
    denied(ledger)
    assert (unread(counts) > 0, unread(counts, USER)) == (True, 0)
    ledger.commit([OwnerSet(BOT_REF, USER, None, "handed_over", NOW_MS + 6)])
    assert (unread(counts), unread(counts, USER) > 0) == (0, True)
    ledger.commit([ListingRemoved(BOT_REF)])
    assert (unread(counts), unread(counts, USER)) == (0, 0)


def test_a_listing_that_is_new_is_counted(ledger: Ledger, counts: NoticeCounts) -> None:
    assert unread(counts, USER) == 0
    ledger.commit([ListingSaved(OTHER_REF, USER, BOT_PROFILE, "in_review", NOW_MS, by=user_actor(USER))])
    assert unread(counts, USER) == 0
    denied(ledger, ref=OTHER_REF)
    assert unread(counts, USER) == 1


def test_a_count_is_looked_up_until_a_listing_of_the_user_changes(
    ledger: Ledger, counts: NoticeCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []

    def counting(*given: object) -> object:
        counted.append(str(given[1]))
        return notices_of(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("listings.notice_counts.notices_of", counting)
    for _ in range(3):
        unread(counts)
    assert counted == [OWNER]
    ledger.commit(listed(OTHER_REF)[:1])
    ledger.commit([UserErased(USER, ("bots/9",), at_ms=NOW_MS)])
    ledger.commit([ListingSaved("bots/9", USER, BOT_PROFILE, "in_review", NOW_MS)])
    counted.clear()
    unread(counts)
    unread(counts)
    assert counted == [OWNER, OWNER], "both listings, once"
    ledger.commit([ListingReviewed("bots/9", "denied", "No.", NOW_MS, by=MODERATOR)])
    unread(counts)
    assert counted == [OWNER, OWNER], "a listing of somebody else has changed"
    unread(counts, now_ms=NOW_MS + 9 + KEPT_MS)
    assert len(counted) == 4


def test_a_bounded_number_of_users_is_remembered(
    counts: NoticeCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("listings.notice_counts.MOST_USERS", 2)
    for number in range(5):
        unread(counts, str(10**17 + number))
    assert len(counts._counts) == 2
