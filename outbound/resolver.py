"""Names to addresses. Law: an owner answers for a name that does not exist, never for a resolver that is ill.

c-ares (aiodns) asks in a thread of its own, as many names at once as are wanted, so a dead name server delays
nobody who asks another. A and AAAA are asked apart, because their common answer would hide which of them
failed, and how.

Addresses are kept as long as c-ares keeps them: for as long as their records live. It keeps an answer without
addresses too, up to an hour, and has no switch for that. A name gets its address often just after its first
vote, so such an answer is believed for a moment only: then a new channel, which remembers nothing, is asked.
"""

import asyncio
import itertools
import socket
from collections.abc import Sequence

import aiodns
import pycares

from outbound.failures import ExchangeFailed
from outbound.result import Fault

TRY_SECONDS = 1.0  # doubled by c-ares for the second try
TRIES = 2
MAX_ADDRESSES = 16
"""Of each family: an answer may have thousands, and somebody will look at each."""
SECOND_FAMILY_SECONDS = 0.25
"""How long the addresses of one family wait for those of the other."""
ABSENT_SECONDS = 1.0
"""How long an answer without addresses may be kept; also, how often a channel is opened for new ones."""

_ABSENT = {
    pycares.errno.ARES_ENOTFOUND,
    pycares.errno.ARES_ENODATA,
    pycares.errno.ARES_ENONAME,
    pycares.errno.ARES_EBADNAME,
}

Question = asyncio.Future[pycares.AddrInfoResult]


class Resolver:
    """Belongs to the loop in which it is made; `close` it there."""

    def __init__(self, name_servers: Sequence[str] = ()) -> None:
        """Each name server is an address or "address:port"; none means those of the system."""
        self._name_servers = list(name_servers)
        self._channel: _Channel | None = None
        self._doubting: _Channel | None = None  # for names that have no address by what the other one says
        self._asking: dict[str, asyncio.Task[list[str] | ExchangeFailed]] = {}

    async def resolve(self, name: str) -> list[str]:
        """The name's addresses, at least one. Raises ExchangeFailed.

        Who asks for a name that is being asked for shares the answer, and may give up without the others.
        """
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.create_task(self._ask(name))
            asking.add_done_callback(lambda _: self._asking.pop(name, None))
        await asyncio.wait([asking])
        found = asking.result()
        if isinstance(found, ExchangeFailed):
            raise ExchangeFailed(found.error, found.fault)
        return found

    async def close(self) -> None:
        """Gives up what is being asked."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        for channel in (self._channel, self._doubting):
            if channel is not None:
                await channel.retire()

    async def _ask(self, name: str) -> list[str] | ExchangeFailed:
        if self._channel is None:  # from the first name on: many gateways meet none
            self._channel = _Channel(self._name_servers)
        found = await self._channel.ask(name)
        if isinstance(found, ExchangeFailed) and found.fault is Fault.ENDPOINT:
            return await (await self._forgetful()).ask(name)
        return found

    async def _forgetful(self) -> "_Channel":
        """A channel that remembers nothing from before ABSENT_SECONDS."""
        before = self._doubting
        if before is not None and before.seconds_open < ABSENT_SECONDS:
            return before
        self._doubting = opened = _Channel(self._name_servers)
        if before is not None:
            await before.retire()
        return opened


class _Channel:
    """c-ares, with a thread and a memory of its own."""

    def __init__(self, name_servers: Sequence[str]) -> None:
        self._loop = asyncio.get_running_loop()
        self._opened = self._loop.time()
        self._asking = 0
        self._retired = False
        # No search list: an owner's name must not become one of our network's.
        self._dns = aiodns.DNSResolver(
            nameservers=name_servers or None,
            loop=self._loop,
            timeout=TRY_SECONDS,
            tries=TRIES,
            flags=pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOSEARCH,
        )

    @property
    def seconds_open(self) -> float:
        return self._loop.time() - self._opened

    async def retire(self) -> None:
        """Closes the channel when the last of those who ask has its answer."""
        self._retired = True
        if not self._asking:
            await self._dns.close()

    async def ask(self, name: str) -> list[str] | ExchangeFailed:
        """The name's addresses, at least one."""
        self._asking += 1
        try:
            return await self._asked(name)
        finally:
            self._asking -= 1
            if self._retired and not self._asking:
                await self._dns.close()

    async def _asked(self, name: str) -> list[str] | ExchangeFailed:
        questions = [
            self._dns.getaddrinfo(name, family=family, type=socket.SOCK_STREAM)
            for family in (socket.AF_INET, socket.AF_INET6)
        ]
        try:
            await asyncio.wait(questions, return_when=asyncio.FIRST_COMPLETED)
            patience = SECOND_FAMILY_SECONDS if any(_addresses(question) for question in questions) else None
            await asyncio.wait(questions, timeout=patience)
            # IPv4 and IPv6 by turns, IPv4 first: an address of a family that we have no route for fails at
            # once, but IPv6 that is routed into nothing would cost every connection a wait.
            turns = itertools.zip_longest(*map(_addresses, questions))
            found = [address for turn in turns for address in turn if address is not None]
            return found or _failure(questions)
        finally:
            for question in questions:
                question.cancel()


def _addresses(question: Question) -> list[str]:
    if not question.done() or question.exception() is not None:
        return []
    return [node.addr[0].decode() for node in question.result().nodes[:MAX_ADDRESSES]]


def _failure(questions: list[Question]) -> ExchangeFailed:
    """The owner's, if the name surely has no address of either family."""
    for question in questions:
        error = question.exception()
        if error is not None and error.args[0] not in _ABSENT:
            return ExchangeFailed("resolver", Fault.UNKNOWN)
    return ExchangeFailed("dns")
