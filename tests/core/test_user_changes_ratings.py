"""core/user_changes.py: the reviews of a user after events, and those of two rows joined.

Their invariants, after any sequence of events, are in test_state_invariants.py and in
tests/replication/test_merge_laws.py.
"""

from msgspec import msgpack
from msgspec.structs import replace

from core.events import RatingAnswered, RatingEvent, RatingSet
from core.rows import Stamp
from core.user_changes import RATINGS_GONE, changed_user, joined_users, newest_ms_of_user
from core.user_rows import Rating, RatingAnswer, UserRow, user_ref
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, USER

REF = user_ref(USER)
GIVEN = Rating(BOT_REF, NOW_MS, 4, "It counts well.")
THANKS = RatingAnswer(NOW_MS, "Thanks")
SET = RatingSet(REF, GIVEN, NOW_MS)
ANSWERED = RatingAnswered(REF, BOT_REF, THANKS, NOW_MS)
GONE = RatingSet(REF, Rating(BOT_REF, NOW_MS), NOW_MS)


def after(*events: RatingEvent, row: UserRow | None = None, stamp: Stamp | None = None) -> UserRow:
    for event in events:
        row = changed_user(row, event, stamp)
    assert row is not None
    return row


def test_a_row_without_reviews_has_the_bytes_that_it_had_before_there_were_any() -> None:
    row = UserRow(REF, NOW_MS)
    assert b"ratings" not in msgpack.encode(row)
    assert after(SET, GONE, row=row) == row


def test_reviews_stand_in_the_order_of_their_listings_and_an_edit_keeps_the_answer() -> None:
    other = replace(GIVEN, listing=OTHER_REF)
    edited = replace(GIVEN, stars=5, edited_ms=NOW_MS + 1)
    row = after(RatingSet(REF, other, NOW_MS), SET, ANSWERED, RatingSet(REF, edited, NOW_MS + 1))
    assert row.ratings == (replace(edited, answer=THANKS), other)
    assert row.rating(OTHER_REF) == other


def test_an_answer_that_is_taken_back_is_none() -> None:
    row = after(SET, ANSWERED, RatingAnswered(REF, BOT_REF, RatingAnswer(NOW_MS + 1), NOW_MS + 1))
    assert row.ratings == (GIVEN,)


def test_an_answer_to_a_review_that_is_not_there_changes_nothing() -> None:
    row = UserRow(REF, NOW_MS)
    assert after(ANSWERED, row=row) == row


def test_an_answer_stands_for_the_review_that_it_is_about() -> None:
    assert replace(GIVEN, answer=THANKS).standing_answer == THANKS
    assert replace(GIVEN, at_ms=NOW_MS + 1, answer=THANKS).standing_answer is None
    assert GIVEN.standing_answer is None


def test_a_review_that_moderators_removed_is_remembered_with_the_reason() -> None:
    removed = Rating(BOT_REF, NOW_MS, edited_ms=NOW_MS + 1, reason="It insults.")
    row = after(SET, RatingSet(REF, removed, NOW_MS + 1))
    assert row.ratings == (removed,)
    assert row.ratings_given == ()


def test_in_a_fleet_a_review_that_is_gone_is_remembered_and_stays_gone() -> None:
    here = after(SET, stamp=Stamp(1, "a.1"))
    gone = after(GONE, row=here, stamp=Stamp(2, "a.1"))
    assert [each.stars for each in gone.ratings] == [0]
    assert joined_users(here, gone) == joined_users(gone, here) == gone
    assert newest_ms_of_user(gone) == 2


def test_of_two_nodes_the_later_review_and_the_later_answer_stand() -> None:
    first = after(SET, stamp=Stamp(1, "a.1"))
    edited = after(RatingSet(REF, replace(GIVEN, stars=1), NOW_MS), row=first, stamp=Stamp(3, "a.1"))
    answered = after(ANSWERED, row=first, stamp=Stamp(4, "b.1"))
    for joined in (joined_users(edited, answered), joined_users(answered, edited)):
        (rating,) = joined.ratings
        assert (rating.stars, rating.answer) == (1, replace(THANKS, stamp=Stamp(4, "b.1")))
        assert newest_ms_of_user(joined) == 4


def test_a_row_remembers_the_newest_of_those_that_are_gone() -> None:
    row = UserRow(REF, NOW_MS)
    for number in range(RATINGS_GONE + 2):
        gone = RatingSet(REF, Rating(f"bots/{number}", NOW_MS), NOW_MS)
        row = after(gone, row=row, stamp=Stamp(number, "a.1"))
    assert len(row.ratings) == RATINGS_GONE
    assert min(each.stamp.ms for each in row.ratings if each.stamp is not None) == 2


def test_a_row_forgets_no_removal_however_many_reviews_are_taken_back() -> None:
    removed = Rating(BOT_REF, NOW_MS, edited_ms=NOW_MS, reason="It insults.")
    row = after(RatingSet(REF, removed, NOW_MS), stamp=Stamp(NOW_MS))
    for number in range(RATINGS_GONE + 2):
        taken_back = RatingSet(REF, Rating(f"bots/{number}", NOW_MS), NOW_MS)
        row = after(taken_back, row=row, stamp=Stamp(NOW_MS + 1 + number))
    assert row.rating(BOT_REF) == replace(removed, stamp=Stamp(NOW_MS))
