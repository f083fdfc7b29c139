"""Bots and servers as the management API shows them.

The view of a bot or a server takes the fields of the profile row (`core/rows.py`): a new field of a profile
needs no line here.
"""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict

from actions.views import (
    NEXT,
    NULL,
    ActorName,
    Count,
    Hint,
    Moment,
    Positive,
    Snowflake,
    Success,
    UserId,
    View,
    example,
    including,
)
from core.actors import user_of
from core.rows import CheckName, CheckOutcome, HandOver, Listing, Policy, Review
from kinds.bots import BotProfile
from kinds.servers import ServerProfile
from listings.rules import change_version
from listings.stats_problems import FIELDS_PER_BOT, NAME_CHARACTERS, JsonType, Problem, StatsProblem
from watchers.redaction import Redactor

_REDACTED = Redactor()


class LimitView(View):
    """Requests per window."""

    requests: Positive
    window_seconds: Positive


OwnLimit = Annotated[
    LimitView | None, Meta(description="The bot's own limit; null for the deployment's default.")
]


class OwnLimits(View):
    """The limits that the operator gave a bot."""

    stats: OwnLimit
    voters: OwnLimit


class HandOverView(View):
    """An offer of the ownership. Nothing changes until the heir accepts."""

    heir: UserId
    offered_at: Moment
    lapses_at: Moment


class ListingView(View):
    """The fields that bots and servers share. Those of the profile come behind `owner_id`."""

    id: Snowflake
    owner_id: Annotated[Snowflake, example("223456789012345678")]
    state: Annotated[Review, example("approved")]
    reason: Annotated[
        str | None,
        Meta(description="The reason why the listing was denied, or its approval withdrawn."),
        NULL,
    ]
    created_at: Moment
    updated_at: Moment
    reviewed_at: Moment | None
    has_webhook: bool
    hand_over: Annotated[
        HandOverView | None, Meta(description="The offer of the ownership, which may have lapsed."), NULL
    ]


class ChangeView(View):
    """A change of an approved listing, about which no moderator has decided yet."""

    version: Annotated[str, Meta(description="Send it with a decision."), example("5f1e9c02a7d46b83")]
    is_public: Annotated[
        bool,
        Meta(
            description="True if everybody sees the proposed version until the decision; false if they see "
            "the agreed one (`review.edits`)."
        ),
    ]
    sent_by: ActorName
    sent_at: Moment
    waiting_since: Annotated[Moment, Meta(description="When the first of its edits was sent.")]


@including(BotProfile, after=None)
class BotVersion(View):
    """A version of a bot's profile."""


@including(ServerProfile, after=None)
class ServerVersion(View):
    """A version of a server's profile."""


C = TypeVar("C", bound=ChangeView)


class BotChange(ChangeView):
    """A change of an approved bot, about which no moderator has decided yet."""

    agreed: BotVersion
    proposed: BotVersion


class ServerChange(ChangeView):
    """A change of an approved server, about which no moderator has decided yet."""

    agreed: ServerVersion
    proposed: ServerVersion


@including(BotProfile, after="owner_id")
class BotView(ListingView):
    """A bot as the management API shows it. Its profile is what everybody sees."""

    change: Annotated[BotChange | None, NULL]

    extra_owners: Annotated[tuple[UserId, ...], Meta(description="The co-owners.")]
    invited: Annotated[tuple[UserId, ...], Meta(description="Users who have not accepted yet."), example([])]
    server_count: Annotated[Count | None, Meta(description="The last that the bot has told."), example(1_200)]
    command_count: Annotated[Count | None, Meta(description="The last that the bot has told."), example(42)]
    counts_updated_at: Moment | None
    actual_server_count: Annotated[
        Count | None, Meta(description="The count that the operator has set."), example(1_200)
    ]
    limits: OwnLimits


class ServerCheckView(View):
    """A condition that a server must meet to be listed."""

    name: Annotated[CheckName, example("members")]
    outcome: Annotated[CheckOutcome, example("pass")]
    have: Annotated[
        Count | None,
        Meta(
            description="Members, days of age, NSFW channels that it must not have; else 1 for yes, 0 for "
            "no. Null where it is unknown."
        ),
    ]
    need: Annotated[Count, Meta(description="The least; of `nsfw` the most.")]
    at: Moment
    channels: Annotated[
        tuple[str, ...], Meta(description="The first of the NSFW channels, by their names."), example([])
    ]


class EligibilityView(View):
    """How a server meets the conditions, as it was last checked."""

    outcome: Annotated[CheckOutcome, example("pass")]
    checked_at: Moment
    checks: tuple[ServerCheckView, ...]
    failing_since: Annotated[
        Moment | None, Meta(description="Of an approved server; null while none fails."), NULL
    ]
    hidden_since: Annotated[
        Moment | None,
        Meta(description="Since when nobody can see it or vote for it; null while they can."),
        NULL,
    ]


@including(ServerProfile, after="owner_id")
class ServerView(ListingView):
    """A server as the management API shows it. Its profile is what everybody sees."""

    change: Annotated[ServerChange | None, NULL]
    eligibility: Annotated[
        EligibilityView | None, Meta(description="Null for a server that was never checked.")
    ]


