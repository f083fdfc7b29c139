"""The composition of `votegate dev`: a watched gateway, a demo bot, and a temporary data folder.

Invariants: it listens on loopback alone and delivers to loopback alone; it reads no setting from the
environment or a file; and it deletes only folders that it, or an earlier one, has made.
"""

import asyncio
import fcntl
import logging
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

from cli.demo import BOT, SERVER_COUNT, make_demo
from core.actors import GATEWAY
from core.clock import SystemClock
from core.rows import WebhookEvent
from dev.advice import REQUESTS
from dev.commands import DevCommands
from dev.env_file import NAMES, Credentials, NotOurs, read_credentials, write_env
from dev.happenings import DroppedLines, Happening, ReadyToServe
from dev.key_reader import KeyReader
from dev.lines import DevLines, as_json
from dev.moved_clock import MovedClock
from dev.printer import Printer
from dev.watching import Watching
from gateway.serve import Gateway, Logs, serve
from grammars.http_urls import UrlRefused, read_url
from grammars.service_urls import is_loopback
from handlers.routes import GUIDE
from kinds.bots import BOTS
from listings.forms import WebhookSettings
from listings.keys import KEY_BYTES, key_value
from listings.webhooks import WebhookPolicy, save_webhook
from operators.recent_errors import RecentErrors
from serving.log_output import LogOutput, begin_logging, standard_error
from settings.model import Settings, load_settings
from storage.folder import LOCK
from watchers.redaction import Redactor
from watchers.security_log import LOGGER as SECURITY
from webhook import suspension_log
from webhook.messages import new_secret
from wire.listening import forget_activation

PREFIX = "votegate-dev-"
"""The beginning of the names of temporary data folders."""
STANDARD_INPUT, STANDARD_OUTPUT = 0, 1
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last one comes when the terminal is closed


class DevRefused(Exception):
    """The gateway does not start. The text says why, and what to do."""


@dataclass(frozen=True)
class DevOptions:
    """The options of the command.

    Without `data_dir`, the folder is temporary. Without `servers`, the gateway takes any server count.
    """

    address: str
    port: int
    webhook: str
    env_file: Path
    data_dir: Path | None
    servers: int | None
    real_limits: bool
    as_json: bool


def dev_settings(options: DevOptions, data_dir: Path, token: str) -> Settings:
    """Return the settings of a gateway for development. Raises SettingsError."""
    limits = {} if options.real_limits else _DEV_LIMITS
    any_count = {"stats.max_difference": 10_000_000} if options.servers is None else {}
    own = {
        "data_dir": data_dir,
        "server.address": options.address,
        "server.port": options.port,
        "server.access_log": False,
        "server.drain_seconds": 1,
        "operator.token": token,
        "webhooks.allow_private_targets": True,
    }
    return load_settings(None, {}, {**own, **limits, **any_count})


_DEV_LIMITS = {
    "limits.stats.requests": REQUESTS,
    "limits.voters.requests": REQUESTS,
    "limits.failures.requests": REQUESTS,
    "webhooks.suspend_after": REQUESTS,
}


def refuse_beyond_loopback(options: DevOptions) -> None:
    """Raise DevRefused for an address or a webhook that is not on this machine alone."""
    if not is_loopback(options.address):
        raise DevRefused(
            f"--address {options.address} is not on loopback, and the demo bot is for this machine alone; "
            "use 127.0.0.1 or ::1"
        )
    try:
        host = read_url(options.webhook).host
    except UrlRefused as refused:
        raise DevRefused(f"--webhook {options.webhook} {refused}") from None
    if not is_loopback(host):
        raise DevRefused(
            f"--webhook {options.webhook} is not on loopback, and made-up votes must not leave this machine; "
            "name an address such as http://127.0.0.1:9000/votes"
        )


