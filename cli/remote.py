"""A gateway, called over TCP, TLS or a Unix socket. Invariant: a failure is one line, within a bounded time.

It uses `http.client`, because a command must answer at once and Tornado's client takes longer to import than
the whole call. No proxy of the environment is asked, and no redirect is followed: both would get the token.
"""

import contextlib
import http.client
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import click

from cli.settings_port import Whereabouts
from grammars.patterns import is_header_value

UNIX = "unix:"
TIMEOUT_SECONDS = 15
LONG_SECONDS = 3_600
"""For calls that read or write the whole state."""
IDLE_SECONDS = 60
"""The longest pause in a file that is under way."""
MAX_ANSWER_BYTES = 64 << 20
BINARY, TEXT = "application/octet-stream", "text/plain"
PIECE_BYTES = 1 << 16
_PARTIAL_CHAIN = getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0x80000)
"""Lets a file have the gateway's own certificate, instead of the authority's."""


class Refused(click.ClickException):
    """A refusal of the gateway, with its text. `answer` is the body."""

    def __init__(self, answer: dict[str, Any], reason: str) -> None:
        fields = answer.get("fields")
        listed = fields.items() if isinstance(fields, dict) else ()
        lines = "".join(f"\n  {name}: {why}" for name, why in listed)
        super().__init__(printable(f"{answer.get('error', reason)}{lines}"))
        self.answer = answer


class NoGateway(click.ClickException):
    """No gateway answers at the address."""


class Address(NamedTuple):
    """The address of a gateway.

    `url` is an http or https URL, or "unix:" and the path of a socket; a path that begins with @ is an
    abstract name. `trusted` is a file with certificates, in place of the system's. With `is_own` the file
    holds the very certificate that the gateway shows, so its names do not matter.
    """

    url: str
    trusted: Path | None = None
    is_own: bool = False


def address_of(
    url: str | None, unix_socket: str | None, ca: Path | None, settings: Callable[[], Whereabouts]
) -> Address:
    """Return the address that the command line names, else that of the settings."""
    if unix_socket is not None:
        return Address(f"{UNIX}{unix_socket}", ca)
    if url is not None:
        return Address(url, ca)
    found = settings()
    return Address(found.url, ca or found.certificate, is_own=ca is None and found.certificate is not None)


