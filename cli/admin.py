"""`admin`: the management API from a terminal.

Invariant: it does nothing that another HTTP client could not do.

Each operation has a command with words that a person would type (`cli/operations.py`). A command that is one
call with ids and a query is made of its row; the others stand in modules of their own. `call` makes any call
under the API's name for it, with a body in JSON.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import click

from actions.action import Option
from cli import bot_commands, user_commands, vote_commands
from cli.backup_commands import admin_backup
from cli.caller import LONG, CallingCommand, GatewayCaller, connection_options, pass_caller
from cli.listing_commands import commands_of
from cli.operations import BY_NAME, OPERATIONS, ApiCall
from cli.parameter_types import SECONDS, JsonObject, ListingParameter, ListingRef, TrimmedFile
from cli.remote import TEXT, printable
from cli.terminal import bars, terminal_width
from kinds.registry import BY_PLURAL, KINDS

GROUPS = {
    **{kind.plural: f"Submit, review, edit and remove {kind.plural}." for kind in KINDS},
    "owners": "Manage the co-owners of a bot.",
    "review": "See what waits for a decision, say that you are at it, note something.",
    "keys": "Issue, rotate and revoke the API keys of a bot.",
    "webhook": "Set and test a webhook, and see its deliveries.",
    "votes": "Cast votes and look them up.",
    "users": "Look at users, end sessions, impose quarantines, forget one.",
    "moderators": "Say who moderates.",
    "debug": "Look inside the process.",
}
LOST = {call.command: call.loses for call in OPERATIONS if call.loses}
"""Commands that ask before something is lost."""
_READS: Mapping[str, click.ParamType[Any]] = {
    "text": click.STRING,
    "texts": click.STRING,
    "seconds": SECONDS,
    "file": TrimmedFile(),
}
"""How the fields of a form are written on the command line."""


@click.group()
@connection_options
@click.pass_context
def admin(context: click.Context, /, **options: Any) -> None:
    """Manage a running gateway as its operator.

    It finds the gateway and the token by the settings (--config, environment), or by these options. LISTING
    is the id of a bot, bots/ID, or servers/ID.

    A command ends with 0; with 1 when it is refused or no gateway answers; with 2 when it is typed wrong.
    """
    context.obj = GatewayCaller(context.find_root().obj, **options)


def _generic(command: str, rows: Sequence[ApiCall]) -> click.Command:
    """Return a command that is one call: its ids are arguments, and its query and body are options.

    Args:
        rows: one operation, or one for bots and one for servers. Then the first argument is a listing.
    """
    row, is_of_kinds = rows[0], len(rows) > 1
    names = re.findall(r"\{(\w+)\}", row.path)
    params: list[click.Parameter] = [
        click.Argument([name], metavar=_metavar(row, name)) for name in names[is_of_kinds:]
    ]
    if is_of_kinds:
        params.insert(0, click.Argument(["listing"], type=ListingParameter()))
    params += [click.Option([f"--{name}"], help=_QUERY.get(name)) for name in row.query]
    fields = {name: option for name, option in row.options.items() if name not in names}
    params += [_field(name, option) for name, option in fields.items()]
    if command in LOST:
        params.append(click.Option(["--yes", "is_sure"], is_flag=True, help="Do not ask."))

    @pass_caller
    def run(caller: GatewayCaller, /, listing: ListingRef | None = None, **values: Any) -> None:
        operation = row
        ids: dict[str, Any] = {name: values[name] for name in names if name in values}
        if listing is not None:
            operation = next(each for each in rows if f"/{listing.kind}/" in each.path)
            ids["id"] = listing.id
        if command in LOST and not caller.is_sure:
            _confirm(caller, command, ids)
        query = {name: values[name] for name in row.query}
        if operation.name not in LONG:
            body = {name: values[name] for name in fields if values[name] not in (None, ())}
            caller.show(caller.call(operation.name, body, query, **ids))
            return
        with bars() as bar:
            bar(operation.summary)(0, 0)
            answer = caller.call(operation.name, query=query, **ids)
        caller.show(answer)
        if answer.get("equal") is False:
            raise click.exceptions.Exit(1)

    summary = rows[0].summary.replace(KINDS[0].one, "a listing") if is_of_kinds else row.summary
    return CallingCommand(command.split()[-1], callback=run, params=params, help=row.help or f"{summary}.")


def _field(name: str, option: Option) -> click.Parameter:
    """Return a field of a form as an argument, or as an option if it has a flag."""
    kind = _READS[option.reads]
    if not option.flag:
        return click.Argument([name], type=kind, metavar=option.argument.upper() or None)
    return click.Option(
        [option.flag, name],
        type=kind,
        multiple=option.reads == "texts",
        default=option.default,
        show_default=True,
        help=option.help,
    )


def _confirm(caller: GatewayCaller, command: str, ids: dict[str, Any]) -> None:
    noun = command.split()[0]
    if noun in BY_PLURAL:
        name = printable(caller.call(f"show{BY_PLURAL[noun].title}", **ids)["name"])
        caller.confirm(LOST[command].format(name=name), name)
    else:
        caller.confirm(LOST[command].format(**ids))


def _metavar(row: ApiCall, name: str) -> str:
    """Return the name of an argument: the row's own, or for an `id` the name that the path has before it."""
    if name in row.options:
        return row.options[name].argument.upper()
    found = re.search(r"(\w+)s/\{id\}", row.path)
    return f"{found[1]}_id".upper() if found is not None and name == "id" else name.upper()


