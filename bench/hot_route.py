"""The parts of the time of a vote check, from the bytes of a request to the bytes of its answer.

The transport does nothing, so what the kernel and the loop cost is not in these numbers: the benchmark over
HTTP has them.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from bench.charts import Report
from bench.decisions import Bench, bench_of_one_bot
from bench.servers import KEY
from bench.timing import microseconds
from cli.demo import BOT, VOTER
from handlers.reply import encode_json
from listings.keys import is_granted
from serving.direct import VOTE_CHECK, DirectVoteCheck, Refusals, rendered
from serving.traffic import Traffic
from votes.queries import vote_status
from wire.connection import Connection
from wire.http_server import WireServer
from wire.parser import ConnectionLimits, DirectRoute

HEAD = f"Host: localhost:8080\r\nAuthorization: {KEY}\r\n"
USUAL_HEAD = HEAD + (
    "User-Agent: bot/1.0\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n"
)
LIMITS = ConnectionLimits(1, 16_384, 100, 10, 10, 10, 10, 1)


class _Constant:
    """A direct route that answers without looking."""

    def caller(self, named: dict[bytes, bytes], peer: str) -> Any:  # noqa: ARG002 (the protocol's signature)
        return self

    def answer(self, target: bytes, caller: Any) -> tuple[int, bytes]:  # noqa: ARG002 (the protocol's signature)
        return 200, b""


class _Nowhere:
    """A transport that sends nothing."""

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else None

    def write(self, data: bytes) -> None: ...


def measure_hot_route(report: Report) -> None:
    asyncio.run(_measure(report))


async def _measure(report: Report) -> None:
    bench = bench_of_one_bot()
    calls = _stages(bench) | _of_http(bench)
    report.table(
        "hot",
        "a vote check, from bytes to bytes",
        ["microseconds"],
        [(name, f"{microseconds(call):.2f}") for name, call in calls.items()],
    )


def _of_http(bench: Bench) -> dict[str, Callable[[], object]]:
    direct = DirectVoteCheck(bench.public, bench.clock, (), Traffic([VOTE_CHECK]), None)
    calls: dict[str, Callable[[], object]] = {}
    for name, route in (("a constant answer", _Constant()), ("a vote check", direct)):
        for head_name, head in (("2 headers", HEAD), ("6 headers", USUAL_HEAD)):
            request = f"GET /bots/{BOT}/voters/{VOTER} HTTP/1.1\r\n{head}\r\n".encode()
            calls[f"{name}, {head_name}, head known"] = _asking(bench, route, request, forgetful=False)
            calls[f"{name}, {head_name}, head parsed"] = _asking(bench, route, request, forgetful=True)
    return calls


def _asking(bench: Bench, route: DirectRoute, request: bytes, *, forgetful: bool) -> Callable[[], None]:
    application = cast(Any, None)  # the measured code never calls it
    server = WireServer(application, LIMITS, Refusals(bench.public, Traffic(()), None), route)
    server.add_sockets([])
    connection = Connection(server)
    connection.connection_made(cast(Any, _Nowhere()))

    def ask() -> None:
        if forgetful:
            server.known.clear()
        connection.data_received(request)

    return ask


def _stages(bench: Bench) -> dict[str, Callable[[], object]]:
    public, state, clock = bench.public, bench.state, bench.clock
    caller, ref = public.caller(KEY, "127.0.0.1"), f"bots/{BOT}"
    assert caller.digest is not None
    digest, guard, buckets = caller.digest, public.limits.guard, public.limits.voters
    reply = public.voters(BOT, VOTER, caller, clock.monotonic_ns())
    status = vote_status(state, ref, VOTER, 0, 1)
    return {
        "both clocks": lambda: (clock.now_ms(), clock.monotonic_ns()),
        "address failure guard": lambda: guard.refusal("127.0.0.1", 0),
        "bot and key": lambda: (state.listings.get(ref), is_granted(state, ref, digest, 0)),
        "limiter": lambda: buckets.take(ref, bench.policy, 0),
        "look-up": lambda: vote_status(state, ref, VOTER, 0, 1),
        "body": lambda: encode_json(status),
        "endpoint function, all of these": lambda: public.voters(BOT, VOTER, caller, clock.monotonic_ns()),
        "head of the answer": lambda: rendered(reply, 10_000_000),
        "digest of the key (head parsed)": lambda: public.caller(KEY, "127.0.0.1"),
    }
