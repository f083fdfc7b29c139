"""`admin counts` and `admin limits`: the commands about a bot that need more than an id."""

from typing import Any

import click

from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.parameter_types import RateLimit


@click.command("counts", cls=CallingCommand)
@click.argument("bot_id")
@click.argument("server_count", type=click.IntRange(min=0), required=False)
@pass_caller
def counts(caller: GatewayCaller, bot_id: str, server_count: int | None) -> None:
    """Show a bot's counts, or set how many servers it is really in."""
    if server_count is not None:
        caller.show(caller.call("setActualServerCount", {"server_count": server_count}, id=bot_id))
        return
    bot = caller.call("showBot", id=bot_id)
    names = ("server_count", "command_count", "counts_updated_at", "actual_server_count")
    caller.show({"success": True, **{name: bot[name] for name in names}})


@click.command("limits", cls=CallingCommand)
@click.argument("bot_id")
@click.option("--stats", type=RateLimit(), help="Updates of counts, such as 20/2h, or default.")
@click.option("--voters", type=RateLimit(), help="Vote checks, such as 500/5m, or default.")
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


COMMANDS: dict[str, click.Command] = {
    "counts": counts,
    "limits": limits,
}
