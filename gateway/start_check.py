"""The trial of a start, for `check-config`. Invariant: it changes nothing on disk, and no probe takes long.

A mistake stops a start. A warning does not, but something will not work, or not be secure: a Redis, a proxy
or a name server does not answer, or a setting lets others in. All are found at once, the probes of the
network beside each other.
"""

import asyncio
import errno
import fcntl
import os
import socket
import ssl
import stat
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import aiodns
from cryptography.x509 import load_pem_x509_certificate

from core.clock import SystemClock
from gateway.store import MIN_SECRET, given_secrets
from grammars.service_urls import TunnelProxy, read_proxy_url
from journal.segments import list_segments
from outbound.proxies import TunnelHandshake
from outbound.result import AtFault, ExchangeFailed
from settings.model import RedisSettings, ServerSettings, Settings
from snapshot.files import list_snapshots
from storage.folder import (
    KEYS,
    LOCK,
    FolderUnusable,
    kept_secret,
    refuse_exposed,
    refuse_fileless,
    refuse_foreign_files,
    what_to_do,
)
from storage.sealing import BadKeys, keyring_of
from wire.listening import Certificates, CertificateUnusable, listen

AUTHORITIES = "SSL_CERT_FILE"
"""The variable that replaces the system's authorities in OpenSSL, for webhooks and guild counts."""


class Dates(NamedTuple):
    """The period in which a certificate is valid."""

    begin_seconds: float
    end_seconds: float


class Findings(NamedTuple):
    """The mistakes, which stop a start, and the warnings, which do not."""

    mistakes: list[str]
    warnings: list[str]


def certificate_findings(settings: Settings, environment: Mapping[str, str], now_ms: int) -> Findings:
    """Read every certificate and key that the settings and the environment name."""
    mistakes, warnings = list[str](), list[str]()
    now_seconds = now_ms / 1_000
    tls, redis, authorities = settings.server.tls, settings.redis, environment.get(AUTHORITIES)
    if tls.certificate is not None and tls.key is not None:
        try:
            Certificates(tls.certificate, tls.key)
        except CertificateUnusable as error:
            mistakes.append(f"server.tls: {error}")
        else:
            problem = _date_problem([_dates_of(tls.certificate)], now_seconds)
            warnings += [f"server.tls.certificate: {tls.certificate}: {problem}"] if problem else []
    if redis.url is not None and redis.ca is not None:
        try:
            problem = _date_problem(_dates_of_authorities(redis.ca), now_seconds)
            warnings += [f"redis.ca: {redis.ca}: {problem}"] if problem else []
        except OSError as error:
            mistakes.append(f"redis.ca: {redis.ca}: {_reason(error)}")
    if authorities:
        try:
            problem = _date_problem(_dates_of_authorities(Path(authorities)), now_seconds)
        except OSError as error:
            problem = _reason(error)
        warnings += [f"{AUTHORITIES}: {authorities}: {problem}; nobody is trusted by it"] if problem else []
    return Findings(mistakes, warnings)


def _dates_of(path: Path) -> Dates:
    """Return the dates of the server's own certificate: the first one, because clients ignore the others'."""
    certificate = load_pem_x509_certificate(path.read_bytes())
    return Dates(certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp())


