"""listings/notices.py: notices tell an owner of the actions of others, and of nothing else."""

from core.actors import user_actor
from core.events import ChangeDecided, ListingReviewed, ListingSaved, OwnerSet, RatingSet, UserSignedIn
from core.ledger import Ledger
from core.state import State
from core.user_rows import Rating, UserProfile, UserSession, user_ref
from listings.notices import NoticeDeed, NoticeSearch, rating_notices, removed_ratings
from tests.support.memory_ledger import state_after
from tests.support.sample_rows import (
    BOT_PROFILE,
    BOT_REF,
    NOW_MS,
    OTHER_REF,
    OTHER_USER,
    OWNER,
    USER,
    listed,
)
from tests.support.slots_set import notices_read

REFS = [BOT_REF, OTHER_REF, "bots/1"]


def notices(state: State, user: str = OWNER, most: int = 50) -> NoticeSearch:
    search = NoticeSearch(state, user, REFS, most, NOW_MS)
    for _ in search.slices():
        pass
    return search


def told(search: NoticeSearch) -> list[tuple[str, NoticeDeed, bool]]:
    return [(each.row.ref, each.act.action, each.is_new) for each in search.newest]


def list_two(ledger: Ledger) -> None:
    for ref in (BOT_REF, OTHER_REF):
        ledger.commit([ListingSaved(ref, OWNER, BOT_PROFILE, "in_review", NOW_MS, by=user_actor(OWNER))])


def decide(ledger: Ledger, ref: str, at_ms: int, by: str = USER) -> None:
    ledger.commit([ListingReviewed(ref, "denied", "Why.", at_ms, by=user_actor(by))])


def test_an_owner_is_told_of_acts_of_others_the_newest_first(ledger: Ledger, state: State) -> None:
    list_two(ledger)
    assert (told(notices(state)), notices(state).unread) == ([], 0)
    decide(ledger, OTHER_REF, NOW_MS + 1)
    decide(ledger, BOT_REF, NOW_MS + 2)
    assert told(notices(state)) == [(BOT_REF, "denied", True), (OTHER_REF, "denied", True)]


def test_one_s_own_acts_are_none(ledger: Ledger, state: State) -> None:
    list_two(ledger)
    decide(ledger, BOT_REF, NOW_MS + 1, by=OWNER)
    assert told(notices(state)) == []


def test_what_was_read_is_not_new_and_what_came_since_is(ledger: Ledger, state: State) -> None:
    list_two(ledger)
    session = UserSession("d1", "", NOW_MS, NOW_MS)
    ledger.commit([UserSignedIn(user_ref(OWNER), UserProfile("owner"), session, by=user_actor(OWNER))])
    decide(ledger, OTHER_REF, NOW_MS + 1)
    ledger.commit([notices_read(user_ref(OWNER), NOW_MS + 1)])
    decide(ledger, BOT_REF, NOW_MS + 2)
    found = notices(state)
    assert told(found) == [(BOT_REF, "denied", True), (OTHER_REF, "denied", False)]
    assert found.unread == 1


def test_all_that_are_new_are_counted_and_the_newest_are_kept(ledger: Ledger, state: State) -> None:
    list_two(ledger)
    decide(ledger, OTHER_REF, NOW_MS + 2)
    decide(ledger, BOT_REF, NOW_MS + 1)
    found = notices(state, most=1)
    assert (told(found), found.unread) == ([(OTHER_REF, "denied", True)], 2)


def test_a_handover_is_told_to_both_and_says_whose_it_is_now(ledger: Ledger, state: State) -> None:
    list_two(ledger)
    by = user_actor(OWNER)
    ledger.commit([OwnerSet(BOT_REF, USER, None, "handed_over", NOW_MS + 1, by=by)])
    assert [(each.act.action, each.is_given) for each in notices(state, USER).newest] == [
        ("handed_over", True)
    ]
    assert [(each.act.action, each.is_given) for each in notices(state).newest] == [("handed_over", False)]


def test_a_decision_about_a_change_and_a_withdrawn_approval_are_notices(ledger: Ledger, state: State) -> None:
    list_two(ledger)
    by = user_actor(USER)
    ledger.commit([ChangeDecided(BOT_REF, BOT_PROFILE, True, None, NOW_MS + 1, by=by)])
    ledger.commit([ChangeDecided(BOT_REF, BOT_PROFILE, False, "Spam.", NOW_MS + 2, by=by)])
    ledger.commit([ListingReviewed(BOT_REF, "denied", "Spam.", NOW_MS + 3, withdraws=True, by=by)])
    assert [action for _, action, _ in told(notices(state))] == [
        "withdrawn",
        "change_refused",
        "change_agreed",
    ]


def test_an_owner_reads_of_new_reviews_once_and_an_author_of_a_removed_one() -> None:
    given = [Rating(BOT_REF, NOW_MS + at, 4, "It counts well.") for at in (3, 5)]
    author, other = user_ref(USER), user_ref(OTHER_USER)
    state = state_after([*listed(), RatingSet(author, given[0], NOW_MS), RatingSet(other, given[1], NOW_MS)])
    row = state.listings[BOT_REF]
    told = [[*rating_notices(state, row, OWNER, read_ms)] for read_ms in (0, NOW_MS + 3, NOW_MS + 5)]
    assert [[(each.at_ms, each.act.about, each.is_new) for each in some] for some in told] == [
        [(NOW_MS + 5, "2", True)],
        [(NOW_MS + 5, "1", True)],
        [(NOW_MS + 5, "", False)],
    ]
    assert [*rating_notices(state, row, USER, 0)] == []
    removed = Rating(BOT_REF, NOW_MS + 3, edited_ms=NOW_MS + 9, reason="It insults.")
    state.apply(RatingSet(author, removed, NOW_MS + 9))
    (notice,) = removed_ratings(state, USER)
    assert (notice.at_ms, notice.act.about, notice.is_new) == (NOW_MS + 9, "It insults.", True)
    assert [*removed_ratings(state, OTHER_USER)] == []
    searches = [NoticeSearch(state, USER, [], 9, NOW_MS, has_ratings=has) for has in (True, False)]
    for search in searches:
        assert [*search.slices()] == []
    assert [search.unread for search in searches] == [1, 0]
