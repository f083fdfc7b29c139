"""The vote page of a listing. Invariant: only the button casts a vote, and no sign-in and no reload does.

    GET    a visitor who may vote sees the button; one who has voted sees when the next vote is possible, and
           whether the bot was told
    POST   guards -> the rule and the claim of POST /manage/.../votes -> durable -> 303 to the same page, with
           `from=vote` in its query: it thanks the voter

Only a public listing has the page. For any other it is a 404, as for an unknown id.

The page also shows the status of the webhook's delivery of the vote. If the log no longer says it, the status
is unknown.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from heapq import nlargest
from itertools import chain, islice
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta

from actions.deliveries import text_of_error
from actions.views import Count, Moment, Success
from actions.votes import CAST_VOTE, CastVote, refuse, take
from core.clock import month_of
from core.events import Event
from core.failures import Unavailable
from core.rows import Listing
from core.state import State
from core.user_rows import user_ref
from handlers.reply import NO_HEADERS, Reply
from kinds.registry import kind_of
from languages.refusals import Refusal
from languages.texts import Text, Words
from pages.page import Again, Page, PageCall, Post, Shown
from pages.public.lists import PublicCard, cards
from pages.voting.vote_guards import Tripped
from people.choices import is_reminded
from web.pages import see_other

FROM_SIGN_IN, FROM_VOTE = "from=sign-in", "from=vote"
"""The queries of the pages that follow a sign-in for a vote, where the button has the focus, and a vote."""
MOST_READY, LOOKED_THROUGH = 3, 500
"""The number of other listings that the page offers, and the number that it looks through."""

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
_ERRORS_FOR_VOTERS = frozenset({"expired", "overflow"})
"""The errors of deliveries that say something to voters, beside HTTP statuses."""
SOONEST_SECONDS, LATEST_SECONDS = 2, 60
"""The bounds of the time after which a page looks at a delivery again."""

ToldState = Literal["no webhook", "waiting", "held", "retrying", "told", "failed", "unknown", "no vote"]
Scene = Literal["thanks", "counted", "early", "quarantined", "too young", "open"]
"""The states of the page for people. `open` has the button. `early`: the cooldown of a removed vote runs."""


class Problem(NamedTuple):
    """The reason why a vote is not taken now. `until_ms` is the time from which it is (Unix ms)."""

    kind: ProblemKind
    until_ms: int | None = None
    reason: str = ""


class DeliveryStatus(NamedTuple):
    """The outcome of the delivery of a vote, so far.

    `held` means that its endpoint is suspended. `at_ms` is the time of the last attempt, or of the next one
    while it is retried (Unix ms).
    """

    state: ToldState
    at_ms: int | None = None
    status: int | None = None
    error: str | None = None

    @property
    def is_open(self) -> bool:
        return self.state in {"waiting", "held", "retrying"}


NO_DELIVERY = DeliveryStatus("no vote")


class _Standing(NamedTuple):
    """A user's votes for a listing. `is_counted` is true during the cooldown of the last one."""

    votes: int = 0
    last_ms: int | None = None
    is_counted: bool = False
    told: DeliveryStatus = NO_DELIVERY
    problem: Problem | None = None
    tripped: Tripped | None = None
    """The rule that asks for a proof of work."""


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


async def show(page: PageCall) -> Shown[VoteStanding | None]:
    """Show the button, or why there is none. The JSON takes a sign-in."""
    row, visitor = _public(page), page.visit.visitor
    problem = _problem(page)
    standing = _Standing(problem=problem) if visitor is None else _standing(page, row, visitor.id, problem)
    scene = _scene(standing, is_from_vote=page.visit.request.query.get("from") == "vote")
    policy = page.site.voting.content_policy
    return Shown(
        _view(row, standing) if visitor is not None else None,
        _title(scene, row.profile.name),
        html=partial(_html, page, row, standing, scene),
        headers={"content-security-policy": policy} if standing.tripped is not None else NO_HEADERS,
    )


