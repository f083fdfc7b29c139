"""`admin`: the management API from a terminal.

Invariant: it does nothing that another HTTP client could not do.

Each operation has a command with words that a person would type (`cli/operations.py`). A command that is one
call is made of its row; the others are in `cli/own_commands.py`. `call` makes any call under the API's name
for it, with a body in JSON.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from actions.action import Option
from cli import own_commands
from cli.backup_commands import admin_backup
from cli.caller import LONG, CallingCommand, GatewayCaller, connection_options, pass_caller
from cli.operations import BY_NAME, OPERATIONS, ApiCall
from cli.parameter_types import (
    BYTES,
    FROM_NOW_MS,
    JSON_OBJECT,
    LISTING,
    PAST_MS,
    SECONDS,
    TEXT_FILE,
    TIME_MS,
    TRIMMED_FILE,
    ListingRef,
)
from cli.remote import TEXT, printable
from cli.terminal import bars, terminal_width
from kinds.kind import Kind
from kinds.registry import BY_PLURAL, KINDS

GROUPS = {
    **{kind.plural: f"Submit, review, edit and remove {kind.plural}." for kind in KINDS},
    "owners": "Manage the co-owners of a bot.",
    "review": "Show the review queue and reports, claim reviews, and write notes.",
    "keys": "Issue, rotate and revoke the API keys of a bot.",
    "webhook": "Set and test webhooks, and show their deliveries.",
    "votes": "Cast, count, list and remove votes.",
    "likes": "Give and take back likes.",
    "ratings": "Show, answer and remove reviews by users.",
    "users": "Show users, end sessions, impose quarantines, and erase users.",
    "moderators": "Appoint, dismiss and list moderators.",
    "files": "Upload pictures and sounds of listings.",
    "debug": "Show the state of the process.",
}
_READS: Mapping[str, click.ParamType[Any]] = {
    "text": click.STRING,
    "texts": click.STRING,
    "number": click.INT,
    "flag": click.BOOL,
    "seconds": SECONDS,
    "past": PAST_MS,
    "file": TRIMMED_FILE,
}
"""The types of the fields of a form on the command line, by `Option.reads`."""
FILE = click.Argument(["content"], type=BYTES, metavar="FILE")


@click.group()
@connection_options
@click.pass_context
def admin(context: click.Context, /, **options: Any) -> None:
    """Manage a running gateway as its operator.

    It finds the gateway and the token by the settings (--config, environment), or by these options. LISTING
    is the id of a bot, or a kind and an id, such as servers/ID.

    Here are the commands of all kinds of listings. If the site does not offer a kind (kinds.enabled), the
    gateway answers "Not found." to its commands.

    The exit status is 0 after a success; 1 if the call is refused or no gateway answers; 2 for wrong usage.
    """
    context.obj = GatewayCaller(deployment=context.find_root().obj, **options)


def _made_of(rows: Sequence[ApiCall]) -> click.Command:
    """Return a command that is one call: its ids are arguments, and its query and body are options.

    Args:
        rows: one operation, or one for bots and one for servers. Then the first argument is a listing.
    """
    row, own, is_of_kinds = rows[0], rows[0].command, len(rows) > 1
    names = re.findall(r"\{(\w+)\}", row.path)
    fields = {name: option for name, option in own.options.items() if name not in names}
    queried = [name for name in row.query if name not in fields and not own.is_whole]

    @pass_caller
    def run(caller: GatewayCaller, /, listing: ListingRef | None = None, **values: Any) -> None:
        operation = row
        ids: dict[str, Any] = {name: values[name] for name in names if name in values}
        if listing is not None:
            operation = _of_kind(rows, listing.kind)
            ids["id"] = listing.id
        given = {name: _given(name, option, values) for name, option in fields.items()}
        given = {name: value for name, value in given.items() if value not in (None, (), [])}
        if own.loses and not caller.is_sure and not given.get("dry_run"):
            _confirm(caller, operation, given, ids)
        query = {name: values[name] for name in queried} | (given if row.query else {})
        if own.is_whole:
            caller.show_all(operation.name, own.words.split()[0], **query)
        elif operation.name in LONG:
            _show_long(caller, operation)
        else:
            caller.show(caller.call(operation.name, values.get("content", given), query, **ids))

    params: list[click.Parameter] = [_id(row, name) for name in names[is_of_kinds:]]
    params += [FILE] if row.takes_file else []
    if is_of_kinds:
        params.insert(0, click.Argument(["listing"], type=LISTING))
    params += [click.Option([f"--{name}"], help=_QUERY.get(name)) for name in queried]
    params += [param for name, option in fields.items() for param in _params(name, option)]
    if own.loses:
        params.append(click.Option(["--yes", "is_sure"], is_flag=True, help="Skip the question."))
    summary = row.summary.replace(KINDS[0].one, "a listing") if is_of_kinds else row.summary
    return CallingCommand(own.words.split()[-1], callback=run, params=params, help=own.help or f"{summary}.")


def _of_kind(rows: Sequence[ApiCall], kind: Kind) -> ApiCall:
    """Return the operation of a kind. Raises UsageError for a kind that has none."""
    found = {each: row for row in rows for each in KINDS if f"/{each}/" in row.path}
    if kind not in found:
        raise click.UsageError(f"this command is not for {kind}, but for {', '.join(map(str, found))}")
    return found[kind]


def _show_long(caller: GatewayCaller, operation: ApiCall) -> None:
    with bars() as bar:
        bar(operation.summary)(0, 0)
        answer = caller.call(operation.name)
    caller.show(answer)
    if answer.get("equal") is False:
        raise click.exceptions.Exit(1)


def _id(row: ApiCall, name: str) -> click.Argument:
    """Return an id of the path as an argument. An `id` has the name that the path has before it."""
    option, before = row.command.options.get(name, Option()), re.search(r"(\w+)s/\{id\}", row.path)
    if option.choices:
        return click.Argument([name], type=click.Choice(option.choices))
    metavar = option.argument or (f"{before[1]}_id" if before is not None and name == "id" else name)
    return click.Argument([name], metavar=metavar.upper())


def _params(name: str, option: Option) -> list[click.Parameter]:
    """Return a field of a form as an argument, or as an option if it has a flag."""
    if option.reads == "users":
        file = click.Option(
            ["--from", "file"], type=TEXT_FILE, help="File with user ids; - is standard input."
        )
        return [click.Argument([name], nargs=-1, metavar="[USER_IDS]..."), file]
    if option.reads == "end":
        end = click.Option(
            [f"--{name}"], type=TIME_MS, help="End of the quarantine, such as 2026-01-31T18:00 (UTC)."
        )
        return [
            end,
            click.Option(["--for", "span"], type=FROM_NOW_MS, help="Duration of the quarantine, such as 7d."),
        ]
    kind = click.Choice(option.choices) if option.choices else _READS[option.reads]
    if not option.flag:
        is_needed = not option.argument.startswith("[")
        metavar = option.argument.upper() or None
        return [click.Argument([name], type=kind, required=is_needed, metavar=metavar)]
    return [
        click.Option(
            [option.flag, name],
            type=kind,
            is_flag=option.reads == "flag",
            multiple=option.reads == "texts",
            required=option.needed,
            default=option.default,
            show_default=option.default is not None,
            help=option.help,
        )
    ]


def _given(name: str, option: Option, values: Mapping[str, Any]) -> Any:
    """Return the value of a field on the command line. Raises click.UsageError."""
    value = values[name]
    if option.reads == "users":
        value = [*value, *(values["file"] or "").split()]
        if option.needed and not value:
            raise click.UsageError("Name users, or a file with their ids.")
    if option.reads == "end" and values["span"] is not None:
        if value is not None:
            raise click.UsageError(f"Give either --{name} or --for.")
        value = values["span"]
    return value


def _confirm(
    caller: GatewayCaller, operation: ApiCall, given: Mapping[str, Any], ids: Mapping[str, Any]
) -> None:
    command = operation.command
    noun, question = command.words.split()[0], str(command.loses)
    if noun in BY_PLURAL:
        name = printable(caller.call(f"show{BY_PLURAL[noun].title}", **ids)["name"])
        caller.confirm(question.format(name=name), name)
    elif "dry_run" in command.options:
        found = caller.call(operation.name, {**given, "dry_run": True}, **ids)
        caller.confirm(question.format(**found))
    else:
        caller.confirm(question.format(**ids))


_QUERY = {
    "before": "The `next` of the previous page.",
    "after": "The `next` of the page before.",
    "limit": "The most entries on a page.",
}


@click.command(cls=CallingCommand)
@pass_caller
def metrics(caller: GatewayCaller) -> None:
    """Print the metrics for Prometheus."""
    for piece in caller.remote.pieces(BY_NAME["readMetrics"].path, TEXT):
        click.echo(piece, nl=False)


@click.command(cls=CallingCommand)
@pass_caller
def doctor(caller: GatewayCaller) -> None:
    """List present problems, each with the next step.

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
    """Call any operation of the management and debug API.

    Each command is an operation of the API's description (/docs), under the same name.
    """


