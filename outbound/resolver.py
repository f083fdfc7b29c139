"""Resolution of names to addresses. Invariant: the endpoint is at fault if its name does not exist, and never
if the resolver fails.

c-ares (through aiodns) resolves any number of names at once, in a thread of its own. So a dead name server
delays only the names that it serves. A and AAAA records are two questions, because one common answer would
hide which of them failed, and how.

c-ares caches addresses for the lifetime of their records. It also caches answers without addresses, for up to
an hour, and offers no way to turn that off. But owners often create a name just after they have saved its
URL. So a cached answer without addresses counts for ABSENT_SECONDS only: then a new channel, with an empty
cache, asks again.

The owner of a name chooses the size of its answer. A UDP answer holds about 70 addresses. A TCP answer holds
4,000, and reading it takes 20 ms from the event loop. So a truncated answer counts as it is, and nothing asks
again over TCP.
"""

import asyncio
import itertools
import socket
from collections.abc import Sequence

import aiodns
import pycares

from outbound.result import AtFault, ExchangeFailed

TRY_SECONDS = 1.0  # doubled by c-ares for the second try
TRIES = 2
MAX_ADDRESSES = 16
"""The limit for each family. An answer may hold thousands, and the guard checks each one."""
SECOND_FAMILY_SECONDS = 0.25
"""The longest wait for the second family once the first has addresses."""
ABSENT_SECONDS = 1.0
"""The longest life of an answer without addresses, and the least time between two new channels."""

_ABSENT = {
    pycares.errno.ARES_ENOTFOUND,
    pycares.errno.ARES_ENODATA,
    pycares.errno.ARES_ENONAME,
    pycares.errno.ARES_EBADNAME,
}

_Question = asyncio.Future[pycares.AddrInfoResult]


class Resolver:
    """A resolver. Belongs to the event loop in which it is made, and is closed there."""

    def __init__(self, name_servers: Sequence[str] = ()) -> None:
        """Each name server is an address or "address:port". Without any, the system's name servers are
        used."""
        self._name_servers = list(name_servers)
        self._channel: _Channel | None = None
        self._doubting: _Channel | None = None  # asks again for names without addresses
        self._asking: dict[str, asyncio.Task[list[str] | ExchangeFailed]] = {}

    async def resolve(self, name: str) -> list[str]:
        """Return the addresses of a name, at least one. Raises ExchangeFailed.

        Callers that ask for the same name at the same time share one question. Each may be cancelled alone.
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
        """Cancel all open questions."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        for channel in (self._channel, self._doubting):
            if channel is not None:
                await channel.retire()

    async def _ask(self, name: str) -> list[str] | ExchangeFailed:
        if self._channel is None:  # opened for the first name: many gateways never resolve one
            self._channel = _Channel(self._name_servers)
        found = await self._channel.ask(name)
        if isinstance(found, ExchangeFailed) and found.fault is AtFault.ENDPOINT:
            return await (await self._uncached()).ask(name)
        return found

    async def _uncached(self) -> "_Channel":
        """Return a channel whose cache holds nothing older than ABSENT_SECONDS."""
        before = self._doubting
        if before is not None and before.seconds_open < ABSENT_SECONDS:
            return before
        self._doubting = opened = _Channel(self._name_servers)
        if before is not None:
            await before.retire()
        return opened


class _Channel:
    """An instance of c-ares, with a thread and a cache of its own."""

    def __init__(self, name_servers: Sequence[str]) -> None:
        self._loop = asyncio.get_running_loop()
        self._opened = self._loop.time()
        self._asking = 0
        self._retired = False
        # No search list: it would turn an owner's name into one of our own network.
        self._dns = aiodns.DNSResolver(
            nameservers=name_servers or None,
            loop=self._loop,
            timeout=TRY_SECONDS,
            tries=TRIES,
            flags=pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_IGNTC | pycares.ARES_FLAG_NOSEARCH,
        )

    @property
    def seconds_open(self) -> float:
        return self._loop.time() - self._opened

    async def retire(self) -> None:
        """Close the channel after its last open question."""
        self._retired = True
        if not self._asking:
            await self._dns.close()

    async def ask(self, name: str) -> list[str] | ExchangeFailed:
        """Return the addresses of a name, at least one, or the failure."""
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
            # IPv4 and IPv6 alternate, IPv4 first. An address without a route fails at once. But a broken
            # IPv6 route would make every connection wait, if IPv6 came first.
            turns = itertools.zip_longest(*map(_addresses, questions))
            found = [address for turn in turns for address in turn if address is not None]
            return found or _failure(questions)
        finally:
            for question in questions:
                question.cancel()


def _addresses(question: _Question) -> list[str]:
    if not question.done() or question.exception() is not None:
        return []
    return [node.addr[0].decode() for node in question.result().nodes[:MAX_ADDRESSES]]


def _failure(questions: list[_Question]) -> ExchangeFailed:
    """Return the failure. The endpoint is at fault only if the name has no address of either family for
    sure."""
    for question in questions:
        error = question.exception()
        if error is not None and error.args[0] not in _ABSENT:
            return ExchangeFailed("resolver", AtFault.UNKNOWN)
    return ExchangeFailed("dns")
