"""Vote removals: moderators take all votes of users out of a listing. Invariant: the owner reads the reason.

The cooldown of each user's last vote runs on. A call removes the votes of a bounded number of users, in a few
records, so that the loop is never held for long. It may be made again, because votes that are gone are not
removed twice.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from actions.action import Access, Action, Call, Command
from actions.views import Count, Success
from core.actors import user_of
from core.rows import Listing
from core.vote_port import leaves_of
from listings.forms import MOST_USERS_REMOVED, Strike
from listings.rules import listing_of
from votes.rules import KeptCooldowns, VoteRemoval, remove_votes

USERS_AT_ONCE = 100
"""Users in one record: about 2 ms, with a webhook that gets an event for each."""


class StruckVotes(Success):
    """How much a call has struck out, or would."""

    users: Annotated[Count, Meta(description="How many users' votes.")]
    votes: Annotated[Count, Meta(description="How many votes these were together.")]
    more: Annotated[
        bool,
        Meta(
            description="True if there are more within the time: make the call again. One takes those of "
            f"{MOST_USERS_REMOVED:,} users."
        ),
    ]


async def remove(call: Call, form: Strike) -> StruckVotes:
    """Remove votes, or count them for a dry run."""
    users, more = await _chosen(call, form)
    call = call.rechecked()
    found = [vote for user in users if (vote := call.state.votes.get(call.ref, int(user))) is not None]
    answer = StruckVotes(users=len(found), votes=sum(count for count, _ in found), more=more)
    if not form.dry_run:
        await _commit(call, users, form.reason)
    return answer


async def _chosen(call: Call, form: Strike) -> tuple[Sequence[str], bool]:
    """Return the users that a form chooses, each once, and true if there are more."""
    if form.since is None:
        row = listing_of(call.state, call.ref)
        return [*dict.fromkeys(flagged_users(row) if form.flagged else form.users)], False
    users: list[str] = []
    until_ms = form.until if form.until is not None else call.now_ms
    await call.tools.in_slices(_voters_within(call, form.since, until_ms, users))
    return users[:MOST_USERS_REMOVED], len(users) > MOST_USERS_REMOVED


def _voters_within(call: Call, since_ms: int, until_ms: int, found: list[str]) -> Iterator[None]:
    """Find the users whose last vote came within a time, one leaf of the table after another.

    Ends with one user more than a call takes, if there are more.
    """
    votes = call.state.votes
    for leaf in leaves_of(votes, call.ref):
        # In the order of their times. A leaf is 1,024 votes, or twice as many while it grows.
        found += [
            str(user) for last_ms, user, _ in votes.newest(leaf, len(leaf)) if since_ms <= last_ms <= until_ms
        ]
        if len(found) > MOST_USERS_REMOVED:
            return
        yield


def flagged_users(row: Listing) -> Iterator[str]:
    """Yield the users whose votes for the listing were flagged, but for erased ones."""
    for flag in row.flags:
        user = user_of(flag.by)
        if user is not None:
            yield user


async def _commit(call: Call, users: Sequence[str], reason: str) -> None:
    """Remove the votes, some users a record. The first record alone is in the audit log, with the reason."""
    tools, position = call.tools, None

    def records() -> Iterator[None]:
        nonlocal position
        for start in range(0, len(users), USERS_AT_ONCE):
            events = remove_votes(
                call.state,
                call.ref,
                VoteRemoval(users[start : start + USERS_AT_ONCE], reason, goes_on=position is not None),
                tools.new_deliveries(),
                KeptCooldowns(tools.cooldown_ms, tools.vote_mark),
                now_ms=tools.clock.now_ms(),
                by=call.by,
            )
            if events:
                position = tools.ledger.commit(events)
                yield

    await tools.in_slices(records())
    if position is not None:
        await tools.ledger.durable(position)


REMOVE_VOTES = Action(
    name="strike{Thing}Votes",
    run=remove,
    form=Strike,
    view=StruckVotes,
    access=Access("decide"),
    method="POST",
    path="/manage/{kind}/{id}/votes/strike",
    of="votes",
    tag="Votes",
    summary="Strike votes for a {thing} out",
    about=f"""\
All votes of the users for the {{thing}} go, and its counts follow. The owner is told why, by a notice and by
the webhook event `vote.struck`. The users cannot vote again before they could have anyway.

Choose users, the flagged votes, or those whose last vote came within a time: {MOST_USERS_REMOVED:,} users in
one call. What is struck out stays so at all nodes of a fleet. Of a user's earlier votes nobody knows the
days: the numbers of days and months lose each user's last vote alone.""",
    outcome="How much is struck out.",
    refuses=("no_such_listing", "unavailable"),
    command=Command("votes strike"),
)