def _call_of(row: ApiCall) -> click.Command:
    names = re.findall(r"\{(\w+)\}", row.path)
    params: list[click.Parameter] = [click.Argument([name]) for name in names]
    params += [click.Option([f"--{name}"], help="See /openapi.json.") for name in row.query]
    if row.takes_file:
        params.append(FILE)
    if row.has_body:
        params.append(click.Option(["--body"], type=JSON_OBJECT, default="{}", show_default=True))

    @pass_caller
    def run(caller: GatewayCaller, /, body: dict[str, Any] | bytes | None = None, **values: Any) -> None:
        body = values.get("content", body)
        query = {name: values[name] for name in row.query}
        caller.show(caller.call(row.name, body, query, **{name: values[name] for name in names}))

    return CallingCommand(row.name, callback=run, params=params, help=f"{row.summary}.")


def _build() -> None:
    made = {**own_commands.COMMANDS, "doctor": doctor, "backup": admin_backup, "metrics": metrics}
    by_command = defaultdict[str, list[ApiCall]](list)
    for row in OPERATIONS:
        by_command[row.command.words].append(row)
        if not row.is_file:
            every_call.add_command(_call_of(row))
    groups = {name: click.Group(name, help=text) for name, text in GROUPS.items()}
    for group in (*groups.values(), every_call):
        admin.add_command(group)
    for command, rows in by_command.items():
        words = command.rpartition(" ")[0]
        into = groups[words] if words else admin
        into.add_command(made.get(command) or _made_of(rows))


_build()