class Remote:
    """A gateway, called with the operator token."""

    def __init__(self, address: Address, token: str) -> None:
        if not is_header_value(token):
            raise click.ClickException("no operator token: it must be visible ASCII on one line")
        self.address = address
        self._token = token

    def call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | bytes | None = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> dict[str, Any]:
        """Return the body of the answer. Raises Refused and NoGateway."""
        with self._answered(method, path, body, seconds) as response:
            content = _whole(response)
        return self._checked(response, content)

    def pieces(self, path: str, content_type: str = BINARY) -> Iterator[bytes]:
        """Yield the bytes of a file of that type.

        Raises Refused and NoGateway, the latter for a file that is cut off.
        """
        with self._answered("GET", path, None, LONG_SECONDS, IDLE_SECONDS) as response:
            media_type = (response.getheader("Content-Type") or "").partition(";")[0]
            if response.status >= 400 or media_type != content_type:
                self._checked(response, _whole(response))
                raise self._stranger()
            while piece := response.read(PIECE_BYTES):
                yield piece
            _refuse_cut(response)

    @contextlib.contextmanager
    def _answered(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | bytes | None,
        seconds: float,
        idle: float = LONG_SECONDS,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request and yield the answer's head. `idle` bounds the wait for each piece of the body."""
        connection, before = self._connection(min(seconds, TIMEOUT_SECONDS))
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        is_late = threading.Event()
        # The connection forgets its socket once an answer says that it is the last.
        sockets: list[socket.socket] = []

        def give_up() -> None:
            is_late.set()
            for each in sockets:
                with contextlib.suppress(OSError):  # it may not be connected any more
                    each.shutdown(socket.SHUT_RDWR)

        # A socket's own time-out starts again with each byte.
        watch = threading.Timer(seconds, give_up)
        watch.daemon = True
        watch.start()
        try:
            connection.connect()
            sockets.append(connection.sock)
            connection.sock.settimeout(min(2 * seconds, idle))  # later than the watch, which says why
            connection.request(method, before + path, content, {"Authorization": f"Bearer {self._token}"})
            yield connection.getresponse()
        except (http.client.HTTPException, OSError, ValueError) as error:
            why = f"it has not answered within {seconds:g} s" if is_late.is_set() else _reason(error)
            raise NoGateway(f"no gateway answers at {printable(self.address.url)}: {why}") from None
        finally:
            watch.cancel()
            connection.close()

    def _connection(self, seconds: float) -> tuple[http.client.HTTPConnection, str]:
        """Return a connection that is not open yet, and the prefix of each path. Raises NoGateway."""
        if self.address.url.startswith(UNIX):
            return _UnixConnection(self.address.url.removeprefix(UNIX), seconds), ""
        try:
            url = urlsplit(self.address.url)
            host, port = url.hostname, url.port
        except ValueError as error:
            raise self._no_url(str(error)) from None
        if url.scheme not in {"http", "https"} or not host or not _is_plain(url):
            raise self._no_url("it must be like http://127.0.0.1:8080, https://... or unix:/path")
        before = url.path.rstrip("/")
        try:
            if url.scheme == "http":
                return http.client.HTTPConnection(host, port, timeout=seconds), before
            return http.client.HTTPSConnection(host, port, timeout=seconds, context=self._tls()), before
        except http.client.InvalidURL:
            raise self._no_url("it has characters that no URL has") from None

    def _tls(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.address.trusted)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "it holds none"
            raise click.ClickException(f"no certificates in {self.address.trusted}: {reason}") from None
        context.verify_flags |= _PARTIAL_CHAIN
        context.check_hostname = not self.address.is_own
        return context

    def _checked(self, response: http.client.HTTPResponse, content: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or "success" not in answer:
            raise self._stranger()
        if response.status >= 400:
            raise Refused(answer, response.reason)
        return answer

    def _stranger(self) -> NoGateway:
        return NoGateway(
            f"{printable(self.address.url)} is not a Votegate gateway: it answers differently; check --url"
        )

    def _no_url(self, why: str) -> NoGateway:
        return NoGateway(f"no gateway answers at {printable(self.address.url)}: {why}")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = f"\0{path[1:]}" if path.startswith("@") else path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _whole(response: http.client.HTTPResponse) -> bytes:
    content = response.read(MAX_ANSWER_BYTES)
    if len(content) < MAX_ANSWER_BYTES:
        _refuse_cut(response)
    return content


def _refuse_cut(response: http.client.HTTPResponse) -> None:
    """Raise IncompleteRead for an answer that is shorter than it said, which `read(size)` does not."""
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)


def _is_plain(url: SplitResult) -> bool:
    """Return true if the URL has no parts that would not be sent, such as a password."""
    return url.username is None and not url.query and not url.fragment


def _reason(error: Exception) -> str:
    for kind, why in _REASONS:
        if isinstance(error, kind):
            return why(error)
    return printable(str(error)) or type(error).__name__


def _certificate_reason(error: Any) -> str:
    message = error.verify_message.rstrip(".")
    if "mismatch" in message:
        return f"its certificate is for another name ({message}); call it by that name"
    return f"its certificate is not trusted ({message}); name a file that is, with --ca"


_REASONS: list[tuple[type[Exception], Callable[[Any], str]]] = [
    (ssl.SSLCertVerificationError, _certificate_reason),
    (ssl.SSLError, lambda error: f"no TLS ({(error.reason or 'it failed').lower()}); is it http?"),
    (ConnectionRefusedError, lambda _: "connection refused; is it running, and is it there?"),
    (http.client.RemoteDisconnected, lambda _: "it closed the connection without an answer"),
    (ConnectionResetError, lambda _: "it closed the connection without an answer"),
    (http.client.IncompleteRead, lambda _: "it cut its answer off"),
    (http.client.HTTPException, lambda _: "it does not speak HTTP; check --url"),
    (TimeoutError, lambda _: "it does not answer in time"),
    (OSError, lambda error: error.strerror or str(error)),
]
"""The first that fits counts: some of these are subclasses of a later one."""


def printable(text: str) -> str:
    """Return the text without characters that would steer a terminal."""
    return re.sub(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "\N{REPLACEMENT CHARACTER}", text
    )
