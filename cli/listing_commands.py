"""`admin bots` and `admin servers`: the commands with forms.

Invariant: an edit keeps every field that it does not name.

Other commands of listings are made of their operations (`cli/admin.py`).
"""

from typing import Any

import click

from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.parameter_types import JsonObject, TextFile
from kinds.kind import Given, Kind

STATES = ("in_review", "approved", "denied")
_MANY = "May be given several times."
_EXTRA_OWNERS = (
    click.Option(
        ["--extra-owner", "extra_owners"],
        multiple=True,
        help=f"User ID of a co-owner to invite. {_MANY}",
    ),
)


def commands_of(kind: Kind) -> dict[str, click.Command]:
    """Return the commands by the words that call them."""
    return {
        f"{kind} submit": _writing(kind, "submit"),
        f"{kind} edit": _writing(kind, "edit"),
        f"{kind} list": _listing(kind),
    }


def _fields(kind: Kind, verb: str) -> list[click.Parameter]:
    """Return the options for the fields of a listing, named as in the API."""
    head = [
        name for name in kind.fields if kind.shown[name].finds == "title" or kind.shown[name].widget == "text"
    ]
    needed = [name for name in kind.fields if name not in head and kind.fields[name].is_required]
    others = [name for name in kind.fields if not kind.fields[name].is_required]
    return [
        *((click.Argument(["id"], metavar="ID"),) if _names_id(kind, verb) else ()),
        click.Option(["--owner", "owner_id"], help="User id of the owner."),
        *(_option(kind, name) for name in head),
        click.Option(["--description-file", "text"], type=TextFile(), help="- is standard input."),
        *(_option(kind, name) for name in needed),
        *(_EXTRA_OWNERS if kind.co_owners is not None and verb == "submit" else ()),
        *(_option(kind, name) for name in others),
        click.Option(["--from", "given"], type=TextFile(), help="File with the fields as a JSON object."),
    ]


def _names_id(kind: Kind, verb: str) -> bool:
    """Return true unless the gateway itself gives the listing its id."""
    return verb == "edit" or isinstance(kind.id, Given)


def _option(kind: Kind, name: str) -> click.Option:
    """Return the option of a field. That of a list is named after one entry, and may come several times."""
    if kind.shown[name].widget not in {"choices", "lines"}:
        return click.Option([f"--{name.replace('_', '-')}", name])
    one = f"{name.removesuffix('ies')}y" if name.endswith("ies") else name.removesuffix("s")
    return click.Option([f"--{one}", name], multiple=True, help=_MANY)


def _writing(kind: Kind, verb: str) -> click.Command:
    thing = kind.singular

    @pass_caller
    def run(
        caller: GatewayCaller, /, text: str | None, given: str | None, id: str | None = None, **options: Any
    ) -> None:
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
        told = {name: value for name, value in fields.items() if value not in (None, [])}
        if text is not None:
            told["description"] = text.removesuffix("\n")
        body = {**(JsonObject().convert(given, None, None) if given is not None else {}), **told}
        if verb == "submit":
            named = {"id": id} if id is not None else {}
            caller.show(caller.call(f"submit{kind.title}", {**named, **body}))
            return
        shown = caller.call(f"show{kind.title}", id=id)
        newest = {**shown, **shown["change"]["proposed"]} if shown["change"] else shown
        before = {name: newest[name] for name in ("owner_id", *kind.fields)}
        caller.show(caller.call(f"edit{kind.title}", {**before, **body}, id=id))

    what = f"Submit a {thing}." if verb == "submit" else f"Edit a {thing}."
    more = "" if verb == "submit" else "\n\nIt keeps what you do not name. A list is replaced whole."
    return CallingCommand(verb, callback=run, params=_fields(kind, verb), help=what + more)


def _listing(kind: Kind) -> click.Command:
    @pass_caller
    def run(caller: GatewayCaller, /, state: str | None) -> None:
        caller.show_all(kind.plural, state=state)

    option = click.Option(["--state"], type=click.Choice(STATES), help=f"Only {kind} in this state.")
    return CallingCommand("list", callback=run, params=[option], help=f"List all {kind}.")