async def press(page: PageCall, _: object) -> CastVote:
    """Take the vote of the visitor: limits, then the rules, then the proof of work, then the vote."""
    _public(page)
    visitor, voting, call, address = (
        page.visit.visitor,
        page.site.voting,
        page.call,
        page.visit.request.address,
    )
    if visitor is None:
        raise _held(Problem("signed out"))
    user, guards = visitor.id, voting.guards
    guards.take(user, address)
    allowed: Sequence[Event] | None = refuse(call, user)
    _refuse_young(page, user)
    tripped = guards.tripped(call.ref, user, address)
    if tripped is not None and voting.asks_proof:
        await _refuse_unproven(page, user)
        call, allowed = call.rechecked(), None
    guards.count(call.ref, user, address)  # before the disk: others press meanwhile
    return await take(call, user, tripped.rule if tripped is not None else None, allowed)


def _public(page: PageCall) -> Listing:
    page.shown.add(page.call.ref)
    row = page.call.state.listings.get(page.call.ref)
    if row is None or not row.is_public:
        raise Refusal("no_such_listing")
    return row


def _held(problem: Problem) -> Again:
    return Again(found={"problem": problem}, status=_STATUS[problem.kind])


def _refuse_young(page: PageCall, user: str) -> None:
    """Raise Again for an account that is too young to vote."""
    young_until_ms = page.site.voting.guards.old_enough_ms(user)
    if page.call.now_ms < young_until_ms:
        raise _held(Problem("too young", young_until_ms))


async def _refuse_unproven(page: PageCall, user: str) -> None:
    """Raise Again unless the browser has done the work that was asked for."""
    solution = page.visit.form().text("altcha")
    if not solution:
        raise _held(Problem("unproven"))
    verdict = await page.site.voting.challenges.judge(solution, page.call.ref, user)
    if verdict != "solved":
        raise _held(Problem("late proof" if verdict == "late" else "unproven"))


def _problem(page: PageCall) -> Problem | None:
    """Return the reason of the refused vote; before a press, the reason for which it would be refused."""
    error, visitor = page.refused.error, page.visit.visitor
    try:
        if error is not None:
            raise error
        if visitor is not None:
            refuse(page.call, visitor.id)
            _refuse_young(page, visitor.id)
    except Again as again:
        held: Problem = again.found["problem"]
        return held
    except (Refusal, Unavailable) as refused:
        return _problem_of(refused)
    return None


def _problem_of(error: Refusal | Unavailable) -> Problem:
    """Return a refusal as a problem. Raises a refusal that the page has no text for."""
    match error:
        case Unavailable():
            return Problem("unsaved")
        case Refusal(code="voted_too_soon", facts=facts):
            return Problem("too soon", facts["next_vote_ms"])
        case Refusal(code="quarantined" | "quarantined_without_end", facts=facts):
            return Problem("quarantined", facts["until_ms"], facts["reason"])
        case _:  # the listing has gone, or lost its approval, this moment
            raise Refusal("no_such_listing") from error


def _standing(page: PageCall, row: Listing, user: str, problem: Problem | None) -> _Standing:
    voting, call = page.site.voting, page.call
    may_try = problem is None or problem.kind in _TRIED_AGAIN
    tripped = None
    if may_try and voting.asks_proof:
        tripped = voting.guards.tripped(row.ref, user, page.visit.request.address)
    vote = call.state.votes.get(row.ref, int(user))
    if vote is None:
        return _Standing(problem=problem, tripped=tripped)
    count, last_ms = vote
    is_unsaved = problem is not None and problem.kind == "unsaved"  # the state may have it all the same
    is_counted = not is_unsaved and call.now_ms - last_ms < call.tools.cooldown_ms
    told = delivery_status(call.state, row, user, last_ms) if is_counted else NO_DELIVERY
    return _Standing(count, last_ms, is_counted, told, problem, tripped)


def _scene(standing: _Standing, *, is_from_vote: bool) -> Scene:
    match standing.problem:
        case Problem("too soon"):
            if not standing.is_counted:
                return "early"
            return "thanks" if is_from_vote else "counted"
        case Problem("quarantined" | "too young" as why):
            return why
        case _:
            return "open"


def _title(scene: Scene, name: str) -> Text:
    if scene == "thanks":
        return Text("Thank you: you voted for {name}", name=name)
    return (
        Text("You have voted for {name}", name=name)
        if scene == "counted"
        else Text("Vote for {name}", name=name)
    )


