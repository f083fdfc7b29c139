"""A history of commits in a data folder, with snapshots at positions that the test chooses."""

from pathlib import Path

from core.events import Event, ListingRemoved, UserErased
from tests.support.coroutines import run
from tests.support.journals import recording, snapshotter_of
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF, listed, voted
from tests.support.slots_set import webhook_removed

HISTORY: list[list[Event]] = [
    listed(BOT_REF, url="http://127.0.0.1/"),
    [voted(5), voted(6)],
    listed(OTHER_REF),
    [voted(5, ref=OTHER_REF)],
    [UserErased("5", (BOT_REF, OTHER_REF))],
    [voted(5, count=1, at_ms=NOW_MS + 1), voted(6, count=2, at_ms=NOW_MS + 1)],
    [ListingRemoved(OTHER_REF), webhook_removed(BOT_REF)],
    listed(SERVER_REF),
]


def write_history(folder: Path, snapshots: tuple[int, ...] = ()) -> list[str]:
    """HISTORY with snapshots at positions; returns the digest at every position, from 0."""
    digests = [empty_state().digest()]

    async def main() -> None:
        async with recording(folder) as (ledger, journal):
            snapshotter = snapshotter_of(folder, ledger, journal)
            for events in HISTORY:
                await ledger.durable(ledger.commit(events))
                digests.append(ledger.state.digest())
                if ledger.head in snapshots:
                    await snapshotter.take()

    run(main())
    return digests
