"""All that is known of a user, for the operator."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta
from msgspec.structs import asdict

from actions.views import Count, Moment, Positive, Snowflake, Success, View, including
from core.clock import Clock
from core.ref_slices import ref_slices
from core.state import State
from handlers.manage import user_id
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.slices import in_slices
from handlers.user_views import UserView, UserViews
from listings.finding import OwnedListings
from operators.finding_subjects import KindName, ListingHit, hit_view
from votes.queries import Voted, vote_status

SHOWN = 100


class VoteOfUser(View):
    """A user's votes for one listing."""

    kind: KindName
    id: Snowflake
    name: str
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


class DebugUsers:
    def __init__(self, state: State, clock: Clock, window_ms: int, views: UserViews) -> None:
        self._state = state
        self._clock = clock
        self._window_ms = window_ms
        self._views = views

    async def show(self, request: Request) -> Reply:
        return success(await self.view(user_id(request)))

    async def view(self, user: str) -> UserInside:
        now_ms = self._clock.now_ms()
        survey = _Survey(self._state, user, now_ms, self._window_ms)
        await in_slices(survey.slices())
        return UserInside(
            **asdict(self._views.user(user, now_ms)),
            listings=tuple(map(hit_view, survey.owned.found)),
            listings_count=survey.owned.count,
            votes=tuple(survey.votes),
            votes_count=survey.votes_count,
        )


class _Survey:
    def __init__(self, state: State, user: str, now_ms: int, window_ms: int) -> None:
        self._state = state
        self._user = user
        self._now_ms = now_ms
        self._window_ms = window_ms
        self.owned = OwnedListings(state, user, SHOWN)
        self.votes: list[VoteOfUser] = []
        self.votes_count = 0

    def slices(self) -> Iterator[None]:
        for refs in ref_slices(self._state.listings.refs):
            self.owned.look(refs)
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
                kind="bots" if kind == "bots" else "servers",
                id=listing_id,
                name=self._state.listings.brief(ref).name,
                voted=status.voted,
                votes=status.vote,
                last_at=status.last_ms,
            )
            self.votes.append(vote)
