"""`admin bots` and `admin servers`: the commands with forms.

Invariant: an edit keeps every field that it does not name.

Other commands of listings are made of their operations (`cli/admin.py`).
"""

from typing import Any

import click

from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.operations import BY_NAME
from cli.parameter_types import JsonObject, TextFile

STATES = ("in_review", "approved", "denied")
_EXTRA_OWNERS = (
    click.Option(
        ["--extra-owner", "extra_owners"],
        multiple=True,
        help="User ID of a co-owner to invite. May be given several times.",
    ),
)


def commands_of(kind: str) -> dict[str, click.Command]:
    """Return the commands by the words that call them."""
    form = kind[:-1].capitalize()
    return {
        f"{kind} submit": _writing(kind, "submit"),
        f"{kind} edit": _writing(kind, "edit"),
        f"{kind} list": _listing(kind),
        f"{kind} deny": _for_a_reason(f"{kind} deny", f"deny{form}"),
        f"{kind} withdraw": _for_a_reason(f"{kind} withdraw", f"withdraw{form}"),
        f"{kind} offer": _of_heir(f"{kind} offer", f"offer{form}"),
        f"{kind} accept-offer": _of_heir(f"{kind} accept-offer", f"accept{form}Offer"),
    }


def _fields(kind: str, verb: str) -> list[click.Parameter]:
    """Return the options for the fields of a listing, named as in the API."""
    own = {
        "bots": [
            click.Option(["--short-description", "short_description"]),
            click.Option(["--category", "categories"], multiple=True, help="May be given several times."),
            *(_EXTRA_OWNERS if verb == "submit" else ()),
            click.Option(["--support-invite", "support_invite"]),
        ],
        "servers": [
            click.Option(["--keyword", "keywords"], multiple=True, help="May be given several times."),
            click.Option(["--category", "category"]),
        ],
    }
    return [
        click.Argument(["id"], metavar="ID"),
        click.Option(["--owner", "owner_id"], help="User id of the owner."),
        click.Option(["--name", "name"]),
        click.Option(["--description", "description"]),
        click.Option(["--description-file", "text"], type=TextFile(), help="- is standard input."),
        *own[kind],
        click.Option(["--from", "given"], type=TextFile(), help="File with the fields as a JSON object."),
    ]


def _writing(kind: str, verb: str) -> click.Command:
    thing = kind[:-1]

    @pass_caller
    def run(caller: GatewayCaller, /, id: str, text: str | None, given: str | None, **options: Any) -> None:
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
        told = {name: value for name, value in fields.items() if value not in (None, [])}
        if text is not None:
            told["description"] = text.removesuffix("\n")
        body = {**(JsonObject().convert(given, None, None) if given is not None else {}), **told}
        if verb == "submit":
            caller.show(caller.call(f"submit{thing.capitalize()}", {"id": id, **body}))
            return
        shown = caller.call(f"show{thing.capitalize()}", id=id)
        newest = {**shown, **shown["change"]["proposed"]} if shown["change"] else shown
        before = {name: newest[name] for name in _edited(kind)}
        caller.show(caller.call(f"edit{thing.capitalize()}", {**before, **body}, id=id))

    what = f"Submit a {thing}." if verb == "submit" else f"Edit a {thing}."
    more = "" if verb == "submit" else "\n\nIt keeps what you do not name. A list is replaced whole."
    return CallingCommand(verb, callback=run, params=_fields(kind, verb), help=what + more)


def _edited(kind: str) -> tuple[str, ...]:
    """Return the fields that an edit replaces, all at once."""
    from core.rows import BotProfile, ServerProfile  # no other command waits for them

    profile = BotProfile if kind == "bots" else ServerProfile
    return ("owner_id", *profile.__struct_fields__)


def _listing(kind: str) -> click.Command:
    @pass_caller
    def run(caller: GatewayCaller, /, state: str | None) -> None:
        caller.show_all(kind, state=state)

    option = click.Option(["--state"], type=click.Choice(STATES), help=f"Only {kind} in this state.")
    return CallingCommand("list", callback=run, params=[option], help=f"List all {kind}.")


def _of_heir(command: str, operation: str) -> click.Command:
    @pass_caller
    def run(caller: GatewayCaller, /, id: str, heir: str) -> None:
        caller.show(caller.call(operation, {"heir": heir}, id=id))

    params: list[click.Parameter] = [
        click.Argument(["id"], metavar="ID"),
        click.Argument(["heir"], metavar="USER_ID"),
    ]
    text = f"{BY_NAME[operation].summary}."
    return CallingCommand(command.split()[-1], callback=run, params=params, help=text)


def _for_a_reason(command: str, operation: str) -> click.Command:
    @pass_caller
    def run(caller: GatewayCaller, /, id: str, reason: str) -> None:
        caller.show(caller.call(operation, {"reason": reason}, id=id))

    params: list[click.Parameter] = [
        click.Argument(["id"], metavar="ID"),
        click.Argument(["reason"], metavar="REASON"),
    ]
    text = f"{BY_NAME[operation].summary}.\n\nREASON is shown to its owner."
    return CallingCommand(command.split()[-1], callback=run, params=params, help=text)
