"""The cost of a fleet for vote checks and votes: the same gateway with and without one, in turns."""

import contextlib
import http.client
import json
import shutil
import statistics
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.fixed_rate import quantile_ms
from bench.fleet_catching_up import REFS, STEADY_RATE, new_folder
from bench.fleet_nodes import FleetNode, fleet_node
from bench.load import LOAD_CORES, Measured, closed_loop, fixed_rate
from bench.servers import OPERATOR
from bench.wire import FIXED_CONNECTIONS, ROUNDS, median, seeded
from bench.world import write_requests
from tests.support.redis_server import RedisServer

ALONE, IDLE = "no redis.url", "in a fleet, idle"
BUSY = f"in a fleet that casts {STEADY_RATE:g} votes/s elsewhere"
HANGING = "in a fleet, Redis hangs"
CHECKS_PER_SECOND = 2_000.0
VOTES_PER_LISTING = 100
WARM_SHARE = 0.25
"""The share of its time for which bench/fixed_rate.py asks before it measures."""
MARGIN_SECONDS = 2.5
"""The seconds that the load programs need to start and to get warm."""
FIRST_VOTER = 7 * 10**17


class Checks(NamedTuple):
    closed: Measured
    closed_cpu_us: float
    """The CPU time of the node's process for each check, under as many checks as possible."""
    fixed: Measured
    cpu_us: float
    """The CPU time of the node's process for each check, at the fixed rate."""


class Votes(NamedTuple):
    """The duration of one call in milliseconds. `late` is the share that took longer than 50 ms."""

    p50: float
    p99: float
    most: float
    late: float


class Served(NamedTuple):
    checks: Mapping[str, Checks]
    votes: Mapping[str, Votes]


class _Gateways(NamedTuple):
    alone: FleetNode
    member: FleetNode
    other: FleetNode
    requests: Path


def measure_serving(place: Path, redis: RedisServer, seconds: float) -> Served:
    with _gateways(place, redis) as gateways:
        checks = _checks(gateways, seconds)
        votes = _votes(gateways, redis, seconds)
    return Served(checks, votes)


@contextlib.contextmanager
def _gateways(place: Path, redis: RedisServer) -> Iterator[_Gateways]:
    """Start two gateways with equal data, one of them in a fleet, and another node of the fleet."""
    folder, requests = place / "alone", place / "requests"
    write_requests(requests, seeded(folder, [(ref, VOTES_PER_LISTING) for ref in REFS]))
    shutil.copytree(folder, place / "member")
    other = new_folder(place / "other", folder)
    with (
        fleet_node(folder, "", None) as alone,
        fleet_node(place / "member", "b", redis.url) as member,
        fleet_node(other, "a", redis.url, LOAD_CORES) as third,
    ):
        while third.votes() < member.votes():
            time.sleep(0.1)
        yield _Gateways(alone, member, third, requests)


def _checks(gateways: _Gateways, seconds: float) -> dict[str, Checks]:
    """Return the medians by name. The order changes from round to round."""
    names, measured = deque((ALONE, IDLE, BUSY)), dict[str, list[Checks]]()
    stretch = (2 + WARM_SHARE) * seconds + MARGIN_SECONDS
    for number in range(ROUNDS):
        for name in names:
            print(f"vote checks, {name}, round {number + 1} of {ROUNDS}", file=sys.stderr)
            node = gateways.alone if name == ALONE else gateways.member
            if name == BUSY:
                first = number * int(STEADY_RATE * stretch)
                gateways.other.begin_steady(REFS, first, STEADY_RATE, stretch)
            measured.setdefault(name, []).append(_once(node, gateways.requests, seconds))
            if name == BUSY:
                gateways.other.end_steady()
        names.rotate()
    return {name: _median(measured[name]) for name in (ALONE, IDLE, BUSY)}


def _once(node: FleetNode, requests: Path, seconds: float) -> Checks:
    used = node.cpu_seconds()
    closed = closed_loop(node.port, FIXED_CONNECTIONS, seconds, requests)
    closed_cpu_us = (node.cpu_seconds() - used) / closed.answered * 1e6
    used = node.cpu_seconds()
    fixed = fixed_rate(node.port, CHECKS_PER_SECOND, FIXED_CONNECTIONS, seconds, requests)
    used, asked = node.cpu_seconds() - used, CHECKS_PER_SECOND * seconds * (1 + WARM_SHARE)
    return Checks(closed, closed_cpu_us, fixed, used / asked * 1e6)


def _median(rounds: Sequence[Checks]) -> Checks:
    return Checks(
        median([each.closed for each in rounds]),
        statistics.median(each.closed_cpu_us for each in rounds),
        median([each.fixed for each in rounds]),
        statistics.median(each.cpu_us for each in rounds),
    )


def _votes(gateways: _Gateways, redis: RedisServer, seconds: float) -> dict[str, Votes]:
    took: dict[str, array[int]] = {ALONE: array("q"), IDLE: array("q"), HANGING: array("q")}
    voters = iter(range(FIRST_VOTER, 2 * FIRST_VOTER))
    _cast_for(gateways.alone.port, seconds / 4, voters)  # warm
    _cast_for(gateways.member.port, seconds / 4, voters)
    for _ in range(ROUNDS):
        took[ALONE] += _cast_for(gateways.alone.port, seconds, voters)
        took[IDLE] += _cast_for(gateways.member.port, seconds, voters)
    redis.freeze()
    for _ in range(ROUNDS):
        took[HANGING] += _cast_for(gateways.member.port, seconds, voters)
    redis.thaw()
    return {name: _votes_of(times) for name, times in took.items()}


def _cast_for(port: int, seconds: float, voters: Iterator[int]) -> "array[int]":
    """Cast one vote behind the other, over one connection. Return the time of each in ns."""
    connection, clock, took = http.client.HTTPConnection("127.0.0.1", port), time.perf_counter_ns, array("q")
    until, path = time.perf_counter() + seconds, f"/manage/{REFS[0]}/votes"
    while time.perf_counter() < until:
        body = json.dumps({"user": str(next(voters))})
        started = clock()
        connection.request("POST", path, body, {"Authorization": f"Bearer {OPERATOR}"})
        answer = connection.getresponse()
        content = answer.read()
        took.append(clock() - started)
        if answer.status != 201:
            raise AssertionError(content)
    connection.close()
    return took


def _votes_of(times: "array[int]") -> Votes:
    late = sum(ns > 50_000_000 for ns in times) / len(times)
    return Votes(quantile_ms(times, 0.5), quantile_ms(times, 0.99), max(times) / 1e6, late)


def ratio(measured: Mapping[str, Checks], name: str, number: Callable[[Checks], float]) -> str:
    """Return the ratio of a number to that of a gateway in no fleet."""
    return f"{number(measured[name]) / number(measured[ALONE]):.2f}"
