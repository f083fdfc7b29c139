"""Reviews by users: written, answered, reported, and removed by moderators. The code calls them ratings.

A surface for people guards the form first, as it guards the vote button; see pages/public/ratings.py.
"""

from typing import Annotated, get_args

from msgspec import Meta
from msgspec.structs import asdict

from actions.action import Access, Action, Call, Command, Option
from actions.query_forms import AFTER, IS_CURSOR, PAGE, PageLimit
from actions.reports import NewReport
from actions.views import NEXT, Count, Moment, Success, UserId, View, described, example, including
from core.actors import user_actor
from core.events import Event, SlotsSet
from core.rating_index import PRIOR_COUNT, PRIOR_STARS, STARS
from core.rows import ReportReason
from core.user_rows import Rating, UserRow, user_ref
from forms.fields import ABOUT_PROSE, Form
from forms.rules import IN_PROSE, About, Between, Size, matching
from kinds.registry import KINDS
from languages.refusals import Refusal
from listings import reports
from listings.rules import listing_of
from people.quarantine import refuse_quarantined
from search.paging import page_of
from votes import ratings

CURSOR_PATTERN = r"^[0-9]{1,15}-[0-9]{1,20}$"
_CURSOR_EXAMPLE = "1750000000000-444444444444444444"
RatingCursor = Annotated[str, Meta(pattern=CURSOR_PATTERN), example(_CURSOR_EXAMPLE)]
_PUBLIC = f"Plain text, which everybody reads. {ABOUT_PROSE}"
_REVIEW, _ANSWER = "It counts well, and its owner helps.", "Thank you! The next version is faster."
_Words = Annotated[str, Size(1, ratings.MOST_CHARACTERS), IN_PROSE]


class NewRating(Form, frozen=True):
    """A user's review of a listing."""

    stars: Annotated[int, Between(1, STARS), About("From 1, the worst, to 5.", 4)]
    text: Annotated[
        str,
        Size(ratings.LEAST_CHARACTERS, ratings.MOST_CHARACTERS),
        About(_PUBLIC, _REVIEW),
        IN_PROSE,
    ]


class RatingReply(Form, frozen=True):
    """The answer of the owners to a review."""

    text: Annotated[_Words, About(_PUBLIC, _ANSWER)]


class RatingRemoval(Form, frozen=True):
    """Why a moderator removes a review."""

    reason: Annotated[
        _Words, About(f"Its author reads it, and so do the owners. {ABOUT_PROSE}", "It insults.")
    ]


class RatingsQuery(Form, frozen=True):
    """The query of the reviews of a listing. A parameter that is None was left out."""

    after: Annotated[
        Annotated[str, matching(CURSOR_PATTERN)] | None, IS_CURSOR, About(AFTER, _CURSOR_EXAMPLE)
    ] = None
    limit: PageLimit = PAGE


class RatingAnswerView(View):
    """The answer of the owners to a review."""

    at: Moment
    text: Annotated[str, example(_ANSWER)]


class RatingView(View):
    """A user's review of a listing."""

    user: UserId
    name: Annotated[str | None, described("The name of the user; null before the first sign-in.", "Ada")]
    stars: Annotated[int, Meta(ge=1, le=STARS, examples=[4])]
    text: Annotated[str, example(_REVIEW)]
    at: Moment
    edited_at: Annotated[Moment | None, described("The time of the last edit, if there was one.", None)]
    answer: RatingAnswerView | None


@including(RatingView)
class RatingOfUser(Success):
    """The review, as everybody sees it."""


class RatingList(Success):
    """The reviews of a listing, the newest first."""

    count: Annotated[Count, described("The number of reviews.", 12)]
    mean: Annotated[
        float,
        Meta(ge=1, le=STARS),
        described(
            f"The Bayesian mean: as if {PRIOR_COUNT} more users had given {PRIOR_STARS} stars.",
            4.03,
        ),
    ]
    stars: Annotated[
        tuple[Count, ...],
        described("The number of reviews with one star, with two, and so on.", [0, 1, 2, 3, 6]),
    ]
    ratings: tuple[RatingView, ...]
    next: Annotated[RatingCursor | None, described(NEXT, None)]


def index(call: Call, form: RatingsQuery) -> RatingList:
    """Return a page of the reviews of the listing."""
    return ratings_of(call, form.after, form.limit)


