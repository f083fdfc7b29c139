"""Load for the benchmarks, and the processes that servers run in, so that no two share a loop."""

import asyncio
import contextlib
import multiprocessing
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection


@contextlib.contextmanager
def asking(main: Callable[..., None], *args: object) -> Iterator[tuple[int, Connection]]:
    """Runs `main(pipe, *args)` in a process, which is ended with the context; gives the port that it sends
    through the pipe first, and the pipe."""
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
    """The port of a server whose process ends with the context."""
    with asking(main) as (port, _):
        yield port


class _Caller(asyncio.Protocol):
    """Sends the same request again as soon as it is answered, until told to stop."""

    def __init__(self, request: bytes, answered: Callable[[bytes], None]) -> None:
        self._request = request
        self._answered = answered

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._answered(data)  # answers are small: one read, one answer
        self._transport.write(self._request)


def requests_per_second(port: int, request: bytes, connections: int, seconds: float) -> float:
    """Closed-loop load over keep-alive connections. Raises when an answer is not 200."""
    answers = 0

    def answered(data: bytes) -> None:
        nonlocal answers
        if not data.startswith(b"HTTP/1.1 200"):
            raise AssertionError(data[:200])
        answers += 1

    async def main() -> float:
        loop = asyncio.get_running_loop()
        for _ in range(connections):
            await loop.create_connection(lambda: _Caller(request, answered), "127.0.0.1", port)
        await asyncio.sleep(0.5)  # warm
        before, started = answers, time.perf_counter()
        await asyncio.sleep(seconds)
        return (answers - before) / (time.perf_counter() - started)

    return asyncio.run(main())
