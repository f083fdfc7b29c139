"""Questions to the chat platform. Invariant: a question ends by its deadline, and never waits while a rule
runs.

    question -> cached? -> the route's turn -> the platform's limits -> exchange -> facts

Those who ask the same at once share one question. Of each route few questions are under way, because the
platform's limits are known only after an answer; the limit of one user's token stops nobody else. A question
that would have to wait beyond its deadline is not sent. No redirect is followed, and no answer is read beyond
its bound.
"""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, Literal, NamedTuple, TypeVar

import aiohttp
import msgspec

from chatplatform.authorization import SignInFailed, read_token
from chatplatform.facts import InnerServer, PlatformApplication, PlatformServer, PlatformUser, ServerChannel
from chatplatform.reading import (
    read_application,
    read_channel,
    read_code,
    read_inner_server,
    read_reach,
    read_server_channels,
    read_servers,
    read_user,
)
from chatplatform.waits import PlatformLimits, PlatformQuestion
from core.clock import NS_PER_SECOND, Clock
from core.version import VERSION

READ_BYTES = 256 * 1024
MORE_BYTES: Mapping[str, int] = {"server": 1024 * 1024, "server channels": 1024 * 1024}
"""The routes with longer answers: a server with all its roles, or its channels. They are no longer, because
the loop decodes an answer in one piece."""
MOST_CACHED = 10_000
AT_ONCE = 8
"""Questions of one route that are under way."""
UNKNOWN_APPLICATION = 10_002
"""The platform's code for an application that does not exist."""
UNKNOWN_SERVER, NO_ACCESS = 10_004, 50_001
"""Its codes for a server that it does not know, and for one that the bot is not in."""
NOT_LISTED = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
"""The statuses for an application that is not in the directory, with a code of the platform in the body."""
DENIED_NS = 60 * NS_PER_SECOND
"""The period in which a server without the bot is not asked for again: the platform bans clients that ask
on."""

T = TypeVar("T")
Reason = Literal["limited", "timeout", "unreachable", "refused", "unreadable"]
"""`limited`: it must not be asked before some time. `refused`: it answered with an error. `unreadable`: it
answered something else than it should."""


