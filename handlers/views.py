"""Views: the bodies of answers, as types. Law: no secret is in a view, whole or in part.

A view is a frozen struct whose JSON is the body, or a part of one. Its fields have the order, the names and
the nulls that clients see, and the OpenAPI document reads its schema off them. Every field is in every
answer, except one that may be UNSET. Times are Unix milliseconds; what never happened is null.

An answer that a single module gives may stand there, above its endpoint, as in `handlers/debug_disk.py`.

The view of a bot or a server takes the fields of the profile row (`core/rows.py`): a new field of a profile
needs no line here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

from msgspec import NODEFAULT, UNSET, Meta, Struct, StructMeta, UnsetType
from msgspec.structs import asdict, fields

from core.actors import user_of
from core.clock import date_of
from core.rows import (
    Attempt,
    BotProfile,
    CheckName,
    CheckOutcome,
    Decision,
    Deed,
    Delivery,
    DeliveryState,
    Key,
    Language,
    Listing,
    Policy,
    Review,
    ServerProfile,
    Webhook,
    WebhookEvent,
)
from core.snowflake import MAX
from core.trail import APART, KEPT
from handlers.redaction import Redactor
from listings.patterns import SNOWFLAKE
from listings.stats_problems import FIELDS_PER_BOT, NAME_CHARACTERS, JsonType, Problem, StatsProblem
from votes.queries import LastVote, VoteCount, Voted

ID_PATTERN = r"^[0-9a-f]{24}$"
DELIVERY_CURSOR_PATTERN = r"^[0-9]{1,15}-[0-9a-f]{24}$"
ERROR_CLASSES = (
    *("timeout", "dns", "resolver", "tls", "refused", "reset", "connect", "protocol", "too_large", "blocked"),
    *("proxy", "internal", "expired", "overflow"),
)
_ERROR_PATTERN = f"^(?:http_[0-9]{{3}}|{'|'.join(ERROR_CLASSES)})$"
_REDACTED = Redactor()

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]
Moment = Annotated[int, Meta(ge=0, description="Unix time in milliseconds.")]
Day = Annotated[str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["2026-01-31"])]
"""A day of UTC."""
Month = Annotated[str, Meta(pattern="^[0-9]{4}-[0-9]{2}$", examples=["2026-01"])]
"""A month of UTC."""
Snowflake = Annotated[
    str,
    Meta(
        title="Snowflake", pattern=SNOWFLAKE, description=f"A number of 17 to 20 digits, up to {MAX}."
    ),  # a schema with a title is a component of the document
]
OurId = Annotated[str, Meta(pattern=ID_PATTERN)]
"""The id of a key or a delivery."""
DeliveryCursor = Annotated[str, Meta(pattern=DELIVERY_CURSOR_PATTERN)]
KeyValue = Annotated[
    str, Meta(pattern="^vg_[A-Za-z0-9_-]{43}$", description="The value, shown in this answer alone.")
]
Secret = Annotated[str, Meta(pattern="^whsec_[A-Za-z0-9+/]{43}=$")]
ErrorClass = Annotated[str, Meta(pattern=_ERROR_PATTERN)]
HttpStatus = Annotated[int, Meta(ge=100, le=999)]
Excerpt = Annotated[
    str, Meta(max_length=500, description="The beginning of the answer's body. Never trust it.")
]
NEXT = "Give it as `after` to get the next page; null on the last one."
NoMore = Annotated[None, Meta(description="The list is whole.")]

V = TypeVar("V", bound=Struct)


class _ViewType(StructMeta):
    """Make views frozen, and their fields known by name: a default may stand before a field without one."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        config = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True, **config}
        return super().__new__(cls, name, bases, namespace, **config)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class View(Struct, frozen=True, metaclass=_ViewType):
    """The base of all views."""


class Success(View):
    """The body of a call that succeeded."""

    success: Annotated[bool, Meta(extra_json_schema={"const": True})] = True


def including(source: type[Struct], after: str = "success") -> Callable[[type[V]], type[V]]:
    """Put the fields of `source` into a view, by name and in order, behind its field `after`.

    msgspec lets no struct have two bases with fields, and appends the fields of a subclass. Type checkers see
    the view's own fields alone: fill the others in from `asdict`.
    """

    def included(view: type[V]) -> type[V]:
        own = fields(view)
        place = [field.name for field in own].index(after) + 1
        every = (*own[:place], *fields(source), *own[place:])
        body = {
            **{name: getattr(view, name) for name in ("__doc__", "__module__", "__qualname__")},
            **{field.name: field.default for field in every if field.default is not NODEFAULT},
            "__annotations__": {field.name: field.type for field in every},
        }
        return cast(type[V], _ViewType(view.__name__, (View,), body))

    return included


