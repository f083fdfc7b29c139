"""The table of the operations under `/debug`, and of the operator's pages.

Invariant: a page and its JSON are made of one value.

    Webhooks:  GET /debug/webhooks        the view, drawn by web/templates/debug/webhooks.html
               GET /debug/webhooks.json   the view as JSON: an operation of the API

A row has the function that returns the view, and everything else about the operation and its page.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from actions.action import RefusedFor
from actions.views import Success
from core.finished import finished
from forms.reading import read_query
from handlers.reply import JSON, Reply, success
from handlers.request import Endpoint, Request
from handlers.route import AnyRoute, RouteOf
from handlers.routes import ROUTES
from kinds.kind import Kind
from kinds.registry import KINDS
from metrics.collectors import PLAIN
from operators.all_webhooks import WebhooksInside, all_webhooks
from operators.all_workers import Restarting, overview_of_all, restart
from operators.data_folder import BACKUP, SnapshotTaken, Verified, backup, snapshot, verify
from operators.gateway_parts import GatewayParts
from operators.journal_tail import JournalPage, JournalQuery
from operators.limiter_use import LimiterInside, limiter_use
from operators.overview import (
    ConcernsNow,
    Overview,
    StoredData,
    concerns_now,
    overview_html,
    stored_data,
)
from operators.recent_errors import ErrorLines
from operators.subjects import (
    INSIDES,
    FindQuery,
    FoundListings,
    UserInside,
    find,
    listing_html,
    listing_inside,
    name_of,
    user_inside,
)

if TYPE_CHECKING:
    from web.markdown import Markdown

V = TypeVar("V", bound=Success)
Html = Mapping[str, Any]
Show = Callable[[GatewayParts, Request], V | Reply | Awaitable[V | Reply]]


def _no_html(_: Any, __: Request, ___: "Markdown") -> Html:
    return {}


@dataclass(frozen=True, kw_only=True)
class DebugOperation(Generic[V]):
    """An operation of the API, and its page if it has one.

    Args:
        page: the path of the page; "" if there is none.
        path: the path of the operation; by default that of the page with `.json`.
        name: the id of the operation.
        view: the type of the answer; None if `show` returns a reply that is no view.
        show: returns the view.
        section: the name of the page in the navigation, and its title; "" if it is not there.
        title: returns the title, if it is no section.
        template: the template in `web/templates/debug/`, which gets the view as `value`; by default, the end
            of the page's path.
        html: returns further values for the template.
        kind: the kind of listing that it is for; None for all of them.
    """

    page: str = ""
    path: str = ""
    method: str = "GET"
    name: str
    view: type[V] | None = None
    show: Show[V]
    summary: str
    about: str
    outcome: str
    query: type[Struct] | None = None
    refuses: tuple[RefusedFor, ...] = ()
    content_type: str = JSON
    section: str = ""
    title: Callable[[V], str] | None = None
    template: str = ""
    html: Callable[[V, Request, "Markdown"], Html | Awaitable[Html]] = _no_html
    kind: Kind | None = None

    @property
    def route(self) -> RouteOf[GatewayParts]:
        return RouteOf(
            self.method,
            self.path or f"{self.page}.json",
            self.name,
            endpoint=self._endpoint,
            access="operator",
            tag="Debug",
            summary=self.summary,
            description=self.about,
            answer=self.view,
            outcome=self.outcome,
            refuses=self.refuses,
            query=self.query,
            content_type=self.content_type,
            kind=self.kind,
        )

    def _endpoint(self, parts: GatewayParts) -> Endpoint:
        async def answer(request: Request) -> Reply:
            shown: V | Reply = await finished(self.show(parts, request))
            return shown if isinstance(shown, Reply) else success(shown)

        return answer


def _listing_page(kind: Kind) -> DebugOperation[Any]:
    """Return the page of everything about a listing of a kind."""
    parts = (
        ("its keys without values", kind.keys is not None),
        ("its webhook", True),
        ("its rate limits", kind.stats is not None),
        ("its newest deliveries", True),
    )
    shown = ", ".join(["The answer has the listing", *(text for text, is_there in parts if is_there)])
    return DebugOperation(
        page=f"/debug/listings/{kind}/{{id}}",
        title=name_of,
        template="listing",
        html=partial(listing_html, kind),
        name=f"show{kind.title}Whole",
        view=INSIDES[kind.plural],
        show=lambda parts, request: listing_inside(parts, kind, request.params[0]),
        summary=f"Show everything about {kind.one}",
        about=f"{shown} and its newest votes.",
        outcome=f"The {kind.singular}.",
        refuses=("no_such_listing",),
        kind=kind,
    )


_WITH_PAGES: tuple[DebugOperation[Any], ...] = (
    DebugOperation(
        page="/debug",
        path="/debug/overview.json",
        section="Overview",
        template="overview",
        html=lambda value, _, __: overview_html(value),
        name="showOverview",
        view=Overview,
        show=lambda parts, _: overview_of_all(parts),
        summary="Show an overview of the process",
        about=(
            "The overview has positions of the log, counts, the limiter, the fleet and memory. It also "
            "has the requests of the last minute, and series of the last five minutes."
        ),
        outcome="The overview.",
    ),
    DebugOperation(
        page="/debug/webhooks",
        section="Webhooks",
        name="showWebhooksInside",
        view=WebhooksInside,
        show=lambda parts, _: all_webhooks(parts),
        summary="Show all webhooks",
        about=(
            "The answer has the queue, failing and suspended endpoints with the reasons, and the "
            "endpoints with the most pending deliveries."
        ),
        outcome="The webhooks.",
    ),
    DebugOperation(
        page="/debug/limiter",
        section="Limiter",
        name="showLimiter",
        view=LimiterInside,
        show=lambda parts, _: limiter_use(parts),
        summary="Show the rate limiter",
        about=(
            "The answer has the bots that use the greatest part of each limit, and the addresses with "
            "the most failing requests."
        ),
        outcome="The limiter.",
    ),
    DebugOperation(
        page="/debug/errors",
        section="Errors",
        name="showErrors",
        view=ErrorLines,
        show=lambda parts, _: parts.errors.show(),
        summary="Show the last warnings and errors",
        about="The lines have the level WARNING or above. They are kept since the process began.",
        outcome="The lines, the newest first.",
    ),
    DebugOperation(
        page="/debug/journal",
        section="Journal",
        html=lambda _, request, __: {"before": request.query.get("before")},
        name="showJournal",
        view=JournalPage,
        show=lambda parts, request: parts.tail.page(read_query(JournalQuery, request.query).before),
        summary="Show the newest events of the journal",
        about="The list has the events since the process began, in pages. It shows no secrets.",
        outcome="A page of events.",
        query=JournalQuery,
    ),
    DebugOperation(
        page="/debug/data",
        section="Data",
        title=lambda _: "Data on disk",
        name="showData",
        view=StoredData,
        show=lambda parts, _: stored_data(parts),
        summary="Show positions and digests of the data",
        about=(
            "The answer has positions of the log, and digests of the state. Equal digests mean equal states."
        ),
        outcome="Positions and digests.",
    ),
    DebugOperation(
        page="/debug/find",
        title=lambda _: "Find",
        html=lambda _, request, __: {"q": request.query.get("q", "").strip()},
        name="find",
        view=FoundListings,
        show=lambda parts, request: find(parts, read_query(FindQuery, request.query)),
        summary="Find a listing or a user",
        about="The search looks for an id, or for a part of a listing's name in upper or lower case.",
        outcome="The listings that were found.",
        query=FindQuery,
    ),
    *map(_listing_page, KINDS),
    DebugOperation(
        page="/debug/users/{id}",
        title=lambda user: f"User {user.id}",
        template="user",
        name="showUserInside",
        view=UserInside,
        show=lambda parts, request: user_inside(parts, request.params[0]),
        summary="Show everything about a user",
        about=(
            "The answer is that of `/manage/users/{id}`, with the listings that the user owns and the "
            "user's votes."
        ),
        outcome="The user, with listings and votes.",
        refuses=("invalid_id",),
    ),
)


READ_METRICS = DebugOperation[Any](
    path="/metrics",
    name="readMetrics",
    show=lambda parts, request: parts.scraping.metrics(request),
    summary="Get the metrics for Prometheus",
    about=(
        "The metrics are in the text format of Prometheus, or in OpenMetrics if the request "
        "accepts `application/openmetrics-text`. They can also be served without a token on a "
        "separate address (`metrics.address`)."
    ),
    outcome="The metrics.",
    content_type=PLAIN.partition(";")[0],
)
SHOW_CONCERNS = DebugOperation[Any](
    path="/debug/concerns",
    name="showConcerns",
    show=lambda parts, _: concerns_now(parts),
    summary="List present problems",
    about=(
        "The list has problems of the disk, Redis, the fleet, endpoints, client addresses and "
        "observers. Each problem has its meaning and the next step."
    ),
    view=ConcernsNow,
    outcome="The problems; the list is empty if all is well.",
)
TAKE_SNAPSHOT = DebugOperation[Any](
    method="POST",
    path="/debug/snapshot",
    name="takeSnapshot",
    show=lambda parts, _: snapshot(parts),
    summary="Take a snapshot now",
    about=(
        "The whole state is written to a new file, while the gateway goes on. The answer comes once the file "
        "is on disk. The next start is faster with it."
    ),
    view=SnapshotTaken,
    outcome="The snapshot that is on disk now.",
    refuses=("unavailable",),
)
BACK_UP = DebugOperation[Any](
    path="/debug/snapshot",
    name="backUp",
    show=lambda parts, _: backup(parts),
    summary="Download a backup",
    about="""\
