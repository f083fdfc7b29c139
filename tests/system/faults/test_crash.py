"""The crash loop, for as long as a test may take; `python -m tests.system.faults.crash` takes longer."""

import asyncio
import os
from pathlib import Path

import pytest

from journal.segments import list_segments
from kinds.registry import KINDS
from tests.support import recorded_load
from tests.support.clip_gateway import ClipGateway
from tests.support.eighth_kind import SCRATCH
from tests.support.killable_gateway import DidNotStart, KillableGateway
from tests.system.faults.crash import crash, drawn_seed

ROUNDS = 50
CHANGES = recorded_load.CHANGES_OF_A_KIND * len(KINDS) + 2


@pytest.mark.long
def test_nothing_acknowledged_is_lost_over_fifty_kills(tmp_path: Path) -> None:
    given = os.environ.get("VOTEGATE_SEED")
    seed = drawn_seed() if given is None else int(given)
    print(f"VOTEGATE_SEED={seed}")  # noqa: T201 (pytest shows it when the test fails)
    tally = asyncio.run(crash(tmp_path, ROUNDS, seed, workers=2))
    print(tally.lines())  # noqa: T201 (pytest shows it when the test fails)
    assert tally.holds
    assert tally.rounds == tally.kills.total() == ROUNDS
    assert tally.acknowledged > ROUNDS


@pytest.fixture
def killed(tmp_path: Path) -> tuple[KillableGateway, list[recorded_load.Load]]:
    """A gateway that was killed after some changes, and the clients that made them."""
    gateway, clients = KillableGateway(tmp_path / "data", **recorded_load.SETTINGS), recorded_load.clients()

    async def changes() -> None:
        gateway.launch()
        base_url = gateway.served()
        assert base_url is not None
        await recorded_load.prepare(base_url, clients)
        await recorded_load.run(base_url, clients, CHANGES)

    asyncio.run(changes())
    gateway.kill()
    return gateway, clients


def checked(gateway: KillableGateway, clients: list[recorded_load.Load]) -> list[int]:
    """Start the gateway again, and return the findings of the loop's check."""
    gateway.launch()
    try:
        base_url = gateway.served()
        assert base_url is not None
        return asyncio.run(recorded_load.check(base_url, clients))
    finally:
        gateway.kill()


def test_a_kill_leaves_every_change_that_was_acknowledged(
    killed: tuple[KillableGateway, list[recorded_load.Load]],
) -> None:
    assert checked(*killed) == [0] * len(killed[1])
    assert all(client.acknowledged == CHANGES for client in killed[1])


def test_a_kill_leaves_the_listings_of_kinds_that_the_program_does_not_know(tmp_path: Path) -> None:
    lister, gateway = recorded_load.Lister(0, SCRATCH), ClipGateway(tmp_path / "data")
    asyncio.run(recorded_load.prepare(gateway.start().base_url, [lister]))
    changes = recorded_load.CHANGES_OF_A_KIND - 1  # it is there, and was voted for
    for kind in SCRATCH:
        try:
            asyncio.run(recorded_load.run(gateway.base_url, [lister], changes))
        finally:
            gateway.close()
        gateway.start()
        assert asyncio.run(recorded_load.check(gateway.base_url, [lister])) == [0]
        assert lister.listed is not None
        assert lister.listed.kind == kind.plural
        changes = recorded_load.CHANGES_OF_A_KIND
    gateway.close()


def test_the_loop_tells_of_changes_that_are_not_there(
    killed: tuple[KillableGateway, list[recorded_load.Load]],
) -> None:
    gateway, clients = killed
    (_, segment), *_ = list_segments(gateway.folder)
    size = segment.stat().st_size
    with segment.open("r+b") as file:
        file.truncate(size - size // 4)  # as if the last ones had been acknowledged too early

    with pytest.raises(recorded_load.Lost):
        checked(gateway, clients)


def test_the_loop_tells_of_a_hole(killed: tuple[KillableGateway, list[recorded_load.Load]]) -> None:
    gateway, clients = killed
    voter = clients[0]
    voter.sent = CHANGES + 2

    async def leave_one_out() -> None:
        gateway.launch()
        base_url = gateway.served()
        assert base_url is not None
        async with recorded_load.connected(base_url) as connection:
            await voter.change(connection, voter.sent)

    asyncio.run(leave_one_out())
    gateway.kill()
    with pytest.raises(recorded_load.Lost, match=f"vote {CHANGES + 1} of {CHANGES + 2} is not there"):
        checked(gateway, clients)


def test_the_loop_tells_of_a_folder_that_cannot_be_served(
    killed: tuple[KillableGateway, list[recorded_load.Load]],
) -> None:
    gateway, clients = killed
    (_, segment), *_ = list_segments(gateway.folder)
    with segment.open("r+b") as file:
        file.seek(segment.stat().st_size // 2)
        file.write(bytes(64))

    with pytest.raises(DidNotStart, match="cannot serve"):
        checked(gateway, clients)
