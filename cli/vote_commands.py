"""`admin webhook`, `votes` and `find`: votes for a listing, and where they are sent to."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from cli.bot_commands import overlap_option
from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.parameter_types import ListingParameter, ListingRef, PastMs, TextFile

listing_argument = click.argument("listing", type=ListingParameter())
user_ids_argument = click.argument("user_ids", nargs=-1)
given_option = click.option(
    "--from", "given", type=TextFile(), help="File with user ids; - is standard input."
)


@click.command("set", cls=CallingCommand)
@listing_argument
@click.argument("url")
@click.option("--auth-file", type=TextFile(), help="File with the Authorization header; - is standard input.")
@click.option("--language", help="Language of the messages to a chat platform.")
@click.option(
    *("--event", "events"), multiple=True, help="What it is told of, such as vote or vote.struck; repeat it."
)
@pass_caller
def set_webhook(
    caller: GatewayCaller,
    listing: ListingRef,
    url: str,
    auth_file: str | None,
    language: str | None,
    events: tuple[str, ...],
) -> None:
    """Set the webhook of a listing.

    It replaces URL, Authorization header, language and events together. Without an event it is told of votes
    alone. The first time, the secret that requests are signed with is shown, only this once.
    """
    body: dict[str, Any] = {"url": url}
    if events:
        body["events"] = [*events]
    if auth_file is not None:
        body["token"] = auth_file.strip()
    if language is not None:
        body["language"] = language
    caller.show(caller.call(f"save{listing.thing}Webhook", body, id=listing.id))


@click.command("rotate-secret", cls=CallingCommand)
@listing_argument
@overlap_option
@pass_caller
def rotate_secret(caller: GatewayCaller, listing: ListingRef, overlap: int) -> None:
    """Change what requests are signed with.

    The old secret stops at once, unless you name an overlap. The new one is shown only this once.
    """
    body = {"overlap_seconds": overlap}
    caller.show(caller.call(f"rotate{listing.thing}WebhookSecret", body, id=listing.id))


@click.command("test", cls=CallingCommand)
@listing_argument
@click.argument("user_id")
@pass_caller
def test(caller: GatewayCaller, listing: ListingRef, user_id: str) -> None:
    """Send a test to the webhook of a listing.

    It names USER_ID as the voter. The answer comes after the first attempt.
    """
    caller.show(caller.call(f"test{listing.thing}Webhook", {"user": user_id}, id=listing.id))


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
    "webhook set": set_webhook,
    "webhook rotate-secret": rotate_secret,
    "webhook test": test,
    "webhook redeliver": redeliver,
    "votes check": check,
    "votes strike": strike,
    "find": find,
}