class StatsProblemView(View):
    """A field of a bot's pushes that was not taken."""

    field: Annotated[
        str,
        Meta(description=f"Its name, cut after {NAME_CHARACTERS} characters.", examples=["commands_count"]),
    ]
    problem: Problem
    given: Annotated[JsonType, Meta(description="The type of what it held."), example("number")]
    reason: Annotated[str, example("The field is named command_count.")]
    times: Positive
    last_at: Moment


StatsProblemViews = Annotated[
    tuple[StatsProblemView, ...],
    Meta(
        description="Fields of the bot's pushes that were not taken since this process began: the last "
        f"{FIELDS_PER_BOT}, the newest first. Only pushes with a valid key are read, and no value is kept."
    ),
]


@including(BotView)
class BotAnswer(Success):
    """The bot."""


@including(BotView)
class ShownBot(Success):
    """The bot, and what its pushes did wrong lately."""

    stats_problems: StatsProblemViews


@including(BotView)
class ApprovedBot(Success):
    """The bot, and what it lacks before its first push."""

    hint: Hint | UnsetType = UNSET


class BotPage(Success):
    """Bots in the order of their ids as text."""

    bots: tuple[BotView, ...]
    next: Annotated[Snowflake | None, Meta(description=NEXT), NULL]


@including(ServerView)
class ServerAnswer(Success):
    """The server."""


class ServerPage(Success):
    """Servers in the order of their ids as text."""

    servers: tuple[ServerView, ...]
    next: Annotated[Snowflake | None, Meta(description=NEXT), NULL]


@including(OwnLimits)
class LimitsAnswer(Success):
    """The bot's own limits."""


class ServerCount(Success):
    """The actual server count that was set."""

    server_count: Annotated[Count, example(1_200)]


def bot_view(listing: Listing) -> BotView:
    counts = listing.counts
    return BotView(
        **_shared(listing),
        change=_change_view(listing, BotChange, BotVersion),
        extra_owners=listing.extra_owners,
        invited=listing.invited,
        server_count=counts.server_count if counts is not None else None,
        command_count=counts.command_count if counts is not None else None,
        counts_updated_at=counts.at_ms if counts is not None else None,
        actual_server_count=listing.actual,
        limits=limits_view(listing),
    )


def server_view(listing: Listing) -> ServerView:
    return ServerView(
        **_shared(listing),
        change=_change_view(listing, ServerChange, ServerVersion),
        eligibility=eligibility_view(listing),
    )


def eligibility_view(listing: Listing) -> EligibilityView | None:
    known = listing.eligibility
    if known is None:
        return None
    return EligibilityView(
        outcome=known.outcome,
        checked_at=known.at_ms,
        checks=tuple(
            ServerCheckView(
                name=each.name,
                outcome=each.outcome,
                have=each.have,
                need=each.need,
                at=each.at_ms,
                channels=each.channels,
            )
            for each in known.checks
        ),
        failing_since=known.failing_ms,
        hidden_since=known.hidden_ms,
    )


def listing_answer(listing: Listing) -> BotAnswer | ServerAnswer:
    """Return the answer that shows a listing and nothing else."""
    if isinstance(listing.profile, BotProfile):
        return BotAnswer(**asdict(bot_view(listing)))
    return ServerAnswer(**asdict(server_view(listing)))


def limits_view(listing: Listing) -> OwnLimits:
    own = listing.limits
    if own is None:
        return OwnLimits(stats=None, voters=None)
    return OwnLimits(stats=_limit_view(own.stats), voters=_limit_view(own.voters))


def stats_problem_views(problems: Sequence[StatsProblem]) -> tuple[StatsProblemView, ...]:
    return tuple(
        StatsProblemView(
            field=_REDACTED(problem.field),  # whoever names the fields may have sent the key as one
            problem=problem.problem,
            given=problem.given,
            reason=problem.reason,
            times=problem.times,
            last_at=problem.last_ms,
        )
        for problem in problems
    )


def _shared(listing: Listing) -> dict[str, Any]:
    """The fields of `ListingView` and those of the profile."""
    return {
        "id": listing.id,
        "owner_id": listing.owner_id,
        **asdict(listing.profile),
        "state": listing.state,
        "reason": listing.reason,
        "created_at": listing.created_ms,
        "updated_at": listing.updated_ms,
        "reviewed_at": listing.decided_ms,
        "has_webhook": listing.webhook is not None,
        "hand_over": _hand_over_view(listing.hand_over),
    }


def _change_view(listing: Listing, view: type[C], version: type[View]) -> C | None:
    change = listing.change
    if change is None:
        return None
    fields: dict[str, Any] = {
        "version": change_version(listing),
        "is_public": change.is_public,
        "sent_by": change.by,
        "sent_at": change.sent_ms,
        "waiting_since": change.since_ms,
        "agreed": version(**asdict(listing.agreed)),
        "proposed": version(**asdict(listing.latest)),
    }
    return view(**fields)


def _hand_over_view(offered: HandOver | None) -> HandOverView | None:
    if offered is None:
        return None
    heir = user_of(offered.successor) or ""
    return HandOverView(heir=heir, offered_at=offered.at_ms, lapses_at=offered.until_ms)


def _limit_view(policy: Policy | None) -> LimitView | None:
    if policy is None:
        return None
    return LimitView(requests=policy.requests, window_seconds=policy.window_seconds)
