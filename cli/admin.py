"""`admin`: the management API from a terminal. Law: it does nothing that another HTTP client could not do.

Tables are for people, `--json` prints the API's answer. `call` has a command for every row of the routes that
answers the operator in JSON. The other commands are shorter to type, and `bots` reads all pages as one.
"""

import json
import logging
import os
import re
import shutil
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click
from click.core import ParameterSource
from msgspec.structs import fields
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from tornado.httpclient import HTTPClient, HTTPError, HTTPRequest
from tornado.netutil import Resolver

from grammars.header_values import is_header_value
from handlers.reply import JSON
from handlers.route import Route
from handlers.routes import ROUTES

UNIX = "unix:"
TOKEN_FILE = "VOTEGATE_OPERATOR__TOKEN_FILE"  # noqa: S105 (the name of a variable)
TIMEOUT_SECONDS = 15
TABLE_WIDTH = 4_096  # characters: a key or digest must come in one piece, also on a narrow terminal
BESIDE_NAMES = 63  # characters that the table of bots takes beside their names
NAME_WIDTH = 17  # so that it fits 80 columns


class UnixSocket(Resolver):
    """Resolves every host to one Unix socket; a path that begins with @ is an abstract name."""

    def initialize(self, path: str) -> None:
        self._address = f"\0{path[1:]}" if path.startswith("@") else path

    async def resolve(self, *_: object, **__: object) -> list[tuple[int, Any]]:
        return [(socket.AF_UNIX, self._address)]

    def close(self) -> None:
        """Do nothing: the resolver holds nothing."""


