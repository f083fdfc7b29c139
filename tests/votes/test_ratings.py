"""votes/ratings.py: who writes a review, who answers it, and how it ends."""

from collections.abc import Sequence
from itertools import count

import pytest

from core.actors import OPERATOR, user_actor
from core.events import (
    DeliveryQueued,
    Event,
    ListingRemoved,
    RatingAnswered,
    RatingSet,
    VoteCast,
)
from core.rows import Listing, Webhook
from core.state import State
from core.user_rows import user_ref
from core.webhook_events import NewDeliveries
from languages.refusals import Refusal
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_USER, OWNER, USER, listed
from tests.support.slots_set import webhook_saved
from votes.ratings import (
    RATINGS_MOST,
    Words,
    answer,
    newest_ratings,
    rate,
    refuse_rating,
    remove_ratings,
    removed_rating,
    standing_rating,
    summary_of,
    take_back,
)

WORDS = Words(4, "It counts well, and its owner helps.")
BY = user_actor(USER)


@pytest.fixture
def state() -> State:
    state = State(10)
    apply(state, [*listed(), VoteCast(BOT_REF, USER, 1, NOW_MS)])
    return state


def apply(state: State, events: Sequence[Event]) -> Sequence[Event]:
    for event in events:
        state.apply(event)
    return events


def bot(state: State) -> Listing:
    return state.listings[BOT_REF]


def rated(
    state: State, words: Words = WORDS, *, at_ms: int = NOW_MS, user: str = USER, is_member: bool = False
) -> Sequence[Event]:
    ids = count()
    deliveries = NewDeliveries(lambda: f"d{next(ids)}", 10)
    events = rate(state, bot(state), user, words, deliveries, now_ms=at_ms, is_member=is_member)
    return apply(state, events)


def refused(state: State, user: str = USER) -> str | None:
    try:
        refuse_rating(state, bot(state), user)
    except Refusal as error:
        return error.code
    return None


def test_a_voter_writes_a_review_and_the_same_again_is_no_event(state: State) -> None:
    assert len(rated(state)) == 1
    assert rated(state) == []
    assert summary_of(state, bot(state)).count == 1
    ((row, rating),) = newest_ratings(state, bot(state))
    assert (row.ref, rating.stars, rating.text) == (user_ref(USER), *WORDS)


def test_an_edit_keeps_the_time_of_the_review(state: State) -> None:
    rated(state)
    rated(state, Words(1, "Not any more."), at_ms=NOW_MS + 5)
    found = standing_rating(state.users[user_ref(USER)], bot(state))
    assert found is not None
    assert (found.stars, found.at_ms, found.edited_ms) == (1, NOW_MS, NOW_MS + 5)


def test_nobody_else_writes_one(state: State) -> None:
    assert (refused(state), refused(state, OTHER_USER), refused(state, OWNER)) == (
        None,
        "has_not_voted",
        "rates_own",
    )


def test_a_member_of_a_server_needs_no_vote(state: State) -> None:
    assert len(rated(state, user=OTHER_USER, is_member=True)) == 1
    assert len(rated(state, Words(1, "Changed my mind."), user=OTHER_USER)) == 1, "an edit asks nobody"


def test_a_user_has_a_bounded_number_of_reviews_and_those_of_lost_listings_make_room(state: State) -> None:
    others = [f"bots/{number:018}" for number in range(RATINGS_MOST)]
    for ref in others:
        apply(state, [*listed(ref), VoteCast(ref, USER, 1, NOW_MS)])
        deliveries = NewDeliveries(lambda: "d", 10)
        apply(state, rate(state, state.listings[ref], USER, WORDS, deliveries, now_ms=NOW_MS))
    assert refused(state) == "too_many_ratings"
    apply(state, [ListingRemoved(others[0])])
    events = rated(state)
    dropped, written = events
    assert isinstance(dropped, RatingSet)
    assert (dropped.rating.listing, dropped.rating.stars) == (others[0], 0)
    assert isinstance(written, RatingSet)
    assert len(state.users[user_ref(USER)].ratings_given) == RATINGS_MOST


def test_the_endpoint_gets_an_event_for_a_new_review_alone(state: State) -> None:
    apply(state, [webhook_saved(BOT_REF, Webhook("https://e.example", NOW_MS, events=("rating.posted",)))])
    _, queued = rated(state)
    assert isinstance(queued, DeliveryQueued)
    assert (queued.kind, queued.user, queued.stars) == ("rating.posted", USER, 4)
    assert len(rated(state, Words(5, "Better and better."))) == 1


def test_a_review_is_taken_back_and_written_again_without_the_answer(state: State) -> None:
    rated(state)
    apply(state, answer(state, bot(state), USER, "Thanks", NOW_MS, by=OPERATOR))
    assert len(apply(state, take_back(state, bot(state), USER, NOW_MS, by=BY))) == 1
    assert take_back(state, bot(state), USER, NOW_MS, by=BY) == []
    rated(state)
    found = standing_rating(state.users[user_ref(USER)], bot(state))
    assert found is not None
    assert found.standing_answer is None


def test_a_removed_review_stays_removed(state: State) -> None:
    rated(state)
    apply(
        state, remove_ratings(state, bot(state), [USER, OTHER_USER], "It insults.", NOW_MS + 1, by=OPERATOR)
    )
    assert refused(state) == "rating_was_removed"
    found = removed_rating(state.users[user_ref(USER)], bot(state))
    assert found is not None
    assert (found.reason, found.text) == ("It insults.", "")
    assert summary_of(state, bot(state)).count == 0


def test_an_answer_is_edited_and_the_same_again_is_no_event(state: State) -> None:
    with pytest.raises(Refusal, match="no_such_rating"):
        answer(state, bot(state), USER, "Thanks", NOW_MS, by=OPERATOR)
    rated(state)
    (first,) = apply(state, answer(state, bot(state), USER, "Thanks", NOW_MS - 9, by=OPERATOR))
    assert isinstance(first, RatingAnswered)
    assert first.answer.at_ms == NOW_MS, "the clock of the author was ahead"
    assert answer(state, bot(state), USER, "Thanks", NOW_MS, by=OPERATOR) == []
    assert len(answer(state, bot(state), USER, "", NOW_MS, by=OPERATOR)) == 1
