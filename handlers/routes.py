"""The one table of routes. Invariant: a path that is not here does not exist, and each route is documented.

Each action becomes a route: a request finds what its path names first (404), then its form is read (400),
then the action runs. Endpoints that are no actions have rows of their own; those under `/debug` are in
operators/operator_pages.py. In a text of a row, `$name` is a number that an operator can set: the document
fills it in.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from msgspec import UNSET, Meta, UnsetType

from actions.action import Call, Operation, operations
from actions.table import GROUPS
from actions.tools import Tools
from actions.views import Count, Success, example
from forms.reading import read, read_query
from handlers.public import KIND
from handlers.reply import Reply, success
from handlers.request import Endpoint, Request
from handlers.route import Endpoints, Route
from handlers.vote_feed import FeedQuery, VotePage
from languages.refusals import Refusal
from listings.stats import StatsBody
from votes.queries import VoteStatus

HTML = "text/html"

TAGS: Mapping[str, str] = {
    "Public": "For bot developers: push your bot's counts, and check whether a user has voted.",
    "Service": "The health of the gateway, and this description.",
    "Listings": "Submit, review, edit and remove listings.",
    "Review": "The review queue, claims, and notes of moderators.",
    "Keys": "API keys of a bot. A key's value is shown only in the answer that makes it.",
    "Webhooks": "Webhooks of listings: settings, tests, and the log of deliveries.",
    "Likes": "Give and take back likes.",
    "Ratings": "Reviews of listings by users, with stars and an answer of the owners.",
    "Votes": "Cast votes, check the votes of many users, and read all votes.",
    "Users": "Users, moderators, sessions and quarantines.",
    "Debug": "The state of the process, for operators.",
}
"""The tags in the order of their routes."""


def _route(tag: str, operation: Operation) -> Route:
    action, form = operation.action, operation.form
    is_query = action.is_query
    return Route(
        action.method,
        operation.path,
        operation.name,
        endpoint=lambda to: endpoint(operation, to.tools),
        access="operator",
        tag=tag,
        summary=operation.summary,
        description=operation.about,
        answer=operation.view,
        outcome=operation.outcome,
        refuses=operation.refusals,
        body=None if is_query else form,
        query=form if is_query else None,
        status=action.status,
        takes_file=action.takes_file,
        kind=operation.kind,
        of=action.of,
    )


def endpoint(operation: Operation, tools: Tools) -> Endpoint:
    """Return the function that answers the operator's requests for an action."""
    action = operation.action

    async def answer(request: Request) -> Reply:
        def read_form(form: type[Any]) -> Any:
            if action.is_query:
                return read_query(form, request.query)
            return read(form, request.json_object())

        content = request.content() if action.takes_file else b""
        call = Call(tools, request.by, tools.clock.now_ms(), operation.kind, request.params, content=content)
        return success(await operation.answer(call, read_form), action.status)

    return answer


class Ready(Success):
    """The gateway takes requests."""

    missing_workers: Annotated[
        tuple[Count, ...] | UnsetType,
        Meta(description="The workers that take no requests; the others do."),
        example([2]),
    ] = UNSET


def _is_ready(to: Endpoints) -> Endpoint:
    def answer(_: Request) -> Reply:
        reason = to.readiness()
        if reason is not None:
            raise Refusal("not_ready", reason=reason)
        return success(Ready(missing_workers=tuple(to.missing_workers()) or UNSET))

    return answer


class DocumentPage(NamedTuple):
    """A page for developers, which is in English.

    Args:
        name: the id of its operation.
        text: the file in `docs/` that it shows; empty for a page of the OpenAPI document.
    """

    path: str
    title: str
    name: str
    summary: str
    description: str
    text: str = ""


GUIDE, REFERENCE, MANAGEMENT = "/docs/bots", "/docs", "/docs/management"
DOCUMENTS = (
    DocumentPage(
        GUIDE,
        "Guide for bots",
        "readGuide",
        "Read the guide for bot developers",
        "The page leads from a key to the first reward, with code for Python and Node.",
        text="bots.md",
    ),
    DocumentPage(
        "/docs/dev",
        "A platform to try",
        "readDevelopment",
        "Read about the gateway for development",
        "The page describes `votegate dev`: a platform on a developer's own machine.",
        text="dev.md",
    ),
    DocumentPage(
        "/docs/coming-from",
        "From other lists",
        "readChanges",
        "Read what to change when a bot comes from another list",
        "The page says for each client of other lists what to change.",
        text="coming-from.md",
    ),
    DocumentPage(
        REFERENCE,
        "API for bots",
        "describeToPeople",
        "Read the reference of the API for bots",
        "The page shows the requests and the webhooks of bot developers as HTML, from the OpenAPI document.",
    ),
    DocumentPage(
        MANAGEMENT,
        "Management API",
        "describeManagement",
        "Read the reference of the management API",
        "The page shows all other requests as HTML, from the OpenAPI document.",
    ),
)
"""The pages of the documentation, in the order of their navigation."""


