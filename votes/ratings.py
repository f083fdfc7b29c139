"""The rules of reviews by users, which the code calls ratings: stars and a text, from users who voted.

    none -> given -> edited, any number of times -> taken back by its author
              |
              +----> removed by a moderator: the author reads why, and writes no other one for the listing

Invariant: a user has at most one review of a listing, writes none of a listing of their own, and has at most
RATINGS_MOST.

An owner answers a review once. The answer may be edited and taken back. It ends with the review.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from core import events as ev
from core.actors import Actor, user_actor
from core.rating_index import Entry, RatingSummary
from core.rows import Listing
from core.state import State
from core.user_rows import Rating, RatingAnswer, UserRow, user_ref
from core.webhook_events import NewDeliveries, told
from languages.refusals import Refusal

RATINGS_MOST = 100
"""The reviews of one user."""
LEAST_CHARACTERS, MOST_CHARACTERS = 20, 1_000


class Words(NamedTuple):
    """The review that a user writes."""

    stars: int
    text: str


def standing_rating(row: UserRow | None, listing: Listing) -> Rating | None:
    """Return the review of a user that everybody sees on the page of the listing."""
    found = row.rating(listing.ref) if row is not None else None
    return found if found is not None and found.stars and found.at_ms >= listing.created_ms else None


def removed_rating(row: UserRow | None, listing: Listing) -> Rating | None:
    """Return the review of a user that moderators have removed."""
    found = row.rating(listing.ref) if row is not None else None
    return found if found is not None and found.reason and found.at_ms >= listing.created_ms else None


def summary_of(state: State, listing: Listing) -> RatingSummary:
    return state.users.ratings.summary(listing.ref, listing.created_ms)


def newest_ratings(
    state: State, listing: Listing, before: tuple[int, int] | None = None
) -> Iterator[tuple[UserRow, Rating]]:
    """Yield the reviews of a listing with their authors, the newest first.

    Args:
        before: the time and the author of the review behind which to begin.
    """
    entries: Iterator[Entry] = state.users.ratings.newest(listing.ref, listing.created_ms, before)
    for _, user, _ in entries:
        row = state.users.get(user_ref(str(user)))
        found = row.rating(listing.ref) if row is not None else None
        if row is not None and found is not None:
            yield row, found


def refuse_rating(state: State, listing: Listing, user: str, *, is_member: bool = False) -> None:
    """Raise the Refusal of a user who may not write a review of the listing now, or edit one.

    Args:
        is_member: true if the chat platform says that the user is in the server that the listing stands for.
    """
    if not listing.is_public:
        raise Refusal("ratings_need_approval")
    if user == listing.owner_id or user in listing.extra_owners:
        raise Refusal("rates_own")
    row = state.users.get(user_ref(user))
    if removed_rating(row, listing) is not None:
        raise Refusal("rating_was_removed")
    if standing_rating(row, listing) is not None:
        return
    if not is_member and state.votes.get(listing.ref, int(user)) is None:
        raise Refusal("has_not_voted")
    if row is not None and len(_standing(state, row)) >= RATINGS_MOST:
        raise Refusal("too_many_ratings", most=RATINGS_MOST)


def rate(
    state: State,
    listing: Listing,
    user: str,
    words: Words,
    deliveries: NewDeliveries,
    *,
    now_ms: int,
    is_member: bool = False,
) -> list[ev.Event]:
    """Write a user's review of a listing, or edit it. Changes nothing if it is the same. Raises Refusal.

    The endpoint gets an event for a new one, if it takes such events.
    """
    refuse_rating(state, listing, user, is_member=is_member)
    ref, by = user_ref(user), user_actor(user)
    row = state.users.get(ref)
    known = standing_rating(row, listing)
    if known is not None:
        if (known.stars, known.text) == words:
            return []
        edited = replace(known, stars=words.stars, text=words.text, edited_ms=now_ms, stamp=None, answer=None)
        return [ev.RatingSet(ref, edited, now_ms, by=by)]
    over = _over(state, row) if row is not None else []
    dropped: list[ev.Event] = [_gone(ref, each, now_ms, by) for each in over if each.listing != listing.ref]
    # Another node may have dated the listing, or the answer to an earlier review, by a clock that is ahead.
    before = row.rating(listing.ref) if row is not None else None
    answered_ms = before.answer.at_ms + 1 if before is not None and before.answer is not None else 0
    at_ms = max(now_ms, listing.created_ms, answered_ms)
    written = ev.RatingSet(ref, Rating(listing.ref, at_ms, words.stars, words.text), now_ms, by=by)
    events = told(state, listing, "rating.posted", deliveries, now_ms, users=(user,))
    return [
        *dropped,
        written,
        *(
            replace(each, stars=words.stars) if isinstance(each, ev.DeliveryQueued) else each
            for each in events
        ),
    ]


def take_back(state: State, listing: Listing, user: str, now_ms: int, *, by: Actor) -> list[ev.Event]:
    """Take back the review of a user. Changes nothing if there is none."""
    known = standing_rating(state.users.get(user_ref(user)), listing)
    return [_gone(user_ref(user), known, now_ms, by)] if known is not None else []


def remove_ratings(
    state: State, listing: Listing, users: Collection[str], reason: str, now_ms: int, *, by: Actor
) -> list[ev.Event]:
    """Remove the reviews of these users for the reason, which they read. Those without one are left out."""
    found = [(ref, standing_rating(state.users.get(ref), listing)) for ref in map(user_ref, users)]
    return [
        ev.RatingSet(ref, Rating(known.listing, known.at_ms, edited_ms=now_ms, reason=reason), now_ms, by=by)
        for ref, known in found
        if known is not None
    ]


def answer(state: State, listing: Listing, user: str, text: str, now_ms: int, *, by: Actor) -> list[ev.Event]:
    """Answer the review of a user, or edit the answer; without a text, take it back. Raises Refusal."""
    known = standing_rating(state.users.get(user_ref(user)), listing)
    if known is None:
        raise Refusal("no_such_rating")
    before = known.standing_answer
    if (before.text if before is not None else "") == text:
        return []
    # The clock of the author's node may be ahead.
    given = RatingAnswer(max(now_ms, known.at_ms), text)
    return [ev.RatingAnswered(user_ref(user), listing.ref, given, now_ms, by=by)]


def _gone(ref: str, rating: Rating, now_ms: int, by: Actor) -> ev.RatingSet:
    return ev.RatingSet(ref, Rating(rating.listing, rating.at_ms), now_ms, by=by)


def _standing(state: State, row: UserRow) -> list[Rating]:
    """Return the reviews of a user about listings that still exist."""
    found = ((each, state.listings.get(each.listing)) for each in row.ratings_given)
    return [each for each, listing in found if listing is not None and each.at_ms >= listing.created_ms]


def _over(state: State, row: UserRow) -> list[Rating]:
    """Return the reviews of a user about listings that are gone. They are removed to make room."""
    standing = _standing(state, row)
    return [each for each in row.ratings_given if each not in standing]
