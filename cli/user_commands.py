"""`admin users`: the commands about a user that need more than ids."""

import click

from actions.users import ACTS
from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.parameter_types import FromNowMs, TimeMs

act_argument = click.argument("act", type=click.Choice(ACTS))


@click.command("list", cls=CallingCommand)
@pass_caller
def list_users(caller: GatewayCaller) -> None:
    """List all users.

    They have signed in, were made moderators, or were put under quarantine.
    """
    caller.show_all("users")


@click.command("quarantine", cls=CallingCommand)
@click.argument("user_id")
@act_argument
@click.argument("reason")
@click.option("--until", type=TimeMs(), help="Its end, such as 2026-01-31T18:00 (UTC).")
@click.option("--for", "end", type=FromNowMs(), help="How long it lasts, such as 7d.")
@pass_caller
def quarantine(
    caller: GatewayCaller, user_id: str, act: str, reason: str, until: int | None, end: int | None
) -> None:
    """Forbid an act to a user.

    REASON is shown to the user. Without --until or --for it has no end. Who may not sign in is signed out.
    """
    if until is not None and end is not None:
        raise click.UsageError("Give either --until or --for.")
    terms = {"reason": reason, "until": until if until is not None else end}
    caller.show(caller.call("quarantineUser", terms, id=user_id, act=act))


@click.command("lift", cls=CallingCommand)
@click.argument("user_id")
@act_argument
@pass_caller
def lift(caller: GatewayCaller, user_id: str, act: str) -> None:
    """Lift a quarantine. The user may do it again at once."""
    caller.show(caller.call("liftQuarantine", id=user_id, act=act))


COMMANDS: dict[str, click.Command] = {
    "users list": list_users,
    "users quarantine": quarantine,
    "users lift": lift,
}
