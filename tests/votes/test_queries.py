"""votes/queries.py: the vote status of a user."""

import pytest

from core.events import ListingRemoved, ListingSaved, NodeNamed, UserErased, VoteCast
from core.ledger import Ledger
from core.state import State
from tests.support.committed_rows import a_delivery, a_finished_delivery, a_listing
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, DAY_MS, NOW_MS, OTHER_REF, OTHER_USER, USER
from votes import queries
from votes.queries import RecentVotes, VoteStatus, refs_that_know, vote_status

NEVER = VoteStatus(voted=False, vote=0, last_ms=None)


def status(state: State, ref: str = BOT_REF, user: str = USER, *, now_ms: int = NOW_MS) -> VoteStatus:
    return vote_status(state, ref, user, now_ms, DAY_MS)


@pytest.fixture
def a_seventh_vote(ledger: Ledger) -> None:
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 7, NOW_MS)])


@pytest.mark.parametrize(
    ("passed_ms", "voted"), [(0, True), (1, True), (DAY_MS - 1, True), (DAY_MS, False), (DAY_MS + 1, False)]
)
@pytest.mark.usefixtures("a_seventh_vote")
def test_a_vote_counts_while_fewer_than_24_hours_have_passed(
    state: State, passed_ms: int, voted: bool
) -> None:
    assert status(state, now_ms=NOW_MS + passed_ms) == VoteStatus(voted, 7, NOW_MS)


@pytest.mark.usefixtures("a_seventh_vote")
def test_the_count_is_over_all_time(state: State) -> None:
    assert status(state, now_ms=NOW_MS + 1_000 * DAY_MS) == VoteStatus(False, 7, NOW_MS)


def test_a_user_who_never_voted_has_no_last_vote(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    assert status(state) == NEVER


@pytest.mark.usefixtures("a_seventh_vote")
def test_a_vote_is_of_one_user_for_one_listing(ledger: Ledger, state: State) -> None:
    a_listing(ledger, OTHER_REF)
    assert status(state, user=OTHER_USER) == NEVER
    assert status(state, ref=OTHER_REF) == NEVER


@pytest.mark.usefixtures("a_seventh_vote")
def test_a_clock_that_was_set_back_takes_no_vote_away(state: State) -> None:
    assert status(state, now_ms=NOW_MS - DAY_MS) == VoteStatus(True, 7, NOW_MS)


@pytest.mark.usefixtures("a_seventh_vote")
def test_nothing_is_left_of_an_erased_user(ledger: Ledger, state: State) -> None:
    ledger.commit([UserErased(USER, (BOT_REF,))])
    assert status(state) == NEVER


@pytest.mark.usefixtures("a_seventh_vote")
def test_nothing_is_left_of_a_removed_listing(ledger: Ledger, state: State) -> None:
    ledger.commit([ListingRemoved(BOT_REF)])
    assert status(state) == NEVER


def test_the_refs_that_know_a_user_have_a_vote_of_theirs_or_a_delivery_that_names_them(
    ledger: Ledger, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "SLICE_LISTINGS", 1)
    refs = [f"bots/{number}" for number in range(1, 6)]
    for ref in refs:
        a_listing(ledger, ref)
    ledger.commit([VoteCast(refs[0], USER, 1, NOW_MS), VoteCast(refs[1], OTHER_USER, 1, NOW_MS)])
    a_delivery(ledger, "pending", refs[2])
    a_finished_delivery(ledger, "finished", refs[3])

    found = list(refs_that_know(state, USER))

    assert found == [[refs[0]], [], [refs[2]], [refs[3]], []]


def test_the_search_for_those_who_know_a_user_goes_on_when_listings_come_and_go(
    ledger: Ledger, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "SLICE_LISTINGS", 1)
    for ref in ("bots/2", "bots/4", "bots/6"):
        a_listing(ledger, ref)
        ledger.commit([VoteCast(ref, USER, 1, NOW_MS)])
    search = refs_that_know(state, USER)
    assert next(search) == ["bots/2"]
    ledger.commit([ListingRemoved("bots/2"), ListingRemoved("bots/4")])
    a_listing(ledger, "bots/5")
    assert list(search) == [[], ["bots/6"]]


def test_a_listing_that_is_not_known_yet_may_know_a_user(ledger: Ledger, state: State) -> None:
    a_listing(ledger, OTHER_REF)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS, "b.1"), VoteCast(OTHER_REF, USER, 1, NOW_MS)])
    assert sorted(ref for found in refs_that_know(state, USER) for ref in found) == [BOT_REF, OTHER_REF]
    assert [ref for found in refs_that_know(state, OTHER_USER) for ref in found] == []


def test_votes_of_all_nodes_are_one_status(ledger: Ledger, state: State) -> None:
    ledger.commit([NodeNamed("a.1")])
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 2, NOW_MS), VoteCast(BOT_REF, USER, 3, NOW_MS - DAY_MS, "b.1")])
    assert status(state) == VoteStatus(True, 5, NOW_MS)


def test_the_newest_votes_are_found_whatever_the_order_of_users() -> None:
    state, first = empty_state(), 10**17
    state.apply(ListingSaved(BOT_REF, OTHER_USER, BOT_PROFILE, "approved", NOW_MS))
    for number in range(5_000):
        user, at_ms = first + number, NOW_MS + (number * 7_919) % 5_000
        state.apply(VoteCast(BOT_REF, str(user), 2, at_ms))
    recent = RecentVotes(state, BOT_REF, 3)

    slices = sum(1 for _ in recent.slices())

    assert slices > 1
    assert [(vote.last_ms, vote.votes) for vote in recent.found] == [
        (NOW_MS + 4_999 - place, 2) for place in range(3)
    ]
    assert all((int(vote.user) - first) * 7_919 % 5_000 == vote.last_ms - NOW_MS for vote in recent.found)


def test_without_votes_there_is_no_newest() -> None:
    recent = RecentVotes(empty_state(), BOT_REF, 3)

    assert list(recent.slices()) == recent.found == []
