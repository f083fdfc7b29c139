"""`admin review`: the commands of the review desk that need more than an id."""

import click

from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.parameter_types import ListingRef
from cli.vote_commands import listing_argument


@click.command("note", cls=CallingCommand)
@listing_argument
@click.argument("text")
@pass_caller
def note(caller: GatewayCaller, listing: ListingRef, text: str) -> None:
    """Note something on a listing.

    TEXT is for other moderators. The owner never sees it.
    """
    caller.show(caller.call(f"note{listing.thing}", {"text": text}, id=listing.id))


@click.command("agree", cls=CallingCommand)
@listing_argument
@click.argument("version")
@pass_caller
def agree(caller: GatewayCaller, listing: ListingRef, version: str) -> None:
    """Agree to the change of an approved listing.

    VERSION names the change that you have seen: `bots show` and `servers show` print it.
    """
    caller.show(caller.call(f"agreeTo{listing.thing}Change", {"version": version}, id=listing.id))


@click.command("refuse", cls=CallingCommand)
@listing_argument
@click.argument("version")
@click.argument("reason")
@pass_caller
def refuse(caller: GatewayCaller, listing: ListingRef, version: str, reason: str) -> None:
    """Refuse the change of an approved listing.

    VERSION names the change that you have seen: `bots show` and `servers show` print it. REASON is shown to
    the owner.
    """
    body = {"version": version, "reason": reason}
    caller.show(caller.call(f"refuse{listing.thing}Change", body, id=listing.id))


COMMANDS: dict[str, click.Command] = {
    "review note": note,
    "review agree": agree,
    "review refuse": refuse,
}
