"""Where a peer's handshake is worked at. Law: not on the loop, and not at its cost.

OpenSSL looks at a chain of certificates without a break, for as long as the peer makes it. So the steps of
handshakes run in threads, without the interpreter's lock, and the kernel gives these threads little while the
loop has something to do. There are two, because a step cannot be interrupted: what a long chain keeps waiting
is other long chains.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

QUICK_BYTES = 8 * 1024
"""The most that a peer has sent of whose work little is to be expected: twice what is usual. As certificates
that cost as much as they can, 3 ms; those of HANDSHAKE_BYTES cost 35."""
QUICK_NICE, LONG_NICE = 12, 19
"""How far the threads stand back (nice(2)). On a core that the loop takes whole, both get 8% of it together,
the first one nearly all of that: some 180 healthy handshakes a second."""


class HandshakeThreads:
    """Belongs to the loop in which it is used."""

    def __init__(self) -> None:
        self._quick = _thread("tls", QUICK_NICE)
        self._long = _thread("tls-long", LONG_NICE)
        self._used: set[ThreadPoolExecutor] = set()

    def run(self, work: Callable[[bytes], T], data: bytes, heard: int) -> "asyncio.Future[T]":
        """Runs the work of a peer that has sent `heard` bytes. A work that is cancelled may go on."""
        thread = self._quick if heard <= QUICK_BYTES else self._long
        self._used.add(thread)
        return asyncio.get_running_loop().run_in_executor(thread, work, data)

    async def close(self) -> None:
        """Ends the threads; what is under way in them comes to its end before."""
        while self._used:
            thread = self._used.pop()
            await asyncio.get_running_loop().run_in_executor(thread, int)  # behind all the others
            thread.shutdown()


def _thread(name: str, nice: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, name, _stand_back, (nice,))


def _stand_back(nice: int) -> None:
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)  # a thread's own on Linux
    except OSError:  # raised from here, it would end the thread, and every webhook over TLS with it
        log.warning("handshakes with receivers take from vote checks: the process may not use setpriority(2)")
