"""The calls of the management and debug API, and the command of each. Law: they are the operator's routes.

The rows of actions are read from their table. The others repeat `handlers/routes.py`, because that takes a
third of a second to import. A test compares them, and fails for a row without a command.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from actions.action import AnyAction, Operation, Option, operations
from actions.table import ACTIONS
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
        help=operation.help,
        options=action.command.options,
        loses=operation.loses,
    )


def _inspections() -> Iterator[ApiCall]:
    for kind in KINDS:
        yield ApiCall(
            *(f"{kind} inspect", f"show{kind.title}Whole", "GET", f"/debug/listings/{kind}/{{id}}.json"),
            f"Show all about a {kind.singular} and its newest votes",
        )


OPERATIONS: tuple[ApiCall, ...] = (
    *calls_of(ACTIONS),
    *_inspections(),
    ApiCall(
        *("votes list", "listVotes", "GET", "/manage/votes", "Read all votes in the order of the log"),
        query=("after", "limit"),
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
