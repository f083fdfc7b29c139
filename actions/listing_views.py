"""Listings as the management API shows them.

The views of a kind are made of its profile and its parts: a new field of a profile, or a new kind, needs no
line here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import UNSET, UnsetType, convert
from msgspec.structs import asdict

from actions.action import Call
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
    described,
    example,
    id_view,
    including,
    view_of,
)
from core.actors import user_of
from core.events import Event
from core.rows import BotLimits, CheckOutcome, HandOver, InviteProblem, Listing, Review
from kinds.kind import CheckName, Kind, PartName
from kinds.registry import KINDS, kind_of
from listings.rules import change_version, listing_of
from listings.stats_problems import FIELDS_PER_BOT, NAME_CHARACTERS, JsonType, Problem, StatsProblem
from watchers.redaction import Redactor

_REDACTED = Redactor()


class LimitView(View):
    """Requests per window."""

    requests: Positive
    window_seconds: Positive


OwnLimit = Annotated[LimitView | None, described("The bot's own limit; null for the deployment's default.")]


class OwnLimits(View):
    """The limits that the operator gave a bot."""

    stats: OwnLimit
    voters: OwnLimit


class HandOverView(View):
    """An offer of the ownership. Nothing changes until the heir accepts."""

    heir: UserId
    offered_at: Moment
    lapses_at: Moment


class _Owned(View):
    """The first field of every listing behind its id."""

    owner_id: Annotated[Snowflake, example("223456789012345678")]


class _Standing(View):
    """The fields of every listing behind those of its profile."""

    state: Annotated[Review, example("approved")]
    reason: Annotated[
        str | None, described("The reason why the listing was denied, or its approval withdrawn.", None)
    ]
    created_at: Moment
    updated_at: Moment
    reviewed_at: Moment | None
    has_webhook: bool
    hand_over: Annotated[
        HandOverView | None, described("The offer of the ownership, which may have expired.", None)
    ]


class _CoOwned(View):
    """The fields of a listing that can have co-owners."""

    extra_owners: Annotated[tuple[UserId, ...], described("The co-owners.")]
    invited: Annotated[tuple[UserId, ...], described("The invited users, who have not accepted yet.", [])]


class _Counted(View):
    """The fields of a listing whose program pushes counts."""

    server_count: Annotated[Count | None, described("The last count that the bot has pushed.", 1_200)]
    command_count: Annotated[Count | None, described("The last count that the bot has pushed.", 42)]
    counts_updated_at: Moment | None
    actual_server_count: Annotated[Count | None, described("The count that the operator has set.", 1_200)]


class ChangeView(View):
    """A change of an approved listing, about which no moderator has decided yet."""

    version: Annotated[
        str, described("The version of the change. Send it with a decision.", "5f1e9c02a7d46b83")
    ]
    is_public: Annotated[
        bool,
        described(
            "True if everybody sees the proposed version until the decision; false if they see the "
            "agreed version (`review.edits`)."
        ),
    ]
    sent_by: ActorName
    sent_at: Moment
    waiting_since: Annotated[Moment, described("The time when the first edit of the change was sent.")]


class ServerCheckView(View, rename={"at_ms": "at"}):
    """A condition that a listing must meet."""

    name: Annotated[CheckName, example("members")]
    outcome: Annotated[CheckOutcome, example("pass")]
    have: Annotated[
        Count | None,
        described(
            "The number of members, of days of age, or of NSFW channels; for other conditions 1 for "
            "yes and 0 for no. Null if it is unknown."
        ),
    ]
    need: Annotated[Count, described("The least number that is allowed; for `nsfw` the greatest.")]
    at_ms: Moment
    channels: Annotated[tuple[str, ...], described("The names of the first NSFW channels.", [])]


class EligibilityView(
    View, rename={"at_ms": "checked_at", "failing_ms": "failing_since", "hidden_ms": "hidden_since"}
):
    """The result of the last check of the conditions that a listing must meet."""

    outcome: Annotated[CheckOutcome, example("pass")]
    at_ms: Moment
    checks: tuple[ServerCheckView, ...]
    failing_ms: Annotated[
        Moment | None,
        described(
            "The time when an approved listing began to fail a condition; null if it fails none.", None
        ),
    ]
    hidden_ms: Annotated[
        Moment | None,
        described(
            "The time when the listing was hidden, so that nobody can see it or vote for it; null if it is "
            "not hidden.",
            None,
        ),
    ]


_Eligibility = Annotated[EligibilityView | None, described("The last check; null if it was never checked.")]


class InviteCheckView(
    View,
    rename={
        "at_ms": "checked_at",
        "members": "approximate_member_count",
        "online": "approximate_presence_count",
    },
):
    """The last answer of the chat platform about the invite of a server."""

    code: Annotated[str, described("The invite that was asked about.", "abc123")]
    at_ms: Moment
    problem: Annotated[
        InviteProblem | None,
        described(
            "Why visitors do not get the invite: it is `gone`, leads `elsewhere`, or `expires`. Null for a "
            "valid one.",
            None,
        ),
    ]
    members: Annotated[Count | None, described("The people on the server, approximately.", 1_250)]
    online: Annotated[Count | None, described("The people who are online there, approximately.", 180)]


_InviteCheck = Annotated[
    InviteCheckView | None, described("The last answer about its invite; null if there was none.")
]


class TemplateCheckView(
    View,
    rename={
        "at_ms": "checked_at",
        "uses": "use_count",
        "channels": "channel_count",
        "roles": "role_count",
    },
):
    """The last answer of the chat platform about a template."""

    at_ms: Moment
    problem: Annotated[
        Literal["gone"] | None, described("`gone` if it does not exist any more. Null if it does.", None)
    ]
    uses: Annotated[
        Count | None, described("The servers that were made of it; null if it is not known.", 3_912)
    ]
    channels: Annotated[Count, described("The channels of such a server.", 14)]
    roles: Annotated[Count, described("Its roles, without that of everyone.", 6)]


_Downloads = Annotated[Count, described("The downloads of its files, each visitor once a day.")]
_TemplateCheck = Annotated[TemplateCheckView | None, described("The last answer; null if there was none.")]


class StatsProblemView(View):
    """A field of a bot's pushes that was rejected."""

    field: Annotated[
        str, described(f"The name of the field, cut after {NAME_CHARACTERS} characters.", "commands_count")
    ]
    problem: Problem
    given: Annotated[JsonType, described("The JSON type of the value.", "number")]
    reason: Annotated[str, example("The field is named command_count.")]
    times: Positive
    last_at: Moment


