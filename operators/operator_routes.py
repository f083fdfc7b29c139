"""The rows of the table of routes with which operators look inside the process."""

from handlers.route import AnyRoute, RouteOf
from handlers.routes import ROUTES
from metrics.scraping import PLAIN
from operators.all_webhooks import WebhooksInside
from operators.data_folder import SnapshotTaken, Verified
from operators.debug import Operators
from operators.finding_subjects import FindQuery, FoundListings
from operators.journal_pages import JournalPage, JournalQuery
from operators.limiter_use import LimiterInside
from operators.listing_inside import BotInside, ServerInside
from operators.logged_errors import ErrorLines
from operators.overview import Overview
from operators.process import ConcernsNow, StoredData
from operators.user_inside import UserInside

_BYTES = "application/octet-stream"

OPERATOR_ROUTES: tuple[RouteOf[Operators], ...] = (
    RouteOf(
        "GET",
        "/metrics",
        "readMetrics",
        endpoint=lambda to: to.scraping.metrics,
        access="operator",
        tag="Debug",
        summary="The numbers of the process, for Prometheus",
        description=(
            "Counts, histograms and gauges in the text format of Prometheus, or in OpenMetrics for a request"
            " that accepts `application/openmetrics-text`. The same can be served without a token on an"
            " address of its own (`metrics.address`)."
        ),
        answer=None,
        outcome="The numbers of this moment.",
        content_type=PLAIN.partition(";")[0],
    ),
    RouteOf(
        "GET",
        "/debug/concerns",
        "showConcerns",
        endpoint=lambda to: to.process.concerns,
        access="operator",
        tag="Debug",
        summary="Say what is wrong now",
        description=(
            "Problems of the disk, of Redis and the fleet, of endpoints, of client addresses and of "
            "observers. Each says what it means and what to do next."
        ),
        answer=ConcernsNow,
        outcome="What is wrong; nothing if all is well.",
    ),
    RouteOf(
        "POST",
        "/debug/snapshot",
        "takeSnapshot",
        endpoint=lambda to: to.disk.snapshot,
        access="operator",
        tag="Debug",
        summary="Take a snapshot now",
        description="Writes the state whole. Answers once it is on disk.",
        answer=SnapshotTaken,
        outcome="It is on disk.",
        refuses=("unavailable",),
    ),
    RouteOf(
        "GET",
        "/debug/snapshot",
        "backUp",
        endpoint=lambda to: to.disk.backup,
        access="operator",
        tag="Debug",
        summary="Download a backup",
        description="""\
The whole state in one file, as it is when the last byte leaves. It is sealed, so keep the sealing
keys, in another place.

A backup that could not be brought to its end is cut off with its connection, and refused when it is read.""",
        answer=None,
        outcome="The backup.",
        refuses=("unavailable",),
        content_type=_BYTES,
    ),
    RouteOf(
        "POST",
        "/debug/verify",
        "verifyState",
        endpoint=lambda to: to.disk.verify,
        access="operator",
        tag="Debug",
        summary="Compare memory with disk",
        description="Folds what is on disk afresh and compares digests, at one position of the log.",
        answer=Verified,
        outcome="Both digests.",
        refuses=("unavailable",),
    ),
    RouteOf(
        "GET",
        "/debug/overview.json",
        "showOverview",
        endpoint=lambda to: to.overview.show,
        access="operator",
        tag="Debug",
        summary="Show the process at a glance",
        description=(
            "Positions of the log, counts, limiter, fleet and memory, with what was answered in the last "
            "minute, and the last five minutes as series."
        ),
        answer=Overview,
        outcome="The process.",
    ),
    RouteOf(
        "GET",
        "/debug/webhooks.json",
        "showWebhooksInside",
        endpoint=lambda to: to.webhooks.show,
        access="operator",
        tag="Debug",
        summary="Show all webhooks",
        description="The queue, the endpoints that fail or are suspended and why, and the most loaded ones.",
        answer=WebhooksInside,
        outcome="The webhooks.",
    ),
    RouteOf(
        "GET",
        "/debug/limiter.json",
        "showLimiter",
        endpoint=lambda to: to.limiter.show,
        access="operator",
        tag="Debug",
        summary="Show the rate limiter",
        description="The bots that use most of each limit, and the addresses whose requests fail most.",
        answer=LimiterInside,
        outcome="The limiter.",
    ),
    RouteOf(
        "GET",
        "/debug/errors.json",
        "showErrors",
        endpoint=lambda to: to.errors.show,
        access="operator",
        tag="Debug",
        summary="Show the last warnings and errors",
        description="The newest lines of the log from level WARNING on, since the process began.",
        answer=ErrorLines,
        outcome="The lines, the newest first.",
    ),
    RouteOf(
        "GET",
        "/debug/journal.json",
        "showJournal",
        endpoint=lambda to: to.journal.page,
        access="operator",
        tag="Debug",
        summary="Show the newest events of the journal",
        description="Those since the process began, in pages. No secret is shown.",
        answer=JournalPage,
        outcome="A page of events.",
        query=JournalQuery,
    ),
    RouteOf(
        "GET",
        "/debug/data.json",
        "showData",
        endpoint=lambda to: to.process.data,
        access="operator",
        tag="Debug",
        summary="Show what is on disk, with digests",
        description="Positions of the log, and digests of the state: equal digests mean equal states.",
        answer=StoredData,
        outcome="Positions and digests.",
    ),
    RouteOf(
        "GET",
        "/debug/find.json",
        "find",
        endpoint=lambda to: to.find.find,
        access="operator",
        tag="Debug",
        summary="Find a listing or a user",
        description="By the id, or by a part of a listing's name, in any case.",
        answer=FoundListings,
        outcome="The listings that were found.",
        query=FindQuery,
    ),
    RouteOf(
        "GET",
        "/debug/listings/bots/{id}.json",
        "showBotWhole",
        endpoint=lambda to: to.listings.bot_inside,
        access="operator",
        tag="Debug",
        summary="Show all about a bot and its newest votes",
        description=(
            "The listing, its keys without values, its webhook, its limits as they stand, its newest "
            "deliveries and its newest votes."
        ),
        answer=BotInside,
        outcome="The bot.",
        refuses=("no_such_listing",),
    ),
    RouteOf(
        "GET",
        "/debug/listings/servers/{id}.json",
        "showServerWhole",
        endpoint=lambda to: to.listings.server_inside,
        access="operator",
        tag="Debug",
        summary="Show all about a server and its newest votes",
        description="The listing, its webhook, its newest deliveries and its newest votes.",
        answer=ServerInside,
        outcome="The server.",
        refuses=("no_such_listing",),
    ),
    RouteOf(
        "GET",
        "/debug/users/{id}.json",
        "showUserInside",
        endpoint=lambda to: to.users.show,
        access="operator",
        tag="Debug",
        summary="Show all that is known of a user",
        description="As `/manage/users/{id}`, with the listings that the user owns, and the user's votes.",
        answer=UserInside,
        outcome="The user, with listings and votes.",
        refuses=("invalid_id",),
    ),
)

ALL_ROUTES: tuple[AnyRoute, ...] = (*ROUTES, *OPERATOR_ROUTES)
"""All routes of the API."""
