#!/usr/bin/env python3
"""The command line. Invariant: it reads settings, runs one command, and reports each problem in one line.

`serve` ends with 0 after SIGTERM or SIGINT, when everything is on disk; with 1 when it cannot start or a
background task fails; with 2 when the settings are not valid.
"""

import functools
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from cli.local_folder import DataFolder
    from cli.settings_port import Whereabouts
    from operators.recent_errors import RecentErrors
    from serving.log_output import LogOutput
    from settings.model import Settings


class Commands(click.Group):
    """Imports a command of `cli/` when it is called.

    Each command imports what it works with, because a gateway takes more than half a second to import, and
    nobody waits so long for `admin`.
    """

    OTHERS: ClassVar = {
        "admin": ("cli.admin", "Manage a running gateway as its operator."),
        "backup": ("cli.backup_commands", "Save the state to FILE, and the secrets to another file."),
        "completion": ("cli.about", "Print the completion script of a shell."),
        "health": ("cli.health", "Check the health of a gateway: status 0 if it is well, else 1."),
        "restore": ("cli.restore_command", "Build a new data folder from FILE."),
        "rotate-key": ("cli.folder_commands", "Create a new sealing key."),
        "snapshot": ("cli.folder_commands", "Inspect, verify and export the data on disk."),
        "version": ("cli.about", "Print the version, commit and build of this program."),
    }
    """Name -> (module, its help in one line, which a list of commands shows without the module)."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run a command. Shells ask for completion by one variable, whatever the program is called."""
        from cli.terminal import UNLIMITED

        _open_closed_streams()
        width = None if sys.stdout.isatty() else UNLIMITED
        ours = {"complete_var": "_VOTEGATE_COMPLETE", "terminal_width": width}
        return super().main(*arguments, **{**ours, **options})

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), *self.OTHERS])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.OTHERS:
            return super().get_command(context, name)
        module, _ = self.OTHERS[name]
        command: click.Command = getattr(import_module(module), name.replace("-", "_"))
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.line_of(name)) for name in self.list_commands(context)])

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(name, help=self.line_of(name))
            for name in self.list_commands(context)
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, context, incomplete)

    def line_of(self, name: str) -> str:
        return (
            self.OTHERS[name][1] if name in self.OTHERS else self.commands[name].get_short_help_str(limit=80)
        )


def _open_closed_streams() -> None:
    """Open /dev/null as each standard stream that is closed.

    Otherwise a socket would get its number, and libuv aborts the process when it closes such a socket.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free
            os.set_inheritable(number, True)  # noqa: FBT003 -- the parameter has no name
            setattr(sys, name, os.fdopen(number, mode))


def _print_version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:  # noqa: FBT001
    if is_asked:
        from cli.about import print_version

        print_version()
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Same as `version`.",
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Votegate, the API gateway of a bot-listing platform."""
    from cli.settings_port import SettingsPort

    context.obj = SettingsPort(_data_folder, _whereabouts)