def _dates_of_authorities(path: Path) -> list[Dates]:
    """Return the dates of each authority. Raises OSError, which ssl.SSLError is, if there are none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(path)
    return [
        Dates(*(ssl.cert_time_to_seconds(str(told[name])) for name in ("notBefore", "notAfter")))
        for told in context.get_ca_certs()
    ]


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return "holds no certificate in PEM"
    return f"cannot be read: {error.strerror}"


def _date_problem(dates: list[Dates], now_seconds: float) -> str | None:
    """Return the first problem if every certificate has one, else None."""
    problems = [_wrong_at(now_seconds, each) for each in dates]
    return problems[0] if problems and all(problems) else None


def _wrong_at(now_seconds: float, dates: Dates) -> str | None:
    if now_seconds > dates.end_seconds:
        return f"the certificate has expired on {_day(dates.end_seconds)}"
    if now_seconds < dates.begin_seconds:
        return f"the certificate is valid from {_day(dates.begin_seconds)} only"
    return None


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


PROBE_SECONDS = 2.0
"""The longest time that a probe waits."""
NOBODY = "votegate.invalid"
"""A name that nobody has (RFC 2606): a name server that answers says so."""
OWN_ADDRESS, DISCARD = "127.0.0.1", 9
"""The tunnel that a proxy is asked for: to itself, where nobody listens. Any answer shows that it works."""
_ANSWERED = {aiodns.error.ARES_ENODATA, aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_EREFUSED}


async def start_findings(settings: Settings, environment: Mapping[str, str], now_ms: int) -> Findings:
    """Try all that a start would."""
    found = certificate_findings(settings, environment, now_ms)
    mistakes, warnings = [*found.mistakes], [*found.warnings]
    owner = lock_owner(settings.data_dir)
    mistakes += folder_mistakes(settings)
    if settings.web.public_url is not None and settings.web.insecure_cookies:
        warnings.append(
            "web.insecure_cookies: anybody on the network path can take over the sign-ins of people; "
            "give public_url https://, and leave this setting out"
        )
    if owner is not None:
        warnings.append(
            f"data_dir: a gateway runs on {settings.data_dir} (pid {owner}); another one cannot start there"
        )
    own = settings.metrics
    busy, metrics_busy, *unanswered = await asyncio.gather(
        _bounded(address_problem(settings.server), _late("server")),
        _bounded(_listening_problem("metrics", own.address, own.port), _late("metrics")),
        _redis_problem(settings.redis),
        _proxy_problem(settings),
        _mail_problem(settings),
        *_name_server_problems(settings),
    )
    for problem in (busy, metrics_busy):
        if problem and owner is not None:
            warnings.append(f"{problem}; is it that gateway?")
        elif problem:
            mistakes.append(problem)
    return Findings(mistakes, warnings + [problem for problem in unanswered if problem])


# -- the data folder -----------------------------------------------------------------------------------


def folder_mistakes(settings: Settings) -> list[str]:
    """Return why a start could not use the data folder. A folder that is missing can be made, or not."""
    path = settings.data_dir
    try:
        refuse_fileless(path)
        if not os.path.lexists(path):
            _refuse_unwritable(next(each for each in path.absolute().parents if os.path.lexists(each)))
            return []
        _refuse_unwritable(path)
        refuse_foreign_files(path)
        refuse_exposed(path)
    except (OSError, FolderUnusable) as error:
        return [f"data_dir: {what_to_do(error, path)}"]
    return [*_secret_mistakes(settings)]


def _refuse_unwritable(folder: Path) -> None:
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", str(folder))
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        is_read_only = bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
        raise OSError(errno.EROFS if is_read_only else errno.EACCES, "cannot be written", str(folder))


class _Missing(Exception):
    """The folder does not hold the secret. A start makes it, if nothing needs it."""


def _secret_mistakes(settings: Settings) -> list[str]:
    """Return what is wrong with the secrets that a start would read from the folder."""
    path, mistakes = settings.data_dir, list[str]()
    for name in [name for name, secret in given_secrets(settings).items() if secret is None]:
        try:
            _check(name, kept_secret(path, name, _missing))
        except _Missing:
            if name == KEYS and (list_segments(path) or list_snapshots(path)):
                mistakes.append(f"data_dir: {path / name} is missing, and the data cannot be read without it")
        except (OSError, FolderUnusable, BadKeys) as error:
            why = f"{path / name}: {error}" if isinstance(error, BadKeys) else what_to_do(error, path / name)
            mistakes.append(f"data_dir: {why}")
    return mistakes


def _missing() -> str:
    raise _Missing


def _check(name: str, secret: str) -> None:
    if name == KEYS:
        keyring_of(secret)
    elif not MIN_SECRET <= len(secret) <= blake2b.MAX_KEY_SIZE:
        raise FolderUnusable(f"{name} is damaged: its length is {len(secret)}; restore it")


def lock_owner(folder: Path) -> str | None:
    """Return the process that holds the folder, or None."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Shared, and for a moment only: the kernel has no call that asks for a lock and does not take it.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
    finally:
        os.close(descriptor)
    return None


# -- the network ---------------------------------------------------------------------------------------


async def address_problem(server: ServerSettings) -> str | None:
    """Return why a start could not listen, by the name of the setting."""
    if server.unix_socket is not None:
        problem = _socket_problem(server.unix_socket.absolute())
        return f"server.unix_socket: {server.unix_socket}: {problem}" if problem else None
    return await _listening_problem("server", server.address, server.port)


async def _listening_problem(section: str, address: str | None, port: int) -> str | None:
    def try_to_listen() -> str | None:
        try:
            for listening in listen(address, port) if address is not None else []:
                listening.close()
        except OSError as error:
            return f"{section}.address: {error}"
        return None

    return await _in_thread(try_to_listen)


