"""From disk to state: what a node knows of its fleet."""

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given

from core.events import (
    CooldownsKept,
    DeliveryMerged,
    DeliveryTaken,
    Event,
    ListingRemoved,
    Merged,
    NodeNamed,
    UserErased,
    VoteCast,
)
from core.rows import Delivery
from snapshot.files import (
    LeavesChunk,
)
from snapshot.recovery import apply_events, load_chunk, recover
from snapshot.state_copy import StateCopy
from tests.support.coroutines import run
from tests.support.examples import examples
from tests.support.generated_events import sequences
from tests.support.journals import on, recording, snapshotter_of
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF, listed, voted
from tests.support.state_invariants import assert_indexes_agree, picture


def voted_at(label: str, user: int, count: int = 1, at_ms: int = NOW_MS, ref: str = BOT_REF) -> VoteCast:
    """A vote at another node."""
    return VoteCast(ref, str(user), count, at_ms, label)


IN_A_FLEET: list[list[Event]] = [
    [NodeNamed("a.1"), CooldownsKept((("m1", NOW_MS + 9), ("m2", NOW_MS + 9)), NOW_MS)],
    listed(BOT_REF, url="http://127.0.0.1/"),
    [voted(5), voted(6)],
    [Merged("b.1", 3), voted_at("b.1", 5, count=2), voted_at("b.1", 7), voted_at("c.1", 7)],
    [Merged("b.1", 4), voted_at("b.1", 8, ref=OTHER_REF), voted_at("c.1", 8, ref=OTHER_REF)],
    [DeliveryMerged(Delivery(name, BOT_REF, "5", False, NOW_MS, NOW_MS, owner="b.1")) for name in "de"],
    [DeliveryTaken("d", BOT_REF, NOW_MS + 1)],
    [ListingRemoved(SERVER_REF, stamp_ms=NOW_MS), UserErased("6", (BOT_REF,), "mark", stamp_ms=NOW_MS + 1)],
    [NodeNamed("a.2"), voted(5), voted(7, count=4)],
    [Merged("c.1", 9), voted_at("c.1", 5, at_ms=NOW_MS + 2)],
]


@pytest.mark.parametrize("snapshots", [(), (4,), (10,), (5, 7)])
def test_a_node_knows_of_its_fleet_the_same_as_before(tmp_path: Path, snapshots: tuple[int, ...]) -> None:
    pictures = list[object]()

    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            snapshotter = snapshotter_of(tmp_path, ledger, journal)
            for events in IN_A_FLEET:
                await ledger.durable(ledger.commit(events))
                if ledger.head in snapshots:
                    await snapshotter.take()
            pictures.extend([picture(ledger.state), ledger.state.shared_digest()])

    run(main())
    recovered = recover(on(tmp_path), empty_state)
    assert recovered.chain.position == max(snapshots, default=0)
    state = recovered.state
    assert [picture(state), state.shared_digest()] == pictures
    assert_indexes_agree(state)
    assert set(state.cooldowns) == {"m1", "m2"}
    assert (state.fleet.label, state.fleet.own, state.fleet.is_copy) == ("a.2", 3, False)
    assert state.votes.parts(BOT_REF, 5) == {0: 1, 1: 2, 2: 1, 3: 1}
    assert (list(state.listings.unlisted), state.votes.get(OTHER_REF, 8)) == ([OTHER_REF], (2, NOW_MS))
    assert (set(state.deliveries.remote[BOT_REF]), set(state.deliveries.pending)) == ({"e"}, {"d"})


@examples(25)
@given(before=sequences, during=sequences)
def test_a_snapshot_taken_while_a_fleet_s_events_come_replays_to_the_same(
    before: list[Event], during: list[Event]
) -> None:
    """After each chunk of the copy the next event happens; no listing is new, see below."""
    live, copied = empty_state(), empty_state()
    apply_events(live, [NodeNamed("a.1"), *before])
    happening = iter(during)
    with StateCopy(live) as copy:
        for chunk in copy:
            load_chunk(copied, chunk)
            apply_events(live, islice(happening, 1))
    apply_events(live, happening)
    copied.loaded()
    apply_events(copied, during)
    assert picture(copied) == picture(live)
    assert copied.digest() == live.digest()


def test_votes_whose_listing_comes_while_they_are_copied_are_recovered_once() -> None:
    live, copied = empty_state(), empty_state()
    apply_events(live, [NodeNamed("a.1"), voted_at("b.1", 5), voted_at("b.1", 6)])
    with StateCopy(live) as copy:
        for chunk in copy:
            load_chunk(copied, chunk)
            if isinstance(chunk, LeavesChunk) and BOT_REF not in live.listings:
                apply_events(live, listed())
    copied.loaded()
    apply_events(copied, listed())
    assert list(copied.votes.votes(BOT_REF)) == list(live.votes.votes(BOT_REF))
    assert len(copied.votes) == 2