FLAGS = {
    "address": "server.address",
    "port": "server.port",
    "workers": "server.workers",
    "data_dir": "data_dir",
    "allow_private_targets": "webhooks.allow_private_targets",
}


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of settings to a command: a file, and flags for the common settings."""
    for option in (
        click.option(
            "--allow-private-targets",
            is_flag=True,
            default=None,
            help="Let webhooks into private networks (webhooks.allow_private_targets).",
        ),
        click.option("--data-dir", type=click.Path(path_type=Path), help="Data folder (data_dir)."),
        click.option("--port", type=int, help="Port to listen on (server.port)."),
        click.option("--address", help="Address to listen on (server.address)."),
        click.option(
            "--config", type=click.Path(path_type=Path), help="Settings file in YAML, such as config.yaml."
        ),
    ):
        command = option(command)
    return command


def _settings(config: Path | None, **flags: object) -> "Settings":
    from settings.model import SettingsError

    try:
        return _loaded(config, flags)
    except SettingsError as error:
        raise _not_valid(str(error)) from None


def _loaded(config: Path | None, flags: Mapping[str, object]) -> "Settings":
    from settings.model import load_settings

    return load_settings(config, os.environ, {FLAGS[name]: value for name, value in flags.items()})


def _not_valid(mistakes: str) -> SystemExit:
    from cli.terminal import folded

    click.echo("The settings are not valid:", err=True)
    for mistake in mistakes.splitlines():
        click.echo(folded(mistake, sys.stderr), err=True)
    return SystemExit(2)


@cli.command("serve")
@settings_options
@click.option("--demo", is_flag=True, help="Create a demo listing if the data folder is empty.")
@click.option("--workers", help="Processes that serve together, or auto for one per core (server.workers).")
def serve_command(config: Path | None, *, demo: bool, **flags: object) -> None:
    """Serve requests until SIGTERM or SIGINT.

    Then finish the requests under way, save everything, and stop. A flag overrides the environment, which
    overrides the settings file.
    """
    import logging

    import uvloop

    from operators.recent_errors import RecentErrors
    from serving.log_output import LogOutput, begin_logging, name_worker, standard_error
    from settings.model import SECRETS, SettingsError
    from settings.sources import set_twice
    from snapshot.recovery import UNREADABLE
    from storage.folder import FolderUnusable, what_to_do
    from watchers.redaction import Redactor
    from workers.supervisor_channel import worker_number

    log = logging.getLogger("votegate")
    try:
        settings = _loaded(config, flags)
    except SettingsError as error:
        if error.log_form == "text":
            raise _not_valid(str(error)) from None
        begin_logging(LogOutput(error.log_form, Redactor(), standard_error()), "INFO")
        for mistake in str(error).splitlines():
            log.critical("the settings are not valid: %s", mistake)
        raise SystemExit(2) from None
    output, number = LogOutput(settings.log.form, Redactor(), standard_error()), worker_number(os.environ)
    name_worker(number)
    begin_logging(output, settings.log.level)
    for secret in set_twice(config, os.environ, SECRETS):
        log.warning("%s is set twice: %s is used, %s is ignored", secret.name, secret.used, secret.unused)
    errors = RecentErrors(output.redactor)
    logging.getLogger().addHandler(errors)
    try:
        reread = functools.partial(_reread, config, flags)
        if settings.server.workers > 1 and number is None:
            raise SystemExit(_supervise(settings, reread))
        uvloop.run(_serve_until_signal(settings, output, errors, reread, demo=demo))
    except (FolderUnusable, *UNREADABLE) as error:
        why = what_to_do(error, settings.data_dir)
        if settings.log.form == "text":
            click.echo(f"votegate cannot serve: {why}", err=True)
        else:
            log.critical("cannot serve: %s", why)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        log.info("stopped before it served")
        raise SystemExit(1) from None
    except Exception as error:
        log.critical("stopped by a failure", exc_info=error)
        raise SystemExit(1) from None


def _supervise(settings: "Settings", reread: "Callable[[], Settings | None]") -> int:
    """Keep several workers, each with the command of this process. Return the exit status."""
    import asyncio

    from core.clock import SystemClock
    from gateway.supervise import supervise

    return asyncio.run(supervise(settings, _own_command(), reread, SystemClock()))


def _own_command() -> list[str]:
    """Return the command of this process, with the program that is at its path at each start."""
    if hasattr(sys, "_MEIPASS"):
        return [sys.executable, *sys.argv[1:]]
    if not sys.argv[0].endswith(".py") and os.access(sys.argv[0], os.X_OK):
        return sys.argv  # a script that pip has installed names the Python of its own version
    return [sys.executable, *sys.orig_argv[1:]]


def _reread(config: Path | None, flags: Mapping[str, object]) -> "Settings | None":
    """Return the settings as they are now; log their mistakes and return None if they are not valid."""
    import logging

    from settings.model import SettingsError

    log = logging.getLogger("votegate")
    try:
        return _loaded(config, flags)
    except SettingsError as error:
        for mistake in str(error).splitlines():
            log.error("the secrets stay as they were: %s", mistake)
        return None


async def _serve_until_signal(
    settings: "Settings",
    output: "LogOutput",
    errors: "RecentErrors",
    reread: "Callable[[], Settings | None]",
    *,
    demo: bool,
) -> None:
    import asyncio
    import secrets
    import signal

    from cli.demo import demo_lines, make_demo
    from core.clock import SystemClock
    from gateway.serve import Gateway, Logs, serve, tune_interpreter
    from listings.keys import KEY_BYTES, key_value

    loop, stop, hung_up = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, hung_up.set)  # or one that comes during the start would end it
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stop.set)

    async def started(gateway: Gateway) -> None:
        loop.add_signal_handler(signal.SIGHUP, lambda: gateway.reload(reread()))
        if hung_up.is_set():
            gateway.reload(reread())
        if demo and gateway.ledger.head == 0:
            key = key_value(secrets.token_bytes(KEY_BYTES))
            position = make_demo(
                gateway.ledger,
                gateway.digester,
                key=key,
                key_id=secrets.token_hex(12),
                now_ms=gateway.clock.now_ms(),
            )
            await gateway.ledger.durable(position)
            click.echo(demo_lines(gateway.base_url, key))

    tune_interpreter()
    await serve(settings, SystemClock(), stop, started, logs=Logs(output, errors))


@cli.command("dev")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="Port to listen on."
)
@click.option("--address", default="127.0.0.1", show_default=True, help="Loopback address to listen on.")
@click.option(
    "--webhook",
    default="http://127.0.0.1:9000/votes",
    show_default=True,
    metavar="URL",
    help="URL of your receiver on this machine.",
)
@click.option(
    "--env-file",
    type=click.Path(path_type=Path),
    default=".env",
    show_default=True,
    help="File for the key and the secret of the demo bot.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="New folder for the data, which is deleted at the end. By default, a temporary one.",
)
@click.option(
    "--servers",
    type=click.IntRange(0, 10_000_000),
    help="Servers that the demo bot is really in. By default, every server count is accepted.",
)
@click.option("--real-limits", is_flag=True, help="Keep the limits of production.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
def dev_command(**options: Any) -> None:
    """Serve a demo bot to a developer, on this machine alone.

    It needs no configuration and keeps no data. It prints each request and each delivery as it happens, with
    the reason of each refusal. On a terminal, keys cast votes, send tests, make answers fail, and move the
    clock. A script writes them to standard input, one a line: v [USER], t, r, f [429|500|slow|off], c, q.
    """
    import uvloop

    from gateway.development import DevOptions, DevRefused, develop
    from settings.model import SettingsError
    from snapshot.recovery import UNREADABLE
    from storage.folder import FolderUnusable, what_to_do
    from wire.listening import CannotListen

    try:
        uvloop.run(develop(DevOptions(**options)))
    except DevRefused as error:
        click.echo(f"votegate dev: {error}", err=True)
        raise SystemExit(2) from None
    except SettingsError as error:
        raise _not_valid(str(error)) from None
    except CannotListen as error:
        click.echo(f"votegate dev: {error}; choose another port with --port", err=True)
        raise SystemExit(2) from None
    except (FolderUnusable, *UNREADABLE) as error:
        why = what_to_do(error, options["data_dir"] or Path())
        click.echo(f"votegate dev cannot serve: {why}", err=True)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(1) from None


@cli.command("check-config")
@settings_options
def check_config(config: Path | None, **flags: object) -> None:
    """Check the settings, and try what a start would.

    It reports every mistake at once, and changes nothing on disk. Ends with status 2 if a start would fail.
    A warning is something that would not work then, such as a Redis that does not answer, or not be secure.
    """
    import asyncio

    from cli.terminal import folded
    from core.clock import SystemClock
    from gateway.start_check import start_findings
    from settings.model import SECRETS
    from settings.sources import set_twice

    settings = _settings(config, **flags)
    mistakes, warnings = asyncio.run(start_findings(settings, os.environ, SystemClock().now_ms()))
    warnings += [
        f"{secret.name}: is set twice; {secret.used} is used, {secret.unused} is ignored"
        for secret in set_twice(config, os.environ, SECRETS)
    ]
    for kind, findings in (("error", mistakes), ("warning", warnings)):
        for finding in findings:
            click.echo(folded(f"{kind}: {finding}", sys.stderr), err=True)
    if mistakes:
        click.echo("A start would fail.", err=True)
        raise SystemExit(2)
    if settings.web.redirect_uri is not None:
        click.echo(f"Redirect URI to register at the chat platform: {settings.web.redirect_uri}")
    click.echo("The settings are valid.")


def _data_folder(config: Path | None, data_dir: Path | None) -> "DataFolder":
    """Return the data folder for a command that needs no gateway."""
    from cli.local_folder import DataFolder
    from gateway.store import empty_state, given_secrets, held_folder
    from storage.sealing import keyring_of

    settings = _settings(config, data_dir=data_dir)
    given = settings.sealing.keys
    keys = keyring_of(given.get_secret_value()) if given is not None else None
    return DataFolder(
        settings.data_dir,
        keys,
        lambda path: held_folder(path, settings.sealing),
        empty_state(settings.webhooks.deliveries_kept),
        frozenset(name for name, secret in given_secrets(settings).items() if secret is not None),
    )


def _whereabouts(config: Path | None, data_dir: Path | None) -> "Whereabouts":
    """Return where a command finds a running gateway. The token of the environment it reads itself."""
    from cli.settings_port import Whereabouts
    from settings.sources import SourceUnreadable, found_settings

    environment = {name: value for name, value in os.environ.items() if "OPERATOR__TOKEN" not in name}
    try:
        return Whereabouts(*found_settings(config, environment, data_dir))
    except SourceUnreadable as error:
        raise _not_valid(str(error)) from None


if __name__ == "__main__":
    cli()
