"""The frame of every command that calls a gateway. Invariant: with `--json`, stdout holds one JSON document.

That document is the API's answer. For a command that fails it has `success: false` and the `error`, as the
API's own errors have. A usage error (status 2) is text on stderr in any case.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

import click

from cli.operations import BY_NAME
from cli.outline import outline, table
from cli.remote import LONG_SECONDS, TIMEOUT_SECONDS, Refused, Remote, address_of, printable
from cli.settings_port import SettingsPort, Whereabouts
from cli.terminal import terminal_width

if TYPE_CHECKING:
    from cli.local_folder import DataFolder

TOKEN = "VOTEGATE_OPERATOR__TOKEN"  # noqa: S105 (the name of a variable)
TOKEN_FILE = "VOTEGATE_OPERATOR__TOKEN_FILE"  # noqa: S105 (the name of a variable)
CONNECTION = ("url", "unix_socket", "token_file", "ca", "config", "data_dir")
"""The parameters of `connection_options`."""
PAGE = 500  # the most that the API gives at once
LONG = {"takeSnapshot", "verifyState"}
"""Operations that read or write the whole state."""
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(kw_only=True)
class GatewayCaller:
    """Calls a gateway, and shows its answers. It reads no settings and no token before the first call.

    `is_sure` is true if the command line has answered every question with yes.
    """

    deployment: SettingsPort
    url: str | None
    unix_socket: str | None
    token_file: Path | None
    ca: Path | None
    config: Path | None
    data_dir: Path | None
    as_json: bool = False
    is_sure: bool = False

    @property
    def is_named(self) -> bool:
        """True if the command line says which gateway is meant."""
        return self.url is not None or self.unix_socket is not None

    @cached_property
    def whereabouts(self) -> Whereabouts:
        return self.deployment.whereabouts(self.config, self.data_dir)

    @cached_property
    def data_folder(self) -> "DataFolder":
        """The data folder of the gateway, if it is here."""
        return self.deployment.data_folder(self.config, self.data_dir)

    @cached_property
    def remote(self) -> Remote:
        address = address_of(self.url, self.unix_socket, self.ca, lambda: self.whereabouts)
        return Remote(address, self._token())

    def call(
        self,
        name: str,
        body: Mapping[str, Any] | bytes | None = None,
        query: Mapping[str, Any] | None = None,
        **ids: Any,
    ) -> dict[str, Any]:
        """Make the call of an operation. Returns the answer's body."""
        operation = BY_NAME[name]
        path = operation.path.format(**{key: quote(str(value), safe="") for key, value in ids.items()})
        asked = urlencode({key: value for key, value in (query or {}).items() if value is not None})
        content: dict[str, Any] | bytes | None = body if isinstance(body, bytes) else None
        if operation.has_body and not isinstance(body, bytes):
            content = dict(body or {})
        seconds = LONG_SECONDS if name in LONG else TIMEOUT_SECONDS
        return self.remote.call(operation.method, f"{path}?{asked}" if asked else path, content, seconds)

    def show(self, answer: dict[str, Any], lines: "Callable[[], Any] | None" = None) -> None:
        """Print an answer as JSON, else as its lines, which are an outline if no others are given."""
        if self.as_json:
            click.echo(json.dumps(answer, indent=2))
            return
        shown = {
            key: value
            for key, value in answer.items()
            if key not in {"success", "hint"} and (key, value) != ("next", None)
        }
        printed = lines() if lines is not None else outline(shown, terminal_width())
        for line in printed if shown else ["done"]:
            click.echo(line)
        if "hint" in answer:
            click.echo(printable(str(answer["hint"])))

    def show_all(self, name: str, noun: str, **query: Any) -> None:
        """Print all pages of a list as one table. The noun is the field of its answer."""
        found: list[dict[str, Any]] = []
        after: str | None = None
        while True:
            page = {"limit": PAGE, "after": after, **query}
            answer = self.call(name, query=page)
            found += answer[noun]
            after = answer["next"]
            if after is None:
                break
        whole = {"success": True, noun: found, "next": None}
        self.show(whole, lambda: table(noun, found, terminal_width()) if found else ["none"])

    def confirm(self, lost: str, wanted: str | None = None) -> None:
        """Ask before something is lost: for `wanted`, a name to type, else for y. Else end the command."""
        if self.is_sure:
            return
        if not sys.stdin.isatty():
            raise click.ClickException(
                f"{lost} It does so with --yes, or asks on a terminal; nothing was changed"
            )
        if wanted is None:
            is_meant = click.confirm(f"{lost} Go on?", err=True)
        else:
            typed = click.prompt(f"{lost} Type the name to go on", default="", show_default=False, err=True)
            is_meant = typed == wanted
        if not is_meant:
            raise click.ClickException("nothing was changed")

    def _token(self) -> str:
        """Return the token of the flag, else of the environment, the settings, or the data folder."""
        if self.token_file is not None:
            return _token_in(self.token_file, "--token-file")
        if TOKEN in os.environ:
            return os.environ[TOKEN]
        if TOKEN_FILE in os.environ:
            return _token_in(Path(os.environ[TOKEN_FILE]), TOKEN_FILE)
        if self.whereabouts.token is not None:
            return self.whereabouts.token
        path = self.whereabouts.data_dir / "operator.token"
        return _token_in(path, str(path))


