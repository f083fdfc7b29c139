"""The vote page of a listing. Law: the button casts a vote, and nothing else does; no sign-in and no reload.

    GET    who may vote sees the button; who has voted sees when the next vote is possible, and whether the
           bot was told
    POST   guards -> the rule and the claim of POST /manage/.../votes -> durable -> 303 to the same page

Only an approved listing has the page. For everybody else it is a 404, as an unknown id is.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta

from core.clock import Clock
from core.refusals import NotFound, Quarantined, Refusal, Unavailable, VotedTooSoon
from core.rows import Listing
from core.state import State
from handlers.manage_listings import Kind
from handlers.manage_votes import ManageVotes
from handlers.reply import NO_HEADERS, UNAVAILABLE_RETRY_SECONDS, SignInRequired, success
from handlers.views import Count, Moment, Success
from web.page_policy import with_trusted_types
from web.pages import Page, PageRow, Shown, see_other
from web.people.delivery_words import words_of_error
from web.people.people_audience import PersonVisit, signed_in
from web.people.tellings import NOT_TOLD, ToldState, telling_of
from web.people.vote_challenges import VoteChallenges
from web.people.vote_guards import Tripped, VoteGuards
from web.texts import Text

FROM_SIGN_IN = "from=sign-in"
"""The query of the page that follows a sign-in for a vote: the button has the focus."""

ProblemKind = Literal[
    "too soon", "quarantined", "too young", "unsaved", "signed out", "unproven", "late proof"
]
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
        self._cooldown_ms = cooldown_ms
        self._content_policy = with_trusted_types(content_policy, "votegate-worker", "svelte-trusted-html")
        self._asks = asks

    async def show(self, visit: PersonVisit) -> Shown:
        row = self._approved(visit)
        if visit.visitor is None:
            return await self._page(visit, row)
        problem = self._refusal(row.ref, visit.visitor.id)
        return await self._page(visit, row, problem, is_answer=False)

    def twin(self, visit: PersonVisit) -> Shown:
        row = self._approved(visit)
        if visit.visitor is None:
            raise SignInRequired
        user, ref = visit.visitor.id, row.ref
        problem = self._refusal(ref, user)
        count, last_ms = self._state.votes.get(ref, int(user)) or (0, None)
        told = telling_of(self._state, row, user, last_ms) if last_ms is not None else NOT_TOLD
        standing = VoteStanding(
            name=row.profile.name,
            votes=count,
            last_vote_at=last_ms,
            may_vote=problem is None,
            why_not=problem.kind if problem is not None else None,
            until=problem.until_ms if problem is not None else None,
            is_challenged=problem is None and self._asked(visit, ref) is not None,
            told=told.state,
            told_at=told.at_ms,
            told_status=told.status,
        )
        return success(standing)

    async def cast(self, visit: PersonVisit) -> Shown:
        row = self._approved(visit)
        if visit.visitor is None:
            return await self._page(visit, row, Problem("signed out"))
        user, address = visit.visitor.id, visit.request.address
        self._guards.take(user, address)
        problem = self._refusal(row.ref, user)
        tripped = self._guards.tripped(row.ref, user, address)
        if problem is None and tripped is not None and self._asks:
            problem = await self._unproven(visit, row.ref, user)
        if problem is None:
            problem = await self._taken(row.ref, user, tripped)
        if problem is not None:
            return await self._page(visit, row, problem)
        self._guards.counted(row.ref, user, address)
        return see_other(f"/{row.ref}/vote")

    def _approved(self, visit: PersonVisit) -> Listing:
        row = self._state.listings.get(f"{self._kind}/{visit.request.params[0]}")
        if row is None or row.review != "approved":
            raise NotFound("listing")
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

    def _asked(self, visit: PersonVisit, ref: str) -> Tripped | None:
        """Return the rule for which a proof of work is asked for."""
        return self._guards.tripped(ref, signed_in(visit).id, visit.request.address) if self._asks else None

    async def _page(
        self, visit: PersonVisit, row: Listing, problem: Problem | None = None, *, is_answer: bool = True
    ) -> Page:
        """Return the page.

        Args:
            is_answer: true if it answers to the button, and says by its status what became of that.
        """
        user = visit.visitor.id if visit.visitor is not None else None
        vote = self._state.votes.get(row.ref, int(user)) if user is not None else None
        is_counted = vote is not None and self._clock.now_ms() - vote[1] < self._cooldown_ms
        may_try = problem is None or problem.kind in {"unsaved", "unproven", "late proof"}
        tripped = self._asked(visit, row.ref) if user is not None and may_try else None
        challenge = await self._challenges.new(row.ref, user) if user and tripped is not None else None
        values: dict[str, Any] = {
            "row": row,
            "kind": self._kind,
            "here": f"/{row.ref}/vote",
            "back": f"/{row.ref}/vote?{FROM_SIGN_IN}",
            "is_back": visit.request.query.get("from") == "sign-in",
            "is_answer": is_answer,
            "votes": vote[0] if vote is not None else 0,
            "is_counted": is_counted,
            "told": telling_of(self._state, row, user, vote[1]) if user and vote and is_counted else NOT_TOLD,
            "problem": problem,
            "may_try": may_try,
            "challenge": challenge,
            "tripped": tripped,
            "in_words": words_of_error,
        }
        status = _STATUS[problem.kind] if problem is not None and is_answer else 200
        headers = {"content-security-policy": self._content_policy} if challenge is not None else NO_HEADERS
        if status == 503:
            headers = {**headers, "retry-after": UNAVAILABLE_RETRY_SECONDS}
        title = Text("Vote for {name}", name=row.profile.name)
        return Page("people/vote.html", title, values, status, headers)


def _problem(refusal: Refusal) -> Problem:
    """Return a refusal of the rules as a problem. One that the page has no words for goes on."""
    match refusal:
        case VotedTooSoon():
            return Problem("too soon", refusal.next_vote_ms)
        case Quarantined():
            return Problem("quarantined", refusal.until_ms, refusal.reason)
        case _:  # the listing has gone, or lost its approval, this moment
            raise NotFound("listing") from refusal


def _rows(kind: Kind) -> tuple[PageRow, ...]:
    here = f"/{kind}/{{id}}/vote"
    return (
        PageRow("GET", here, lambda to: to.votes[kind].show, "anyone"),
        PageRow("GET", f"{here}.json", lambda to: to.votes[kind].twin, "anyone"),
        PageRow("POST", here, lambda to: to.votes[kind].cast, "anyone"),
    )


VOTE_PAGES = (*_rows("bots"), *_rows("servers"))
