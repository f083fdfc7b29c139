"""Questions to the chat platform, within its rate limits. Invariant: a question ends by its deadline.

    question -> cached? -> the route's turn -> the platform's limits -> exchange -> facts

Callers with the same question at the same time share it. Few questions of a route run at once, because the
platform's limits are known only after an answer. The limit of one user's token delays nobody else. A question
that would have to wait beyond its deadline is not sent. No redirect is followed, and no answer is read beyond
its bound.
"""

import asyncio
import base64
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from chatplatform.answers import (
    TOO_MANY,
    InnerServer,
    PlatformApplication,
    PlatformInvite,
    PlatformServer,
    PlatformUser,
    ServerChannel,
    asked_seconds,
    decoded,
    is_global,
    read_application,
    read_channel,
    read_code,
    read_inner_server,
    read_invite,
    read_member,
    read_reach,
    read_server_channels,
    read_servers,
    read_user,
)
from chatplatform.authorization import SignInFailed, read_token
from chatplatform.template_answers import PlatformTemplate, read_template
from core.clock import NS_PER_SECOND, Clock
from core.newest import Newest
from core.version import VERSION
from grammars.service_urls import TunnelProxy
from outbound.client import HttpClient, open_client
from outbound.targets import AnyTarget

MOST_BUCKETS = 1_024
UNSAID_SECONDS = 5.0
"""The wait after an answer 429 that states none."""


class PlatformQuestion(NamedTuple):
    """The kind of a question. `whose` is a digest of the user's token; it is empty for our own questions."""

    route: str
    whose: str = ""


class PlatformLimits:
    """The limits of our questions. Invariant: a question that must wait is not sent.

    The platform counts questions in buckets, which it names in its answers, and all of them together. Nobody
    knows the bucket of a route before its first answer: until then the route is a bucket of its own. Each
    user's token has its own bucket of the same name. Times are monotonic seconds.
    """

    def __init__(self) -> None:
        self._names = Newest[str, str](MOST_BUCKETS)
        """The bucket of each route that has been asked."""
        self._until = Newest[tuple[str, str], float](MOST_BUCKETS)
        """The time until which a bucket is empty, by its name and owner."""
        self._all_until = 0.0

    def wait_seconds(self, question: PlatformQuestion, now: float) -> float:
        """Return how long to wait before a question; 0 if it may be sent."""
        bucket = self._names.get(question.route, question.route), question.whose
        return max(self._all_until - now, self._until.get(bucket, 0.0) - now, 0.0)

    def answered(
        self, question: PlatformQuestion, status: int, headers: Mapping[str, str], body: object, now: float
    ) -> None:
        """Read the limits in an answer."""
        name = headers.get("x-ratelimit-bucket", "")[:64] or question.route
        self._names[question.route] = name
        seconds = asked_seconds(status, headers, body)
        if seconds is None and status != TOO_MANY:
            return
        until = now + (UNSAID_SECONDS if seconds is None else seconds)
        if status == TOO_MANY and is_global(headers, body):
            self._all_until = max(self._all_until, until)
        else:
            self._until[name, question.whose] = until


READ_BYTES = 256 * 1024
"""The longest answer that is read."""
MORE_BYTES: Mapping[str, int] = {
    "server": 1024 * 1024,
    "server channels": 1024 * 1024,
    "template": 1024 * 1024,
}
"""The routes with longer answers: a server with all its roles, its channels, or both. They are no
longer, because the loop decodes an answer in one piece."""
MOST_CACHED = 10_000
AT_ONCE = 8
"""Questions of one route that are under way."""
UNKNOWN_APPLICATION = 10_002
"""The platform's code for an application that does not exist."""
UNKNOWN_INVITE = 10_006
"""The platform's code for an invite that does not exist, or has ended."""
UNKNOWN_TEMPLATE = 10_057
"""The platform's code for a template that does not exist."""
UNKNOWN_SERVER, NO_ACCESS = 10_004, 50_001
"""Its codes for a server that it does not know, and for one that the bot is not in."""
NO_PERMISSION, NO_SUCH_FORM, TOO_LARGE = 50_013, 50_035, 50_045
"""Its codes for a bot that may not, and for a picture that it does not take."""
SLOTS_FULL = frozenset({30_008, 30_018})
"""Its codes for a server that has as many emojis as it may, static or animated ones."""
NOT_LISTED = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
"""The statuses for an application that is not in the directory, with a code of the platform in the body."""
DENIED_NS = 60 * NS_PER_SECOND
"""The period in which a server without the bot is not asked for again: the platform bans clients that ask
on."""