@dataclass(frozen=True)
class Remote:
    """A running gateway, called with the operator token.

    `url` is an http or https URL, or "unix:" and the path of a socket.
    """

    url: str
    token: str = field(repr=False)
    as_json: bool = False

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the body of the answer; end the command with a one-line error if the call fails."""
        is_unix = self.url.startswith(UNIX)
        request = HTTPRequest(
            ("http://localhost" if is_unix else self.url.rstrip("/")) + path,
            method=method,
            headers={"Authorization": f"Bearer {self.token}"},
            body=json.dumps(body) if body is not None else None,
            allow_nonstandard_methods=True,
            follow_redirects=False,
            request_timeout=TIMEOUT_SECONDS,
        )
        client = HTTPClient(resolver=UnixSocket(path=self.url.removeprefix(UNIX)) if is_unix else None)
        try:
            response = client.fetch(request, raise_error=False)
        except (HTTPError, OSError, ValueError) as error:
            raise click.ClickException(f"no gateway answers at {self.url}: {error}") from None
        finally:
            client.close()
        try:
            answer = json.loads(response.body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or "success" not in answer:
            raise click.ClickException(
                f"{self.url} is not a Votegate gateway: it answers differently; check --url"
            )
        if response.code >= 400:
            fields = "".join(f"\n  {name}: {why}" for name, why in answer.get("fields", {}).items())
            raise click.ClickException(f"{answer.get('error', response.reason)}{fields}")
        return answer

    def show(self, answer: dict[str, Any], table: Callable[[], Table]) -> None:
        """Print the answer as JSON or as a table."""
        if self.as_json:
            click.echo(json.dumps(answer, indent=2))
        else:
            Console(width=TABLE_WIDTH).print(table())
            if "hint" in answer:
                click.echo(answer["hint"])


pass_remote = click.make_pass_decorator(Remote)


@click.group()
@click.option(
    "--url",
    default="http://127.0.0.1:8080",
    show_default=True,
    help="Address of the gateway; for a Unix socket, such as unix:/run/votegate.sock.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    envvar=TOKEN_FILE,
    default=Path("data/operator.token"),
    show_default=True,
    help="File with the operator token. VOTEGATE_OPERATOR__TOKEN overrides it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer of the API as JSON.")
@click.pass_context
def admin(context: click.Context, url: str, token_file: Path, as_json: bool) -> None:
    """Manage a running gateway as its operator."""
    logging.getLogger("tornado.general").setLevel(logging.ERROR)  # what it warns of is told once, by `call`
    token = os.environ.get("VOTEGATE_OPERATOR__TOKEN")
    if token is None:
        try:
            token = token_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            # What the variable holds is not told: it may be the token itself, by mistake.
            source = context.get_parameter_source("token_file")
            where = TOKEN_FILE if source is ParameterSource.ENVIRONMENT else token_file
            reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
            raise click.ClickException(f"no operator token: {where}: {reason}; see --token-file") from None
    if not is_header_value(token):  # what it cannot send, the HTTP client would print
        raise click.ClickException("no operator token: it must be visible ASCII on one line")
    context.obj = Remote(url, token, as_json)


@admin.command()
@click.option(
    "--state", type=click.Choice(["in_review", "approved", "denied"]), help="List only bots in this state."
)
@pass_remote
def bots(remote: Remote, state: str | None) -> None:
    """List all bots."""
    found: list[dict[str, Any]] = []
    after = None
    while True:
        query = "?limit=500" + (f"&state={state}" if state else "") + (f"&after={after}" if after else "")
        answer = remote.call("GET", f"/manage/bots{query}")
        found += answer["bots"]
        after = answer["next"]
        if after is None:
            break

    def table() -> Table:
        rows = [
            [bot["id"], bot["name"], bot["state"], _shown(bot["server_count"]), _when(bot["created_at"])[:10]]
            for bot in found
        ]
        columns = shutil.get_terminal_size((TABLE_WIDTH, 0)).columns  # a file is as wide as can be
        name_width = max(NAME_WIDTH, columns - BESIDE_NAMES)
        return _table(["id", "name", "state", "servers", "submitted"], rows, name_width)

    remote.show({"success": True, "bots": found, "next": None}, table)


@admin.command()
@click.argument("bot_id")
@click.argument("name")
@pass_remote
def key(remote: Remote, bot_id: str, name: str) -> None:
    """Issue an API key for BOT_ID.

    NAME is for your own use. The key is shown only this once.
    """
    answer = remote.call("POST", f"/manage/bots/{bot_id}/keys", {"name": name})
    remote.show(
        answer, lambda: _table(["id", "name", "key"], [[answer["id"], answer["name"], answer["key"]]])
    )


@admin.command()
@click.argument("bot_id")
@click.argument("user_id")
@pass_remote
def vote(remote: Remote, bot_id: str, user_id: str) -> None:
    """Cast a vote of USER_ID for BOT_ID."""
    answer = remote.call("POST", f"/manage/bots/{bot_id}/votes", {"user": user_id})
    row = [str(answer["vote"]), _when(answer["lastVote"]), _when(answer["nextVoteAt"])]
    remote.show(answer, lambda: _table(["votes", "cast", "next vote"], [row]))


@admin.command()
@pass_remote
def state(remote: Remote) -> None:
    """Show positions, counts and health of the gateway."""
    _show_fields(remote, remote.call("GET", "/debug/state"))


@admin.group("call")
def every_call() -> None:
    """Make any call of the management and debug API.

    Each command is an operation of the API's description (/docs), under the same name.
    """


def _command(route: Route) -> click.Command:
    """Return the command that makes the call of a row."""
    names = re.findall(r"\{(\w+)\}", route.path)
    query = [each.name for each in fields(route.query)] if route.query is not None else []
    parameters: list[click.Parameter] = [click.Argument([name]) for name in names]
    parameters += [click.Option([f"--{name}"], help="See the API's description.") for name in query]
    if route.body is not None:
        parameters.append(click.Option(["--body"], type=_JsonObject(), default="{}", show_default=True))

    @pass_remote
    def run(remote: Remote, /, body: dict[str, Any] | None = None, **values: str | None) -> None:
        path = route.path.format(**{name: quote(str(values[name]), safe="") for name in names})
        asked = urlencode({name: values[name] for name in query if values[name] is not None})
        _show_fields(remote, remote.call(route.method, f"{path}?{asked}" if asked else path, body))

    return click.Command(route.name, callback=run, params=parameters, help=f"{route.summary}.")


class _JsonObject(click.ParamType[dict[str, Any]]):
    """A body in JSON."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        try:
            body = json.loads(value)
        except ValueError as error:
            self.fail(f"it is not JSON: {error}", param, ctx)
        if not isinstance(body, dict):
            self.fail("it must be a JSON object", param, ctx)
        return body


for _route in ROUTES:
    if _route.access == "operator" and _route.content_type == JSON:
        every_call.add_command(_command(_route))


def _show_fields(remote: Remote, answer: dict[str, Any]) -> None:
    """Print an answer with a row for each of its values."""
    shown = {name: value for name, value in answer.items() if name != "success"}
    remote.show(answer, lambda: _table(["what", "value"], _flat(shown)))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], name_width: int = TABLE_WIDTH) -> Table:
    """A longer name goes on in the next line of its row."""
    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold", max_width=name_width if column == "name" else None)
    for row in rows:
        table.add_row(*[escape(cell) for cell in row])
    return table


def _flat(values: Mapping[Any, Any], before: str = "") -> list[list[str]]:
    """Return a row for each value, at any depth: `replication.nodes.oslo.state`, `categories.0`."""
    rows: list[list[str]] = []
    for name, value in values.items():
        held = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(held, dict) and value:
            rows += _flat(held, f"{before}{name}.")
        else:
            rows.append([f"{before}{name}", _shown(value if value != {} else None)])
    return rows


def _shown(value: object) -> str:
    return "-" if value is None else str(value)


def _when(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