def ratings_of(call: Call, after: str | None, limit: int) -> RatingList:
    row = listing_of(call.state, call.ref)
    summary = ratings.summary_of(call.state, row)
    behind = ratings.newest_ratings(call.state, row, _place_of(after) if after is not None else None)
    shown = page_of(behind, limit, lambda each: f"{each[1].at_ms}-{each[0].id}")
    return RatingList(
        count=summary.count,
        mean=summary.mean,
        stars=summary.stars,
        ratings=tuple(rating_view(*each) for each in shown.rows),
        next=shown.next,
    )


def _place_of(cursor: str) -> tuple[int, int]:
    at_ms, _, user = cursor.partition("-")
    return int(at_ms), int(user)


def rating_view(row: UserRow, rating: Rating) -> RatingView:
    answer = rating.standing_answer
    return RatingView(
        user=row.id,
        name=row.profile.shown_name if row.profile is not None else None,
        stars=rating.stars,
        text=rating.text,
        at=rating.at_ms,
        edited_at=rating.edited_ms or None,
        answer=RatingAnswerView(at=answer.at_ms, text=answer.text) if answer is not None else None,
    )


def known_rating(call: Call) -> tuple[UserRow, Rating]:
    """Return the review of the user in the path. Raises Refusal, and Invalid for a text that is no id."""
    listing, row = listing_of(call.state, call.ref), call.state.users.get(user_ref(call.user_id(1)))
    found = ratings.standing_rating(row, listing)
    if row is None or found is None:
        raise Refusal("no_such_rating")
    return row, found


def _view(call: Call) -> RatingOfUser:
    return RatingOfUser(**asdict(rating_view(*known_rating(call))))


async def write(call: Call, form: NewRating) -> RatingOfUser:
    """Write or edit the review of the user in the path."""
    user = call.user_id(1)
    refuse_quarantined(call.state, user, "vote", call.now_ms)
    is_member = await _is_member(call, user)
    call = call.rechecked()
    refuse_quarantined(call.state, user, "vote", call.now_ms)
    events = ratings.rate(
        call.state,
        listing_of(call.state, call.ref),
        user,
        ratings.Words(form.stars, form.text),
        call.tools.new_deliveries(),
        now_ms=call.now_ms,
        is_member=is_member,
    )
    return await call.commit(events, lambda: _view(call)) if events else _view(call)


async def _is_member(call: Call, user: str) -> bool:
    """Return true if the chat platform says that the user is in the server of the path. Only a user who has
    not voted is asked about. Raises Refusal for one who may not write for another reason."""
    listing, ask = listing_of(call.state, call.ref), call.tools.is_member
    try:
        ratings.refuse_rating(call.state, listing, user)
    except Refusal as refused:
        if refused.code != "has_not_voted" or ask is None or call.listing_kind.known_as != "server":
            raise
        return await ask(listing.id, user)
    return False


async def take_back(call: Call, _: None) -> Success:
    """Take back the review of the user in the path."""
    listing = listing_of(call.state, call.ref)
    return await _done(call, ratings.take_back(call.state, listing, call.user_id(1), call.now_ms, by=call.by))


async def remove(call: Call, form: RatingRemoval) -> Success:
    """Remove the review of the user in the path, and settle the reports of it."""
    author, _ = known_rating(call)
    row, now_ms = listing_of(call.state, call.ref), call.now_ms
    about = [reports.report_id(each) for each in row.open_reports if each.rating == author.ref]
    return await call.done(
        [
            *ratings.remove_ratings(call.state, row, [author.id], form.reason, now_ms, by=call.by),
            SlotsSet(row.ref, now_ms, action="rating_removed", about=form.reason, by=call.by),
            *(reports.settled(row, about, now_ms, by=call.by) if about else ()),
        ]
    )


async def answer(call: Call, form: RatingReply) -> RatingOfUser:
    """Answer the review of the user in the path, or edit the answer."""
    events = _answered(call, form.text)
    return await call.commit(events, lambda: _view(call)) if events else _view(call)


async def take_answer_back(call: Call, _: None) -> Success:
    """Take back the answer to the review of the user in the path."""
    return await _done(call, _answered(call, ""))


def _answered(call: Call, text: str) -> list[Event]:
    row = listing_of(call.state, call.ref)
    return ratings.answer(call.state, row, call.user_id(1), text, call.now_ms, by=call.by)


async def report(call: Call, form: NewReport) -> Success:
    """Report the review of the user in the path in the name of another user."""
    refuse_quarantined(call.state, form.user, "report", call.now_ms)
    author, _ = known_rating(call)
    row = listing_of(call.state, call.ref)
    events = reports.report(row, form.user, form.reason, form.text, call.now_ms, rating=user_actor(author.id))
    return await call.done(events)


async def _done(call: Call, events: list[Event]) -> Success:
    return await call.done(events) if events else Success()