T = TypeVar("T")
Reason = Literal["limited", "timeout", "unreachable", "refused", "unreadable"]
"""`limited`: a rate limit forbids the question for now. `refused`: the platform answered with an error.
`unreadable`: its answer is not as documented."""


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
    """The address of the platform, and the names of this deployment there.

    Args:
        api_url: the address of its API with the version, without a slash at the end.
        public_url: of this deployment; it names the client to the platform.
        bot_token: of the deployment's bot, which sends direct messages; empty without one.
    """

    api_url: str
    client_id: str
    client_secret: str = field(repr=False)
    public_url: str = ""
    bot_token: str = field(default="", repr=False)


class Told(NamedTuple):
    """The platform's answer about an application, and its time (Unix ms). None: it does not exist."""

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


class _Body(NamedTuple):
    content: bytes
    content_type: str


class ChatPlatform:
    """`open_chat_platform` makes one.

    Args:
        deadline_seconds: how long a question takes at most, the wait for its turn included.
        cache_seconds: how long an answer about an application holds.
    """

    def __init__(
        self,
        client: HttpClient,
        access: PlatformAccess,
        clock: Clock,
        *,
        deadline_seconds: float,
        cache_seconds: float,
    ) -> None:
        self._client = client
        self._access = access
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._cache_ns = round(cache_seconds * NS_PER_SECOND)
        self._limits = PlatformLimits()
        self._turns = defaultdict[str, asyncio.Semaphore](partial(asyncio.Semaphore, AT_ONCE))
        """By route."""
        self._told = Newest[str, tuple[Told, int]](MOST_CACHED)
        """By application: the answer, and its time (monotonic ns)."""
        self._asking: dict[str, asyncio.Task[Told | PlatformAway]] = {}
        self._denied = Newest[str, int](MOST_CACHED)
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
        pair = f"{self._access.client_id}:{self._access.client_secret}"
        headers = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        body = _Body(urlencode(form).encode(), "application/x-www-form-urlencoded")
        answer = await self._ask(PlatformQuestion("token"), "/oauth2/token", headers, body)
        if answer.status == HTTPStatus.BAD_REQUEST:
            raise SignInFailed("platform")  # the code is used up, too old, or of somebody else
        return read_token(_good(answer).body)

    async def user(self, token: str) -> PlatformUser:
        """Return the user of a token. Raises PlatformAway."""
        return await self._read("user", "/users/@me", token, read_user)

    async def servers(self, token: str) -> tuple[PlatformServer, ...]:
        """Return the servers of the user of a token. Raises PlatformAway."""
        return await self._read("servers", "/users/@me/guilds?with_counts=true", token, read_servers)

    async def inside(self, server_id: str) -> Inside:
        """Return a server as the deployment's bot sees it. Raises PlatformAway.

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
            self._denied[server_id] = self._clock.monotonic_ns()
            return None
        return _readable(read_inner_server(answer.body, server_id))

    async def _channels(self, server: InnerServer) -> tuple[ServerChannel, ...] | None:
        """Return the channels of a server; None where the bot may not read them. Raises PlatformAway."""
        try:
            answer = await self._as_bot("server channels", f"/guilds/{server.id}/channels")
        except PlatformAway as away:
            if away.status != HTTPStatus.FORBIDDEN:
                raise
            return None
        return read_server_channels(answer.body, server)

    async def is_member(self, server_id: str, user_id: str) -> bool:
        """Return true if a user is in a server. False if not, or if the platform does not say: it tells only
        the deployment's bot, of servers that the bot is in."""
        if not self.has_bot:
            return False
        try:
            answer = await self._as_bot("member", f"/guilds/{server_id}/members/{user_id}")
        except PlatformAway:
            return False
        return read_member(answer.body) == user_id

    async def invite(self, code: str) -> PlatformInvite | None:
        """Return what an invite leads to; None if it does not exist, or has ended. Raises PlatformAway."""
        path = f"/invites/{quote(code, safe='')}?with_counts=true&with_expiration=true"
        answer = await self._ask(PlatformQuestion("invite"), path)
        if answer.status == HTTPStatus.NOT_FOUND and read_code(answer.body) == UNKNOWN_INVITE:
            return None
        return _readable(read_invite(_good(answer).body))

    async def template(self, code: str) -> PlatformTemplate | None:
        """Return a template of servers; None if it does not exist. Raises PlatformAway."""
        answer = await self._ask(PlatformQuestion("template"), f"/guilds/templates/{quote(code, safe='')}")
        if answer.status == HTTPStatus.NOT_FOUND and read_code(answer.body) == UNKNOWN_TEMPLATE:
            return None
        return _readable(read_template(_good(answer).body, code))

    async def channel(self, user_id: str) -> str:
        """Open the channel of direct messages with a user, and return its id. Raises PlatformAway."""
        answer = await self._as_bot("channel", "/users/@me/channels", {"recipient_id": user_id})
        return _readable(read_channel(answer.body))

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

    async def add_emoji(self, server_id: str, name: str, picture: str, reason: str) -> None:
        """Add an emoji to a server. Raises PlatformAway.

        Args:
            picture: a `data:` URL.
            reason: for the audit log of the server, in ASCII.
        """
        emoji = {"name": name, "image": picture, "roles": []}
        await self._as_bot("emoji", f"/guilds/{server_id}/emojis", emoji, {"X-Audit-Log-Reason": reason})

    def last_answer(self, application_id: str) -> Told | None:
        """Return the last answer about an application, however old; None if it is not kept."""
        known = self._told.get(application_id)
        return known[0] if known is not None else None

    async def application(self, application_id: str, *, refresh: bool = False) -> Told:
        """Return the answer about an application. Raises PlatformAway.

        Args:
            refresh: true to ask even if the last answer is recent.
        """
        known = self._told.get(application_id)
        is_fresh = known is not None and self._clock.monotonic_ns() - known[1] < self._cache_ns
        if known is not None and is_fresh and not refresh:
            return known[0]
        asking = self._asking.get(application_id)
        if asking is None:
            asking = self._asking[application_id] = asyncio.create_task(self._told_or_away(application_id))
            asking.add_done_callback(lambda _: self._asking.pop(application_id, None))
        told = await asyncio.shield(asking)
        if isinstance(told, PlatformAway):
            raise told
        return told

    async def _told_or_away(self, application_id: str) -> Told | PlatformAway:
        """Return the failure as a value: asyncio logs an exception that nobody waits for any more."""
        try:
            return await self._application(application_id)
        except PlatformAway as away:
            return away

    async def _application(self, application_id: str) -> Told:
        answer = await self._ask(PlatformQuestion("application"), f"/applications/{application_id}/rpc")
        application = None
        if answer.status != HTTPStatus.NOT_FOUND or read_code(answer.body) != UNKNOWN_APPLICATION:
            application = _readable(read_application(_good(answer).body, application_id))
        told = Told(application, self._clock.now_ms())
        self._told[application_id] = told, self._clock.monotonic_ns()
        return told

    async def guild_count(self, application_id: str) -> int | None:
        """Return how many servers an application is in, roughly; None if the platform does not say. Raises
        PlatformAway.

        It says so to the deployment's bot about its own application, and to everyone about those in its
        directory. The second call is not a part of its documented API, and can vanish.
        """
        if application_id == self._access.client_id and self.has_bot:
            reach = read_reach(
                (await self._as_bot("own application", "/applications/@me")).body, application_id
            )
            if reach is not None and reach.servers is not None:
                return reach.servers
        path = f"/application-directory-static/applications/{application_id}"
        answer = await self._ask(PlatformQuestion("directory"), path)
        if answer.status in NOT_LISTED and read_code(answer.body):
            return None
        return _readable(read_reach(_good(answer).body, application_id)).servers

    async def _read(self, route: str, path: str, token: str, read: Callable[[object], T | None]) -> T:
        """Ask as a user, whom the platform limits alone."""
        question = PlatformQuestion(route, hashlib.blake2b(token.encode(), digest_size=8).hexdigest())
        answer = await self._ask(question, path, {"Authorization": f"Bearer {token}"})
        return _readable(read(_good(answer).body))

    async def _as_bot(
        self,
        route: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> _Answer:
        """Ask as the bot. A body is posted. The platform has a limit for each channel and server. Here one
        limit counts for the whole route: a question may wait longer than it must, and fewer are kept."""
        headers = {"Authorization": f"Bot {self._access.bot_token}", **more}
        given = _Body(msgspec.json.encode(body), "application/json") if body is not None else None
        return _good(await self._ask(PlatformQuestion(route), path, headers, given))

    async def _ask(
        self,
        question: PlatformQuestion,
        path: str,
        headers: Mapping[str, str] = MappingProxyType({}),
        body: _Body | None = None,
    ) -> _Answer:
        try:
            async with asyncio.timeout(self._deadline_seconds) as deadline, self._turns[question.route]:
                while True:
                    wait = self._limits.wait_seconds(question, self._clock.monotonic_ns() / NS_PER_SECOND)
                    if wait > (deadline.when() or 0) - asyncio.get_running_loop().time():
                        raise PlatformAway("limited", wait)
                    await asyncio.sleep(wait)
                    answer = await self._exchange(question, path, headers, body)
                    if answer.status != TOO_MANY:
                        return answer
        except TimeoutError:
            raise PlatformAway("timeout") from None

    async def _exchange(
        self, question: PlatformQuestion, path: str, headers: Mapping[str, str], body: _Body | None
    ) -> _Answer:
        url = self._access.api_url + path
        if body is None:
            result = await self._client.get(url, headers)
        else:
            result = await self._client.post(url, headers, body.content, content_type=body.content_type)
        if len(result.body) > MORE_BYTES.get(question.route, READ_BYTES):
            raise PlatformAway("unreadable")
        if result.status is None or not result.is_whole:
            raise PlatformAway("timeout" if result.error == "timeout" else "unreachable")
        answer = _Answer(result.status, decoded(result.body))
        now = self._clock.monotonic_ns() / NS_PER_SECOND
        self._limits.answered(question, answer.status, result.headers, answer.body, now)
        return answer


def _good(answer: _Answer) -> _Answer:
    if answer.status in {HTTPStatus.OK, HTTPStatus.CREATED}:
        return answer
    raise PlatformAway("refused", status=answer.status, code=read_code(answer.body))


def _readable(found: T | None) -> T:
    if found is None:
        raise PlatformAway("unreadable")
    return found


@asynccontextmanager
async def open_chat_platform(
    access: PlatformAccess,
    clock: Clock,
    *,
    deadline_seconds: float,
    cache_seconds: float,
    proxy: TunnelProxy | None = None,
    name_servers: Sequence[str] = (),
) -> AsyncIterator[ChatPlatform]:
    """Open a client whose connections close with the context.

    Args:
        proxy, name_servers: see `open_client`.
    """
    opening = open_client(
        AnyTarget(),
        timeout_seconds=deadline_seconds,
        user_agent=f"DiscordBot ({access.public_url}, {VERSION})",
        proxy=proxy,
        name_servers=name_servers,
        clock=clock,
        read_bytes=max(MORE_BYTES.values()) + 1,
    )
    async with opening as client:
        platform = ChatPlatform(
            client, access, clock, deadline_seconds=deadline_seconds, cache_seconds=cache_seconds
        )
        try:
            yield platform
        finally:
            await platform.close()
