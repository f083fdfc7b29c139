"""The Tornado application. It translates requests and replies, and decides nothing.

One handler class serves every route. `set_default_headers` sets the headers that every response must have,
because Tornado's `send_error` clears all others.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, cast

from tornado.iostream import StreamClosedError
from tornado.web import Application, RequestHandler, stream_request_body

from core.actors import ADDRESS, REQUEST_ID
from core.clock import Clock
from handlers.reply import EVENT_STREAM, SPOKEN, Reply, method_not_allowed, refused, reply_to
from handlers.request import Request
from handlers.route import Resource
from languages.refusals import Refusal
from ratelimit.address import Proxy, client_address, share_key
from ratelimit.bucket import headers
from serving.direct import SERVER, Answered, next_number, request_id
from serving.loop_share import LoopShare
from serving.traffic import Traffic

log = logging.getLogger(__name__)

DISCARD_BYTES = 4 << 20
"""A body that is too large is read and dropped up to here, so that the client sees the 413."""
STALLED_SECONDS = 30
"""The longest wait for a client to read one piece of a stream."""
HTTPS_ALONE = f"max-age={365 * 86_400}"
"""A year (RFC 6797), for this host alone: other servers may have the names below it. Browsers send no vote
checks, so answers to these go without."""
_WITHOUT_BODY = {204, 304}
CUT_OFF: tuple[type[Exception], ...] = (OSError, *SPOKEN)
"""Errors that end a stream and are no bug. OSError includes the TimeoutError of a client that does not
read."""


class RunningRequests:
    """The requests that have been read and not yet answered. A stop waits for them.

    Invariant: the bodies of uploads together take at most `upload_bytes`, and those of one address half of
    them.
    """

    def __init__(self, upload_bytes: int = 0) -> None:
        self._requests: set[object] = set()
        self._upload_bytes = upload_bytes
        self._uploads: dict[object, tuple[str | None, int]] = {}
        """The key of the address that sends each upload, and the bytes that are counted for it."""
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def count(self) -> int:
        return len(self._requests)

    def begin(self, request: object) -> None:
        self._requests.add(request)
        self._idle.clear()

    def keep(self, request: object, size: int, key: str | None) -> bool:
        """Count bytes of an upload for the key of its address; None for an address that many clients have.

        Return false if there is no room for them.
        """
        in_all = sum(count for _, count in self._uploads.values())
        of_key = sum(count for each, count in self._uploads.values() if each == key)
        if in_all + size > self._upload_bytes or (
            key is not None and of_key + size > self._upload_bytes // 2
        ):
            return False
        _, count = self._uploads.get(request, (key, 0))
        self._uploads[request] = key, count + size
        return True

    def end(self, request: object) -> None:
        self._requests.discard(request)
        self._uploads.pop(request, None)
        if not self._requests:
            self._idle.set()

    async def finished(self) -> None:
        await self._idle.wait()


@dataclass(frozen=True)
class ApplicationPolicy:
    """The values that all requests share."""

    max_body_bytes: int
    trusted_proxies: Sequence[Proxy]
    running: RunningRequests
    share: LoopShare
    clock: Clock
    traffic: Traffic
    answered: Answered | None
    is_https: bool = False
    """True if browsers reach the gateway by https. Then they must come back by https only."""


def _unknown(_: Request, __: Reply) -> Reply:
    return refused("no_such_path")


UNKNOWN = Resource("", {}, _unknown)


async def reply_of(
    resource: Resource, request: Request, its_id: str, refusal: Refusal | None = None
) -> Reply:
    """Return the reply of a resource to a request; every error becomes one.

    Args:
        its_id: the id of the request. Log lines of this task, and of those that it starts, have it.
        refusal: the refusal of a request that its endpoint must not see.
    """
    REQUEST_ID.set(its_id)
    ADDRESS.set(request.address)
    try:
        if refusal is not None:
            raise refusal
        endpoint = resource.endpoints.get("GET" if request.method == "HEAD" else request.method)
        if endpoint is None:
            reply = _options(resource) if request.method == "OPTIONS" else _refused(resource, 405)
            return resource.finish(request, reply)
        answer = endpoint(request)
        return await answer if isawaitable(answer) else answer
    except SPOKEN as error:
        return reply_to(error)
    except Exception:
        # The one place that reports a bug. The log line shows no header and no body.
        log.exception("a request failed: %s %s", request.method, request.path)
        return resource.finish(request, bug(its_id))


def bug(its_id: str) -> Reply:
    """Return the answer to a request that met a bug. Its id finds the line of the log."""
    return refused("bug", number=its_id)


def _options(resource: Resource) -> Reply:
    return Reply(204, b"", {"Allow": resource.allow})


def _refused(resource: Resource, status: int) -> Reply:
    if status == 405 and resource.endpoints:
        return method_not_allowed(resource.endpoints, resource.allow)
    return refused("malformed_request")


@stream_request_body
class EndpointHandler(RequestHandler):
    """Reads a request, calls its endpoint and sends the reply."""

    def initialize(self, policy: ApplicationPolicy, resource: Resource = UNKNOWN) -> None:
        self.path_args: list[str] = []  # Tornado sets them too late if it refuses the method itself
        self._policy = policy
        self._resource = resource
        own = resource.most_bytes(self.request.headers)
        self._most_bytes = own if own is not None else policy.max_body_bytes
        self._is_upload, self._has_room = own is not None, True
        self._size = 0
        self._pieces: list[bytes] = []
        self._began_ns = policy.clock.monotonic_ns()
        self._watched_ns: int | None = None  # when an event stream began: its duration is no latency
        self._sending: asyncio.Task[Any] | None = None  # while a stream is sent
        self._is_left = False  # the client is gone
        policy.running.begin(self)  # before anything can end the request

    def set_default_headers(self) -> None:
        if not hasattr(self, "request_id"):  # `send_error` calls this a second time
            self.request_number = next_number()
            self.request_id = request_id(self.request_number)
        self.set_header("Server", SERVER)
        self.set_header("X-Request-Id", self.request_id)
        self.set_header("Cache-Control", "no-store")
        if self.settings["is_https"]:  # of the application: `initialize` comes after the first call
            self.set_header("Strict-Transport-Security", HTTPS_ALONE)

    async def prepare(self) -> None:
        length = self.request.headers.get("Content-Length", "")
        said = int(length[:20]) if length.isascii() and length.isdigit() else 0
        if said > max(DISCARD_BYTES, self._most_bytes) or not self._keeps(min(said, self._most_bytes)):
            await self._answer(None)

    def _keeps(self, size: int) -> bool:
        """Return true if there is room for so much of an upload. A body of another size always has it."""
        if self._is_upload:
            key = share_key(self.client_address(), self._policy.trusted_proxies)
            self._has_room = self._policy.running.keep(self, size, key)
        return self._has_room

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        self._size += len(chunk)
        if "Content-Length" not in self.request.headers and not self._keeps(len(chunk)):
            self._pieces = []
            return self._answer(None)
        if self._size <= self._most_bytes:
            self._pieces.append(chunk)
        elif self._size > max(DISCARD_BYTES, self._most_bytes):
            return self._answer(None)
        return None

    async def get(self, *_: str) -> None:
        body = b"".join(self._pieces) if self._size <= self._most_bytes else None
        await self._policy.share.steps(self, self._answer(body))

    head = post = put = patch = delete = options = get

    def decode_argument(self, value: bytes, name: str | None = None) -> str:  # noqa: ARG002 (Tornado's)
        # Bytes that are no UTF-8 are no id. The endpoint refuses them, in its own order of checks.
        return value.decode("utf-8", "replace")

    def on_finish(self) -> None:
        self._policy.running.end(self)

    def on_connection_close(self) -> None:
        super().on_connection_close()
        self._policy.running.end(self)
        self._is_left = True
        self._policy.share.give_up(self)
        if self._sending is not None:
            self._sending.cancel()  # the stream may wait for news, and a write would be the first to notice

    def compute_etag(self) -> None:
        """Send no ETag: no response is worth a conditional request."""

    def write_error(self, status_code: int, **_: Any) -> None:
        """Answer a request that Tornado itself refuses, such as an unknown method, and a bug outside of all
        endpoints."""
        reply = _refused(self._resource, status_code) if status_code < 500 else bug(self.request_id)
        self._send(self._resource.finish(self._request_value(None), reply))

    async def _answer(self, body: bytes | None) -> None:
        if self._is_left:  # before its turn came
            self._auto_finish = False
            return
        request = self._request_value(body)
        refusal = None if self._has_room else Refusal("file_not_read")
        reply = await reply_of(self._resource, request, self.request_id, refusal)
        if reply.stream is None:
            self._send(reply)
        elif request.method == "HEAD":
            self._set_head(reply)
            self.flush()  # without a length, which is unknown before the last piece
            self.finish()
        else:
            await self._send_stream(reply, reply.stream)

    def _request_value(self, body: bytes | None) -> Request:
        request = self.request
        return Request(
            method=request.method or "",
            path=request.path,
            params=tuple(self.path_args),
            query={name: values[-1].decode("utf-8", "replace") for name, values in request.arguments.items()},
            headers=request.headers,
            address=self.client_address(),
            body=body,
            max_body_bytes=self._most_bytes,
        )

    def count(self) -> None:
        """Count the answer, and log it. Tornado calls this once the answer is written."""
        policy, request, status = self._policy, self.request, self.get_status()
        taken_ns = policy.clock.monotonic_ns() - self._began_ns
        latency_ns = self._watched_ns - self._began_ns if self._watched_ns is not None else taken_ns
        policy.traffic.of(self._resource.name(request.method or "")).add(status, latency_ns)
        if policy.answered is not None:
            address, method = self.client_address(), request.method or ""
            policy.answered(status, method, request.path, address, taken_ns, self.request_number)

    def client_address(self) -> str:
        peer, forwarded_for = self.request.remote_ip or "", self.request.headers.get("X-Forwarded-For")
        return client_address(peer, forwarded_for, self._policy.trusted_proxies)

    def _send(self, reply: Reply) -> None:
        self._set_head(reply)
        if reply.status in _WITHOUT_BODY:
            self.clear_header("Content-Type")
            self.finish()
        else:
            self.finish(reply.body)

    def _set_head(self, reply: Reply) -> None:
        self.set_status(reply.status)
        limits = headers(reply.limits) if reply.limits is not None else {}
        for name, value in (*reply.headers.items(), *limits.items()):
            self.set_header(name, value)
        for cookie in reply.cookies:
            self.add_header("Set-Cookie", cookie)
        self.set_header("Content-Type", reply.content_type)
        if reply.content_type == EVENT_STREAM:
            self._watched_ns = self._policy.clock.monotonic_ns()

    async def _send_stream(self, reply: Reply, stream: AsyncGenerator[bytes, None]) -> None:
        """Send a stream. If it fails, close the connection, so that the client notices the missing end."""
        self._set_head(reply)
        try:
            await self._send_pieces(stream)
        except StreamClosedError:
            return
        except CUT_OFF as error:
            if not self._headers_written and isinstance(error, SPOKEN):
                self._send(reply_to(error))
                return
            log.warning("an answer was cut off: %r", error)
            self._cut_off()
        except Exception:
            log.exception("a request failed: %s %s", self.request.method, self.request.path)
            self._cut_off()
        else:
            self.finish()

    async def _send_pieces(self, stream: AsyncGenerator[bytes, None]) -> None:
        """Send the pieces of a stream to its end, which comes early if the client goes away."""
        self._sending = task = cast("asyncio.Task[Any]", asyncio.current_task())
        try:
            async for piece in stream:
                self.write(piece)
                async with asyncio.timeout(STALLED_SECONDS):
                    await self.flush()
        except asyncio.CancelledError:
            if not self._is_left:  # the program ends
                raise
            task.uncancel()
        finally:
            self._sending = None
            await stream.aclose()

    def _cut_off(self) -> None:
        connection: Any = self.request.connection  # tornado.httputil.HTTPConnection does not declare `close`
        connection.close()


def make_application(resources: Sequence[Resource], policy: ApplicationPolicy) -> Application:
    """Return the application that serves the resources."""

    def log_answer(handler: RequestHandler) -> None:
        if isinstance(handler, EndpointHandler):
            handler.count()

    return Application(
        _by_first_segment(resources, policy),
        default_handler_class=EndpointHandler,
        default_handler_args={"policy": policy},
        log_function=log_answer,
        is_https=policy.is_https,
    )


def _by_first_segment(resources: Sequence[Resource], policy: ApplicationPolicy) -> list[tuple[Any, ...]]:
    """Return the routes in groups, so that Tornado compares a path with few of their patterns. Those whose
    first segment is a parameter come last."""
    groups: dict[str, list[tuple[Any, ...]]] = {}
    others: list[tuple[Any, ...]] = []
    for each in resources:
        segment = each.path.split("/")[1]
        route = (each.pattern, EndpointHandler, {"policy": policy, "resource": each})
        (others if "{" in segment else groups.setdefault(segment, [])).append(route)
    return [*((rf"/{re.escape(segment)}(?:/.*)?", routes) for segment, routes in groups.items()), *others]
