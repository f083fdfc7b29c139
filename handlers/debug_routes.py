"""The rows of the table of routes with which operators look inside the process."""

from handlers.debug_disk import SnapshotTaken, Verified
from handlers.debug_errors import ErrorLines
from handlers.debug_find import FindQuery, FoundListings
from handlers.debug_journal import JournalPage, JournalQuery
from handlers.debug_limiter import LimiterInside
from handlers.debug_listing import BotInside, DebugBot, ServerInside
from handlers.debug_overview import Overview
from handlers.debug_process import ConcernsNow, DebugState
from handlers.debug_user import UserInside
from handlers.debug_webhooks import WebhooksInside
from handlers.route import Route
from handlers.scrape import PLAIN

_BYTES = "application/octet-stream"

DEBUG_ROUTES = (
    Route(
        "GET",
        "/metrics",
        "readMetrics",
        endpoint=lambda to: to.scrape.metrics,
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
    Route(
        "GET",
        "/debug/state",
        "showState",
        endpoint=lambda to: to.debug.process.state,
        access="operator",
        tag="Debug",
        summary="Show the process",
        description=(
            "Positions of the log, counts, limiter, digest, memory, and how late the event loop runs."
        ),
        answer=DebugState,
        outcome="The process.",
    ),
    Route(
        "GET",
        "/debug/concerns",
        "showConcerns",
        endpoint=lambda to: to.debug.process.concerns,
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
    Route(
        "GET",
        "/debug/bots/{id}",
        "showBotInside",
        endpoint=lambda to: to.debug.listings.bot,
        access="operator",
        tag="Debug",
        summary="Show all about a bot",
        description=(
            "The listing, its keys without values, its webhook, its limits as they stand, its newest "
            "deliveries."
        ),
        answer=DebugBot,
        outcome="The bot.",
        refuses=("no_such_listing",),
    ),
    Route(
        "POST",
        "/debug/snapshot",
        "takeSnapshot",
        endpoint=lambda to: to.debug.disk.snapshot,
        access="operator",
        tag="Debug",
        summary="Take a snapshot now",
        description="Writes the state whole. Answers once it is on disk.",
        answer=SnapshotTaken,
        outcome="It is on disk.",
        refuses=("unavailable",),
    ),
    Route(
        "GET",
        "/debug/snapshot",
        "backUp",
        endpoint=lambda to: to.debug.disk.backup,
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
    Route(
        "POST",
        "/debug/verify",
        "verifyState",
        endpoint=lambda to: to.debug.disk.verify,
        access="operator",
        tag="Debug",
        summary="Compare memory with disk",
        description="Folds what is on disk afresh and compares digests, at one position of the log.",
        answer=Verified,
        outcome="Both digests.",
        refuses=("unavailable",),
    ),
    Route(
        "GET",
        "/debug/overview.json",
        "showOverview",
        endpoint=lambda to: to.debug.overview.show,
        access="operator",
        tag="Debug",
        summary="Show the process at a glance",
        description=(
            "As `/debug/state` without the digests, with what was answered in the last minute, and the last "
            "five minutes as series."
        ),
        answer=Overview,
        outcome="The process.",
    ),
    Route(
        "GET",
        "/debug/webhooks.json",
        "showWebhooksInside",
        endpoint=lambda to: to.debug.webhooks.show,
        access="operator",
        tag="Debug",
        summary="Show all webhooks",
        description="The queue, the endpoints that fail or are suspended and why, and the most loaded ones.",
        answer=WebhooksInside,
        outcome="The webhooks.",
    ),
    Route(
        "GET",
        "/debug/limiter.json",
        "showLimiter",
        endpoint=lambda to: to.debug.limiter.show,
        access="operator",
        tag="Debug",
        summary="Show the rate limiter",
        description="The bots that use most of each limit, and the addresses whose requests fail most.",
        answer=LimiterInside,
        outcome="The limiter.",
    ),
    Route(
        "GET",
        "/debug/errors.json",
        "showErrors",
        endpoint=lambda to: to.debug.errors.show,
        access="operator",
        tag="Debug",
        summary="Show the last warnings and errors",
        description="The newest lines of the log from level WARNING on, since the process began.",
        answer=ErrorLines,
        outcome="The lines, the newest first.",
    ),
    Route(
        "GET",
        "/debug/journal.json",
        "showJournal",
        endpoint=lambda to: to.debug.journal.page,
        access="operator",
        tag="Debug",
        summary="Show the newest events of the journal",
        description="Those since the process began, in pages. No secret is shown.",
        answer=JournalPage,
        outcome="A page of events.",
        query=JournalQuery,
    ),
    Route(
        "GET",
        "/debug/find.json",
        "find",
        endpoint=lambda to: to.debug.find.find,
        access="operator",
        tag="Debug",
        summary="Find a listing or a user",
        description="By the id, or by a part of a listing's name, in any case.",
        answer=FoundListings,
        outcome="The listings that were found.",
        query=FindQuery,
    ),
    Route(
        "GET",
        "/debug/listings/bots/{id}.json",
        "showBotWhole",
        endpoint=lambda to: to.debug.listings.bot_inside,
        access="operator",
        tag="Debug",
        summary="Show all about a bot and its newest votes",
        description="As `/debug/bots/{id}`, with more deliveries and the newest votes.",
        answer=BotInside,
        outcome="The bot.",
        refuses=("no_such_listing",),
    ),
    Route(
        "GET",
        "/debug/listings/servers/{id}.json",
        "showServerWhole",
        endpoint=lambda to: to.debug.listings.server_inside,
        access="operator",
        tag="Debug",
        summary="Show all about a server and its newest votes",
        description="The listing, its webhook, its newest deliveries and its newest votes.",
        answer=ServerInside,
        outcome="The server.",
        refuses=("no_such_listing",),
    ),
    Route(
        "GET",
        "/debug/users/{id}.json",
        "showUserInside",
        endpoint=lambda to: to.debug.users.show,
        access="operator",
        tag="Debug",
        summary="Show all that is known of a user",
        description="As `/manage/users/{id}`, with the listings that the user owns, and the user's votes.",
        answer=UserInside,
        outcome="The user, with listings and votes.",
        refuses=("invalid_id",),
    ),
)
