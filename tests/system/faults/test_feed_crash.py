"""A gateway is killed again and again while a reader follows the votes.

Invariant: the reader has every acknowledged vote once, in the order of the log.

The kills come at steps of the journal and of snapshots that are drawn by lot, while snapshots delete
segments. The reader goes on from its cursor, with pages of any size.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support import recorded_load
from tests.support.coroutines import run
from tests.support.failing_disk import Action, Fault, Moment, Point
from tests.support.gateways import WAIT_SECONDS
from tests.support.killable_gateway import KillableGateway
from tests.support.recorded_load import Connection, Gone, Load

ROUNDS = 5
VOTERS = 3
VOTES_AT_LAST = 20
FAULTS = (
    *((Point.JOURNAL_WRITE, action) for action in (Action.KILL, Action.SHORT_KILL)),
    *((point, Action.KILL) for point in (Point.JOURNAL_SYNC, Point.CONTINUED_WRITE, Point.SEGMENT_DELETE)),
    *((point, Action.KILL) for point in (Point.SEGMENT_RENAME, Point.SNAPSHOT_DELETE)),
)
LATEST = {Point.JOURNAL_WRITE: 300, Point.JOURNAL_SYNC: 300}
"""The last time at which a step is the one that kills; others are rarer."""


class Reader:
    """Follows the feed as a site would, and stores what it is told beside its cursor."""

    def __init__(self, lot: Random) -> None:
        self.cursor: str | None = None
        self.votes: list[str] = []
        """The users of all lines of the type `vote`, in order."""
        self.counts: dict[str, int] = {}
        """The number of votes of each user, as a site would show it."""
        self.losses = 0
        self._lot = lot

    async def follow(self, base_url: str) -> None:
        """Read until the gateway is gone."""
        with contextlib.suppress(Gone):
            async with recorded_load.connected(base_url) as connection:
                while True:
                    if not await self.read(connection):
                        await asyncio.sleep(0.005)

    async def read(self, connection: Connection) -> bool:
        """Read a page. Return true if there is more."""
        after = f"&after={self.cursor}" if self.cursor is not None else ""
        limit = self._lot.choice([1, 2, 5, 50, 1_000])
        status, page = await connection.call("GET", f"/manage/votes?limit={limit}{after}")
        if status == 410:  # begin again, and forget
            self.losses += 1
            self.cursor, self.counts = None, {}
            return True
        assert status == 200, page
        for line in page["votes"]:
            self._take(line)
        self.cursor = page["next"]
        more: bool = page["more"]
        return more

    def _take(self, line: Any) -> None:
        match line["type"]:
            case "vote":
                self.votes.append(line["user"])
                self.counts[line["user"]] = line["vote"]
            case "standing":
                self.counts[line["user"]] = line["vote"]


async def killed_again_and_again(
    gateway: KillableGateway,
    lot: Random,
    faults: Sequence[tuple[Point, Action]],
    voters: list[Load],
    reader: Reader,
) -> None:
    gateway.launch()
    base_url = gateway.served()
    assert base_url is not None
    await recorded_load.prepare(base_url, voters)
    async with recorded_load.connected(base_url) as connection:
        while await reader.read(connection):
            pass
    gateway.kill()
    for _ in range(ROUNDS):
        point, action = lot.choice(faults)
        fault = Fault(point, action, lot.choice(list(Moment)), nth=lot.randint(2, LATEST.get(point, 3)))
        if action is Action.SHORT_KILL:
            fault = Fault(point, action, nth=lot.randint(2, LATEST.get(point, 3)))
        gateway.launch(fault)
        base_url = gateway.served()
        if base_url is not None:
            following = asyncio.create_task(reader.follow(base_url))
            with contextlib.suppress(Gone):
                await recorded_load.check(base_url, voters)  # a vote may be there that was not acknowledged
                await asyncio.wait_for(recorded_load.run(base_url, voters), WAIT_SECONDS)
            await asyncio.wait_for(following, WAIT_SECONDS)
        assert gateway.was_killed, gateway.log_tail()
    gateway.launch()
    base_url = gateway.served()
    assert base_url is not None
    await recorded_load.check(base_url, voters)
    await recorded_load.run(base_url, voters, VOTES_AT_LAST)
    async with recorded_load.connected(base_url) as connection:
        while await reader.read(connection):
            pass
    await recorded_load.check(base_url, voters)
    gateway.stop()


def cast_by(voters: list[Load]) -> list[list[str]]:
    return [
        [str(10**18 * (number + 1) + vote) for vote in range(1, voter.acknowledged + 1)]
        for number, voter in enumerate(voters)
    ]


@pytest.mark.parametrize("kept_bytes", [0, 50_000_000])
def test_a_reader_has_every_acknowledged_vote_once_however_often_the_gateway_is_killed(
    tmp_path: Path, kept_bytes: int
) -> None:
    settings = {
        "journal.segment_bytes": 65_536,
        "journal.kept_bytes": kept_bytes,
        "snapshot.interval_seconds": 0.05 if kept_bytes else 0.2,
    }
    gateway = KillableGateway(tmp_path / "data", **settings)
    faults = [each for each in FAULTS if not kept_bytes or each[0] is not Point.SEGMENT_DELETE]
    voters = recorded_load.clients(VOTERS, owners=0)
    reader = Reader(Random(kept_bytes))
    try:
        run(killed_again_and_again(gateway, Random(4_711 + kept_bytes), faults, voters, reader))
    finally:
        gateway.kill()

    of_each = defaultdict[str, list[str]](list)
    for user in reader.votes:
        of_each[user[0]].append(user)
    cast = cast_by(voters)
    assert reader.counts == dict.fromkeys((user for users in cast for user in users), 1)
    if kept_bytes:  # else a new beginning may leave votes to the standings
        assert reader.losses == 0
        assert [of_each[users[0][0]] for users in cast] == cast
    else:
        assert len(set(reader.votes)) == len(reader.votes)
