"""Casting and erasing votes. Law: a vote and the webhook that tells of it are one record."""

from collections.abc import Collection

from core.actors import Actor
from core.events import DeliveryDropped, DeliveryQueued, Event, UserErased, VoteCast
from core.refusals import Conflict, NotFound, VotedTooSoon
from core.state import State


def cast_vote(
    state: State, ref: str, user: str, *, now_ms: int, cooldown_ms: int, delivery_id: str, pending_most: int
) -> tuple[VoteCast, *tuple[DeliveryQueued | DeliveryDropped, ...]]:
    """Return a vote, and its delivery if a webhook is set. Raises NotFound, Conflict, VotedTooSoon.

    When `pending_most` deliveries wait already, the new one is in the log, and not sent.
    """
    listing = state.listings.get(ref)
    if listing is None:
        raise NotFound("listing")
    if listing.review != "approved":
        raise Conflict("votes_need_approval")
    _, last_ms = state.votes.get(ref, int(user)) or (0, None)
    if last_ms is not None and now_ms - last_ms < cooldown_ms:
        next_vote_ms = last_ms + cooldown_ms
        raise VotedTooSoon(next_vote_ms, next_vote_ms - now_ms)
    count_here = state.votes.parts(ref, int(user)).get(state.fleet.own, 0)
    vote = VoteCast(ref, user, count_here + 1, now_ms)
    if listing.webhook is None:
        return (vote,)
    queued = DeliveryQueued(delivery_id, ref, user, test=False, at_ms=now_ms)
    if len(state.deliveries.pending_of(ref)) < pending_most:
        return vote, queued
    return vote, queued, DeliveryDropped(delivery_id, ref, made=0, reason="overflow", at_ms=now_ms)


def erase_user(user: str, refs: Collection[str], mark: str = "", *, now_ms: int, by: Actor) -> list[Event]:
    """Erase the votes of a user for the listings, all their deliveries that name the user, and the user's
    name in what was done with them.

    `mark` stands for the user in a fleet, where others may know what nothing here knows of.
    """
    if not refs and not mark:
        return []
    return [UserErased(user, tuple(sorted(refs)), mark, at_ms=now_ms, by=by)]
