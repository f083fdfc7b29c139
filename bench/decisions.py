"""The cost of one decision: the parts of a vote check and of a vote, without HTTP."""

from collections.abc import Callable
from typing import NamedTuple

from bench.charts import Report
from bench.servers import DIGEST_SECRET, KEY
from bench.timing import microseconds
from cli.demo import BOT, VOTER, make_demo
from core.clock import SystemClock
from core.events import VoteCast, decode_record, encode_record
from core.ledger import Ledger
from core.rows import Policy
from core.state import State
from core.vote_table import VoteTable
from guild_counts.counts import NoCounts
from handlers.public import PublicApi, PublicBounds, PublicLimits
from listings.keys import KeyDigester
from ratelimit.bucket import Buckets, FailureGuard


class _ForgetfulJournal:
    """Numbers records and keeps none: a benchmark writes millions."""

    def __init__(self) -> None:
        self.head = 0

    def append(self, record: bytes) -> int:  # noqa: ARG002 (the protocol's signature)
        self.head += 1
        return self.head

    async def durable(self, position: int) -> None:
        pass


class Bench(NamedTuple):
    """The public endpoints over one approved bot with a key and a voter."""

    public: PublicApi
    state: State
    ledger: Ledger
    clock: SystemClock
    digester: KeyDigester
    policy: Policy


def bench_of_one_bot() -> Bench:
    high = Policy(1_000_000_000, 300)
    ledger = Ledger(State(100), _ForgetfulJournal(), 0)
    clock, digester = SystemClock(), KeyDigester(DIGEST_SECRET.encode())
    make_demo(ledger, digester, key=KEY, key_id="0" * 24, now_ms=clock.now_ms())
    public = PublicApi(
        ledger,
        clock,
        digester,
        PublicLimits(FailureGuard(high, 1_000), high, high),
        NoCounts(),
        PublicBounds(window_ms=86_400_000, max_difference=50, max_body_bytes=65_536),
    )
    ledger.subscribe(public.on_record)
    return Bench(public, ledger.state, ledger, clock, digester, high)


def measure_decisions(report: Report) -> None:
    """Measure the parts of a vote check, without HTTP."""
    bench = bench_of_one_bot()
    public, digester = bench.public, bench.digester
    table, buckets = VoteTable(), Buckets()
    for user in range(100_000):
        table.put("bots/1", 10**17 + user * 7, 1, 1_750_000_000_000)
    record = [VoteCast(f"bots/{BOT}", VOTER, 1, 1_750_000_000_000)]
    encoded = encode_record(record)
    calls: dict[str, Callable[[], object]] = {
        "limiter decision (take)": lambda: buckets.take("bots/1", bench.policy, 0),
        "key digest": lambda: digester.digest(KEY),
        "vote table get, 100,000 voters": lambda: table.get("bots/1", 10**17 + 350_000),
        "encode a vote record": lambda: encode_record(record),
        "decode a vote record": lambda: decode_record(encoded),
        "whole vote check, endpoint function": lambda: public.voters(
            BOT, VOTER, public.caller(KEY, "127.0.0.1"), bench.clock.monotonic_ns()
        ),
        "commit of a vote (memory journal)": lambda: bench.ledger.commit(record),
    }
    report.table(
        "calls",
        "one call",
        ["microseconds"],
        [(name, f"{microseconds(call):.2f}") for name, call in calls.items()],
    )