def _late(section: str) -> str:
    return f"{section}.address: its name cannot be looked up in time"


def _socket_problem(path: Path) -> str | None:
    """Return why no Unix socket can be made there. The file of a process that is gone is none."""
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return f"{path.parent} is no folder that this user may write"
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISSOCK(mode):
        return "a file that is no socket is in the way"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        except BlockingIOError:  # somebody listens, and has a full backlog
            pass
    return "another process listens there"


async def _redis_problem(redis: RedisSettings) -> str | None:
    if redis.url is None:
        return None
    from gateway.fleet_node import redis_connection  # see fleet.py
    from replication.redis_link import UNREACHABLE, described

    connection = redis_connection(redis)

    async def ask() -> str | None:
        try:
            await connection.ping()
        except UNREACHABLE as error:
            return f"redis.url: Redis does not answer: {described(error)}"
        return None

    try:
        return await _bounded(ask(), "redis.url: Redis does not answer in time")
    finally:
        with suppress(*UNREACHABLE):
            await connection.aclose()


async def _proxy_problem(settings: Settings) -> str | None:
    if settings.webhooks.proxy is None:
        return None
    proxy = read_proxy_url(settings.webhooks.proxy.get_secret_value())
    place = f"webhooks.proxy: {proxy.host} port {proxy.port}"
    return await _bounded(_asked_proxy(proxy, place), f"{place} does not answer in time")


async def _asked_proxy(proxy: TunnelProxy, place: str) -> str | None:
    context = ssl.create_default_context() if proxy.scheme == "https" else None
    try:
        reader, writer = await asyncio.open_connection(proxy.host, proxy.port, ssl=context)
    except OSError as error:
        return f"{place} cannot be reached: {error.strerror or type(error).__name__}"
    handshake = TunnelHandshake(proxy, OWN_ADDRESS, DISCARD)
    try:
        writer.write(handshake.opening)
        while not handshake.is_open and (heard := await reader.read(4_096)):
            writer.write(handshake.receive(heard))
        return None if handshake.is_open else f"{place} closes the connection without an answer"
    except ExchangeFailed as refused:  # it has answered, and has its reasons to open no such tunnel
        return f"{place} refuses the user or the password" if refused.fault is AtFault.PROXY else None
    except OSError as error:
        return f"{place} breaks the connection off: {error.strerror or type(error).__name__}"
    finally:
        writer.transport.abort()


async def _mail_problem(settings: Settings) -> str | None:
    mail = settings.mail
    if mail.host is None:
        return None
    from direct_messages.message_attempts import NotSent
    from gateway.mailing import mail_access  # with the client and the pages, which few starts need
    from mail.mail_server import MailServer

    place = f"mail.host: {mail.host} port {mail.port}"
    server = MailServer(mail_access(mail, settings.web.public_url or "", settings.site.name), SystemClock())

    async def ask() -> str | None:
        try:
            await server.probe()
        except NotSent as error:
            return f"{place} takes no mails now: {error}"
        return None

    return await _bounded(ask(), f"{place} does not answer in time")


def _name_server_problems(settings: Settings) -> list[Coroutine[None, None, str | None]]:
    """Return a probe for each name server, or one for those of the system."""
    servers = settings.webhooks.name_servers
    if not servers:
        return [_asked_name_server(None, "webhooks.name_servers: none of the system's answers in time")]
    return [
        _asked_name_server([server], f"webhooks.name_servers: {server} does not answer in time")
        for server in servers
    ]


async def _asked_name_server(servers: list[str] | None, silent: str) -> str | None:
    resolver = aiodns.DNSResolver(nameservers=servers, timeout=PROBE_SECONDS, tries=1)

    async def ask() -> str | None:
        try:
            await resolver.query_dns(NOBODY, "A")
        except aiodns.error.DNSError as error:
            return None if error.args[0] in _ANSWERED else silent
        return None

    try:
        return await _bounded(ask(), silent)
    finally:
        await resolver.close()


async def _bounded(probe: Coroutine[None, None, str | None], late: str) -> str | None:
    """Return what the probe says, or `late` if it takes too long."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await probe
    except TimeoutError:
        return late


async def _in_thread(call: Callable[[], str | None]) -> str | None:
    """Call in a thread that the end of the process does not wait for: a look-up of a name cannot be ended."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    found: list[str | None] = []

    def run() -> None:
        found.append(call())
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, daemon=True).start()
    await done.wait()
    return found[0]
