"""From a vote to its receiver, at a fixed rate, alone and beside receivers that answer or never do.

Every vote and every vote check has its moment in a schedule that nothing can move, and its time counts from
there. Gateways are new for each round, because what hangs in one would hang in the next round too.
"""

import gc
import select
import socket
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.fixed_rate import NS, PATIENCE_NS, READ_BYTES, SETTLE_NS, quantile_ms
from bench.load import LOAD_CORES, Measured, on_cores
from bench.receivers import Receivers
from bench.servers import OPERATOR
from bench.webhooks_gateway import Fed, feeding, ref_of, webhook_id
from bench.wire import ROUNDS, median
from bench.world import add_callers

ENDPOINTS = 50
VOTES_PER_SECOND = 500
FURTHER = 500
"""The number of further endpoints, with a vote a second each."""
CHECKS_PER_SECOND = 200
CHECK_CONNECTIONS = 8
WARM_SECONDS = 1.5
"""Long enough for each of the further endpoints to have got a vote."""
ASKING = 10**6
"""The number of the listing that is asked about its voters."""
FURTHER_VOTES = 10**9
"""The number of the first vote for the further endpoints."""

ALONE = "alone"
ANSWERING, SILENT = f"beside {FURTHER} that answer", f"beside {FURTHER} that never answer"
Moment = tuple[int, Callable[[], None]]


class Round(NamedTuple):
    webhooks: Measured
    checks: Measured


class _Checks:
    """Vote checks over one connection. Each is sent at its moment, whatever was answered by then."""

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.under_way: deque[int] = deque()
        self._request = request
        self._read = b""

    def send(self, due_ns: int) -> None:
        self.under_way.append(due_ns)
        self.socket.sendall(self._request)

    def receive(self, took_by_due: dict[int, int]) -> None:
        self._read += self.socket.recv(READ_BYTES)
        while (end := self._read.find(b"}") + 1) > 0:
            if not self._read.startswith(b"HTTP/1.1 200"):
                raise AssertionError(self._read)
            self._read = self._read[end:]
            due_ns = self.under_way.popleft()
            took_by_due[due_ns] = time.monotonic_ns() - due_ns


def measure_latency(place: Path, receivers: Receivers, seconds: float) -> dict[str, Round]:
    healthy = receivers.open(ENDPOINTS, answering=True)
    further = {
        ALONE: [],
        ANSWERING: receivers.open(FURTHER, answering=True),
        SILENT: receivers.open(FURTHER, answering=False),
    }
    rounds: dict[str, list[Round]] = {name: [] for name in further}
    for number in range(ROUNDS):
        for kind, (name, urls) in enumerate(further.items()):
            print(f"a vote to its receiver, {name}, round {number + 1} of {ROUNDS}", file=sys.stderr)
            webhooks: dict[str, str | None] = {ref_of(i): url for i, url in enumerate([*healthy, *urls])}
            with feeding(place / f"latency-{number}-{kind}") as fed, on_cores(LOAD_CORES):
                rounds[name].append(_round(fed, webhooks, receivers, seconds, quiet=name == SILENT))
    return {
        name: Round(median([each.webhooks for each in of]), median([each.checks for each in of]))
        for name, of in rounds.items()
    }


def _round(
    fed: Fed, webhooks: Mapping[str, str | None], receivers: Receivers, seconds: float, *, quiet: bool
) -> Round:
    fed.add({**webhooks, ref_of(ASKING): None})
    caller = add_callers(fed.port, OPERATOR, [(ref_of(ASKING), 0)])[0]
    checks = [_Checks(fed.port, caller.request) for _ in range(CHECK_CONNECTIONS)]
    start_ns, length = time.monotonic_ns() + SETTLE_NS, WARM_SECONDS + seconds
    votes = _times(start_ns, VOTES_PER_SECOND, length)
    moments: list[Moment] = [
        (due_ns, partial(fed.vote, ref_of(number % ENDPOINTS), number)) for number, due_ns in enumerate(votes)
    ]
    others = len(webhooks) - ENDPOINTS
    further = _times(start_ns, others, length) if others else []
    for number, due_ns in enumerate(further):
        ref = ref_of(ENDPOINTS + number % others)
        moments.append((due_ns, partial(fed.vote, ref, FURTHER_VOTES + number)))
    for number, due_ns in enumerate(_times(start_ns, CHECKS_PER_SECOND, length)):
        moments.append((due_ns, partial(checks[number % CHECK_CONNECTIONS].send, due_ns)))
    took_by_due, late = _keep(sorted(moments, key=lambda moment: moment[0]), checks)
    expected = [webhook_id(number) for number in range(len(votes))]
    if not quiet:
        expected += [webhook_id(FURTHER_VOTES + number) for number in range(len(further))]
    arrived_ns = receivers.arrivals(expected).at_ns
    warm_ns = start_ns + int(WARM_SECONDS * NS)
    measured = [(number, due_ns) for number, due_ns in enumerate(votes) if due_ns >= warm_ns]
    took = array("q", (arrived_ns[webhook_id(number)] - due_ns for number, due_ns in measured))
    took_checks = array("q", (ns for due_ns, ns in took_by_due.items() if due_ns >= warm_ns))
    late_ms = quantile_ms(late, 0.99)
    return Round(
        _measured(VOTES_PER_SECOND, took, late_ms), _measured(CHECKS_PER_SECOND, took_checks, late_ms)
    )


def _times(start_ns: int, rate: int, seconds: float) -> list[int]:
    return [start_ns + number * NS // rate for number in range(int(rate * seconds))]


def _keep(moments: Sequence[Moment], checks: Sequence[_Checks]) -> tuple[dict[int, int], "array[int]"]:
    """Return the times of the checks, each from its moment, and the delays of these moments, in ns."""
    took_by_due, late = dict[int, int](), array("q")
    by_socket = {each.socket: each for each in checks}
    coming, clock = deque(moments), time.monotonic_ns
    give_up_ns = moments[-1][0] + PATIENCE_NS
    gc.disable()
    while coming or any(each.under_way for each in checks):
        now_ns = clock()
        if coming and coming[0][0] <= now_ns:
            due_ns, act = coming.popleft()
            late.append(now_ns - due_ns)
            act()
            continue
        if now_ns > give_up_ns:
            raise AssertionError("vote checks are without an answer")
        # Sleeps in between, because the receivers are on this core too.
        next_ns = coming[0][0] if coming else give_up_ns
        for file in select.select(by_socket, [], [], (next_ns - now_ns) / NS)[0]:
            by_socket[file].receive(took_by_due)
    gc.enable()
    for each in checks:
        each.socket.close()
    return took_by_due, late


def _measured(rate: float, took: "array[int]", late_ms: float) -> Measured:
    p50, p99, p999 = (quantile_ms(took, share) for share in (0.5, 0.99, 0.999))
    return Measured(rate, p50, p99, p999, late_ms)
