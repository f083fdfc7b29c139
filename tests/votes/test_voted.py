"""votes/voted.py: a search for the votes of a user misses none, while the log grows."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from core.events import Event, ListingRemoved, Merged, UserErased, VotesMerged
from core.state import State
from core.vote_table import VoteTable
from tests.support.examples import examples
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF, USER, listed, voted
from votes.voted import SLICE_VOTES, VotedFor, VotedListings, VotedPage

READY_MS = NOW_MS + 2
REFS = [f"bots/{number:018}" for number in range(600)]


class Story:
    """A state and the reader of its log."""

    def __init__(self, most_users: int = 4, most_refs: int = 1_000) -> None:
        self.state = State(10)
        self.voted = VotedListings(self.state, most_users, most_refs)

    def commit(self, *events: Event) -> None:
        for event in events:
            self.state.apply(event)
        self.voted.on_record(1, events)

    def found(self, user: str = USER) -> set[str]:
        known = self.voted.known(user)
        if known is None:
            with self.voted.search(user) as search:
                for _ in search.slices():
                    pass
            known = search.refs
        return known

    def page(
        self, after: tuple[int, str] | None = None, most: int = 50, also: frozenset[str] = frozenset()
    ) -> Sequence[VotedFor]:
        page = VotedPage(self.state, USER, self.found(), also, after, ready_ms=READY_MS, limit=most)
        for _ in page.slices():
            pass
        return page.page.rows


def test_the_first_look_goes_through_everything_and_the_next_asks_the_log() -> None:
    story = Story()
    story.commit(*listed(), *listed(SERVER_REF), voted(int(USER)))
    assert story.found() == {BOT_REF}
    story.commit(voted(int(USER), 1, NOW_MS, SERVER_REF), voted(7, 1, NOW_MS, OTHER_REF))
    assert story.voted.known(USER) == {BOT_REF, SERVER_REF}


def test_a_vote_behind_the_back_of_a_search_is_found() -> None:
    story = Story()
    for ref in REFS:
        story.commit(*listed(ref))
    with story.voted.search(USER) as search:
        slices = search.slices()
        next(slices)
        story.commit(voted(int(USER), 1, NOW_MS, REFS[0]))
        story.commit(voted(int(USER), 1, NOW_MS, REFS[-1]))
        for _ in slices:
            pass
    assert story.found() == {REFS[0], REFS[-1]}


def test_votes_that_come_with_a_copy_are_found() -> None:
    story, other = Story(), VoteTable()
    story.commit(*listed(), *listed(OTHER_REF), voted(int(USER)))
    assert story.found() == {BOT_REF}
    other.put(OTHER_REF, int(USER), 1, NOW_MS)
    leaf = other.next_leaf(OTHER_REF, -1) or b""
    merged = VotesMerged(OTHER_REF, ("b.1",), leaf)
    with story.voted.search("7") as search:
        story.commit(Merged("b.1", 1), merged)
        assert search.refs == set()
    assert story.found() == {BOT_REF, OTHER_REF}


def test_votes_that_are_gone_are_not_shown() -> None:
    story = Story()
    story.commit(*listed(), *listed(OTHER_REF))
    story.commit(voted(int(USER)), voted(int(USER), 1, NOW_MS, OTHER_REF))
    assert len(story.page()) == 2
    story.commit(ListingRemoved(BOT_REF))
    assert [row.ref for row in story.page()] == [OTHER_REF]
    story.commit(UserErased(USER, (OTHER_REF,)))
    assert story.voted.known(USER) is None
    assert story.page() == []


def test_the_users_and_the_listings_that_are_kept_are_bounded() -> None:
    story = Story(most_users=2, most_refs=3)
    for ref in REFS[:4]:
        story.commit(*listed(ref))
    for user in ("1", "2", "3"):
        story.found(user)
    assert [story.voted.known(user) is not None for user in ("1", "2", "3")] == [False, True, True]
    for ref in REFS[:4]:
        story.commit(voted(3, 1, NOW_MS, ref))
    assert story.voted.known("3") is None
    assert story.found("3") == set(REFS[:4])  # found, and too much to be kept
    assert story.voted.known("3") is None


def test_one_reminded_of_without_a_vote_comes_last() -> None:
    story = Story()
    story.commit(*listed(), *listed(OTHER_REF), voted(int(USER)))
    assert story.page(also=frozenset({OTHER_REF})) == [
        VotedFor(NOW_MS, BOT_REF, 1),
        VotedFor(0, OTHER_REF, 0),
    ]


@examples(20)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=SLICE_VOTES + 50), st.integers(1, 60))
def test_pages_show_every_vote_once_and_first_those_after_which_another_is_possible(
    times: list[int], most: int
) -> None:
    story = Story()
    for ref, time in zip(REFS, times, strict=False):
        story.commit(*listed(ref), voted(int(USER), 1, NOW_MS + time, ref))
    shown: list[VotedFor] = []
    while page := story.page((shown[-1].last_ms, shown[-1].ref) if shown else None, most):
        assert len(page) <= most
        shown += page
    cast = sorted((NOW_MS + time, ref) for time, ref in zip(times, REFS, strict=False))
    ready = sorted((each for each in cast if each[0] <= READY_MS), key=lambda each: (-each[0], each[1]))
    assert [(row.last_ms, row.ref) for row in shown] == [
        *ready,
        *(each for each in cast if each[0] > READY_MS),
    ]