_OF_USER = "/manage/{kind}/{id}/ratings/{user_id}"
LIST_RATINGS = Action(
    name="list{Thing}Ratings",
    run=index,
    route="GET /manage/{kind}/{id}/ratings",
    of="ratings",
    summary="List the reviews of a {thing} by users",
    about="The newest come first. The mean is Bayesian, so a single review moves it little.",
    outcome="A page of the reviews, with their mean.",
    command=Command("ratings list"),
)
RATE = Action(
    name="rate{Thing}",
    run=write,
    route=f"PUT {_OF_USER}",
    of="ratings",
    summary="Write or edit a user's review of a {thing}",
    about={
        kind.plural: "A user has one review of a {thing}, and writes it after a vote for it."
        + (
            " A member of the server needs no vote, if the chat platform says so."
            if kind.known_as == "server"
            else ""
        )
        + " Owners cannot review their own {thing}. If moderators have removed the review, the user cannot "
        "write another one. A user under a quarantine for `vote` is refused, with the reason."
        for kind in KINDS
    },
    outcome="The review.",
    refuses=(
        *("quarantined", "ratings_need_approval", "rates_own", "has_not_voted", "rating_was_removed"),
        "too_many_ratings",
    ),
    command=Command(
        "ratings write",
        "Write or edit a user's review of a listing.",
        {"stars": Option("--stars", reads="number", needed=True), "text": Option("--text", needed=True)},
    ),
)
TAKE_RATING_BACK = Action(
    name="unrate{Thing}",
    run=take_back,
    route=f"DELETE {_OF_USER}",
    of="ratings",
    summary="Take back a user's review of a {thing}",
    about="The user can write another one. If there is none, nothing changes.",
    outcome="Confirmation that the user has no review of the {thing}.",
    command=Command("ratings take-back", loses="This deletes the review of {id} by the user {user_id}."),
)
REMOVE_RATING = Action(
    name="remove{Thing}Rating",
    run=remove,
    access=Access("decide"),
    route=f"POST {_OF_USER}/remove",
    of="ratings",
    summary="Remove a user's review of a {thing} as a moderator",
    about=(
        "The author and the owners get a notice with the reason. The author cannot write another review of "
        "the {thing}. Reports of the review are settled."
    ),
    outcome="Confirmation that the review is removed.",
    refuses=("no_such_rating",),
    command=Command(
        "ratings remove",
        "Remove a user's review of a listing.\n\nThe author and the owners read REASON.",
        {"reason": Option()},
        loses="This removes the review of {id} by the user {user_id}.",
    ),
)
ANSWER_RATING = Action(
    name="answer{Thing}Rating",
    run=answer,
    access=Access("edit"),
    route=f"PUT {_OF_USER}/answer",
    of="ratings",
    summary="Answer a user's review of a {thing}",
    about="The owners have one answer to a review. Another one replaces it.",
    outcome="The review with the answer.",
    refuses=("no_such_rating",),
    command=Command(
        "ratings answer", "Answer a user's review of a listing.", {"text": Option("--text", needed=True)}
    ),
)
TAKE_ANSWER_BACK = Action(
    name="unanswer{Thing}Rating",
    run=take_answer_back,
    access=Access("edit"),
    route=f"DELETE {_OF_USER}/answer",
    of="ratings",
    summary="Take back the answer to a user's review of a {thing}",
    about="If there is none, nothing changes.",
    outcome="Confirmation that the review has no answer.",
    refuses=("no_such_rating",),
    command=Command("ratings take-answer-back"),
)
REPORT_RATING = Action(
    name="report{Thing}Rating",
    run=report,
    route=f"POST {_OF_USER}/reports",
    of="ratings",
    summary="Report a user's review of a {thing} to the moderators",
    about=(
        "The report is in the queue of reports of the {thing}, with the author of the review. It replaces an "
        "open one of the same user about the same review. A user under a quarantine for `report` is refused, "
        "with the reason."
    ),
    outcome="Confirmation that the moderators have the report.",
    refuses=("no_such_rating", "quarantined", "not_public", "too_many_reports"),
    status=201,
    command=Command(
        "ratings report",
        "Report a user's review of a listing to the moderators in the name of another user.",
        {
            "user": Option(argument="by_user_id"),
            "reason": Option(choices=get_args(ReportReason)),
            "text": Option("--text", help="The details, in the words of the user."),
        },
    ),
)
RATING_ACTIONS = (
    *(LIST_RATINGS, RATE, TAKE_RATING_BACK, ANSWER_RATING, TAKE_ANSWER_BACK),
    *(REPORT_RATING, REMOVE_RATING),
)