@contextmanager
def thrown_away_folder(data_dir: Path | None) -> Iterator[Path]:
    """Make a data folder, and delete it at the end. Raises DevRefused if it exists already, and OSError."""
    if data_dir is None:
        remove_leftovers(Path(tempfile.gettempdir()))
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
    else:
        path = data_dir
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            raise DevRefused(
                f"{path} is there already, and its content would be deleted at the end; name a new folder"
            ) from None
        except FileNotFoundError:
            raise DevRefused(f"{path.parent} is missing; make it first") from None
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Delete the data folders of gateways for development that were killed (SIGKILL)."""
    for path in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if path.is_symlink() or path.stat().st_uid != os.geteuid():
                continue
            descriptor = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its gateway runs
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


async def make_demo_bot(gateway: Gateway, credentials: Credentials, webhook: str, servers: int) -> None:
    """Make the demo bot with the key, and its webhook with the secret."""
    ledger, now_ms = gateway.ledger, gateway.clock.now_ms()
    make_demo(
        ledger,
        gateway.digester,
        key=credentials.key,
        key_id=secrets.token_hex(12),
        now_ms=now_ms,
        server_count=servers,
    )
    policy = WebhookPolicy(lambda _: False, lambda: credentials.secret, REQUESTS, REQUESTS)
    form = WebhookSettings(url=webhook, events=get_args(WebhookEvent))
    position = ledger.commit(save_webhook(ledger.state, BOTS.ref(BOT), form, policy, now_ms, by=GATEWAY))
    await ledger.durable(position)


async def develop(options: DevOptions) -> None:
    """Serve until a signal, the key q, or the end of the reader of standard output.

    Raises DevRefused, FolderUnusable, OSError and SettingsError if it cannot start.
    """
    refuse_beyond_loopback(options)
    credentials = _credentials(options.env_file)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in STOPPING:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
            loop.add_signal_handler(number, stop.set)
    forget_activation(os.environ)  # sockets from systemd may listen on any address
    clock = MovedClock(SystemClock())
    lines = DevLines(BOT, has_colours=_has_colours(), has_keys=os.isatty(STANDARD_INPUT), width=_width)
    said: Callable[[Happening], str] = as_json if options.as_json else lines.of

    def dropped(number: int) -> str:
        return said(DroppedLines(at=clock.machine.now_ms(), number=number))

    printer = Printer(STANDARD_OUTPUT, partial(loop.call_soon_threadsafe, stop.set), dropped)
    try:
        with thrown_away_folder(options.data_dir) as data_dir:
            await _serve_watched(
                options, data_dir, credentials, clock, lambda told: printer.print(said(told)), stop
            )
        if not options.as_json:
            printer.print("The gateway has stopped. Its data is deleted.")
    finally:
        printer.close()


def _credentials(path: Path) -> Credentials:
    """Return the key and the secret of an earlier start, or new ones. Raises DevRefused and OSError."""
    try:
        found = read_credentials(path)
    except NotOurs:
        raise _not_ours(path) from None
    return found or Credentials(key_value(secrets.token_bytes(KEY_BYTES)), new_secret(secrets.token_bytes))


def _not_ours(path: Path) -> DevRefused:
    return DevRefused(
        f"{path} is no small file, or has other values of {', '.join(NAMES)}; "
        "name another file: votegate dev --env-file votegate.env"
    )


async def _serve_watched(
    options: DevOptions,
    data_dir: Path,
    credentials: Credentials,
    clock: MovedClock,
    tell: Callable[[Happening], None],
    stop: asyncio.Event,
) -> None:
    """Serve, and report everything that happens. Raises DevRefused, and what `serve` raises."""
    token, logs = secrets.token_hex(32), _logs(options)
    watching = Watching(clock.machine, logs.output.redactor, tell)
    commands = DevCommands(watching, clock, token, BOT, stop.set)
    keys = KeyReader(STANDARD_INPUT, commands.begin)
    refused: list[DevRefused] = []

    async def started(gateway: Gateway) -> None:
        servers = options.servers if options.servers is not None else SERVER_COUNT
        await make_demo_bot(gateway, credentials, options.webhook, servers)
        try:
            is_added = write_env(options.env_file, gateway.base_url, BOT, credentials)
        except NotOurs:
            refused.append(_not_ours(options.env_file))
        except OSError as error:
            why = error.strerror or str(error)
            refused.append(
                DevRefused(f"{options.env_file} cannot be written: {why}; name another --env-file")
            )
        if refused:
            stop.set()
            return
        watching.url = gateway.base_url
        keys.start()
        watching.tell(_ready(options, gateway.base_url, clock.now_ms(), is_added=is_added))

    try:
        settings = dev_settings(options, data_dir, token)
        await serve(settings, clock, stop, started, logs=logs, watching=watching)
    finally:
        keys.stop()
        commands.cancel()
    for error in refused:
        raise error


def _logs(options: DevOptions) -> Logs:
    """Send warnings and errors to standard error. Everything else is printed as a happening."""
    output = LogOutput("json" if options.as_json else "text", Redactor(), standard_error())
    begin_logging(output, "WARNING")
    logging.getLogger(SECURITY).setLevel(logging.WARNING)
    logging.getLogger(suspension_log.__name__).setLevel(logging.ERROR)  # `PausedEndpoint` says it
    errors = RecentErrors(output.redactor)
    logging.getLogger().addHandler(errors)
    return Logs(output, errors)


def _width() -> int:
    """Return the columns of the terminal as it is now; 0 without one."""
    try:
        return os.get_terminal_size(STANDARD_OUTPUT).columns
    except OSError:
        return 0


def _has_colours() -> bool:
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # no-color.org
    return os.isatty(STANDARD_OUTPUT) and not is_plain


def _ready(options: DevOptions, url: str, now_ms: int, *, is_added: bool) -> ReadyToServe:
    return ReadyToServe(
        at=now_ms,
        url=url,
        bot_id=BOT,
        env_file=str(options.env_file),
        is_added=is_added,
        webhook=options.webhook,
        guide=f"{url}{GUIDE}",
        real_limits=options.real_limits,
    )
