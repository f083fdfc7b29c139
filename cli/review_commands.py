"""`admin review`: the commands of the review desk that need more than an id."""

import click

from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.vote_commands import listing_argument
from cli.words import ListingRef


@click.command("note", cls=CallingCommand)
@listing_argument
@click.argument("text")
@pass_caller
def note(caller: GatewayCaller, listing: ListingRef, text: str) -> None:
    """Note something on a listing.

    TEXT is for other moderators. The owner never sees it.
    """
    caller.show(caller.call(f"note{listing.thing}", {"text": text}, id=listing.id))


COMMANDS: dict[str, click.Command] = {"review note": note}
