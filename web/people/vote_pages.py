"""The vote page of a listing. Law: the button casts a vote, and nothing else does; no sign-in and no reload.

    GET    who may vote sees the button; who has voted sees when the next vote is possible, and whether the
           bot was told
    POST   guards -> the rule and the claim of POST /manage/.../votes -> durable -> 303 to the same page

Only a public listing has the page. Of any other it is a 404, as of an unknown id.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta

from actions.listing_kinds import Kind
from actions.views import Count, Moment, Success
from core.clock import Clock
from core.refusals import Refusal, Unavailable
from core.rows import Listing
from core.state import State
from handlers.manage_votes import ManageVotes
from handlers.reply import NO_HEADERS, UNAVAILABLE_RETRY_SECONDS, success
from languages.texts import Text
from people.reminders import is_reminded
from web.page_policy import with_trusted_types
from web.pages import Page, PageRow, Shown, see_other
from web.people.delivery_words import words_for_voters
from web.people.listing_icons import ListingIcons
from web.people.people_audience import PersonVisit, signed_in
from web.people.tellings import NOT_TOLD, Telling, ToldState, look_again_seconds, telling_of
from web.people.vote_challenges import VoteChallenges
from web.people.vote_guards import Tripped, VoteGuards

FROM_SIGN_IN = "from=sign-in"
"""The query of the page that follows a sign-in for a vote: the button has the focus."""

ProblemKind = Literal[
    "too soon", "quarantined", "too young", "unsaved", "signed out", "unproven", "late proof"
]
_TRIED_AGAIN: frozenset[ProblemKind] = frozenset({"unsaved", "unproven", "late proof"})
_STATUS: Mapping[ProblemKind, int] = {
    "too soon": 409,
    "quarantined": 403,
    "too young": 403,
    "unsaved": 503,
    "signed out": 401,
    "unproven": 403,
    "late proof": 403,
}


class Problem(NamedTuple):
    """Why a vote is not taken now. `until_ms` is the time from which it may be (Unix ms)."""

    kind: ProblemKind
    until_ms: int | None = None
    reason: str = ""


class _Standing(NamedTuple):
    """A user's votes for a listing. `is_counted` is true during the cooldown of the last one."""

    votes: int = 0
    last_ms: int | None = None
    is_counted: bool = False
    told: Telling = NOT_TOLD
    problem: Problem | None = None
    tripped: Tripped | None = None
    """The rule for which a proof of work is asked for."""


class VoteStanding(Success):
    """A user's votes for a listing, as the page shows them."""

    name: str
    votes: Count
    last_vote_at: Moment | None
    may_vote: bool
    why_not: ProblemKind | None
    until: Annotated[Moment | None, Meta(description="Up to when the user may not vote, if that will end.")]
    is_challenged: bool
    told: ToldState
    told_at: Moment | None
    told_status: Count | None


