"""`admin webhook redeliver`, `votes` and `find`: commands that are more than one call."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.parameter_types import ListingParameter, ListingRef, PastMs, TextFile

listing_argument = click.argument("listing", type=ListingParameter())
user_ids_argument = click.argument("user_ids", nargs=-1)
given_option = click.option(
    "--from", "given", type=TextFile(), help="File with user ids; - is standard input."
)


@click.command("redeliver", cls=CallingCommand)
@listing_argument
@click.argument("delivery_id", required=False)
@click.option("--failed-since", type=PastMs(), help="Send all that failed since then: a time, or 24h ago.")
@pass_caller
def redeliver(
    caller: GatewayCaller, listing: ListingRef, delivery_id: str | None, failed_since: int | None
) -> None:
    """Send a finished delivery again, or all that failed."""
    if (delivery_id is None) == (failed_since is None):
        raise click.UsageError("Name either DELIVERY_ID or --failed-since.")
    if delivery_id is not None:
        name = f"redeliver{listing.thing}Delivery"
        caller.show(caller.call(name, id=listing.id, delivery_id=delivery_id))
        return
    body = {"failed_since": failed_since}
    caller.show(caller.call(f"redeliverFailed{listing.thing}Deliveries", body, id=listing.id))


class ChosenVoters(NamedTuple):
    """Users whose votes for a listing are to be struck out: some by name, or all flagged ones, or by time."""

    users: Sequence[str]
    flagged: bool
    since: int | None
    until: int | None

    def form(self) -> dict[str, Any]:
        times = {"since": self.since, "until": self.until}
        known = {name: at for name, at in times.items() if at is not None}
        return {"users": self.users, "flagged": self.flagged, **known}


def _users(user_ids: tuple[str, ...], given: str | None) -> list[str]:
    """Return the users of the command line, and those of a file."""
    return [*user_ids, *(given or "").split()]


@click.command("check", cls=CallingCommand)
@listing_argument
@user_ids_argument
@given_option
@pass_caller
def check(caller: GatewayCaller, listing: ListingRef, user_ids: tuple[str, ...], given: str | None) -> None:
    """Look up the votes of many users for a listing."""
    users = _users(user_ids, given)
    if not users:
        raise click.UsageError("Name users, or a file with their ids.")
    caller.show(caller.call(f"check{listing.thing}Votes", {"users": users}, id=listing.id))


def choosing_voters(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options that choose voters, and hand the command one `chosen`."""

    def with_chosen(
        *others: Any,
        user_ids: tuple[str, ...],
        given: str | None,
        flagged: bool,
        since: int | None,
        until: int | None,
        **options: Any,
    ) -> None:
        chosen = ChosenVoters(_users(user_ids, given), flagged, since, until)
        command(*others, chosen=chosen, **options)

    functools.update_wrapper(with_chosen, command)
    for option in (
        click.option("--until", type=PastMs(), help="And not later than this."),
        click.option(
            "--since", type=PastMs(), help="Users who voted last then or later: a time, or 24h ago."
        ),
        click.option("--flagged", is_flag=True, help="The users of all votes that a rule has flagged."),
        given_option,
        user_ids_argument,
    ):
        with_chosen = option(with_chosen)
    return with_chosen


@click.command("strike", cls=CallingCommand)
@listing_argument
@choosing_voters
@click.option("--reason", required=True, help="The owner of the listing reads it.")
@click.option("--dry-run", is_flag=True, help="Count the votes, and leave them.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@pass_caller
def strike(
    caller: GatewayCaller, listing: ListingRef, chosen: ChosenVoters, reason: str, *, dry_run: bool
) -> None:
    """Strike out all votes of users for a listing.

    Name the users, or --flagged, or a time. One call takes a thousand users: as long as the answer says
    more, make it again.
    """
    body: dict[str, Any] = {"reason": reason, **chosen.form()}
    name = f"strike{listing.thing}Votes"
    if not dry_run and not caller.is_sure:
        found = caller.call(name, {**body, "dry_run": True}, id=listing.id)
        caller.confirm(f"This strikes out {found['votes']} votes of {found['users']} users.")
    caller.show(caller.call(name, {**body, "dry_run": dry_run}, id=listing.id))


@click.command("find", cls=CallingCommand)
@click.argument("text")
@pass_caller
def find(caller: GatewayCaller, text: str) -> None:
    """Find listings by a part of their name, or a listing or a user by its id."""
    caller.show(caller.call("find", query={"q": text}))


COMMANDS: dict[str, click.Command] = {
    "webhook redeliver": redeliver,
    "votes check": check,
    "votes strike": strike,
    "find": find,
}
