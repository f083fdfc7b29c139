"""All about one listing or one user, for the operator, and how to find them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, convert
from msgspec.structs import asdict

from actions.deliveries import DeliveryView, delivery_view
from actions.history import Acts, OwnerMessageOrNone, act_views, owner_message_view
from actions.keys import KeyView, key_view
from actions.listing_views import VIEWS, StatsProblemViews, listing_view, stats_problem_views
from actions.users import UserView, user_view
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
from core.rows import Review
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
from search.finding import Hit, ListingSearch
from votes.queries import SLICE_LISTINGS, RecentVotes, Voted, vote_status

if TYPE_CHECKING:
    from web.markdown import Markdown

FOUND = 50
MAX_TEXT = 100


class FindQuery(Form, frozen=True):
    """The query of a search. A parameter that is None was left out."""

    q: Annotated[
        Annotated[str, Size(0, MAX_TEXT)] | None,
        Says(Fault("query_too_long", {"most": MAX_TEXT})),
        About("An id, or a part of a name in upper or lower case. Without it, nothing is found."),
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
        Meta(
            description=f"At most {FOUND} listings: the one with this id, and those with the text in a name."
        ),
    ]
    more: Annotated[bool, Meta(description="True if more listings match.")]
    user: Annotated[
        Snowflake | None,
        Meta(description="The text, if it is an id: `/debug/users/{id}.json` shows the user."),
        NULL,
    ]


async def find(parts: GatewayParts, query: FindQuery) -> FoundListings:
    text = (query.q or "").strip()
    if not text:
        return FoundListings(listings=(), more=False, user=None)
    search = ListingSearch(parts.state, parts.tools.kinds, text, FOUND)
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
    votes: Annotated[Positive, Meta(description="The number of the user's votes, over all time.")]
    last_at: Moment


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
    """The fields that every kind has, behind those of its parts."""

    voters: Annotated[Count, Meta(description="The number of users who have voted for the listing.")]
    recent_votes: Annotated[
        tuple[RecentVoteView, ...], Meta(description=f"The last {RECENT_VOTES} votes, the newest first.")
    ]
    deliveries: Annotated[
        tuple[DeliveryView, ...],
        Meta(description=f"The last {RECENT} deliveries, the newest first, with their attempts."),
    ]
    deliveries_pending: Count
    history: Acts
    message: OwnerMessageOrNone


def _inside_of(kind: Kind) -> type[Any]:
    """Return the view of everything about a listing of a kind."""
    return view_of(
        f"{kind.title}Inside",
        f"All about {kind.one}, with its newest votes.",
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
    state, ref = parts.state, kind.ref(listing_id)
    listing_of(state, ref)
    recent = RecentVotes(state, ref, RECENT_VOTES)
    await in_slices(recent.slices())
    row, now_ms = listing_of(state, ref), parts.tools.clock.now_ms()  # it may have gone meanwhile
    deliveries, webhook = state.deliveries, row.webhook
    waiting = deliveries.waiting(ref)
    fields = {
        "listing": listing_view(row),
        "webhook": webhook_view(webhook, waiting, now_ms) if webhook is not None else None,
        "voters": state.votes.voters(ref),
        "recent_votes": tuple(
            RecentVoteView(user=vote.user, votes=vote.votes, last_at=vote.last_ms) for vote in recent.found
        ),
        "deliveries": tuple(delivery_view(each, webhook) for each in deliveries.newest_first(ref)[:RECENT]),
        "deliveries_pending": waiting,
        "history": act_views(row),
        "message": owner_message_view(row),
    }
    if kind.keys is not None:
        fields["keys"] = tuple(key_view(key, now_ms) for key in row.keys)
    if kind.stats is not None:
        fields["stats_problems"] = stats_problem_views(parts.public.problems.of(ref))
        fields["limits"] = convert(dict(parts.public.limits_of(row)), NextRequests, from_attributes=True)
    return INSIDES[kind.plural](**fields)


class VoteOfUser(View):
    """A user's votes for one listing."""

    kind: Annotated[KindName, Meta(description="The kind of listing.")]
    id: ListingId
    name: ListingName
    voted: Voted
    votes: Annotated[Positive, Meta(description="The number of the user's votes, over all time.")]
    last_at: Moment


@including(UserView)
class UserInside(Success):
    """A user, with listings and votes."""

    listings: Annotated[
        tuple[ListingHit, ...],
        Meta(description=f"The listings that the user owns or co-owns, {SHOWN} at most."),
    ]
    listings_count: Count
    votes: Annotated[
        tuple[VoteOfUser, ...],
        Meta(description=f"The votes by listing, in the order of refs, {SHOWN} at most."),
    ]
    votes_count: Annotated[Count, Meta(description="The number of listings that the user has voted for.")]


async def user_inside(parts: GatewayParts, user: str) -> UserInside:
    """Return all that is known of a user. Raises Invalid for a text that is no id."""
    if not is_snowflake(user):
        raise Invalid({"id": Fault("no_snowflake")})
    state, ownership, now_ms = parts.state, parts.tools.ownership, parts.tools.clock.now_ms()
    voted = list[str]()

    def slices() -> Iterator[None]:
        for refs in ref_slices(state.listings.refs, most=SLICE_LISTINGS):
            voted.extend(state.votes.voted(refs, int(user)))
            yield

    await in_slices(ownership.survey())
    await in_slices(slices())
    owned = ownership.refs_of(user)
    votes = [ref for ref in voted if ref in state.listings]
    shown = [_vote_of(parts, ref, user, now_ms) for ref in votes[:SHOWN]]
    return UserInside(
        **asdict(user_view(parts.tools, user, now_ms)),
        listings=tuple(hit_view(Hit(ref, state.listings.brief(ref))) for ref in owned[:SHOWN]),
        listings_count=len(owned),
        votes=tuple(vote for vote in shown if vote is not None),
        votes_count=len(votes),
    )


def _vote_of(parts: GatewayParts, ref: str, user: str, now_ms: int) -> VoteOfUser | None:
    """Return the votes of a user for a listing; None if there are none."""
    status = vote_status(parts.state, ref, user, now_ms, parts.tools.window_ms)
    if status.last_ms is None:
        return None
    kind, _, listing_id = ref.partition("/")
    return VoteOfUser(
        kind=kind,
        id=listing_id,
        name=parts.state.listings.brief(ref).name,
        voted=status.voted,
        votes=status.vote,
        last_at=status.last_ms,
    )


def name_of(inside: Any) -> str:
    return str(inside.listing.name)


async def listing_html(kind: Kind, inside: Any, _: Request, markdown: "Markdown") -> Mapping[str, Any]:
    """Return the values for the page of a listing, with a long text as HTML if it is Markdown."""
    description = await markdown.html(kind.prose(inside.listing)) if kind.is_markdown else None
    return {"kind": kind, "description": description}
