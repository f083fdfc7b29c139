"""One HTTP exchange with a receiver. Law: it always ends, within the time-out, in an `Answer`.

aiohttp's client was chosen over curl's by measurement; docs/decisions/0002 has the numbers. Nothing of an
answer is believed or obeyed but its status: redirects are not followed, bodies are read up to 16 KiB and
not decompressed, cookies are not kept, and the environment's proxy settings are not read.
"""

import contextlib
import errno
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
from yarl import URL

READ_BYTES = 16 * 1024
EXCERPT_CHARACTERS = 500
# Shorter than the 5 s after which Node closes an idle connection, so that a request rarely meets the close.
KEEPALIVE_SECONDS = 4.0


class Answer(NamedTuple):
    """`error` is None for a status of 200 to 299; else it is `http_<status>` or why there is no status."""

    status: int | None
    error: str | None
    excerpt: str


class Sender:
    """Sends over one pool of connections; `open_sender` makes it."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def post(self, url: str, token: str | None, body: bytes) -> Answer:
        """Sends a webhook; the token goes out as the `Authorization` header."""
        headers = {"Authorization": token} if token is not None else {}
        try:
            target = URL(url, encoded=True)  # as the owner wrote it, not as yarl would spell it
            async with self._session.post(
                target, data=body, headers=headers, allow_redirects=False
            ) as response:
                read = await _read_some(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Answer(None, _error_class(error), "")
        status = response.status
        failed = None if 200 <= status <= 299 else f"http_{status}"
        text = read.decode("utf-8", "replace")
        if token is not None:
            text = text.replace(token, "[token]")  # some receivers echo what they get
        return Answer(status, failed, text[:EXCERPT_CHARACTERS])


@asynccontextmanager
async def open_sender(timeout_seconds: float, user_agent: str) -> AsyncIterator[Sender]:
    """A sender whose connections close with the context. `timeout_seconds` covers a whole exchange."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=timeout_seconds),
        headers={
            "Content-Type": "application/json",
            "User-Agent": user_agent,
            "Accept-Encoding": "identity",
        },
    ) as session:
        yield Sender(session)


async def _read_some(response: aiohttp.ClientResponse) -> bytes:
    """The body up to READ_BYTES; a longer one costs the connection."""
    read = b""
    with contextlib.suppress(aiohttp.ClientPayloadError):  # a body that breaks off: its status has come
        async for piece in response.content.iter_any():
            read += piece
            if len(read) >= READ_BYTES:
                response.close()
                break
    return read[:READ_BYTES]


def _error_class(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "dns"
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return "tls"
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ECONNREFUSED:
        return "refused"
    if isinstance(error, aiohttp.ServerDisconnectedError) or number in {errno.ECONNRESET, errno.EPIPE}:
        return "reset"
    if isinstance(error, OSError):
        return "connect"
    return "protocol"