class VotePages:
    """The pages of one kind of listing.

    Args:
        asks: true to ask for a proof of work before a suspicious vote; it is flagged in any case.
        content_policy: that of pages, which a page with a challenge widens.
    """

    def __init__(
        self,
        kind: Kind,
        state: State,
        clock: Clock,
        votes: ManageVotes,
        guards: VoteGuards,
        challenges: VoteChallenges,
        icons: ListingIcons,
        cooldown_ms: int,
        content_policy: str,
        *,
        asks: bool,
    ) -> None:
        self._kind: Kind = kind
        self._state = state
        self._clock = clock
        self._votes = votes
        self._guards = guards
        self._challenges = challenges
        self._icons = icons
        self._cooldown_ms = cooldown_ms
        self._content_policy = with_trusted_types(content_policy, "votegate-worker")
        self._asks = asks

    async def show(self, visit: PersonVisit) -> Shown:
        row, user = self._public(visit), visit.visitor
        problem = self._refusal(row.ref, user.id) if user is not None else None
        return await self._page(visit, row, problem)

    def twin(self, visit: PersonVisit) -> Shown:
        row, user = self._public(visit), signed_in(visit).id
        standing = self._standing(visit, row, user, self._refusal(row.ref, user))
        problem, told = standing.problem, standing.told
        answer = VoteStanding(
            name=row.profile.name,
            votes=standing.votes,
            last_vote_at=standing.last_ms,
            may_vote=problem is None,
            why_not=problem.kind if problem is not None else None,
            until=problem.until_ms if problem is not None else None,
            is_challenged=standing.tripped is not None,
            told=told.state,
            told_at=told.at_ms,
            told_status=told.status,
        )
        return success(answer)

    async def cast(self, visit: PersonVisit) -> Shown:
        row = self._public(visit)
        if visit.visitor is None:
            return await self._page(visit, row, Problem("signed out"), is_answer=True)
        ref, user, address = row.ref, visit.visitor.id, visit.request.address
        self._guards.take(user, address)
        problem = self._refusal(ref, user)
        tripped = self._guards.tripped(ref, user, address)
        if problem is None and tripped is not None and self._asks:
            problem = await self._unproven(visit, ref, user)
        if problem is None:
            self._guards.count(ref, user, address)  # before the disk: others press meanwhile
            problem = await self._taken(ref, user, tripped)
        if problem is not None:
            return await self._page(visit, row, problem, is_answer=True)
        return see_other(f"/{ref}/vote")

    def _public(self, visit: PersonVisit) -> Listing:
        row = self._state.listings.get(f"{self._kind}/{visit.request.params[0]}")
        if row is None or not row.is_public:
            raise Refusal("no_such_listing")
        return row

    def _refusal(self, ref: str, user: str) -> Problem | None:
        """Return why the user may not vote now, whatever the button may say."""
        try:
            self._votes.refuse(ref, user)
        except Refusal as refusal:
            return _problem(refusal)
        young_until_ms = self._guards.old_enough_ms(user)
        return Problem("too young", young_until_ms) if self._clock.now_ms() < young_until_ms else None

    async def _taken(self, ref: str, user: str, tripped: Tripped | None) -> Problem | None:
        """Take the vote, and return None once it is durable."""
        try:
            await self._votes.take(ref, user, tripped.rule if tripped is not None else None)
        except Unavailable:
            return Problem("unsaved")
        except Refusal as refusal:
            return _problem(refusal)
        return None

    async def _unproven(self, visit: PersonVisit, ref: str, user: str) -> Problem | None:
        """Return None if the browser has done the work that was asked for."""
        solution = visit.form().text("altcha")
        if not solution:
            return Problem("unproven")
        verdict = await self._challenges.judge(solution, ref, user)
        return None if verdict == "solved" else Problem("late proof" if verdict == "late" else "unproven")

    def _standing(self, visit: PersonVisit, row: Listing, user: str, problem: Problem | None) -> _Standing:
        may_try = problem is None or problem.kind in _TRIED_AGAIN
        tripped = (
            self._guards.tripped(row.ref, user, visit.request.address) if may_try and self._asks else None
        )
        vote = self._state.votes.get(row.ref, int(user))
        if vote is None:
            return _Standing(problem=problem, tripped=tripped)
        count, last_ms = vote
        is_unsaved = problem is not None and problem.kind == "unsaved"  # the state may have it all the same
        is_counted = not is_unsaved and self._clock.now_ms() - last_ms < self._cooldown_ms
        told = telling_of(self._state, row, user, last_ms) if is_counted else NOT_TOLD
        return _Standing(count, last_ms, is_counted, told, problem, tripped)

    async def _page(
        self, visit: PersonVisit, row: Listing, problem: Problem | None, *, is_answer: bool = False
    ) -> Page:
        """Return the page. If it answers to the button, its status says what became of that."""
        ref, user = row.ref, visit.visitor.id if visit.visitor is not None else None
        standing = (
            self._standing(visit, row, user, problem) if user is not None else _Standing(problem=problem)
        )
        challenge = await self._challenges.new(ref, user) if user and standing.tripped else None
        values: dict[str, Any] = {
            "row": row,
            "kind": self._kind,
            "icon_url": self._icons.url(ref),
            "here": f"/{ref}/vote",
            "back": f"/{ref}/vote?{FROM_SIGN_IN}",
            "is_back": visit.request.query.get("from") == "sign-in",
            "is_answer": is_answer,
            "is_reminded": user is not None and is_reminded(self._state, user, ref),
            "challenge": challenge,
            "look_again": look_again_seconds(standing.last_ms or 0, self._clock.now_ms()),
            "in_words": words_for_voters,
            **standing._asdict(),
        }
        status = _STATUS[problem.kind] if problem is not None and is_answer else 200
        headers = {"content-security-policy": self._content_policy} if challenge is not None else NO_HEADERS
        if status == 503:
            headers = {**headers, "retry-after": UNAVAILABLE_RETRY_SECONDS}
        title = Text("Vote for {name}", name=row.profile.name)
        return Page("people/vote.html", title, values, status, headers)


def _problem(refusal: Refusal) -> Problem:
    """Return a refusal of the rules as a problem. One that the page has no words for goes on."""
    facts = refusal.facts
    match refusal.code:
        case "voted_too_soon":
            return Problem("too soon", facts["next_vote_ms"])
        case "quarantined" | "quarantined_without_end":
            return Problem("quarantined", facts["until_ms"], facts["reason"])
        case _:  # the listing has gone, or lost its approval, this moment
            raise Refusal("no_such_listing") from refusal


def _rows(kind: Kind) -> tuple[PageRow, ...]:
    here = f"/{kind}/{{id}}/vote"
    return (
        PageRow("GET", here, lambda to: to.votes[kind].show, "anyone"),
        PageRow("GET", f"{here}.json", lambda to: to.votes[kind].twin, "anyone"),
        PageRow("POST", here, lambda to: to.votes[kind].cast, "anyone"),
    )


VOTE_PAGES = (*_rows("bots"), *_rows("servers"))