StatsProblemViews = Annotated[
    tuple[StatsProblemView, ...],
    described(
        "Fields of the bot's pushes that were rejected since this process began: the last "
        f"{FIELDS_PER_BOT}, the newest first. Only pushes with a valid key count, and no value is "
        "kept."
    ),
]


class _WithHint(View):
    """The field of a listing that was approved, if its program pushes counts."""

    hint: Hint | UnsetType = UNSET


@including(OwnLimits)
class LimitsAnswer(Success):
    """The bot's own limits."""


class ServerCount(Success):
    """The actual server count that was set."""

    server_count: Annotated[Count, example(1_200)]


class KindViews(NamedTuple):
    """The views of the listings of a kind.

    Args:
        answer: the listing as an answer.
        shown: the listing shown alone, with the errors of its pushes.
        approved: the listing once it is approved.
    """

    version: type[Any]
    change: type[Any]
    listing: type[Any]
    answer: type[Any]
    shown: type[Any]
    approved: type[Any]
    page: type[Any]


def _views_of(kind: Kind) -> KindViews:
    one, title = kind.singular, kind.title
    version = view_of(f"{title}Version", f"A version of a {one}'s profile.", kind.profile)
    change = view_of(
        f"{title}Change",
        f"A change of an approved {one}, about which no moderator has decided yet.",
        ChangeView,
        agreed=version,
        proposed=version,
    )
    listing = view_of(
        f"Listed{title}View",
        f"A {one} as the management API shows it. Its profile is what everybody sees.",
        *(view_of("Identified", "", id=id_view(kind)), _Owned, kind.profile, _Standing),
        view_of("Changed", "", change=Annotated[change | None, NULL]),
        *(part.fields for part in _PARTS if kind.has(part.name)),
    )
    answer = view_of(f"{title}Answer", f"The {one}.", Success, listing)
    shown = approved = answer
    if kind.stats is not None:
        about = f"The {one}, and recent errors of its pushes."
        shown = view_of(f"Shown{title}", about, Success, listing, stats_problems=StatsProblemViews)
        about = f"The {one}, and what it lacks before its first push."
        approved = view_of(f"Approved{title}", about, Success, listing, _WithHint)
    page = view_of(
        f"{title}Page",
        f"{kind.plural.capitalize()} in the order of their ids as text.",
        Success,
        **{kind.plural: tuple.__class_getitem__((listing, ...))},
        next=Annotated[id_view(kind) | None, described(NEXT, None)],
    )
    return KindViews(version, change, listing, answer, shown, approved, page)


