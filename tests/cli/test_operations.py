"""The table of operations: the operator's routes, with a command for each."""

import click
from msgspec.structs import fields

from actions.action import Command
from cli.admin import admin, every_call
from cli.operations import OPERATIONS, ApiCall
from handlers.reply import JSON
from handlers.route import Route
from kinds.registry import BY_PLURAL
from operators.operator_pages import ALL_ROUTES


def as_operation(route: Route, command: Command) -> ApiCall:
    query = tuple(each.name for each in fields(route.query)) if route.query is not None else ()
    return ApiCall(
        command,
        route.name,
        route.method,
        route.path,
        route.summary,
        route.body is not None,
        query,
        route.content_type != JSON,
        route.takes_file,
    )


def test_the_operations_are_the_routes_of_the_operator() -> None:
    """A route that is missing here needs a row in `cli/operations.py`, with the words of its command."""
    commands = {operation.name: operation.command for operation in OPERATIONS}
    routes = {route.name: route for route in ALL_ROUTES if route.access == "operator"}
    assert commands.keys() == routes.keys()
    for operation in OPERATIONS:
        assert operation == as_operation(routes[operation.name], operation.command)


def test_each_operation_has_a_command_of_its_own_and_a_call() -> None:
    for operation in OPERATIONS:
        command: click.Command | None = admin
        for word in operation.command.words.split():
            assert isinstance(command, click.Group)
            command = command.commands.get(word)
        assert command is not None, operation.command.words
        assert not isinstance(command, click.Group), operation.command.words
    assert every_call.commands.keys() == {each.name for each in OPERATIONS if not each.is_file}


def test_two_operations_share_a_command_only_as_those_of_several_kinds() -> None:
    for operation in OPERATIONS:
        kinds = {
            each.path.partition("/manage/")[2].partition("/")[0]
            for each in OPERATIONS
            if each.command.words == operation.command.words
        }
        assert len(kinds) == 1 or kinds <= BY_PLURAL.keys()
