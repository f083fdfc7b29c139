"""The commands of `admin` that are more than one call, or one of two.

Invariant: an edit keeps every field that it does not name.

Other commands are made of their operations (`cli/admin.py`).
"""

from typing import Any

import click

from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.parameter_types import JSON_OBJECT, LISTING, PAST_MS, RATE_LIMIT, TEXT_FILE, ListingRef
from kinds.kind import Given, Kind
from kinds.registry import KINDS

_MANY = "May be given several times."
_EXTRA_OWNERS = (
    click.Option(
        ["--extra-owner", "extra_owners"],
        multiple=True,
        help=f"User ID of a co-owner to invite. {_MANY}",
    ),
)


def _fields(kind: Kind, verb: str) -> list[click.Parameter]:
    """Return the options for the fields of a listing, named as in the API."""
    head = [
        name for name in kind.fields if kind.shown[name].finds == "title" or kind.shown[name].widget == "text"
    ]
    needed = [name for name in kind.fields if name not in head and kind.fields[name].is_required]
    others = [name for name in kind.fields if name not in (*head, *needed)]
    return [
        *((click.Argument(["id"], metavar="ID"),) if _names_id(kind, verb) else ()),
        click.Option(["--owner", "owner_id"], help="User id of the owner."),
        *(_option(kind, name) for name in head),
        *((_prose_file(kind.prose_name),) if kind.prose_name is not None else ()),
        *(_option(kind, name) for name in needed),
        *(_EXTRA_OWNERS if kind.co_owners is not None and verb == "submit" else ()),
        *(_option(kind, name) for name in others),
        click.Option(["--from", "given"], type=TEXT_FILE, help="File with the fields as a JSON object."),
    ]


def _prose_file(name: str) -> click.Option:
    """Return the option of a file with the long text of a listing."""
    option, text = f"--{name.replace('_', '-')}-file", name.replace("_", " ")
    return click.Option([option, "text"], type=TEXT_FILE, help=f"File with the {text}; - is standard input.")


def _names_id(kind: Kind, verb: str) -> bool:
    """Return true unless the gateway itself gives the listing its id."""
    return verb == "edit" or isinstance(kind.id, Given)


def _option(kind: Kind, name: str) -> click.Option:
    """Return the option of a field. That of a list is named after one entry, and may come several times."""
    option, widget = name.replace("_", "-"), kind.shown[name].widget
    if widget == "tick":
        return click.Option([f"--{option}/--not-{option}", name], default=None)
    if widget not in {"choices", "lines", "pairs", "links", "pictures"}:
        return click.Option([f"--{option}", name])
    one = f"{name.removesuffix('ies')}y" if name.endswith("ies") else name.removesuffix("s")
    return click.Option([f"--{one}", name], multiple=True, help=_MANY)


def _as_asked(shown: Any) -> Any:
    """Return the value of a field of an answer as a form has it: the digest of a file."""
    if isinstance(shown, list):
        return [_as_asked(each) for each in shown]
    return shown["digest"] if isinstance(shown, dict) else shown


def _writing(kind: Kind, verb: str) -> click.Command:

    @pass_caller
    def run(
        caller: GatewayCaller,
        /,
        given: str | None,
        text: str | None = None,
        id: str | None = None,
        **options: Any,
    ) -> None:
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
        told = {name: value for name, value in fields.items() if value not in (None, [])}
        if text is not None and kind.prose_name is not None:
            told[kind.prose_name] = text.removesuffix("\n")
        body = {**(JSON_OBJECT.convert(given, None, None) if given is not None else {}), **told}
        if verb == "submit":
            named = {"id": id} if id is not None else {}
            caller.show(caller.call(f"submit{kind.title}", {**named, **body}))
            return
        shown = caller.call(f"show{kind.title}", id=id)
        newest = {**shown, **shown["change"]["proposed"]} if shown["change"] else shown
        before = {name: _as_asked(newest[name]) for name in ("owner_id", *kind.fields)}
        caller.show(caller.call(f"edit{kind.title}", {**before, **body}, id=id))

    what = f"Submit {kind.one}." if verb == "submit" else f"Edit {kind.one}."
    more = (
        ""
        if verb == "submit"
        else "\n\nFields that you do not name stay as they are. A list is replaced whole."
    )
    return CallingCommand(verb, callback=run, params=_fields(kind, verb), help=what + more)


@click.command("counts", cls=CallingCommand)
@click.argument("bot_id")
@click.argument("server_count", type=click.IntRange(min=0), required=False)
@pass_caller
def counts(caller: GatewayCaller, bot_id: str, server_count: int | None) -> None:
    """Show a bot's counts, or set its actual server count."""
    if server_count is not None:
        caller.show(caller.call("setActualServerCount", {"server_count": server_count}, id=bot_id))
        return
    bot = caller.call("showBot", id=bot_id)
    names = ("server_count", "command_count", "counts_updated_at", "actual_server_count")
    caller.show({"success": True, **{name: bot[name] for name in names}})


@click.command("limits", cls=CallingCommand)
@click.argument("bot_id")
@click.option("--stats", type=RATE_LIMIT, help="Limit of pushes of counts, such as 20/2h, or default.")
@click.option("--voters", type=RATE_LIMIT, help="Limit of vote checks, such as 500/5m, or default.")
@pass_caller
def limits(caller: GatewayCaller, /, bot_id: str, **told: Any) -> None:
    """Show a bot's own limits, or set them.

    A limit that you do not name stays as it is. A "-" stands for the default of the deployment.
    """
    kept = caller.call("showBot", id=bot_id)["limits"]
    given = {name: None if limit == "default" else limit for name, limit in told.items() if limit is not None}
    if given:
        caller.show(caller.call("setLimits", {**kept, **given}, id=bot_id))
    else:
        caller.show({"success": True, **kept})


@click.command("redeliver", cls=CallingCommand)
@click.argument("listing", type=LISTING)
@click.argument("delivery_id", required=False)
@click.option(
    "--failed-since", type=PAST_MS, help="Send all deliveries that failed since then: a time, or 24h ago."
)
@pass_caller
def redeliver(
    caller: GatewayCaller, listing: ListingRef, delivery_id: str | None, failed_since: int | None
) -> None:
    """Resend a delivery, or all failed ones."""
    if (delivery_id is None) == (failed_since is None):
        raise click.UsageError("Name either DELIVERY_ID or --failed-since.")
    if delivery_id is not None:
        name = f"redeliver{listing.thing}Delivery"
        caller.show(caller.call(name, id=listing.id, delivery_id=delivery_id))
        return
    body = {"failed_since": failed_since}
    caller.show(caller.call(f"redeliverFailed{listing.thing}Deliveries", body, id=listing.id))


COMMANDS: dict[str, click.Command] = {
    **{f"{kind} {verb}": _writing(kind, verb) for kind in KINDS for verb in ("submit", "edit")},
    "counts": counts,
    "limits": limits,
    "webhook redeliver": redeliver,
}