def _view(row: Listing, standing: _Standing) -> VoteStanding:
    problem, told = standing.problem, standing.told
    return VoteStanding(
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


async def _html(page: PageCall, row: Listing, standing: _Standing, scene: Scene) -> Mapping[str, Any]:
    """Return the values of the template. A new challenge is among them if one is asked for."""
    ref, visitor, call = row.ref, page.visit.visitor, page.call
    challenge = None
    if visitor is not None and standing.tripped is not None:
        challenge = await page.site.voting.challenges.new(ref, visitor.id)
    return {
        "scene": scene,
        "row": row,
        "icon_url": page.site.icons.url(ref),
        "votes_this_month": call.state.vote_counts.in_month(ref, month_of(call.now_ms)),
        "is_told": _is_told(row),
        "cooldown_ms": call.tools.cooldown_ms,
        "ready": _ready(page, visitor.id) if visitor is not None and scene in {"thanks", "counted"} else (),
        "here": f"/{ref}/vote",
        "back": f"/{ref}/vote?{FROM_SIGN_IN}",
        "is_back": page.visit.request.query.get("from") == "sign-in",
        "is_answer": page.refused.error is not None,
        "is_reminded": visitor is not None and is_reminded(call.state, visitor.id, ref),
        "challenge": challenge,
        "look_again": look_again_seconds(standing.last_ms or 0, call.now_ms),
        "in_words": text_for_voters,
        **standing._asdict(),
    }


def _is_told(row: Listing) -> bool:
    """Return true if the webhook of the listing takes votes."""
    return row.webhook is not None and "vote" in row.webhook.taken


def _ready(page: PageCall, user: str) -> Sequence[PublicCard]:
    """Return other listings that the user has voted for before and can vote for now.

    They are among the reminders of the user and the votes that a look at "My votes" has found: this page
    makes no search for them.
    """
    call, state = page.call, page.call.state
    person = state.users.get(user_ref(user))
    reminders = (each.listing for each in person.reminders_on) if person is not None else ()
    refs = {*islice(chain(reminders, page.site.voting.voted.known(user) or ()), LOOKED_THROUGH)}
    found = list[tuple[int, str]]()
    for ref in (ref for ref in refs - {call.ref} if kind_of(ref).has("votes")):
        vote, row = state.votes.get(ref, int(user)), state.listings.get(ref)
        is_ready = vote is not None and vote[1] + call.tools.cooldown_ms <= call.now_ms
        if vote is not None and is_ready and row is not None and row.is_public:
            found.append((vote[0], ref))
    return cards(page, (ref for _, ref in nlargest(MOST_READY, found)))


def delivery_status(state: State, row: Listing, user: str, cast_ms: int) -> DeliveryStatus:
    """Return the outcome of the delivery of the user's latest vote, which was cast at that time."""
    found = state.deliveries.of_vote(row.ref, user, cast_ms)
    if found is None:
        return DeliveryStatus("unknown" if _is_told(row) else "no webhook")
    last = found.attempts[-1] if found.attempts else None
    status = last.status if last is not None else None
    error = found.dropped or (last.error if last is not None else None)
    if found.state != "pending":
        at_ms = last.at_ms if last is not None else found.dropped_ms
        return DeliveryStatus("told" if found.state == "delivered" else "failed", at_ms, status, error)
    if row.webhook is not None and row.webhook.suspension is not None:
        return DeliveryStatus("held")
    if last is None:
        return DeliveryStatus("waiting")
    return DeliveryStatus("retrying", found.next_attempt_ms, status, error)


def look_again_seconds(cast_ms: int, now_ms: int) -> int:
    """Return the time after which an open page looks at the delivery again.

    It grows with the age of the vote, so a page that stays open for hours costs nothing.
    """
    return min(max((now_ms - cast_ms) // 4_000, SOONEST_SECONDS), LATEST_SECONDS)


def text_for_voters(error: str | None) -> Words:
    """Return the text of a delivery's error for voters, who can do nothing about it."""
    if error is not None and (error in _ERRORS_FOR_VOTERS or error.startswith("http_")):
        return text_of_error(error)
    return Text("no answer came")


def _thanks(page: PageCall, _: object) -> Reply:
    return see_other(f"/{page.call.ref}/vote?{FROM_VOTE}")


VOTE_PAGE = Page(
    path="/{kind}/{id}/vote",
    of="votes",
    template="vote",
    visitors="anyone",
    show=show,
    kept=("from",),
    posts=(Post(action=CAST_VOTE, run=press, then=_thanks),),
)
