"""Every operation of the public, open and debug routes; `openapi_manage.py` has the management API's.

Law: an operation is a row of a table. Paths, parameters, statuses and headers follow from what it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Security = Literal["apiKey", "operator", "none"]


@dataclass(frozen=True)
class Answer:
    """A success: its status, the name of its schema, the names of its examples."""

    schema: str
    examples: tuple[str, ...]
    description: str
    status: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True)
class Body:
    """The name of the body's schema; `required` is whether an empty body, read as `{}`, breaks a rule."""

    schema: str
    required: bool = True


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    id: str
    tag: str
    summary: str
    description: str
    answer: Answer
    refusals: tuple[str, ...]
    body: Body | None = None
    query: tuple[str, ...] = ()
    security: Security = "operator"


# What a management operation can be refused for: always; when it writes; when it is sent a body.
READ = ("OperatorTokenRefused", "AddressRefused", "Failed")
WRITE = (*READ, "Unavailable")
SENT = ("BodyRefused", "BodyTooLarge")

TAGS: Mapping[str, str] = {
    "Public": "For bot developers: push your bot's counts, and ask whether a user has voted.",
    "Service": "Whether the gateway is well, and what it can do.",
    "Listings": "Bots and servers: submit, review, edit, remove.",
    "Keys": "API keys of a bot. A key's value is in one answer only, the one that made it.",
    "Webhooks": "Where votes are sent to, and what became of each.",
    "Votes": "Cast a vote, look many up, forget a user.",
    "Debug": "The inside of the process, for operators.",
}

_STATS_TEXT = """Tells the platform how many servers your bot is in and how many commands it has. Send one
count or both; nothing changes unless all that you send is right.

By default the limit is 2 requests per 120 minutes, and only requests that succeed count. Your server count is
compared with the actual one: it must not be off by more than the larger of 50 and 10%.

The checks come in this order: key missing (401), bot unknown (404), key wrong (401), limit reached (429),
neither count (400), server count out of range (400), command count out of range (400), actual count unknown
(500), server count too far off (400)."""

_VOTERS_TEXT = """Tells whether the user voted for your bot in the last 24 hours, how often over all time,
and when last. A well-formed id that nobody knows has never voted.

By default the limit is 100 requests per 5 minutes, and only requests that succeed count. This body alone has
no `success`."""

_BACKUP_TEXT = """The whole state in one file, as it is when the last byte leaves. It is sealed, so keep the
sealing keys, in another place.

A backup that could not be brought to its end is cut off with its connection, and refused when it is read."""

_PUBLIC_FAILURES = ("ApiKeyRefused", "BotNotFound", "TooManyRequests")

PUBLIC: tuple[Operation, ...] = (
    Operation(
        "PATCH",
        "/bots/{id}/stats",
        "updateStats",
        "Public",
        "Update a bot's counts",
        _STATS_TEXT,
        Answer("Success", ("done",), "The counts are saved."),
        ("StatsRefused", *_PUBLIC_FAILURES, "StatsBodyTooLarge", "StatsFailed", "StatsUnavailable"),
        Body("Stats"),
        security="apiKey",
    ),
    Operation(
        "GET",
        "/bots/{id}/voters/{user_id}",
        "checkVote",
        "Public",
        "Ask whether a user has voted",
        _VOTERS_TEXT,
        Answer("VoteStatus", ("voted", "votedBefore", "neverVoted"), "How the user stands with the bot."),
        ("UserIdRefused", *_PUBLIC_FAILURES, "VotersFailed"),
        security="apiKey",
    ),
)

OPEN: tuple[Operation, ...] = (
    Operation(
        "GET",
        "/openapi.json",
        "describe",
        "Service",
        "This description",
        "The API in the form of OpenAPI 3.1.",
        Answer("Document", (), "The document."),
        ("Failed",),
        security="none",
    ),
    Operation(
        "GET",
        "/docs",
        "describeToPeople",
        "Service",
        "This description, to be read",
        "The same document as one HTML page that needs nothing else.",
        Answer("Page", (), "The page.", content_type="text/html"),
        ("Failed",),
        security="none",
    ),
    Operation(
        "GET",
        "/healthz",
        "isAlive",
        "Service",
        "Whether the process is alive",
        "Succeeds as long as the process answers at all.",
        Answer("Success", ("done",), "It is alive."),
        ("Failed",),
        security="none",
    ),
    Operation(
        "GET",
        "/readyz",
        "isReady",
        "Service",
        "Whether the gateway takes requests",
        "Succeeds when everything is recovered, the journal takes writes, and the process is not stopping.",
        Answer("Success", ("done",), "It is ready."),
        ("Failed", "NotReady"),
        security="none",
    ),
)

DEBUG: tuple[Operation, ...] = (
    Operation(
        "GET",
        "/debug/state",
        "showState",
        "Debug",
        "Show the process",
        "Positions of the log, counts, limiter, digest, memory, and how late the event loop runs.",
        Answer("DebugState", ("state",), "The process."),
        ("OperatorTokenRefused", "AddressRefused", "Failed"),
    ),
    Operation(
        "GET",
        "/debug/bots/{id}",
        "showBotInside",
        "Debug",
        "Show all about a bot",
        "The listing, its keys without values, its webhook, its limits as they stand, its newest deliveries.",
        Answer("DebugBot", ("botInside",), "The bot."),
        ("OperatorTokenRefused", "AddressRefused", "NoSuchListing", "Failed"),
    ),
    Operation(
        "GET",
        "/debug/snapshot",
        "backUp",
        "Debug",
        "Download a backup",
        _BACKUP_TEXT,
        Answer("Backup", (), "The backup.", content_type="application/octet-stream"),
        ("OperatorTokenRefused", "AddressRefused", "Failed", "Unavailable"),
    ),
    Operation(
        "POST",
        "/debug/snapshot",
        "takeSnapshot",
        "Debug",
        "Take a snapshot now",
        "Writes the state whole. Answers once it is on disk.",
        Answer("SnapshotTaken", ("snapshotTaken",), "It is on disk."),
        ("OperatorTokenRefused", "AddressRefused", "Failed", "Unavailable"),
    ),
    Operation(
        "POST",
        "/debug/verify",
        "verifyState",
        "Debug",
        "Compare memory with disk",
        "Folds what is on disk afresh and compares digests, at one position of the log.",
        Answer("Verified", ("verified",), "Both digests."),
        ("OperatorTokenRefused", "AddressRefused", "Failed", "Unavailable"),
    ),
)
