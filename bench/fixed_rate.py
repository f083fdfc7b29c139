"""Load at a fixed rate, without coordinated omission. A program: load in a process and on a core of its own.

Every request has its moment in a schedule that no answer can move. One whose connection still waits for the
answer before it queues there, and its latency counts from its moment in the schedule, not from when it was
sent: a client that asks at that rate waits that long. The loop polls without ever sleeping, because a sleep
would be the load's own latency in the server's numbers.
"""

import gc
import json
import re
import select
import socket
import sys
import time
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

NS = 1_000_000_000
SETTLE_NS = NS // 20
PATIENCE_NS = 10 * NS
READ_BYTES = 65_536
GOOD = (b"200", b"201", b"303")
END_OF_HEAD, EMPTY = b"\r\n\r\n", b"\r\nContent-Length: 0\r\n"
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n")


class _Connection:
    """A connection with one request at a time. Requests that are due meanwhile wait."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.due_ns = 0
        """The time at which the request under way was due; 0 without one."""
        self.waiting: deque[int] = deque()

    def answered(self) -> bool:
        """Return true if the answer is whole: it ends with the brace that closes its JSON object, or has no
        body."""
        data = self.socket.recv(READ_BYTES)
        if not data or (data.startswith(b"HTTP/") and data[9:12] not in GOOD):
            raise SystemExit(f"not an answer to go on with: {data[:300]!r}")
        return data.endswith(b"}") or (data.endswith(END_OF_HEAD) and EMPTY in data)


class Schedule:
    """Send `rate` requests a second for `seconds`, over all connections in turn."""

    def __init__(self, rate: float, seconds: float) -> None:
        self.total = int(rate * seconds)
        self._step_ns = NS / rate
        self._start_ns = time.perf_counter_ns() + SETTLE_NS

    def due_ns(self, number: int) -> int:
        return self._start_ns + int(number * self._step_ns)

    @property
    def end_ns(self) -> int:
        return self.due_ns(self.total)


def run(
    connections: Sequence[_Connection], requests: Iterator[bytes], schedule: Schedule
) -> tuple["array[int]", "array[int]"]:
    """Return the times of the answers, and the delays of the load while a connection was free, in ns."""
    took, late = array("q"), array("q")
    poll, by_file = select.epoll(), {connection.socket.fileno(): connection for connection in connections}
    for file in by_file:
        poll.register(file, select.EPOLLIN)
    clock, number, total, due_ns = time.perf_counter_ns, 0, schedule.total, schedule.due_ns(0)
    give_up_ns = schedule.end_ns + PATIENCE_NS
    while len(took) < total:
        now_ns = clock()
        while number < total and due_ns <= now_ns:
            connection = connections[number % len(connections)]
            if connection.due_ns:
                connection.waiting.append(due_ns)
            else:
                connection.due_ns = due_ns
                connection.socket.send(next(requests))
                late.append(now_ns - due_ns)
            number += 1
            due_ns = schedule.due_ns(number)
        if now_ns > give_up_ns:
            raise SystemExit(f"{total - len(took)} of {total} requests are without an answer")
        for file, _ in poll.poll(0):
            connection = by_file[file]
            if connection.answered():
                took.append(clock() - connection.due_ns)
                if connection.waiting:
                    connection.due_ns = connection.waiting.popleft()
                    connection.socket.send(next(requests))
                else:
                    connection.due_ns = 0
    return took, late


def quantile_ms(times_ns: "array[int]", share: float) -> float:
    ordered = sorted(times_ns)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] / 1e6


def requests_in(text: bytes) -> Iterator[bytes]:
    """Yield the requests of a file. One with a body says its length as `Content-Length: n`."""
    begin = 0
    while begin < len(text):
        end = text.index(END_OF_HEAD, begin) + len(END_OF_HEAD)
        length = _LENGTH.search(text, begin, end)
        end += int(length[1]) if length is not None else 0
        yield text[begin:end]
        begin = end


def endless(requests: Sequence[bytes]) -> Iterator[bytes]:
    while True:
        yield from requests


def main(port: int, rate: float, seconds: float, connections: int, requests_file: str) -> None:
    requests = endless([*requests_in(Path(requests_file).read_bytes())])
    opened = [_Connection(port) for _ in range(connections)]
    gc.disable()
    run(opened, requests, Schedule(rate, seconds / 4))  # warm
    took, late = run(opened, requests, Schedule(rate, seconds))
    measured = [quantile_ms(took, share) for share in (0.5, 0.99, 0.999)]
    print(json.dumps([rate, *measured, quantile_ms(late, 0.99)]))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
