"""Load for the benchmarks, and the processes that run beside them, so that no two share a loop.

Load and servers are pinned to a core each, where there are two or more.
"""

import contextlib
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORES = set(CORES[:1])
LOAD_CORES = set(CORES[1:2] or CORES)
LUA = Path(__file__).parent / "requests.lua"
PATIENCE_SECONDS = 20  # on a slow machine, a peer lets some of many connections wait for seconds
WARM_SECONDS = 1


@contextlib.contextmanager
def asking(main: Callable[..., None], *args: object) -> Iterator[tuple[int, Connection]]:
    """Run `main(pipe, *args)` in a process, which is ended with the context. Give the pipe, and the port that
    the process sends first."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=main, args=(theirs, *args), daemon=True)
    process.start()
    theirs.close()  # so that a server that dies is an EOFError here, not a wait without end
    try:
        yield ours.recv(), ours
    finally:
        process.terminate()
        process.join()


@contextlib.contextmanager
def serving(main: Callable[[Connection], None]) -> Iterator[int]:
    """Run a server in a process that ends with the context, and give its port."""
    with asking(main) as (port, _):
        yield port


@contextlib.contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """Keep the processes that are started meanwhile on these cores, with all of their threads."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Measured(NamedTuple):
    """Requests per second, and latencies in milliseconds."""

    rate: float
    p50: float
    p99: float
    p999: float
    late_p99: float = 0
    """The delay of the load itself, at a fixed rate: the part of the latencies that is not the server's."""
    answered: int = 0
    """The number of answers that a closed loop got, including those of its warming up."""


def closed_loop(port: int, connections: int, seconds: float, requests: Path) -> Measured:
    """Load a server with wrk on one thread: each connection asks again as soon as it is answered."""
    load = ["wrk", "-t1", f"-c{connections}", f"--timeout={PATIENCE_SECONDS}s", "-s", str(LUA)]
    url = f"http://127.0.0.1:{port}"
    answered = 0
    for duration in (WARM_SECONDS, max(round(seconds), 1)):
        words = _printed([*load, f"-d{duration}s", url, "--", str(requests)])
        count, took_us, failed, *latencies_us = words[words.index("measured") + 1 :]
        if int(failed):
            raise AssertionError(f"{failed} of {count} requests failed")
        answered += int(count)
    p50, p99, p999 = (float(us) / 1_000 for us in latencies_us)
    return Measured(int(count) / int(took_us) * 1e6, p50, p99, p999, answered=answered)


def fixed_rate(port: int, rate: float, connections: int, seconds: float, requests: Path) -> Measured:
    """Send each request at its moment, however those before it are answered; see bench/fixed_rate.py."""
    numbers = [str(port), f"{rate:.3f}", f"{seconds:.3f}", str(connections)]
    words = _printed([sys.executable, "-m", "bench.fixed_rate", *numbers, str(requests)])
    return Measured(*json.loads("".join(words)))


@contextlib.contextmanager
def paced(rate: float, act: Callable[[int], None]) -> Iterator[None]:
    """Call `act` with 0, 1 and so on, so many times a second in a thread, until the context ends. A call that
    fails is the last one, and the context raises what it raised."""
    enough = threading.Event()

    def act_again() -> None:
        due = time.perf_counter()
        for number in count():
            due += 1 / rate
            if enough.wait(max(0, due - time.perf_counter())):
                return
            act(number)

    with ThreadPoolExecutor(1) as thread:
        acting = thread.submit(act_again)
        try:
            yield
        finally:
            enough.set()
        acting.result()


def _printed(command: list[str]) -> list[str]:
    """Run a load program and return the words that it prints."""
    with on_cores(LOAD_CORES):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{command[0]}: {done.stdout}{done.stderr}")
    return done.stdout.split()


def ask(connection: socket.socket, request: bytes) -> bytes:
    """Send a request, and return the whole answer."""
    connection.sendall(request)
    answer = b""
    while not answer.endswith(b"}"):
        piece = connection.recv(65_536)
        if not piece:
            raise AssertionError(f"the server closed the connection behind {answer!r}")
        answer += piece
    if not answer.startswith(b"HTTP/1.1 200"):
        raise AssertionError(answer)
    return answer


def idle_bytes(port: int, resident: Callable[[], int], request: bytes, connections: int) -> float:
    """Return the server's memory for one connection that was answered once and is kept open."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(("127.0.0.1", port)))]
        for _ in range(connections):
            ask(opened[0], request)  # so that what the requests themselves leave is there before
        before = resident()
        for _ in range(connections):
            opened.append(stack.enter_context(socket.create_connection(("127.0.0.1", port))))
            ask(opened[-1], request)
        after = resident()
        ask(opened[1], request)  # the oldest is still open
    return (after - before) / connections