def _document(row: DocumentPage) -> Route:
    return Route(
        "GET",
        row.path,
        row.name,
        endpoint=lambda to: (
            lambda request: to.documents[row.path][to.document_variant(request.headers)].get()
        ),
        access="anyone",
        tag="Service",
        summary=row.summary,
        description=row.description,
        answer=None,
        outcome="The page.",
        content_type=HTML,
        is_kept=True,
        follows_look=True,
        is_lenient=True,
    )


_PUBLIC = (
    Route(
        "PATCH",
        "/bots/{id}/stats",
        "updateStats",
        endpoint=lambda to: to.public.push,
        access="bot key",
        tag="Public",
        summary="Update a bot's counts",
        description="""\
Tells the platform how many servers your bot is in and how many commands it has. Send one count or both. If
one of them is refused, nothing changes.

The limit is $stats_limit, and only requests that succeed count. Your server count is compared with the actual
one: the difference must not be larger than $max_difference or 10%, whichever is more.

The checks come in this order: key missing (401), bot unknown (404), key wrong (401), limit reached (429),
neither count (400), server count out of range (400), command count out of range (400), actual count unknown
(500), server count too far off (400).""",
        answer=Success,
        outcome="The counts are saved.",
        refuses=(
            *("no_count_given", "server_count_out_of_range", "command_count_out_of_range"),
            *("server_count_too_far_off", "count_unknown", "count_asked_for"),
            "unavailable",
        ),
        body=StatsBody,
        kind=KIND,
    ),
    Route(
        "GET",
        "/bots/{id}/voters/{user_id}",
        "checkVote",
        endpoint=lambda to: to.public.check,
        access="bot key",
        tag="Public",
        summary="Check whether a user has voted",
        description="""\
Tells whether the user voted for your bot in the last $vote_window, how often over all time, and when last.
If the gateway does not know the user, the answer is that the user has never voted.

The limit is $voters_limit, and only requests that succeed count. No other answer is without `success`.""",
        answer=VoteStatus,
        outcome="The user's vote status.",
        refuses=("malformed_user",),
        kind=KIND,
    ),
)

_SERVICE = (
    Route(
        "GET",
        "/openapi.json",
        "describe",
        endpoint=lambda to: lambda _: to.description.get(),
        access="anyone",
        tag="Service",
        summary="Get the OpenAPI document",
        description="The document describes the API in OpenAPI 3.1, with the limits of this deployment.",
        answer=None,
        outcome="The document.",
        is_kept=True,
    ),
    *map(_document, DOCUMENTS),
    Route(
        "GET",
        "/healthz",
        "isAlive",
        endpoint=lambda _: lambda _: success(),
        access="anyone",
        tag="Service",
        summary="Check whether the process is alive",
        description="The call succeeds whenever the process answers.",
        answer=Success,
        outcome="Confirmation that the process is alive.",
    ),
    Route(
        "GET",
        "/readyz",
        "isReady",
        endpoint=_is_ready,
        access="anyone",
        tag="Service",
        summary="Check whether the gateway takes requests",
        description=(
            "The call succeeds if recovery is complete, the journal takes writes, and the process is "
            "not stopping. With several workers it succeeds while one takes requests, and names those "
            "that take none."
        ),
        answer=Ready,
        outcome="Confirmation that the gateway is ready.",
        refuses=("not_ready",),
    ),
)


_FEED = Route(
    "GET",
    "/manage/votes",
    "listVotes",
    endpoint=lambda to: to.feed.page,
    access="operator",
    tag="Votes",
    summary="Read all votes in the order of the log",
    description="""\
The feed is for a site of your own. Without a cursor, it starts with the votes of every user for every
listing, and goes on with every vote from then on. `next` is a cursor that survives restarts: send it as
`after` to get new lines.

With `Accept: text/event-stream`, the same lines come as server-sent events once they are durable. The id of
each event is its cursor. Such a stream starts after `Last-Event-ID`, or after `after`.

A cursor belongs to one node. It is refused with 410 once the journal no longer has the events after it
(`journal.kept_bytes`). Then forget the votes that you have, and start without a cursor.""",
    answer=VotePage,
    outcome="A page of votes.",
    refuses=("place_lost", "not_ready", "unavailable"),
    query=FeedQuery,
    has_events=True,
)


_EVERY = (
    *_PUBLIC,
    *_SERVICE,
    *(_route(tag, operation) for tag, actions in GROUPS for operation in operations(actions)),
    _FEED,
)
ROUTES: tuple[Route, ...] = tuple(sorted(_EVERY, key=lambda route: [*TAGS].index(route.tag)))