def listing_view(row: Listing) -> Any:
    """Show a listing by the view of its kind."""
    kind = kind_of(row.ref)
    fields = {
        "id": row.id,
        "owner_id": row.owner_id,
        **asdict(row.profile),
        "state": row.state,
        "reason": row.reason,
        "created_at": row.created_ms,
        "updated_at": row.updated_ms,
        "reviewed_at": row.decided_ms,
        "has_webhook": row.webhook is not None,
        "hand_over": _hand_over_view(row.hand_over),
        "change": _change_view(row, VIEWS[kind.plural]),
    }
    for part in _PARTS:
        if kind.has(part.name):
            fields |= part.shown(row)
    return VIEWS[kind.plural].listing(**fields)


def listing_answer(row: Listing) -> Success:
    """Return the answer that shows a listing and nothing else."""
    answer: Success = VIEWS[kind_of(row.ref).plural].answer(**asdict(listing_view(row)))
    return answer


async def commit_listing(call: Call, ref: str, events: Sequence[Event]) -> Success:
    """Commit, and return the answer that shows the listing. Raises Unavailable."""
    return await call.commit(events, lambda: listing_answer(listing_of(call.state, ref)))


def _counted(row: Listing) -> dict[str, Any]:
    counts = row.counts
    return {
        "server_count": counts.server_count if counts is not None else None,
        "command_count": counts.command_count if counts is not None else None,
        "counts_updated_at": counts.at_ms if counts is not None else None,
        "actual_server_count": row.actual,
    }


def limits_view(row: Listing) -> OwnLimits:
    return convert(row.limits or BotLimits(), OwnLimits, from_attributes=True)


def stats_problem_views(problems: Sequence[StatsProblem]) -> tuple[StatsProblemView, ...]:
    return tuple(
        StatsProblemView(
            field=_REDACTED(problem.field),  # a caller may have sent the key as a field's name
            problem=problem.problem,
            given=problem.given,
            reason=problem.reason,
            times=problem.times,
            last_at=problem.last_ms,
        )
        for problem in problems
    )


def _change_view(row: Listing, views: KindViews) -> Any:
    change = row.change
    if change is None:
        return None
    return views.change(
        version=change_version(row),
        is_public=change.is_public,
        sent_by=change.by,
        sent_at=change.sent_ms,
        waiting_since=change.since_ms,
        agreed=views.version(**asdict(row.agreed)),
        proposed=views.version(**asdict(row.latest)),
    )


def _hand_over_view(offered: HandOver | None) -> HandOverView | None:
    if offered is None:
        return None
    heir = user_of(offered.successor) or ""
    return HandOverView(heir=heir, offered_at=offered.at_ms, lapses_at=offered.until_ms)


class _Part(NamedTuple):
    """The fields that a part of a kind adds, and how they are read of a row."""

    name: PartName
    fields: type[View]
    shown: Callable[[Listing], dict[str, Any]]


_PARTS = (
    _Part("co_owners", _CoOwned, lambda row: {"extra_owners": row.extra_owners, "invited": row.invited}),
    _Part("stats", _Counted, _counted),
    _Part("keys", view_of("Limited", "", limits=OwnLimits), lambda row: {"limits": limits_view(row)}),
    _Part(
        "checks",
        view_of("Checked", "", eligibility=_Eligibility),
        lambda row: {"eligibility": convert(row.eligibility, EligibilityView | None, from_attributes=True)},
    ),
    _Part(
        "invites",
        view_of("Invited", "", invite_check=_InviteCheck),
        lambda row: {"invite_check": convert(row.invite_check, InviteCheckView | None, from_attributes=True)},
    ),
    _Part(
        "downloads",
        view_of("Downloaded", "", download_count=_Downloads),
        lambda row: {"download_count": row.download_count},
    ),
    _Part(
        "tree",
        view_of("Copied", "", template=_TemplateCheck),
        lambda row: {"template": convert(row.template, TemplateCheckView | None, from_attributes=True)},
    ),
)
VIEWS: Mapping[str, KindViews] = {kind.plural: _views_of(kind) for kind in KINDS}
ListingAnswer = Annotated[Success, {kind: views.answer for kind, views in VIEWS.items()}]
"""The answer of a function that shows a listing: each kind has a view of its own."""
ShownListing = Annotated[Success, {kind: views.shown for kind, views in VIEWS.items()}]
ApprovedListing = Annotated[Success, {kind: views.approved for kind, views in VIEWS.items()}]
ListingPage = Annotated[Success, {kind: views.page for kind, views in VIEWS.items()}]
