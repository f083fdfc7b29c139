"""All about one listing or one user, for the operator, and how to find them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta
from msgspec.structs import asdict

from actions.deliveries import DeliveryView, delivery_view
from actions.history import Acts, OwnerMessageOrNone, act_views, owner_message_view
from actions.keys import KeyView, key_view
from actions.listing_views import (
    VIEWS,
    StatsProblemViews,
    listing_view,
    stats_problem_views,
)
from actions.users import UserView
from actions.views import (
    NULL,
    Count,
    KindName,
    ListingId,
    ListingName,
    Moment,
    Positive,
    Snowflake,
    Success,
    UserId,
    View,
    example,
    including,
    view_of,
)
from actions.webhooks import WebhookView, webhook_view
from core.listing_table import ref_slices
from core.rows import Listing, Review
from core.state import State
from forms.fields import Form
from forms.rules import About, Says, Size
from grammars.patterns import is_snowflake
from handlers.request import Request
from handlers.slices import in_slices
from kinds.kind import Kind
from kinds.registry import KINDS
from languages.refusals import Invalid
from languages.said import Fault
from listings.rules import listing_of
from operators.gateway_parts import GatewayParts
from ratelimit.bucket import Decision
from search.finding import Hit, ListingSearch
from votes.queries import RecentVotes, Voted, vote_status

if TYPE_CHECKING:
    from web.markdown import Markdown

FOUND = 50
MAX_TEXT = 100


class FindQuery(Form, frozen=True):
    """The query of a search. A parameter that is None was left out."""

    q: Annotated[
        Annotated[str, Size(0, MAX_TEXT)] | None,
        Says(Fault("query_too_long", {"most": MAX_TEXT})),
        About("An id, or a part of a name in any case. Nothing is found without it."),
    ] = None


class ListingHit(View):
    """A listing that was found."""

    kind: Annotated[KindName, Meta(description="The kind of listing.")]
    id: ListingId
    name: ListingName
    state: Review


class FoundListings(Success):
    """Listings that were found."""

    listings: Annotated[
        tuple[ListingHit, ...],
        Meta(description=f"At most {FOUND}: that of this id, those named so, those whose name holds it."),
    ]
    more: Annotated[bool, Meta(description="True if there are more.")]
    user: Annotated[
        Snowflake | None,
        Meta(
            description="The text, if it is an id: `/debug/users/{id}.json` tells what is known of the user."
        ),
        NULL,
    ]


async def find(parts: GatewayParts, query: FindQuery) -> FoundListings:
    text = (query.q or "").strip()
    if not text:
        return FoundListings(listings=(), more=False, user=None)
    search = ListingSearch(parts.state, text, FOUND)
    await in_slices(search.slices())
    listings = tuple(map(hit_view, search.found))
    return FoundListings(listings=listings, more=search.more, user=text if is_snowflake(text) else None)


def hit_view(hit: Hit) -> ListingHit:
    kind, _, listing_id = hit.ref.partition("/")
    return ListingHit(
        kind=kind,
        id=listing_id,
        name=hit.brief.name,
        state=hit.brief.state,
    )


RECENT, RECENT_VOTES = 20, 20
SHOWN = 100
"""The most listings, and votes, that are shown of a user."""


class NextRequest(View):
    """The limit that the next request would meet."""

    limit: Annotated[Count, example(100)]
    remaining: Annotated[Count, example(99)]
    reset_seconds: Annotated[Count, example(41)]
    window_seconds: Annotated[Count, example(300)]


class NextRequests(View):
    """The limits that the next request to each endpoint would meet."""

    stats: NextRequest
    voters: NextRequest


class RecentVoteView(View):
    """The last vote of a user."""

    user: UserId
    votes: Annotated[Positive, Meta(description="How often the user has voted, over all time.")]
    last_at: Moment


_RecentVotes = Annotated[
    tuple[RecentVoteView, ...], Meta(description=f"The last {RECENT_VOTES}, the newest first.")
]
_RecentDeliveries = Annotated[
    tuple[DeliveryView, ...], Meta(description=f"The last {RECENT}, the newest first, with their attempts.")
]
_Voters = Annotated[Count, Meta(description="How many users have voted for it.")]


class _Keys(View):
    """The fields of a listing with API keys."""

    keys: tuple[KeyView, ...]


class _Hooked(View):
    """The webhook of a listing, which every kind shows."""

    webhook: WebhookView | None


class _Pushed(View):
    """The fields of a listing whose program pushes counts."""

    stats_problems: StatsProblemViews
    limits: NextRequests


class _Voted(View):
    """The fields of all listings behind those of their parts."""

    voters: _Voters
    recent_votes: _RecentVotes
    deliveries: _RecentDeliveries
    deliveries_pending: Count
    history: Acts
    message: OwnerMessageOrNone


def _inside_of(kind: Kind) -> type[Any]:
    """Return the view of everything about a listing of a kind."""
    return view_of(
        f"{kind.title}Inside",
        f"All about a {kind.singular}, with its newest votes.",
        Success,
        view_of("Shown", "", listing=VIEWS[kind.plural].listing),
        *((_Keys,) if kind.keys is not None else ()),
        _Hooked,
        *((_Pushed,) if kind.stats is not None else ()),
        _Voted,
    )


INSIDES: Mapping[str, type[Any]] = {kind.plural: _inside_of(kind) for kind in KINDS}
"""The views of everything about a listing, by kind."""


async def listing_inside(parts: GatewayParts, kind: Kind, listing_id: str) -> Any:
    """Return all about a listing. Raises Refusal."""
    ref = kind.ref(listing_id)
    votes = await _recent_votes(parts.state, ref)
    row, now_ms = listing_of(parts.state, ref), parts.clock.now_ms()
    fields = {"listing": listing_view(row), **_shared(parts, row, votes)}
    if kind.keys is not None:
        fields["keys"] = tuple(key_view(key, now_ms) for key in row.keys)
    if kind.stats is not None:
        limits = parts.public.limits_of(row).items()
        fields["stats_problems"] = stats_problem_views(parts.public.problems.of(ref))
        fields["limits"] = NextRequests(**{name: _next_request(decision) for name, decision in limits})
    return INSIDES[kind.plural](**fields)


def _shared(parts: GatewayParts, listing: Listing, votes: tuple[RecentVoteView, ...]) -> dict[str, Any]:
    """Return the fields that all kinds of listing have."""
    deliveries, webhook = parts.state.deliveries, listing.webhook
    waiting = deliveries.waiting(listing.ref)
    newest = deliveries.newest_first(listing.ref)[:RECENT]
    return {
        "webhook": webhook_view(webhook, waiting, parts.clock.now_ms()) if webhook is not None else None,
        "voters": parts.state.votes.voters(listing.ref),
        "recent_votes": votes,
        "deliveries": tuple(delivery_view(row, webhook) for row in newest),
        "deliveries_pending": waiting,
        "history": act_views(listing),
        "message": owner_message_view(listing),
    }


async def _recent_votes(state: State, ref: str) -> tuple[RecentVoteView, ...]:
    listing_of(state, ref)
    recent = RecentVotes(state, ref, RECENT_VOTES)
    await in_slices(recent.slices())
    return tuple(
        RecentVoteView(user=vote.user, votes=vote.votes, last_at=vote.last_ms) for vote in recent.found
    )


def _next_request(decision: Decision) -> NextRequest:
    return NextRequest(
        limit=decision.limit,
        remaining=decision.remaining,
        reset_seconds=decision.reset_seconds,
        window_seconds=decision.window_seconds,
    )


class VoteOfUser(View):
    """A user's votes for one listing."""

    kind: Annotated[KindName, Meta(description="The kind of listing.")]
    id: ListingId
    name: ListingName
    voted: Voted
    votes: Annotated[Positive, Meta(description="How often the user has voted, over all time.")]
    last_at: Moment


