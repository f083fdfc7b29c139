"""Responses without Tornado: vote checks, and refusals of malformed requests.

Invariant: a vote check calls the same function as the handler, and every request that is not spelled in the
usual way goes to the handler.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from core.clock import Clock
from handlers.public import Caller, PublicApi
from handlers.reply import failure
from ratelimit.address import Proxy, client_address
from serving.rendering import rendered
from serving.request_ids import next_number, request_id
from serving.traffic import REFUSED, Traffic

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

    def __call__(self, status: int, text: str, peer: str, target: bytes) -> bytes:
        """Return the response. `target` may be incomplete. No failure is counted, because the peer may be a
        proxy."""
        self._counts.add(status, 0)
        number = next_number()
        if self._answered is not None:
            self._answered(status, "-", target.decode("latin-1") or "-", peer, 0, number)
        reply = failure(status, text)
        return rendered(self._public.with_limits(reply, peer) if _PUBLIC.match(target) else reply, number)
