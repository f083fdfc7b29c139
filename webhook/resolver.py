"""Names to addresses. Law: an owner answers for a name that does not exist, never for a resolver that is ill.

c-ares (aiodns) asks in a thread of its own, as many names at once as are wanted, so a dead name server delays
nobody who asks another. A and AAAA are asked apart, because their common answer would hide which of them
failed, and how. Nothing is kept but what c-ares keeps for as long as a record lives.
"""

import asyncio
import itertools
import socket
from collections.abc import Sequence

import aiodns
import pycares

from webhook.answer import Fault
from webhook.failure import Failed

TRY_SECONDS = 1.0  # doubled by c-ares for the second try
TRIES = 2
MAX_ADDRESSES = 16
"""Of each family: an answer may have thousands, and somebody will look at each."""
SECOND_FAMILY_SECONDS = 0.25
"""How long the addresses of one family wait for those of the other."""

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
        self._dns: aiodns.DNSResolver | None = None
        self._asking: dict[str, asyncio.Task[list[str] | Failed]] = {}

    async def resolve(self, name: str) -> list[str]:
        """The name's addresses, at least one. Raises Failed.

        Who asks for a name that is being asked for shares the answer, and may give up without the others.
        """
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.create_task(self._ask(name))
            asking.add_done_callback(lambda _: self._asking.pop(name, None))
        await asyncio.wait([asking])
        found = asking.result()
        if isinstance(found, Failed):
            raise Failed(found.error, found.fault)
        return found

    async def close(self) -> None:
        """Gives up what is being asked."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        if self._dns is not None:
            await self._dns.close()

    def _opened(self) -> aiodns.DNSResolver:
        """c-ares, from the first name on: many gateways meet none, and its threads and files end late."""
        if self._dns is None:
            # No search list: an owner's name must not become one of our network's.
            self._dns = aiodns.DNSResolver(
                nameservers=self._name_servers or None,
                loop=asyncio.get_running_loop(),
                timeout=TRY_SECONDS,
                tries=TRIES,
                flags=pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOSEARCH,
            )
        return self._dns

    async def _ask(self, name: str) -> list[str] | Failed:
        dns = self._opened()
        questions = [
            dns.getaddrinfo(name, family=family, type=socket.SOCK_STREAM)
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


def _failure(questions: list[Question]) -> Failed:
    """The owner's, if the name surely has no address of either family."""
    for question in questions:
        error = question.exception()
        if error is not None and error.args[0] not in _ABSENT:
            return Failed("resolver", Fault.UNKNOWN)
    return Failed("dns")