def _token_in(path: Path, source: str) -> str:
    """Read a file. An error never shows the content of the source, which may be the token by mistake."""
    try:
        if str(path) == "-":
            return sys.stdin.read().strip()
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
        raise click.ClickException(f"no operator token: {source}: {reason}; see --token-file") from None


def _refused_token(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(
            "--token would show the token to everybody on this machine (ps); use --token-file FILE, or - for "
            f"standard input, or {TOKEN}"
        )


def connection_options(command: F) -> F:
    """Add the options that say which gateway is meant."""
    path = click.Path(path_type=Path)
    for option in (
        click.option("--token", callback=_refused_token, expose_value=False, hidden=True),
        click.option("--data-dir", type=path, help="Data folder of the gateway (data_dir), for its token."),
        click.option("--config", type=path, help="Settings file of the gateway, for its address and token."),
        click.option("--ca", type=path, help="File with the certificates to trust (PEM)."),
        click.option(
            "--token-file",
            type=path,
            help=f"File with the operator token; - is standard input. By default: {TOKEN}.",
        ),
        click.option("--socket", "unix_socket", metavar="PATH", help="Unix socket of the gateway."),
        click.option(
            "--url",
            help="Gateway address: http://..., https://..., or unix:PATH. By default: from the settings.",
        ),
    ):
        command = option(command)
    return command


class CallingCommand(click.Command):
    """A command that calls a gateway: `--json` shows answers and errors as JSON."""

    def __init__(self, name: str | None, **options: Any) -> None:
        flag = click.Option(["--json", "as_json"], is_flag=True, help="Print the API's answer as JSON.")
        options["params"] = [*options.get("params", ()), flag]
        super().__init__(name, **options)

    def invoke(self, context: click.Context) -> Any:
        as_json = context.params.pop("as_json")
        caller = context.find_object(GatewayCaller) or _caller_of(context)
        caller.as_json, caller.is_sure = as_json, context.params.pop("is_sure", False)
        try:
            return super().invoke(context)
        except click.UsageError:
            raise
        except click.ClickException as error:
            if not as_json:
                raise
            answer = (
                error.answer if isinstance(error, Refused) else {"success": False, "error": error.message}
            )
            click.echo(json.dumps(answer, indent=2))
            context.exit(error.exit_code)


def _caller_of(context: click.Context) -> GatewayCaller:
    """Make the caller of a command that has the connection options itself."""
    options = {name: context.params.pop(name) for name in CONNECTION}
    context.obj = caller = GatewayCaller(deployment=context.find_root().obj, **options)
    return caller


pass_caller = click.make_pass_decorator(GatewayCaller)
