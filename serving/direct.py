"""Responses without Tornado: vote checks, and refusals of malformed requests. Posts are in `direct_posts.py`.

Invariant: the bytes equal those of a Tornado handler. No two requests have the same id.

The id of a request is a word for the process and a number. A vote check takes only the number. The text of
the id is made in the response and in the access log. The server writes the status line and the Date.
"""

import itertools
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from core.clock import Clock
from handlers.public import Caller, PublicApi
from handlers.reply import JSON, Reply, refused
from languages.said import Code
from ratelimit.address import Proxy, client_address
from ratelimit.bucket import LINES, headers, numbers
from serving.traffic import REFUSED, Traffic

_WORD = secrets.token_hex(4)
WORD = _WORD.encode()
"""The beginning of each id of this process."""
next_number: Callable[[], int] = itertools.count(10_000_000).__next__


def request_id(number: int) -> str:
    """Return the id of a request. It is no secret."""
    return f"{_WORD}{number}"


SERVER = "votegate"
_TYPED = f"Server: {SERVER}\r\n".encode() + b"Content-Type: %b\r\nX-Request-Id: " + WORD + b"%d\r\n"
_START = _TYPED.replace(b"%b", JSON.encode()) + b"Cache-Control: no-store\r\n"
_END = b"Content-Length: %d\r\n\r\n%b"
_ANSWER, _LIMITED, _OTHER = _START + b"%b" + _END, _START + LINES + _END, _TYPED + b"%b" + _END


def rendered(reply: Reply, number: int, more: bytes = b"") -> bytes:
    """Return the header lines and the body of a reply that has a body, or may have one.

    Args:
        number: that of the request's id.
        more: further header lines.
    """
    body, limits = reply.body, reply.limits
    if not reply.headers and not reply.cookies and reply.content_type == JSON:  # formatted in one step
        if limits is None:
            return _ANSWER % (number, more, len(body), body)
        if limits.allowed and not more:
            return _LIMITED % (number, *numbers(limits), len(body), body)
    named = {"Cache-Control": "no-store", **_titled(reply.headers)}
    if limits is not None:
        named |= _titled(headers(limits))
    text = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    text += "".join(f"Set-Cookie: {cookie}\r\n" for cookie in reply.cookies)
    lines = more + text.encode("latin-1")
    return _OTHER % (reply.content_type.encode(), number, lines, len(body), body)


_title = lru_cache(256)(str.title)
"""Returns the spelling of a field's name; all of them are ours."""


def _titled(named: Mapping[str, str]) -> dict[str, str]:
    return {_title(name): value for name, value in named.items()}


Answered = Callable[[int, str, str, str, int, int], None]
"""Takes each response: status, method, path, client address, duration in nanoseconds, number of the request's
id."""


VOTE_CHECK = "checkVote"
"""The operation's id of the vote check."""
_PUBLIC = re.compile(rb"/bots/[^/]+/(stats|voters/[^/?]+)/?(\?|$)")


class DirectCaller(NamedTuple):
    """A client with a key. The targets that ask about its own bot begin with `prefix`."""

    address: str
    caller: Caller
    bot_id: str
    prefix: bytes


class DirectVoteCheck:
    """Answers GET /bots/{id}/voters/{user_id} where both ids are digits."""

    def __init__(
        self,
        public: PublicApi,
        clock: Clock,
        trusted_proxies: Sequence[Proxy],
        traffic: Traffic,
        answered: Answered | None,
    ) -> None:
        self._count = traffic.of(VOTE_CHECK).add
        self._public = public
        self._monotonic_ns = clock.monotonic_ns
        self._trusted_proxies = trusted_proxies
        self._answered = answered
        self._number = 0

    def latest_id(self) -> str:
        """Return the id of the request that was answered last, or is being answered."""
        return request_id(self._number)

    def caller(self, named: dict[bytes, bytes], peer: str) -> DirectCaller | None:
        """Return the caller, by the header fields of a request, names in lower case. None without a valid
        key."""
        authorization, forwarded_for = (
            named[name].decode("latin-1") if name in named else None
            for name in (b"authorization", b"x-forwarded-for")
        )
        address = client_address(peer, forwarded_for, self._trusted_proxies)
        caller = self._public.caller(authorization, address)
        bot_id = self._public.bot_of(caller)
        return (
            DirectCaller(address, caller, bot_id, b"/bots/%b/voters/" % bot_id.encode()) if bot_id else None
        )

    def answer(self, target: bytes, caller: DirectCaller) -> tuple[int, bytes] | None:
        """Return the status and the response, or None if the application is to answer."""
        address, who, bot_id, prefix = caller
        if not target.startswith(prefix):
            return None
        user_id = target[len(prefix) :].decode("latin-1")
        if not (user_id.isdigit() and user_id.isascii()):
            user_id = user_id.removesuffix("/")  # one trailing slash does not change the path
            if not (user_id.isdigit() and user_id.isascii()):
                return None
        monotonic_ns, answered = self._monotonic_ns, self._answered
        started_ns = monotonic_ns()
        number = self._number = next_number()
        try:
            reply = self._public.voters(bot_id, user_id, who, started_ns)
        except Exception:
            return None  # the application meets the same bug, and logs it
        taken_ns = monotonic_ns() - started_ns
        self._count(reply.status, taken_ns)
        if answered is not None:
            answered(reply.status, "GET", target.decode("latin-1"), address, taken_ns, number)
        return reply.status, rendered(reply, number)


class Refusals:
    """Answers requests that the server itself refuses."""

    def __init__(self, public: PublicApi, traffic: Traffic, answered: Answered | None) -> None:
        self._counts = traffic.of(REFUSED)
        self._public = public
        self._answered = answered

    def __call__(self, status: int, code: Code, peer: str, target: bytes) -> bytes:
        """Return the response. `target` may be incomplete. No failure is counted, because the peer may be a
        proxy."""
        self._counts.add(status, 0)
        number = next_number()
        if self._answered is not None:
            self._answered(status, "-", target.decode("latin-1") or "-", peer, 0, number)
        reply = refused(code)
        return rendered(self._public.with_limits(reply, peer) if _PUBLIC.match(target) else reply, number)