# -- Listings ---------------------------------------------------------------------------------------------


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


class ListingView(View):
    """The fields that bots and servers share. Those of the profile come behind `owner_id`."""

    id: Snowflake
    owner_id: Snowflake
    state: Review
    reason: Annotated[str | None, Meta(description="The reason why the listing was denied.")]
    created_at: Moment
    updated_at: Moment
    reviewed_at: Moment | None
    has_webhook: bool


@including(BotProfile, after="owner_id")
class BotView(ListingView):
    """A bot as the management API shows it."""

    server_count: Annotated[Count | None, Meta(description="The last that the bot has told.")]
    command_count: Annotated[Count | None, Meta(description="The last that the bot has told.")]
    counts_updated_at: Moment | None
    actual_server_count: Annotated[Count | None, Meta(description="The count that the operator has set.")]
    limits: OwnLimits


class ServerCheckView(View):
    """A condition that a server must meet to be listed."""

    name: CheckName
    outcome: CheckOutcome
    have: Annotated[
        Count | None,
        Meta(
            description="Members, days of age, NSFW channels that it must not have; else 1 for yes, 0 for "
            "no. Null where it is unknown."
        ),
    ]
    need: Annotated[Count, Meta(description="The least; of `nsfw` the most.")]
    at: Moment
    channels: Annotated[tuple[str, ...], Meta(description="The first of the NSFW channels, by their names.")]


class EligibilityView(View):
    """How a server meets the conditions, as it was last checked."""

    outcome: CheckOutcome
    checked_at: Moment
    checks: tuple[ServerCheckView, ...]
    failing_since: Annotated[Moment | None, Meta(description="Of an approved server; null while none fails.")]
    hidden_since: Annotated[
        Moment | None, Meta(description="Since when nobody can see it or vote for it; null while they can.")
    ]


@including(ServerProfile, after="owner_id")
class ServerView(ListingView):
    """A server as the management API shows it."""

    eligibility: Annotated[
        EligibilityView | None, Meta(description="Null for a server that was never checked.")
    ]


class StatsProblemView(View):
    """A field of a bot's pushes that was not taken."""

    field: Annotated[str, Meta(description=f"Its name, cut after {NAME_CHARACTERS} characters.")]
    problem: Problem
    given: Annotated[JsonType, Meta(description="The type of what it held.")]
    reason: str
    times: Positive
    last_at: Moment


ActorName = Annotated[
    str,
    Meta(
        description="`operator`; `gateway`, when it acted by itself; `users/` and an id; or `erased`, "
        "for a user who was erased since."
    ),
]


class ActView(View):
    """Something that was done with a listing."""

    at: Moment
    by: ActorName
    deed: Deed
    about: Annotated[str, Meta(description="Its object, such as the name of a key, or the reason; or empty.")]


Acts = Annotated[
    tuple[ActView, ...],
    Meta(
        description=f"The last {KEPT}, and the last {APART} that concern its review, and its keys. The "
        "newest comes first. Votes and pushes of counts are not among them."
    ),
]


MESSAGE_ERRORS: Mapping[str, str] = {
    "cannot_message": "the owner takes no messages from the bot, or shares no server with it",
    "http_401": "the chat platform refuses the bot token",
    "http_404": "the chat platform does not know the owner",
    "limited": "the chat platform asks for a wait",
    "timeout": "the chat platform did not answer in time",
    "unreachable": "the chat platform cannot be reached",
    "unreadable": "the answer of the chat platform cannot be read",
    "internal": "something failed on our side",
}
"""Why an owner is not told, in words. Every other error is a status of the chat platform."""
MessageError = Annotated[str, Meta(pattern=f"^(?:http_[0-9]{{3}}|{'|'.join(MESSAGE_ERRORS)})$")]


class OwnerMessageView(View):
    """The direct message that tells the owner of a listing of the last decision."""

    to: Annotated[Snowflake, Meta(description="The owner at the time of the decision.")]
    decision: Decision
    decided_at: Moment
    state: DeliveryState
    attempts: Count
    told_at: Moment | None
    next_attempt_at: Annotated[
        Count | None, Meta(description="Unix time in milliseconds; null once it is finished.")
    ]
    error: Annotated[MessageError | None, Meta(description="The class of the last attempt's failure.")]
    why: Annotated[str | None, Meta(description="The same in words.")]


