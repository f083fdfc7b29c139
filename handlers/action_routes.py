"""The management routes of actions. Invariant: all of a route comes from the row of its action.

A request finds what its path names first (404), then its form is read (400), then the action runs.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from actions.action import AnyAction, Call, Operation, operations
from actions.tools import Tools
from actions.views import Success
from forms.reading import read, read_query
from handlers.reply import Reply, success
from handlers.request import Endpoint, Request
from handlers.route import Endpoints, Route
from listings.rules import listing_of


def routes_of(actions: Sequence[AnyAction]) -> tuple[Route, ...]:
    """Return the routes of a group of actions, for each kind that has them."""
    return tuple(map(_route, operations(actions)))


def _route(operation: Operation) -> Route:
    action, form = operation.action, operation.form
    is_query = action.method == "GET"
    return Route(
        action.method,
        operation.path,
        operation.name,
        endpoint=_bound(operation),
        access="operator",
        tag=action.tag,
        summary=operation.summary,
        description=operation.about,
        answer=operation.view,
        outcome=operation.outcome,
        refuses=action.refuses,
        body=None if is_query else form,
        query=form if is_query else None,
        status=action.status,
    )


def _bound(operation: Operation) -> Callable[[Endpoints], Endpoint]:
    return lambda to: endpoint(operation, to.tools)


def endpoint(operation: Operation, tools: Tools) -> Endpoint:
    """Return the function that answers the operator's requests for an action."""

    async def answer(request: Request) -> Reply:
        call = Call(tools, request.by, tools.clock.now_ms(), operation.kind, request.params)
        view = await run_found(operation, call, lambda: _read(operation, request))
        return success(view, operation.action.status)

    return answer


async def run_found(operation: Operation, call: Call, read_form: Callable[[], Any]) -> Success:
    """Find what the path names, read the form, run the action, and return its view. Raises the refusals of
    each."""
    action = operation.action
    if action.finds is not None:
        action.finds(call)
    elif operation.is_on_listing:
        listing_of(call.state, call.ref)
    made = action.run(call, read_form())
    view: Success = await made if inspect.isawaitable(made) else made
    return view


def _read(operation: Operation, request: Request) -> Any:
    """Return the form of a request, which is its query for a GET, and else its body. Raises as they do."""
    form = operation.form
    if form is None:
        return None
    if operation.action.method == "GET":  # of a HEAD, too
        return read_query(form, request.query)
    return read(form, request.json_object())
