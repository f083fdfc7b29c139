"""The calls of the management and debug API, and the command of each.

Invariant: they are the operator's routes.

The rows of actions are read from their table. The others repeat `operators/operator_pages.py`, because that
takes a third of a second to import. A test compares them, and fails for a row without a command.
"""

from typing import NamedTuple

from actions.action import Command, Operation, Option, operations
from actions.table import ACTIONS
from kinds.registry import KINDS


class ApiCall(NamedTuple):
    """A call. `name` is that of the API's description; the answer of a file is no JSON."""

    command: Command
    name: str
    method: str
    path: str
    summary: str
    has_body: bool = False
    query: tuple[str, ...] = ()
    is_file: bool = False
    takes_file: bool = False


def _call(operation: Operation) -> ApiCall:
    action, form = operation.action, operation.form
    is_query = action.is_query and form is not None
    return ApiCall(
        operation.command,
        operation.name,
        action.method,
        operation.path,
        operation.summary,
        has_body=form is not None and not is_query,
        takes_file=action.takes_file,
        query=form.__struct_fields__ if form is not None and is_query else (),
    )


def _page(words: str, name: str, path: str, summary: str, *query: str) -> ApiCall:
    return ApiCall(Command(words), name, "GET", f"/debug/{path}.json", summary, query=query)


_FIND = Command(
    "find",
    "Find listings by name, or a listing or user by id.\n\nTEXT is an id, or a part of a listing's name.",
    {"q": Option(argument="text")},
)
OPERATIONS: tuple[ApiCall, ...] = (
    *map(_call, operations(ACTIONS)),
    *(
        _page(
            *(f"{kind} inspect", f"show{kind.title}Whole", f"listings/{kind}/{{id}}"),
            f"Show everything about {kind.one}",
        )
        for kind in KINDS
    ),
    ApiCall(
        *(Command("votes list"), "listVotes", "GET", "/manage/votes"),
        "Read all votes in the order of the log",
        query=("after", "limit"),
    ),
    ApiCall(Command("doctor"), "showConcerns", "GET", "/debug/concerns", "List present problems"),
    _page("find", "find", "find", "Find a listing or a user", "q")._replace(command=_FIND),
    _page("users inspect", "showUserInside", "users/{id}", "Show everything about a user"),
    _page("debug overview", "showOverview", "overview", "Show an overview of the process"),
    _page("debug webhooks", "showWebhooksInside", "webhooks", "Show all webhooks"),
    _page("debug limiter", "showLimiter", "limiter", "Show the rate limiter"),
    _page("debug errors", "showErrors", "errors", "Show the last warnings and errors"),
    _page("debug journal", "showJournal", "journal", "Show the newest events of the journal", "before"),
    _page("debug data", "showData", "data", "Show positions and digests of the data"),
    ApiCall(
        *(Command("metrics"), "readMetrics", "GET", "/metrics"),
        "Get the metrics for Prometheus",
        is_file=True,
    ),
    ApiCall(Command("snapshot"), "takeSnapshot", "POST", "/debug/snapshot", "Take a snapshot now"),
    ApiCall(Command("backup"), "backUp", "GET", "/debug/snapshot", "Download a backup", is_file=True),
    ApiCall(
        *(Command("restart"), "restartWorkers", "POST", "/debug/restart"),
        "Restart all workers, one after the other",
    ),
    ApiCall(Command("verify"), "verifyState", "POST", "/debug/verify", "Compare memory with disk"),
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