OwnerMessageOrNone = Annotated[
    OwnerMessageView | None,
    Meta(description="Null if owners are sent none, or nothing is decided yet."),
]


class History(Success):
    """Who did what with a listing, when, and whether its owner was told of the last decision."""

    history: Acts
    message: OwnerMessageOrNone
    next: NoMore = None


StatsProblemViews = Annotated[
    tuple[StatsProblemView, ...],
    Meta(
        description="Fields of the bot's pushes that were not taken since this process began: the last "
        f"{FIELDS_PER_BOT}, the newest first. Only pushes with a valid key are read, and no value is kept."
    ),
]
Hint = Annotated[
    str,
    Meta(
        description="The reason why the bot's first push of `server_count` would be answered 500, and what "
        "to do. Left out where nothing is missing."
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
    next: Annotated[Snowflake | None, Meta(description=NEXT)]


@including(ServerView)
class ServerAnswer(Success):
    """The server."""


class ServerPage(Success):
    """Servers in the order of their ids as text."""

    servers: tuple[ServerView, ...]
    next: Annotated[Snowflake | None, Meta(description=NEXT)]


@including(OwnLimits)
class LimitsAnswer(Success):
    """The bot's own limits."""


class ServerCount(Success):
    """The actual server count that was set."""

    server_count: Count


def bot_view(listing: Listing) -> BotView:
    return BotView(
        **_shared(listing),
        server_count=listing.server_count,
        command_count=listing.command_count,
        counts_updated_at=listing.counts_ms,
        actual_server_count=listing.actual_server_count,
        limits=limits_view(listing),
    )


def server_view(listing: Listing) -> ServerView:
    return ServerView(**_shared(listing), eligibility=eligibility_view(listing))


def eligibility_view(listing: Listing) -> EligibilityView | None:
    known = listing.eligibility
    if known is UNSET:
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
    return OwnLimits(stats=_limit_view(listing.stats_limit), voters=_limit_view(listing.voters_limit))


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


def act_views(listing: Listing) -> tuple[ActView, ...]:
    return tuple(
        ActView(at=act.at_ms, by=act.by, deed=act.deed, about=act.about) for act in reversed(listing.trail)
    )


def owner_message_view(listing: Listing) -> OwnerMessageView | None:
    message = listing.message
    if message is UNSET:
        return None
    last = message.last
    error = last.error if last is not None else None
    pending = message.next_attempt_ms is not None
    return OwnerMessageView(
        to=user_of(message.to) or "",
        decision=message.decision,
        decided_at=message.decided_ms,
        state="pending" if pending else "delivered" if message.delivered else "failed",
        attempts=message.made,
        told_at=last.at_ms + last.duration_ms if last is not None and message.delivered else None,
        next_attempt_at=message.next_attempt_ms,
        error=error,
        why=_why(error) if error is not None else None,
    )


def _why(error: str) -> str:
    status = error.removeprefix("http_")
    return MESSAGE_ERRORS.get(error, f"the chat platform answered with status {status}")


def _shared(listing: Listing) -> dict[str, Any]:
    """The fields of `ListingView` and those of the profile."""
    return {
        "id": listing.id,
        "owner_id": listing.owner_id,
        **asdict(listing.profile),
        "state": listing.review,
        "reason": listing.reason,
        "created_at": listing.created_ms,
        "updated_at": listing.updated_ms,
        "reviewed_at": listing.reviewed_ms,
        "has_webhook": listing.webhook is not None,
    }


def _limit_view(policy: Policy | None) -> LimitView | None:
    if policy is None:
        return None
    return LimitView(requests=policy.requests, window_seconds=policy.window_seconds)


# -- Keys -------------------------------------------------------------------------------------------------


class KeyView(View):
    """An API key without its value, which nobody keeps."""

    id: OurId
    name: str
    fingerprint: Annotated[str, Meta(pattern="^[0-9a-f]{8}$", description="Tells keys apart.")]
    created_at: Moment
    rotated_at: Moment | None
    old_key_until: Annotated[
        Count | None, Meta(description="The time when the key before the rotation stops; null once it has.")
    ]
    last_used: Annotated[
        Day | None, Meta(description="The last day on which the key was accepted; null for never.")
    ]


class KeyList(Success):
    """The API keys of a bot."""

    keys: tuple[KeyView, ...]
    next: NoMore = None


class IssuedKey(Success):
    """A new API key with its value."""

    id: OurId
    name: str
    key: KeyValue
    hint: Hint | UnsetType = UNSET


class RotatedKey(Success):
    """An API key with its new value."""

    id: OurId
    key: KeyValue


def key_view(key: Key, now_ms: int) -> KeyView:
    return KeyView(
        id=key.id,
        name=key.name,
        fingerprint=key.fingerprint,
        created_at=key.created_ms,
        rotated_at=key.rotated_ms,
        old_key_until=key.old_until_ms if key.old_until_ms > now_ms else None,
        last_used=date_of(key.used_day) if key.used_day else None,
    )


# -- Webhooks ---------------------------------------------------------------------------------------------


class SuspensionView(View):
    """A pause of an endpoint whose events failed again and again."""

    since: Moment
    reason: Annotated[ErrorClass, Meta(description="The error class of the last failure.")]
    probes_failed: Count
    next_probe_at: Moment


class WebhookView(View):
    """A webhook's settings without their secrets, and how its deliveries go."""

    url: Annotated[str, Meta(description="A chat platform's without its last part, which is a password.")]
    has_token: Annotated[bool, Meta(description="True if a token is set; it is never shown.")]
    language: Annotated[
        Language | None,
        Meta(description="The language of messages to a chat platform; null for any other URL."),
    ]
    signed: Annotated[
        bool,
        Meta(
            description="True if requests are signed; the secret is shown when it is made, and never again."
        ),
    ]
    old_secret_until: Annotated[
        Count | None, Meta(description="The time when the secret before the rotation stops signing.")
    ]
    events: Annotated[tuple[WebhookEvent, ...], Meta(description="What the endpoint is told of.")]
    saved_at: Moment
    pending: Annotated[Count, Meta(description="Deliveries that wait, or are tried again.")]
    failed_in_a_row: Annotated[
        Count, Meta(description="Events that failed for good since the last that was delivered.")
    ]
    suspension: Annotated[
        SuspensionView | None,
        Meta(description="The reason why nothing is sent at the moment; null while events flow."),
    ]


@including(WebhookView)
class WebhookAnswer(Success):
    """The settings without the token, and how deliveries go."""


@including(WebhookView)
class SavedWebhook(Success):
    """The settings without the token, and the secret if it is new."""

    secret: Annotated[
        Secret | None,
        Meta(description="The secret that signs requests, when this call has made it; else null."),
    ]


class RotatedSecret(Success):
    """The new signing secret."""

    secret: Annotated[Secret, Meta(description="Shown in this answer alone.")]


OutcomeStatus = Annotated[HttpStatus | None, Meta(description="The answer's status; null when none came.")]
OutcomeError = Annotated[
    ErrorClass | None,
    Meta(
        description="Null when delivered; `http_<status>` for a status outside 200 to 299; else why no "
        "answer came, or why nothing was sent."
    ),
]


class AttemptView(View):
    """One request to an endpoint."""

    at: Moment
    duration_ms: Count
    status: OutcomeStatus
    error: OutcomeError
    excerpt: Excerpt


class DeliveryView(View):
    """An event for an endpoint, with its latest attempts.

    `status`, `duration_ms`, `error` and `excerpt` are those of the last attempt; `error` may also say why
    there was none.
    """

    id: OurId
    type: Annotated[WebhookEvent, Meta(description="What it tells of. A test counts as a vote.")]
    user: Annotated[Snowflake | None, Meta(description="Null for a decision of a review.")]
    test: bool
    state: DeliveryState
    queued_at: Moment
    next_attempt_at: Annotated[
        Count | None, Meta(description="Unix time in milliseconds; null once it is finished.")
    ]
    status: OutcomeStatus
    duration_ms: Count | None
    error: OutcomeError
    excerpt: Excerpt | None
    attempts: tuple[AttemptView, ...]


@including(DeliveryView)
class DeliveryAnswer(Success):
    """The delivery."""


class DeliveryPage(Success):
    """Deliveries of an endpoint, newest first."""

    deliveries: tuple[DeliveryView, ...]
    next: Annotated[DeliveryCursor | None, Meta(description=NEXT)]


class Redelivered(Success):
    """The size of a redelivery."""

    redelivered: Annotated[Count, Meta(description="How many deliveries are sent again.")]


def webhook_view(webhook: Webhook, pending: int, now_ms: int) -> WebhookView:
    """Show a webhook for which `pending` deliveries wait."""
    return WebhookView(
        url=webhook.shown_url,
        has_token=webhook.token is not None,
        language=webhook.language,
        signed=webhook.secret is not None,
        old_secret_until=webhook.old_secret_until_ms if webhook.old_secret_until_ms > now_ms else None,
        events=webhook.taken,
        saved_at=webhook.saved_ms,
        pending=pending,
        failed_in_a_row=webhook.failed,
        suspension=suspension_view(webhook),
    )


def suspension_view(webhook: Webhook) -> SuspensionView | None:
    suspension = webhook.suspension
    if suspension is None:
        return None
    return SuspensionView(
        since=suspension.since_ms,
        reason=suspension.reason,
        probes_failed=suspension.times - 1,
        next_probe_at=suspension.probe_ms,
    )


def delivery_view(delivery: Delivery, webhook: Webhook | None) -> DeliveryView:
    """Show a delivery. While its webhook is suspended, only a test is attempted before the next probe."""
    next_ms = delivery.next_attempt_ms
    if next_ms is not None and not delivery.test and webhook is not None and webhook.suspension is not None:
        next_ms = max(next_ms, webhook.suspension.probe_ms)
    last = delivery.attempts[-1] if delivery.attempts else None
    return DeliveryView(
        id=delivery.id,
        type=delivery.event,
        user=delivery.user or None,
        test=delivery.test,
        state=delivery.state,
        queued_at=delivery.queued_ms,
        next_attempt_at=next_ms,
        status=last.status if last else None,
        duration_ms=last.duration_ms if last else None,
        error=delivery.dropped or (last.error if last else None),
        excerpt=last.excerpt if last else None,
        attempts=tuple(_attempt_view(attempt) for attempt in delivery.attempts),
    )


def _attempt_view(attempt: Attempt) -> AttemptView:
    return AttemptView(
        at=attempt.at_ms,
        duration_ms=attempt.duration_ms,
        status=attempt.status,
        error=attempt.error,
        excerpt=attempt.excerpt,
    )


# -- Votes ------------------------------------------------------------------------------------------------


class CastVote(Success, rename={"last_ms": "lastVote", "next_ms": "nextVoteAt"}):
    """The vote that was cast."""

    vote: Annotated[Positive, Meta(description="How often the user has voted, over all time.")]
    last_ms: Moment
    next_ms: Annotated[Moment, Meta(description="The time when the user can vote again.")]


class UserVote(View, rename={"last_ms": "lastVote"}):
    """A user's vote status for a listing."""

    user: Snowflake
    voted: Voted
    vote: VoteCount
    last_ms: LastVote


class UserVotes(Success):
    """Vote statuses in the order in which the users were given."""

    votes: tuple[UserVote, ...]
    next: NoMore = None


class DayVotes(View):
    """The votes of a day."""

    day: Day
    votes: Count


class MonthVotes(View):
    """The votes of a month."""

    month: Month
    votes: Count


class HourVoters(View):
    """Those whose latest vote was in this hour of a day (UTC)."""

    hour: Annotated[int, Meta(ge=0, le=23)]
    voters: Count


class TopVoterView(View):
    """A voter who lets owners see this."""

    user: Snowflake
    name: str
    votes: Positive


class DayPushes(View):
    """The counts that a bot has pushed on a day: the greatest of each, or null for one that it has not."""

    day: Day
    server_count: Count | None
    command_count: Count | None


class ListingNumbers(Success):
    """The votes for a listing by day and month. Votes that were struck out are not among them."""

    total: Annotated[
        Count, Meta(description="The votes of all time, without those of erased users.", examples=[1_204])
    ]
    days: Annotated[
        tuple[DayVotes, ...],
        Meta(
            description="The last 90 days, the oldest first.", examples=[[{"day": "2026-01-31", "votes": 17}]]
        ),
    ]
    months: Annotated[
        tuple[MonthVotes, ...],
        Meta(
            description="The last 24 months, the oldest first.",
            examples=[[{"month": "2026-01", "votes": 402}]],
        ),
    ]
    hours: Annotated[
        tuple[HourVoters, ...],
        Meta(description="The latest vote of each voter, by hour.", examples=[[{"hour": 18, "voters": 64}]]),
    ]
    top_voters: Annotated[
        tuple[TopVoterView, ...],
        Meta(
            description="Up to 10 who have voted most, of those who let owners see their names. Nobody does "
            "unless they chose so on their own page.",
            examples=[[{"user": "444444444444444444", "name": "Ada", "votes": 31}]],
        ),
    ]
    pushes: Annotated[
        tuple[DayPushes, ...],
        Meta(
            description="The last 90 days on which the bot has pushed counts, the oldest first. A server has "
            "none.",
            examples=[[{"day": "2026-01-31", "server_count": 1_250, "command_count": 42}]],
        ),
    ]