_QUERY = {
    "before": "The `next` of the page before.",
    "after": "The `next` of the page before.",
    "limit": "How many at most.",
}


@click.command(cls=CallingCommand)
@pass_caller
def metrics(caller: GatewayCaller) -> None:
    """Print what Prometheus reads."""
    for piece in caller.remote.pieces(BY_NAME["readMetrics"].path, TEXT):
        click.echo(piece, nl=False)


@click.command(cls=CallingCommand)
@pass_caller
def doctor(caller: GatewayCaller) -> None:
    """Say what is wrong now, and what to do next.

    It ends with 1 if anything is wrong, or if no gateway answers.
    """
    answer = caller.call("showConcerns")
    concerns = answer["concerns"]
    caller.show(answer, lambda: _concern_lines(concerns) if concerns else ["nothing is wrong"])
    if concerns:
        raise click.exceptions.Exit(1)


def _concern_lines(concerns: Sequence[Mapping[str, str]]) -> Iterator[str]:
    width = terminal_width()
    for concern in concerns:
        said = click.style(f"{concern['topic']}:", bold=True), printable(concern["text"])
        yield from textwrap.wrap(" ".join(said), width)
        yield from textwrap.wrap(
            printable(concern["action"]), width, initial_indent="  ", subsequent_indent="  "
        )


@click.group("call")
def every_call() -> None:
    """Make any call of the management and debug API.

    Each command is an operation of the API's description (/docs), under the same name.
    """


def _call_of(row: ApiCall) -> click.Command:
    names = re.findall(r"\{(\w+)\}", row.path)
    params: list[click.Parameter] = [click.Argument([name]) for name in names]
    params += [click.Option([f"--{name}"], help="See the API's description.") for name in row.query]
    if row.has_body:
        params.append(click.Option(["--body"], type=JsonObject(), default="{}", show_default=True))

    @pass_caller
    def run(caller: GatewayCaller, /, body: dict[str, Any] | None = None, **values: Any) -> None:
        query = {name: values[name] for name in row.query}
        caller.show(caller.call(row.name, body, query, **{name: values[name] for name in names}))

    return CallingCommand(row.name, callback=run, params=params, help=f"{row.summary}.")


def _build() -> None:
    made: dict[str, click.Command] = {
        **{words: command for kind in KINDS for words, command in commands_of(kind).items()},
        **bot_commands.COMMANDS,
        **vote_commands.COMMANDS,
        **user_commands.COMMANDS,
        "doctor": doctor,
        "backup": admin_backup,
        "metrics": metrics,
    }
    by_command = defaultdict[str, list[ApiCall]](list)
    for row in OPERATIONS:
        by_command[row.command].append(row)
        if not row.is_file:
            every_call.add_command(_call_of(row))
    for command, rows in by_command.items():
        group, _, _ = command.rpartition(" ")
        into = admin
        if group:
            into = _subgroup(group)
        into.add_command(made.get(command) or _generic(command, rows))
    admin.add_command(every_call)


def _subgroup(name: str) -> click.Group:
    if name not in admin.commands:
        admin.add_command(click.Group(name, help=GROUPS[name]))
    return cast(click.Group, admin.commands[name])


_build()