The backup is the whole state in one encrypted file, as it is when the last byte leaves. Only the sealing
keys open the file, and they are not in it: keep a copy of them in another place.

If a backup cannot be completed, its connection is cut. The incomplete file is refused when it is read.""",
    outcome="The backup.",
    refuses=("unavailable",),
    content_type=BACKUP,
)
VERIFY_STATE = DebugOperation[Any](
    method="POST",
    path="/debug/verify",
    name="verifyState",
    show=lambda parts, _: verify(parts),
    summary="Compare memory with disk",
    about=(
        "Everything on disk is read again, and compared with the state in memory at one position of the log. "
        "With millions of votes, this takes one core for some seconds. It changes nothing."
    ),
    view=Verified,
    outcome="Both digests.",
    refuses=("unavailable",),
)
RESTART_WORKERS = DebugOperation[Any](
    method="POST",
    path="/debug/restart",
    name="restartWorkers",
    show=lambda parts, _: restart(parts),
    summary="Restart all workers, one after the other",
    about=(
        "Each worker is replaced by the program that is at its path now. The others answer all requests "
        "meanwhile. The answer comes at once; the overview shows the workers."
    ),
    view=Restarting,
    outcome="The workers are being replaced.",
    refuses=("no_workers",),
)
OPERATIONS = (
    *(READ_METRICS, SHOW_CONCERNS, TAKE_SNAPSHOT, BACK_UP, VERIFY_STATE, RESTART_WORKERS),
    *_WITH_PAGES,
)
OPERATOR_ROUTES = tuple(each.route for each in OPERATIONS)
ALL_ROUTES: tuple[AnyRoute, ...] = (*ROUTES, *OPERATOR_ROUTES)
"""All routes of the API."""
