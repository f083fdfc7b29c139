"""The gateway is killed at every step of writing to disk, before and after it.

Invariant: it loses nothing.

A process kills itself when it reaches the step under load. The state that the next one recovers is checked
against the outside record of `recorded_load.py`, and it must serve.
"""

import asyncio
import copy
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import recorded_load
from tests.support.failing_disk import WRITES, Action, Fault, Moment, Point
from tests.support.killable_gateway import KillableGateway

pytestmark = pytest.mark.long

AT_ONCE = 4
SETTINGS = {
    **recorded_load.SETTINGS,
    "journal.segment_bytes": 65_536,
    "snapshot.interval_seconds": 0.05,
}
CHANGES_BEFORE = 20
CHANGES_AFTER = 5
REACHED_SECONDS = 60
"""A step that is not reached by then never is."""

UNFINISHED_SEGMENT = Fault(Point.SEGMENT_RENAME, Action.KILL)
UNFINISHED_SNAPSHOT = Fault(Point.SNAPSHOT_RENAME, Action.KILL)
TORN = Fault(Point.JOURNAL_WRITE, Action.SHORT_KILL, nth=20)
UNCOUNTED_SEGMENT = Fault(Point.CONTINUED_WRITE, Action.KILL)
LED_UP_TO = {
    Point.SEGMENT_DISCARD: [UNFINISHED_SEGMENT],
    Point.SNAPSHOT_DISCARD: [UNFINISHED_SNAPSHOT],
    Point.START_WRITE: [TORN],
    Point.TRUNCATE: [TORN],
    Point.TORN_CREATE: [TORN],
    Point.TORN_WRITE: [TORN],
    Point.TORN_SYNC: [TORN],
    Point.TORN_DELETE: [TORN],
}
"""Steps of a start alone: the fault that the process before it has to meet."""
BESIDE = {Point.TORN_DELETE: [Fault(Point.TORN_SYNC, Action.EIO)]}
"""The fault that leads to the step."""
LATER = {Point.JOURNAL_WRITE: 20, Point.JOURNAL_SYNC: 20}
"""The occurrence at which to kill, where the first few belong to the start."""
FOLDER_SYNCS = range(2, 7)
"""Each is of something else: a segment is born, a snapshot is named, older ones are deleted."""


class Case(NamedTuple):
    before: list[Fault]
    """One process each, which it kills."""
    plan: list[Fault]


def _cases() -> dict[str, Case]:
    faults = [
        Fault(point, Action.KILL, moment, nth=LATER.get(point, 1)) for point in Point for moment in Moment
    ]
    faults += [Fault(point, Action.SHORT_KILL, nth=LATER.get(point, 1)) for point in sorted(WRITES)]
    faults += [
        Fault(Point.FOLDER_SYNC, Action.KILL, moment, nth) for nth in FOLDER_SYNCS for moment in Moment
    ]
    cases = {
        f"{fault.action} {fault.moment} {fault.point} {fault.nth}": Case(
            LED_UP_TO.get(fault.point, []), [*BESIDE.get(fault.point, []), fault]
        )
        for fault in faults
    }
    for moment in Moment:
        fault = Fault(Point.SEGMENT_DELETE, Action.KILL, moment)
        cases[f"kill {moment} an uncounted segment is deleted"] = Case([UNCOUNTED_SEGMENT], [fault])
    return cases


CASES = _cases()


class Crashed(NamedTuple):
    """A folder that a killed gateway left, and the clients that made what is in it."""

    folder: Path
    clients: list[recorded_load.Load]


async def _prepared(folder: Path) -> Crashed:
    gateway, clients = KillableGateway(folder, **SETTINGS), recorded_load.clients(voters=2)
    gateway.launch()
    base_url = gateway.served()
    assert base_url is not None
    await recorded_load.prepare(base_url, clients)
    await recorded_load.run(base_url, clients, CHANGES_BEFORE)
    gateway.kill()
    return Crashed(folder, clients)


async def _survives(gateway: KillableGateway, clients: list[recorded_load.Load], case: Case) -> None:
    for plan in [*([fault] for fault in case.before), case.plan]:
        gateway.launch(*plan)
        base_url = gateway.served()
        if base_url is not None:  # else it was killed while it started
            await asyncio.wait_for(recorded_load.run(base_url, clients), REACHED_SECONDS)
        assert gateway.was_killed, gateway.log_tail()
    gateway.launch()
    base_url = gateway.served()
    assert base_url is not None
    await recorded_load.check(base_url, clients)
    await recorded_load.run(base_url, clients, CHANGES_AFTER)
    assert await recorded_load.check(base_url, clients) == [0] * len(clients)
    await recorded_load.verify(base_url)
    gateway.stop()


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[None]]]:
    """Every case, some of them at once: a start takes longer than what it is for."""
    path = tmp_path_factory.mktemp("kill-points")
    start = asyncio.run(_prepared(path / "start"))

    def outcome(number: int, case: Case) -> None:
        folder = shutil.copytree(start.folder, path / str(number))
        gateway = KillableGateway(folder, **SETTINGS)
        try:
            asyncio.run(_survives(gateway, copy.deepcopy(start.clients), case))
        finally:
            gateway.kill()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        yield {
            name: threads.submit(outcome, number, case) for number, (name, case) in enumerate(CASES.items())
        }


@pytest.mark.parametrize("name", CASES)
def test_a_kill_loses_nothing_acknowledged_and_the_gateway_serves_again(
    outcomes: dict[str, Future[None]], name: str
) -> None:
    outcomes[name].result()
