"""The calls of the management and debug API, and the command of each. Law: they are the operator's routes.

The rows of actions are read from their table. The others repeat `handlers/routes.py`, because that takes a
third of a second to import. A test compares them, and fails for a row without a command.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from actions.action import AnyAction, Operation, Option, operations
from actions.deliveries import DELIVERY_ACTIONS
from actions.keys import KEY_ACTIONS
from actions.listings import LISTING_ACTIONS, NUMBER_ACTIONS
from actions.owners import OWNER_ACTIONS
from actions.votes import VOTE_ACTIONS
from actions.webhooks import WEBHOOK_ACTIONS
from kinds.kind import Kind
from kinds.registry import KINDS


class ApiCall(NamedTuple):
    """A call: `name` is that of the API's description, `command` the words behind `admin`.

    `help`, `options` and `loses` are those of the command (actions/action.py).
    """

    command: str
    name: str
    method: str
    path: str
    summary: str
    has_body: bool = False
    query: tuple[str, ...] = ()
    is_file: bool = False
    """The answer is a file, and no JSON."""
    help: str = ""
    options: Mapping[str, Option] = {}
    loses: str = ""


def calls_of(actions: Sequence[AnyAction]) -> tuple[ApiCall, ...]:
    """Return the calls of a group of actions, for each kind that has them."""
    return tuple(map(_call, operations(actions)))


def _call(operation: Operation) -> ApiCall:
    action, form = operation.action, operation.form
    is_query = action.method == "GET" and form is not None
    return ApiCall(
        operation.command,
        operation.name,
        action.method,
        operation.path,
        operation.summary,
        has_body=form is not None and not is_query,
        query=form.__struct_fields__ if form is not None and is_query else (),
        help=action.command.help,
        options=action.command.options,
        loses=operation.loses,
    )


def _of_kind(kind: Kind) -> Iterator[ApiCall]:
    thing, one, form = kind.singular, f"/manage/{kind}/{{id}}", kind.title
    for row in (
        (f"{kind} approve", f"approve{form}", "POST", f"{one}/approve", f"Approve a {thing} in review", True),
        (f"{kind} deny", f"deny{form}", "POST", f"{one}/deny", f"Deny a {thing} in review", True),
        (
            *(f"{kind} withdraw", f"withdraw{form}", "POST", f"{one}/withdraw"),
            *(f"Withdraw the approval of a {thing}", True),
        ),
        (
            *("review agree", f"agreeTo{form}Change", "POST", f"{one}/change/agree"),
            *(f"Agree to the change of a {thing}", True),
        ),
        (
            *("review refuse", f"refuse{form}Change", "POST", f"{one}/change/refuse"),
            *(f"Refuse the change of a {thing}", True),
        ),
        (
            *(f"{kind} inspect", f"show{form}Whole", "GET", f"/debug/listings/{kind}/{{id}}.json"),
            f"Show all about a {thing} and its newest votes",
        ),
        (
            *("votes strike", f"strike{form}Votes", "POST", f"{one}/votes/strike"),
            *(f"Strike votes for a {thing} out", True),
        ),
        ("review claim", f"claim{form}", "POST", f"{one}/claim", f"Take the review of a {thing} on", True),
        ("review release", f"release{form}", "DELETE", f"{one}/claim", f"Give the review of a {thing} back"),
        ("review notes", f"show{form}Notes", "GET", f"{one}/notes", f"Show the notes on a {thing}"),
        ("review note", f"note{form}", "POST", f"{one}/notes", f"Note something on a {thing}", True),
    ):
        yield ApiCall(*row)


_USER = "/manage/users/{id}"
OPERATIONS: tuple[ApiCall, ...] = (
    *calls_of((*LISTING_ACTIONS, *NUMBER_ACTIONS)),
    *(call for kind in KINDS for call in _of_kind(kind)),
    ApiCall(
        *("review queue", "showQueue", "GET", "/manage/queue", "Show what waits for a decision"),
        query=("after", "limit"),
    ),
    *calls_of(OWNER_ACTIONS),
    *calls_of(KEY_ACTIONS),
    *calls_of((*WEBHOOK_ACTIONS, *DELIVERY_ACTIONS)),
    *calls_of(VOTE_ACTIONS),
    ApiCall(
        *("votes list", "listVotes", "GET", "/manage/votes", "Read all votes in the order of the log"),
        query=("after", "limit"),
    ),
    ApiCall("users list", "listUsers", "GET", "/manage/users", "List users", query=("after", "limit")),
    ApiCall("users show", "showUser", "GET", _USER, "Show a user"),
    ApiCall("users erase", "forgetUser", "DELETE", _USER, "Forget a user"),
    ApiCall("users notices", "listNotices", "GET", f"{_USER}/notices", "List a user's notices"),
    ApiCall("users reminders", "listReminders", "GET", f"{_USER}/reminders", "List a user's reminders"),
    ApiCall(
        *("users clear-reminders", "clearReminders", "DELETE", f"{_USER}/reminders"),
        "Turn all reminders of a user off",
    ),
    ApiCall("users sessions", "listSessions", "GET", f"{_USER}/sessions", "List a user's sessions"),
    ApiCall(
        *("users end-sessions", "endSessions", "DELETE", f"{_USER}/sessions"),
        "End all sessions of a user",
    ),
    ApiCall(
        *("users end-all-sessions", "endAllSessions", "DELETE", "/manage/sessions"),
        "End the sessions of all users",
    ),
    ApiCall(
        *("users end-session", "endSession", "DELETE", f"{_USER}/sessions/{{session_id}}"),
        "End a session of a user",
    ),
    ApiCall(
        *("users quarantine", "quarantineUser", "PUT", f"{_USER}/quarantines/{{act}}"),
        *("Forbid an act to a user", True),
    ),
    ApiCall(*("users lift", "liftQuarantine", "DELETE", f"{_USER}/quarantines/{{act}}"), "Lift a quarantine"),
    ApiCall("moderators list", "listModerators", "GET", "/manage/moderators", "List moderators"),
    ApiCall(
        *("moderators add", "appointModerator", "PUT", f"{_USER}/moderator", "Make a user a moderator", True),
    ),
    ApiCall(
        *("moderators remove", "dismissModerator", "DELETE", f"{_USER}/moderator"),
        "Take the role of a moderator away",
    ),
    ApiCall("doctor", "showConcerns", "GET", "/debug/concerns", "Say what is wrong now"),
    ApiCall("find", "find", "GET", "/debug/find.json", "Find a listing or a user", query=("q",)),
    ApiCall(
        *("users inspect", "showUserInside", "GET", "/debug/users/{id}.json"),
        "Show all that is known of a user",
    ),
    ApiCall(
        *("debug overview", "showOverview", "GET", "/debug/overview.json"),
        "Show the process at a glance",
    ),
    ApiCall("debug webhooks", "showWebhooksInside", "GET", "/debug/webhooks.json", "Show all webhooks"),
    ApiCall("debug limiter", "showLimiter", "GET", "/debug/limiter.json", "Show the rate limiter"),
    ApiCall(
        *("debug errors", "showErrors", "GET", "/debug/errors.json"), "Show the last warnings and errors"
    ),
    ApiCall(
        *("debug journal", "showJournal", "GET", "/debug/journal.json"),
        "Show the newest events of the journal",
        query=("before",),
    ),
    ApiCall("debug data", "showData", "GET", "/debug/data.json", "Show what is on disk, with digests"),
    ApiCall(
        *("metrics", "readMetrics", "GET", "/metrics", "The numbers of the process, for Prometheus"),
        is_file=True,
    ),
    ApiCall("snapshot", "takeSnapshot", "POST", "/debug/snapshot", "Take a snapshot now"),
    ApiCall("backup", "backUp", "GET", "/debug/snapshot", "Download a backup", is_file=True),
    ApiCall("verify", "verifyState", "POST", "/debug/verify", "Compare memory with disk"),
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
