"""Likes: a user likes a listing, and takes that back. Doing either again changes nothing."""

from collections.abc import Sequence
from typing import Annotated

from actions.action import Action, Call, Command
from actions.views import Count, Success, described
from core.events import Event
from listings.rules import listing_of
from people.quarantine import refuse_quarantined
from votes.rules import KeptCooldowns, VoteRemoval, like, remove_votes


class Likes(Success):
    """The likes of the listing, as they are now."""

    likes: Annotated[Count, described("The number of users who like the listing.")]


async def give(call: Call, _: None) -> Likes:
    """Take the like of the user in the path."""
    return await give_of(call, call.user_id(1))


async def give_of(call: Call, user: str) -> Likes:
    """Take a like. Raises Refusal."""
    tools = call.tools
    refuse_quarantined(call.state, user, "vote", call.now_ms)
    kept_until_ms = call.state.cooldowns.get(tools.vote_pseudonym(call.ref, user), 0)
    events = like(
        call.state,
        call.ref,
        user,
        now_ms=call.now_ms,
        kept_until_ms=kept_until_ms,
    )
    return await _commit(call, events)


async def take_back(call: Call, _: None) -> Likes:
    """Take back the like of the user in the path."""
    return await take_back_of(call, call.user_id(1))


async def take_back_of(call: Call, user: str) -> Likes:
    """Take back a like. In a fleet it may be one that this node does not know yet. Raises Refusal."""
    events = remove_votes(
        call.state,
        call.ref,
        VoteRemoval((user,), ""),
        call.tools.new_deliveries(),
        KeptCooldowns(0, call.tools.vote_pseudonym),
        now_ms=call.now_ms,
        by=call.by,
    )
    return await _commit(call, events)


async def _commit(call: Call, events: Sequence[Event]) -> Likes:
    listing_of(call.state, call.ref)

    def view() -> Likes:
        return Likes(likes=call.state.vote_counts.total(call.ref))

    return await call.commit(events, view) if events else view()


LIKE = Action(
    name="like{Thing}",
    run=give,
    route="PUT /manage/{kind}/{id}/likes/{user_id}",
    of="likes",
    summary="Like a {thing} for a user",
    about=(
        "A user has one like for a {thing}. If it is given already, nothing changes. After a moderator has "
        "removed it, the user can give it again when $vote_cooldown have passed since it was given. A user "
        "under a quarantine for `vote` is refused, with the reason."
    ),
    outcome="The number of likes.",
    refuses=("quarantined", "likes_need_approval", "liked_too_soon"),
    command=Command("likes give", "Like a listing for a user."),
)
TAKE_BACK = Action(
    name="unlike{Thing}",
    run=take_back,
    route="DELETE /manage/{kind}/{id}/likes/{user_id}",
    of="likes",
    summary="Take back the like of a user for a {thing}",
    about="If the user has given none, nothing changes. The user can like the {thing} again at once.",
    outcome="The number of likes.",
    command=Command("likes take-back", "Take back the like of a user for a listing."),
)
LIKE_ACTIONS = (LIKE, TAKE_BACK)
