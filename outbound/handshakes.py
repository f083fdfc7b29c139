"""Threads for TLS handshakes. Law: a handshake never runs on the event loop, and never takes its CPU time.

OpenSSL verifies a certificate chain in one call, and the peer chooses the length of the chain. So the steps
of handshakes run in threads, without the interpreter's lock. The threads have a low priority: the kernel
gives them little CPU time while the loop has work. There are two threads because a step cannot be
interrupted: a long chain delays only other long chains.
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
"""A handshake is quick while the peer has sent at most this much, twice the usual amount. The most expensive
certificates of this size take 3 ms; those of HANDSHAKE_BYTES take 35 ms."""
QUICK_NICE, LONG_NICE = 12, 19
"""The priorities of the threads, see nice(2). On a core that the loop keeps busy, both threads together get
8%, nearly all of it for the quick one: about 180 healthy handshakes a second."""


class HandshakeThreads:
    """Two threads, for quick and for long handshakes. Belongs to the event loop that uses it."""

    def __init__(self) -> None:
        self._quick = _thread("tls", QUICK_NICE)
        self._long = _thread("tls-long", LONG_NICE)
        self._used: set[ThreadPoolExecutor] = set()

    def run(self, work: Callable[[bytes], T], data: bytes, heard: int) -> "asyncio.Future[T]":
        """Run `work(data)` for a peer that has sent `heard` bytes so far. Cancelling does not stop running
        work."""
        thread = self._quick if heard <= QUICK_BYTES else self._long
        self._used.add(thread)
        return asyncio.get_running_loop().run_in_executor(thread, work, data)

    async def close(self) -> None:
        """End the threads after the work that they have begun."""
        while self._used:
            thread = self._used.pop()
            await asyncio.get_running_loop().run_in_executor(thread, int)  # runs after all other work
            thread.shutdown()


def _thread(name: str, nice: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, name, _stand_back, (nice,))


def _stand_back(nice: int) -> None:
    try:
        os.setpriority(
            os.PRIO_PROCESS, threading.get_native_id(), nice
        )  # on Linux, the priority of this thread alone
    except OSError:  # an error here would break the thread pool, and every exchange over TLS with it
        log.warning("handshakes with receivers take from vote checks: the process may not use setpriority(2)")
