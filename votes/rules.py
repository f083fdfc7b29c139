"""Casting, removing and erasing votes. Invariant: a vote and the webhook that tells of it are one record.

A like is a vote whose cooldown has no end, until its user takes it back. So a user has one for a listing, and
likes are counted, struck out, erased and replicated as votes are.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from core import events as ev
from core.actors import Actor
from core.clock import month_of_day
from core.state import State
from core.vote_counts import REMOVED, REMOVED_DAYS, REMOVED_MONTHS, clamped_day
from core.webhook_events import NewDeliveries, told
from kinds.registry import kind_of
from languages.refusals import Refusal, voted_too_soon
from votes.ratings import remove_ratings


def cast_vote(
    state: State,
    ref: str,
    user: str,
    deliveries: NewDeliveries,
    *,
    now_ms: int,
    cooldown_ms: int,
    kept_until_ms: int = 0,
) -> tuple[ev.VoteCast, *tuple[ev.DeliveryQueued | ev.DeliveryDropped, ...]]:
    """Return a vote, and its delivery if a webhook is set. Raises Refusal.

    `kept_until_ms` is the end of a cooldown whose vote was erased.
    """
    listing = state.listings.get(ref)
    if listing is None:
        raise Refusal("no_such_listing")
    if not listing.is_public:
        raise Refusal("votes_need_approval")
    known = state.votes.get(ref, int(user))
    next_vote_ms = max(known[1] + cooldown_ms, kept_until_ms) if known is not None else kept_until_ms
    if now_ms < next_vote_ms:
        raise voted_too_soon(next_vote_ms, now_ms)
    count_here = state.votes.parts(ref, int(user)).get(state.fleet.own, 0)
    total = known[0] + 1 if known is not None else 1
    of_day, of_month = state.vote_counts.at(ref, state.fleet.own, clamped_day(now_ms))
    vote = ev.VoteCast(
        ref,
        user,
        count_here + 1,
        now_ms,
        of_day=of_day + 1,
        of_month=of_month + 1,
        total=total if total > count_here + 1 else 0,
    )
    return vote, *told(state, listing, "vote", deliveries, now_ms, users=(user,))


def like(state: State, ref: str, user: str, *, now_ms: int, kept_until_ms: int = 0) -> list[ev.VoteCast]:
    """Return the like of a user, or nothing if it is given already. Raises Refusal.

    `kept_until_ms` is the end of the cooldown of a like that was struck out or erased. The event counts no
    day: those of likes follow from the likes (`core/vote_counts.py`).
    """
    if state.votes.get(ref, int(user)) is not None:
        return []
    listing = state.listings.get(ref)
    if listing is None:
        raise Refusal("no_such_listing")
    if not listing.is_public:
        raise Refusal("likes_need_approval")
    if now_ms < kept_until_ms:
        raise Refusal("liked_too_soon", retry_seconds=-((now_ms - kept_until_ms) // 1_000))
    return [ev.VoteCast(ref, user, 1, now_ms)]


def erase_user(
    user: str, refs: Collection[str], pseudonym: str = "", *, now_ms: int, by: Actor
) -> list[ev.Event]:
    """Erase the votes of a user for the listings, all their deliveries that name the user, and the user's
    name in what was done with them.

    `pseudonym` stands for the user in a fleet, where others may know what nothing here knows of.
    """
    if not refs and not pseudonym:
        return []
    return [ev.UserErased(user, tuple(sorted(refs)), pseudonym, at_ms=now_ms, by=by)]


class VoteRemoval(NamedTuple):
    """All votes of some users for a listing, to be removed."""

    users: Sequence[str]
    reason: str
    goes_on: bool = False
    """True for a further part of an action that the listing remembers already."""


class KeptCooldowns(NamedTuple):
    """The cooldown of a vote, and the pseudonym under which it runs on when the vote is gone."""

    cooldown_ms: int
    pseudonym_of: Callable[[str, str], str]
    """Returns the pseudonym of a listing and a user."""


def remove_votes(
    state: State,
    ref: str,
    removal: VoteRemoval,
    deliveries: NewDeliveries,
    cooldowns: KeptCooldowns,
    *,
    now_ms: int,
    by: Actor,
) -> list[ev.Event]:
    """Remove all votes of the users for the listing. Raises Refusal.

    The cooldowns of the votes run on. The endpoint gets an event for each user, if it takes such events. In a
    fleet the event also names users without a vote here, because another node may know of one.
    """
    users, reason = removal.users, removal.reason
    listing = state.listings.get(ref)
    if listing is None:
        raise Refusal("no_such_listing")
    votes = [(user, state.votes.get(ref, int(user))) for user in users]
    known = {user: vote for user, vote in votes if vote is not None}
    removed = tuple(users) if state.fleet.label else tuple(known)
    if not removed:
        return []
    ends = {
        cooldowns.pseudonym_of(ref, user): last_ms + cooldowns.cooldown_ms
        for user, (_, last_ms) in known.items()
    }
    is_liked = kind_of(ref).has("likes")
    days = _removed_by_day(state, ref, [last_ms for _, last_ms in known.values()]) if not is_liked else ()
    of_all = state.vote_counts.by_key(ref, state.fleet.own, REMOVED, 0)
    if reason:  # without one, users take back likes of their own
        of_all += sum(count for count, _ in known.values())
    event = ev.VotesRemoved(ref, removed, "" if removal.goes_on else reason, now_ms, days, of_all, by=by)
    struck = [*known] if reason else []
    told_of = told(state, listing, "vote.struck", deliveries, now_ms, users=struck, reason=reason)
    # Reviews are of those who voted.
    reviews = remove_ratings(state, listing, users, reason, now_ms, by=by) if reason else []
    # Cooldowns come first, so that other nodes, too, know of them before they forget the votes.
    return [*_kept(ends, now_ms), event, *reviews, *told_of]


def _removed_by_day(state: State, ref: str, last_votes: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """Return the days of the last votes, with how many this node has removed of each, and of its month.

    Nothing tells the days of earlier votes: those stay in the counts of their days. Of a day or a month no
    more goes than is left: votes of older versions are not among its votes, and take none of those away.
    """
    own, counts = state.fleet.own, state.vote_counts
    days, months = Counter(map(clamped_day, last_votes)), Counter[int]()
    left, left_of_months = counts.days(ref), counts.months(ref)
    found = []
    for day in sorted(days):
        month = month_of_day(day)
        months[month] += days[day]
        of_day = counts.by_key(ref, own, REMOVED_DAYS, day) + min(days[day], left.get(day, 0))
        of_month = min(months[month], left_of_months.get(month, 0))
        found.append((day, of_day, counts.by_key(ref, own, REMOVED_MONTHS, month) + of_month))
    return tuple(found)


def keep_cooldowns(
    state: State,
    user: str,
    refs: Collection[str],
    pseudonym_of: Callable[[str, str], str],
    *,
    now_ms: int,
    cooldown_ms: int,
) -> list[ev.Event]:
    """Keep the cooldowns of a user's votes for the listings, which an erasure in the same record removes.

    Args:
        pseudonym_of: returns the pseudonym of a listing and a user.
    """
    votes = ((ref, state.votes.get(ref, int(user))) for ref in sorted(refs))
    return _kept(
        {pseudonym_of(ref, user): vote[1] + cooldown_ms for ref, vote in votes if vote is not None}, now_ms
    )


def _kept(ends: Mapping[str, int], now_ms: int) -> list[ev.Event]:
    """Keep the cooldowns that still run. `ends` are by pseudonym."""
    running = tuple((pseudonym, end_ms) for pseudonym, end_ms in ends.items() if now_ms < end_ms)
    return [ev.CooldownsKept(running, now_ms)] if running else []


def drop_cooldowns(state: State, now_ms: int) -> list[ev.Event]:
    """Drop the cooldowns that are over."""
    is_any_over = any(end_ms <= now_ms for end_ms in state.cooldowns.values())
    return [ev.CooldownsKept((), now_ms)] if is_any_over else []