class PlatformAway(Exception):
    """The platform gave no answer that can be used.

    `retry_seconds` is known where the platform said it. Of a refusal, `status` is the HTTP status, and `code`
    the platform's own number for it, or 0.
    """

    def __init__(
        self, reason: Reason, retry_seconds: float | None = None, *, status: int = 0, code: int = 0
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_seconds = retry_seconds
        self.status = status
        self.code = code


@dataclass(frozen=True)
class PlatformAccess:
    """Where the platform is, and how this deployment is known there.

    Args:
        api_url: the address of its API with the version, without a slash at the end.
        public_url: of this deployment; the platform wants to know who asks.
        bot_token: of the deployment's bot, which sends direct messages; empty without one.
    """

    api_url: str
    client_id: str
    client_secret: str = field(repr=False)
    public_url: str = ""
    bot_token: str = field(default="", repr=False)


class Told(NamedTuple):
    """The platform's answer about an application, and its time (Unix ms). None: there is no such one."""

    application: PlatformApplication | None
    at_ms: int


class Inside(NamedTuple):
    """The server as the deployment's bot sees it, and the time of the answer (Unix milliseconds).

    Args:
        server: None if the bot is not in it.
        channels: None if they could not be read.
    """

    server: InnerServer | None
    channels: tuple[ServerChannel, ...] | None
    at_ms: int


class _Answer(NamedTuple):
    status: int
    body: object


class ChatPlatform:
    """`open_chat_platform` makes one.

    Args:
        deadline_seconds: how long a question takes at most, the wait for its turn included.
        cache_seconds: how long an answer about an application holds.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        access: PlatformAccess,
        clock: Clock,
        *,
        deadline_seconds: float,
        cache_seconds: float,
    ) -> None:
        self._session = session
        self._access = access
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._cache_ns = round(cache_seconds * NS_PER_SECOND)
        self._limits = PlatformLimits()
        self._turns = defaultdict[str, asyncio.Semaphore](partial(asyncio.Semaphore, AT_ONCE))
        """By route."""
        self._told: dict[str, tuple[Told, int]] = {}
        """By application: what was told, and when (monotonic ns)."""
        self._asking: dict[str, asyncio.Task[Told]] = {}
        self._denied: dict[str, int] = {}
        """By server that the bot is not in: when that was said (monotonic ns)."""

    @property
    def has_bot(self) -> bool:
        """True where the deployment has a bot, which may be in servers."""
        return bool(self._access.bot_token)

    async def close(self) -> None:
        """Cancel the questions that are under way."""
        for asking in self._asking.values():
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    async def token(self, form: Mapping[str, str]) -> str:
        """Exchange a code for an access token. Raises SignInFailed and PlatformAway."""
        credentials = aiohttp.encode_basic_auth(self._access.client_id, self._access.client_secret)
        answer = await self._ask(
            PlatformQuestion("token"),
            "POST",
            "/oauth2/token",
            data=dict(form),
            headers={"Authorization": credentials},
        )
        if answer.status == HTTPStatus.BAD_REQUEST:
            raise SignInFailed("platform")  # the code is used up, too old, or of somebody else
        return read_token(_good(answer).body)

    async def user(self, token: str) -> PlatformUser:
        """Return who the token is of. Raises PlatformAway."""
        return await self._read("user", "/users/@me", token, read_user)

    async def servers(self, token: str) -> tuple[PlatformServer, ...]:
        """Return the servers of whom the token is of. Raises PlatformAway."""
        return await self._read("servers", "/users/@me/guilds?with_counts=true", token, read_servers)

    async def inside(self, server_id: str) -> Inside:
        """Return what the deployment's bot sees of a server. Raises PlatformAway.

        Only a deployment with a bot asks.
        """
        server = await self.server(server_id)
        if server is None:
            return Inside(None, None, self._clock.now_ms())
        return Inside(server, await self._channels(server), self._clock.now_ms())

    async def server(self, server_id: str) -> InnerServer | None:
        """Return a server as the deployment's bot sees it, without its channels; None if the bot is not in
        it. Raises PlatformAway. Only a deployment with a bot asks."""
        denied_ns, now_ns = self._denied.get(server_id), self._clock.monotonic_ns()
        if not self.has_bot or (denied_ns is not None and now_ns - denied_ns < DENIED_NS):
            return None
        try:
            answer = await self._as_bot("server", f"/guilds/{server_id}?with_counts=true")
        except PlatformAway as away:
            if away.code not in {UNKNOWN_SERVER, NO_ACCESS}:
                raise
            self._denied.pop(server_id, None)
            self._denied[server_id] = self._clock.monotonic_ns()
            if len(self._denied) > MOST_CACHED:
                del self._denied[next(iter(self._denied))]
            return None
        server = read_inner_server(answer.body, server_id)
        if server is None:
            raise PlatformAway("unreadable")
        return server

    async def _channels(self, server: InnerServer) -> tuple[ServerChannel, ...] | None:
        """Return the channels of a server; None where the bot may not read them. Raises PlatformAway."""
        try:
            answer = await self._as_bot("server channels", f"/guilds/{server.id}/channels")
        except PlatformAway as away:
            if away.status != HTTPStatus.FORBIDDEN:
                raise
            return None
        return read_server_channels(answer.body, server)

    async def channel(self, user_id: str) -> str:
        """Open the channel of direct messages with a user, and return its id. Raises PlatformAway."""
        answer = await self._as_bot("channel", "/users/@me/channels", {"recipient_id": user_id})
        channel_id = read_channel(answer.body)
        if channel_id is None:
            raise PlatformAway("unreadable")
        return channel_id

    async def post(self, channel_id: str, content: str, nonce: str) -> None:
        """Post a message that mentions nobody. Raises PlatformAway.

        Args:
            nonce: at most 25 characters. A message with the nonce of one of the last minutes is not posted
                again.
        """
        message = {
            "content": content,
            "allowed_mentions": {"parse": []},
            "nonce": nonce,
            "enforce_nonce": True,
        }
        await self._as_bot("message", f"/channels/{channel_id}/messages", message)

    def lately(self, application_id: str) -> Told | None:
        """Return what the platform last said of an application, however long ago; None if it is not kept."""
        known = self._told.get(application_id)
        return known[0] if known is not None else None

    async def application(self, application_id: str, *, anew: bool = False) -> Told:
        """Return what the platform says of an application. Raises PlatformAway.

        Args:
            anew: true to ask, however lately it was said.
        """
        known = self._told.get(application_id)
        is_late = known is not None and self._clock.monotonic_ns() - known[1] < self._cache_ns
        if known is not None and is_late and not anew:
            return known[0]
        asking = self._asking.get(application_id)
        if asking is None:
            asking = self._asking[application_id] = asyncio.create_task(self._application(application_id))
            asking.add_done_callback(lambda _: self._asking.pop(application_id, None))
        return await asyncio.shield(asking)

    async def _application(self, application_id: str) -> Told:
        answer = await self._ask(
            PlatformQuestion("application"), "GET", f"/applications/{application_id}/rpc"
        )
        is_unknown = isinstance(answer.body, dict) and answer.body.get("code") == UNKNOWN_APPLICATION
        application = None
        if not (answer.status == HTTPStatus.NOT_FOUND and is_unknown):
            application = read_application(_good(answer).body, application_id)
            if application is None:
                raise PlatformAway("unreadable")
        told = Told(application, self._clock.now_ms())
        self._told.pop(application_id, None)
        self._told[application_id] = told, self._clock.monotonic_ns()
        if len(self._told) > MOST_CACHED:
            del self._told[next(iter(self._told))]
        return told

    async def guild_count(self, application_id: str) -> int | None:
        """Return how many servers an application is in, roughly; None if the platform does not tell. Raises
        PlatformAway.

        It tells this of the deployment's own application to its bot, and of those in its directory to
        everyone. The second call is not a part of its documented API, and can vanish.
        """
        if application_id == self._access.client_id and self.has_bot:
            reach = read_reach(
                (await self._as_bot("own application", "/applications/@me")).body, application_id
            )
            if reach is not None and reach.servers is not None:
                return reach.servers
        path = f"/application-directory-static/applications/{application_id}"
        answer = await self._ask(PlatformQuestion("directory"), "GET", path)
        if answer.status in NOT_LISTED and read_code(answer.body):
            return None
        reach = read_reach(_good(answer).body, application_id)
        if reach is None:
            raise PlatformAway("unreadable")
        return reach.servers

    async def _read(self, route: str, path: str, token: str, read: Callable[[object], T | None]) -> T:
        """Ask as a user, whom the platform limits alone."""
        question = PlatformQuestion(route, hashlib.blake2b(token.encode(), digest_size=8).hexdigest())
        answer = await self._ask(question, "GET", path, headers={"Authorization": f"Bearer {token}"})
        found = read(_good(answer).body)
        if found is None:
            raise PlatformAway("unreadable")
        return found

    async def _as_bot(self, route: str, path: str, body: Mapping[str, Any] | None = None) -> _Answer:
        """Ask as the bot: with a body something is posted. The platform limits each channel and server by
        itself; here one limit holds for all of a route, which may wait longer than it must and needs no
        memory of them."""
        headers = {"Authorization": f"Bot {self._access.bot_token}"}
        method, more = ("GET", {}) if body is None else ("POST", {"json": body})
        return _good(await self._ask(PlatformQuestion(route), method, path, headers=headers, **more))

    async def _ask(self, question: PlatformQuestion, method: str, path: str, **options: Any) -> _Answer:
        try:
            async with asyncio.timeout(self._deadline_seconds) as deadline, self._turns[question.route]:
                return await self._in_turn(question, method, path, deadline, options)
        except TimeoutError:
            raise PlatformAway("timeout") from None
        except (aiohttp.ClientError, OSError):
            raise PlatformAway("unreachable") from None

    async def _in_turn(
        self,
        question: PlatformQuestion,
        method: str,
        path: str,
        deadline: asyncio.Timeout,
        options: Mapping[str, Any],
    ) -> _Answer:
        while True:
            wait = self._limits.wait_seconds(question, self._clock.monotonic_ns() / NS_PER_SECOND)
            if wait > _left(deadline):
                raise PlatformAway("limited", wait)
            await asyncio.sleep(wait)
            answer = await self._exchange(question, method, path, options)
            if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
                return answer

    async def _exchange(
        self, question: PlatformQuestion, method: str, path: str, options: Mapping[str, Any]
    ) -> _Answer:
        request = self._session.request(
            method,
            self._access.api_url + path,
            allow_redirects=False,
            **options,
        )
        most_bytes = MORE_BYTES.get(question.route, READ_BYTES)
        async with request as response:
            content = bytearray()
            async for piece in response.content.iter_any():
                content += piece
                if len(content) > most_bytes:
                    raise PlatformAway("unreadable")
            headers = {name.lower(): value for name, value in response.headers.items()}
            body = _json(content)
            now = self._clock.monotonic_ns() / NS_PER_SECOND
            self._limits.answered(question, response.status, headers, body, now)
            return _Answer(response.status, body)


def _good(answer: _Answer) -> _Answer:
    if answer.status == HTTPStatus.OK:
        return answer
    raise PlatformAway("refused", status=answer.status, code=read_code(answer.body))


def _json(content: bytes | bytearray) -> object:
    """Return the decoded content; None if it is no JSON, such as the error page of a proxy."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _left(deadline: asyncio.Timeout) -> float:
    at = deadline.when()
    return at - asyncio.get_running_loop().time() if at is not None else 0.0


@asynccontextmanager
async def open_chat_platform(
    access: PlatformAccess,
    clock: Clock,
    *,
    deadline_seconds: float,
    cache_seconds: float,
    connector: aiohttp.BaseConnector | None = None,
) -> AsyncIterator[ChatPlatform]:
    """Open a client whose connections close with the context.

    Args:
        connector: opens the connections, such as through a proxy. It bounds what aiohttp does not: interim
            answers, chunks and reads.
    """
    async with aiohttp.ClientSession(
        connector=connector,
        headers={
            "User-Agent": f"DiscordBot ({access.public_url}, {VERSION})",
            "Accept-Encoding": "identity",  # a small answer must not become a large one
        },
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=deadline_seconds),
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
    ) as session:
        platform = ChatPlatform(
            session, access, clock, deadline_seconds=deadline_seconds, cache_seconds=cache_seconds
        )
        try:
            yield platform
        finally:
            await platform.close()
