"""Casting and erasing votes. Law: a vote and the webhook that tells of it are one record."""

from collections.abc import Callable, Collection

from core.actors import Actor
from core.events import CooldownsKept, DeliveryDropped, DeliveryQueued, Event, UserErased, VoteCast
from core.refusals import Conflict, NotFound, VotedTooSoon
from core.state import State
from core.vote_counts import clamped_day


def cast_vote(
    state: State,
    ref: str,
    user: str,
    *,
    now_ms: int,
    cooldown_ms: int,
    delivery_id: str,
    pending_most: int,
    kept_until_ms: int = 0,
) -> tuple[VoteCast, *tuple[DeliveryQueued | DeliveryDropped, ...]]:
    """Return a vote, and its delivery if a webhook is set. Raises NotFound, Conflict, VotedTooSoon.

    When `pending_most` deliveries wait already, the new one is in the log, and not sent. `kept_until_ms` is
    the end of a cooldown whose vote was erased.
    """
    listing = state.listings.get(ref)
    if listing is None:
        raise NotFound("listing")
    if not listing.is_public:
        raise Conflict("votes_need_approval")
    known = state.votes.get(ref, int(user))
    next_vote_ms = max(known[1] + cooldown_ms, kept_until_ms) if known is not None else kept_until_ms
    if now_ms < next_vote_ms:
        raise VotedTooSoon(next_vote_ms, next_vote_ms - now_ms)
    count_here = state.votes.parts(ref, int(user)).get(state.fleet.own, 0)
    total = known[0] + 1 if known is not None else 1
    of_day, of_month = state.vote_counts.at(ref, state.fleet.own, clamped_day(now_ms))
    vote = VoteCast(
        *(ref, user, count_here + 1, now_ms),
        of_day=of_day + 1,
        of_month=of_month + 1,
        total=total if total > count_here + 1 else 0,
    )
    if listing.webhook is None or "vote" not in listing.webhook.taken:
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


def keep_cooldowns(
    state: State,
    user: str,
    refs: Collection[str],
    mark_of: Callable[[str, str], str],
    *,
    now_ms: int,
    cooldown_ms: int,
) -> list[Event]:
    """Keep the cooldowns of a user's votes for the listings, which an erasure in the same record removes.

    Args:
        mark_of: returns the mark of a listing and a user.
    """
    votes = ((ref, state.votes.get(ref, int(user))) for ref in sorted(refs))
    ends = ((ref, vote[1] + cooldown_ms) for ref, vote in votes if vote is not None)
    running = tuple((mark_of(ref, user), end_ms) for ref, end_ms in ends if now_ms < end_ms)
    return [CooldownsKept(running, now_ms)] if running else []


def drop_cooldowns(state: State, now_ms: int) -> list[Event]:
    """Drop the cooldowns that are over."""
    is_any_over = any(end_ms <= now_ms for end_ms in state.cooldowns.values())
    return [CooldownsKept((), now_ms)] if is_any_over else []