@including(UserView)
class UserInside(Success):
    """A user, with listings and votes."""

    listings: Annotated[
        tuple[ListingHit, ...], Meta(description=f"Those that the user owns or co-owns, {SHOWN} at most.")
    ]
    listings_count: Count
    votes: Annotated[
        tuple[VoteOfUser, ...], Meta(description=f"By listing, in the order of refs, {SHOWN} at most.")
    ]
    votes_count: Annotated[Count, Meta(description="The listings that the user has voted for.")]


async def user_inside(parts: GatewayParts, user: str) -> UserInside:
    """Return all that is known of a user. Raises Invalid for a text that is no id."""
    if not is_snowflake(user):
        raise Invalid({"id": Fault("no_snowflake")})
    now_ms = parts.clock.now_ms()
    survey = _Survey(parts.state, user, now_ms, parts.window_ms)
    await in_slices(parts.ownership.survey())
    await in_slices(survey.slices())
    owned = parts.ownership.refs_of(user)
    return UserInside(
        **asdict(parts.user(user, now_ms)),
        listings=tuple(hit_view(Hit(ref, parts.state.listings.brief(ref))) for ref in owned[:SHOWN]),
        listings_count=len(owned),
        votes=tuple(survey.votes),
        votes_count=survey.votes_count,
    )


class _Survey:
    def __init__(self, state: State, user: str, now_ms: int, window_ms: int) -> None:
        self._state = state
        self._user = user
        self._now_ms = now_ms
        self._window_ms = window_ms
        self.votes: list[VoteOfUser] = []
        self.votes_count = 0

    def slices(self) -> Iterator[None]:
        for refs in ref_slices(self._state.listings.refs):
            for ref in refs:
                self._look(ref)
            yield

    def _look(self, ref: str) -> None:
        status = vote_status(self._state, ref, self._user, self._now_ms, self._window_ms)
        if status.last_ms is None:
            return
        self.votes_count += 1
        if len(self.votes) < SHOWN:
            kind, _, listing_id = ref.partition("/")
            vote = VoteOfUser(
                kind=kind,
                id=listing_id,
                name=self._state.listings.brief(ref).name,
                voted=status.voted,
                votes=status.vote,
                last_at=status.last_ms,
            )
            self.votes.append(vote)


def name_of(inside: Any) -> str:
    return str(inside.listing.name)


async def listing_html(kind: Kind, inside: Any, _: Request, markdown: "Markdown") -> Mapping[str, Any]:
    """Return the values for the page of a listing, with a long text as HTML if it is Markdown."""
    description = await markdown.html(kind.prose(inside.listing)) if kind.is_markdown else None
    return {"kind": kind, "description": description}
