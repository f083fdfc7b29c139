"""The one table of routes. Invariant: a path that is not here does not exist, and each route is documented.

Each action becomes a route: a request finds what its path names first (404), then its form is read (400),
then the action runs. Endpoints that are no actions have rows of their own; those under `/debug` are in
operators/operator_pages.py. In a text of a row, `$name` is a number that an operator can set: the document
fills it in.
"""

from collections.abc import Mapping
from typing import Any

from actions.action import Call, Operation, operations
from actions.table import GROUPS
from actions.tools import Tools
from actions.views import Success
from forms.reading import read, read_query
from handlers.reply import Reply, success
from handlers.request import Endpoint, Request
from handlers.route import Endpoints, Route
from handlers.vote_feed import FeedQuery, VotePage
from languages.refusals import Refusal
from listings.stats import StatsBody
from votes.queries import VoteStatus

HTML = "text/html"

TAGS: Mapping[str, str] = {
    "Public": "For bot developers: push your bot's counts, and ask whether a user has voted.",
    "Service": "Whether the gateway is well, and what it can do.",
    "Listings": "Bots and servers: submit, review, edit, remove.",
    "Review": "What waits for a decision, who is at it, and what moderators note.",
    "Keys": "API keys of a bot. A key's value is in one answer only, the one that made it.",
    "Webhooks": "Where votes and other events are sent to, and what became of each.",
    "Votes": "Cast a vote, look many up, read all.",
    "Users": "Who moderates, who is signed in, what is forbidden to whom. Forget a user.",
    "Debug": "The inside of the process, for operators.",
}
"""The tags in the order of their routes."""


def _route(tag: str, operation: Operation) -> Route:
    action, form = operation.action, operation.form
    is_query = action.method == "GET"
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
    )


def endpoint(operation: Operation, tools: Tools) -> Endpoint:
    """Return the function that answers the operator's requests for an action."""
    action = operation.action

    async def answer(request: Request) -> Reply:
        def read_form(form: type[Any]) -> Any:
            is_query = action.method == "GET"  # of a HEAD, too
            return read_query(form, request.query) if is_query else read(form, request.json_object())

        call = Call(tools, request.by, tools.clock.now_ms(), operation.kind, request.params)
        return success(await operation.answer(call, read_form), action.status)

    return answer


def _is_ready(to: Endpoints) -> Endpoint:
    def answer(_: Request) -> Reply:
        reason = to.readiness()
        if reason is not None:
            raise Refusal("not_ready", reason=reason)
        return success()

    return answer


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
Tells the platform how many servers your bot is in and how many commands it has. Send one count or
both; nothing changes unless all that you send is right.

The limit is $stats_limit, and only requests that succeed count. Your server count is compared with the actual
one: it must not be off by more than the larger of $max_difference and 10%.

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
    ),
    Route(
        "GET",
        "/bots/{id}/voters/{user_id}",
        "checkVote",
        endpoint=lambda to: to.public.check,
        access="bot key",
        tag="Public",
        summary="Ask whether a user has voted",
        description="""\
Tells whether the user voted for your bot in the last $vote_window, how often over all time, and
when last. A well-formed id that nobody knows has never voted.

The limit is $voters_limit, and only requests that succeed count. This body alone has no `success`.""",
        answer=VoteStatus,
        outcome="How the user stands with the bot.",
        refuses=("malformed_user",),
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
        summary="This description",
        description="The API in the form of OpenAPI 3.1, with the limits that are in force here.",
        answer=None,
        outcome="The document.",
    ),
    Route(
        "GET",
        "/docs",
        "describeToPeople",
        endpoint=lambda to: lambda _: to.description_page.get(),
        access="anyone",
        tag="Service",
        summary="This description, to be read",
        description="The same document as one HTML page that needs nothing else.",
        answer=None,
        outcome="The page.",
        content_type=HTML,
    ),
    Route(
        "GET",
        "/healthz",
        "isAlive",
        endpoint=lambda _: lambda _: success(),
        access="anyone",
        tag="Service",
        summary="Ask whether the process is alive",
        description="Succeeds as long as the process answers at all.",
        answer=Success,
        outcome="It is alive.",
    ),
    Route(
        "GET",
        "/readyz",
        "isReady",
        endpoint=_is_ready,
        access="anyone",
        tag="Service",
        summary="Ask whether the gateway takes requests",
        description=(
            "Succeeds when everything is recovered, the journal takes writes, and the process is not "
            "stopping."
        ),
        answer=Success,
        outcome="It is ready.",
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
For a site of your own. Without a cursor, a reader gets how every user stands with every listing, and every
vote from then on; `next` is a cursor that outlives restarts. Ask again with it for what is new.

With `Accept: text/event-stream` the same lines come as server-sent events as they become durable, each with
its cursor as its id. Such a stream begins behind `Last-Event-ID`, or `after`.

A cursor belongs to one node. It is refused with 410 once the journal no longer reaches back to it
(`journal.kept_bytes`): begin again without one, and forget what you know.""",
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
