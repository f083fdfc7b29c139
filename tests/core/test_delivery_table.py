"""core/delivery_table.py: remote deliveries, which another node of a fleet sends."""

import pytest
from msgspec.structs import replace

from core import delivery_table
from core.events import (
    DeliveryAttempted,
    DeliveryForgotten,
    DeliveryMerged,
    DeliveryQueued,
    DeliveryTaken,
    Event,
    ListingRemoved,
    UserErased,
)
from core.ledger import Ledger
from core.rows import Delivery
from core.state import State
from tests.support.committed_rows import a_delivery, a_finished_delivery, a_listing
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_USER, REFUSED, SERVER_REF, USER
from tests.support.slots_set import webhook_removed
from tests.support.state_invariants import assert_indexes_agree

LATER_MS = NOW_MS + 1_000
ELSEWHERE = Delivery("d", BOT_REF, USER, False, NOW_MS, NOW_MS, owner="b.1")
FINISHED = replace(ELSEWHERE, next_attempt_ms=None, delivered=True)


def test_deliveries_of_other_nodes_are_kept_apart(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([DeliveryMerged(ELSEWHERE)])
    assert (state.deliveries.remote, state.deliveries.remote_counts) == (
        {BOT_REF: {"d": ELSEWHERE}},
        {"b.1": 1},
    )
    assert not state.deliveries.pending
    assert not state.deliveries.pending_of(BOT_REF)
    assert (state.deliveries.newest_first(BOT_REF), state.deliveries.find(BOT_REF, "d")) == (
        [ELSEWHERE],
        ELSEWHERE,
    )


def test_a_delivery_that_is_taken_is_this_node_s(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([DeliveryMerged(ELSEWHERE)])
    ledger.commit([DeliveryTaken("d", BOT_REF, LATER_MS)])
    own = replace(ELSEWHERE, owner="", owned_ms=LATER_MS)
    assert (state.deliveries.pending, state.deliveries.pending_of(BOT_REF)) == ({"d": own}, {"d": own})
    assert (state.deliveries.remote, state.deliveries.remote_counts) == ({}, {})


def test_a_delivery_that_is_taken_is_due_at_once_though_the_clock_of_its_owner_was_ahead(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    ledger.commit([DeliveryMerged(replace(ELSEWHERE, next_attempt_ms=NOW_MS + 86_400_000))])
    ledger.commit([DeliveryTaken("d", BOT_REF, LATER_MS)])
    assert state.deliveries.pending["d"].next_attempt_ms == LATER_MS


def test_a_delivery_that_its_owner_has_forgotten_is_nobody_s_to_send(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit(
        [DeliveryMerged(ELSEWHERE), DeliveryForgotten("e", BOT_REF), DeliveryForgotten("d", SERVER_REF)]
    )
    assert state.deliveries.remote_counts == {"b.1": 1}
    ledger.commit([DeliveryForgotten("d", BOT_REF)])
    assert (
        state.deliveries.remote,
        state.deliveries.remote_counts,
        state.deliveries.newest_first(BOT_REF),
    ) == (
        {},
        {},
        [],
    )


def test_a_delivery_that_was_taken_over_is_forgotten_by_nobody(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit(
        [DeliveryMerged(ELSEWHERE), DeliveryTaken("d", BOT_REF, LATER_MS), DeliveryForgotten("d", BOT_REF)]
    )
    assert [*state.deliveries.pending] == ["d"]


@pytest.mark.parametrize(
    "taken", [DeliveryTaken("d", SERVER_REF, NOW_MS), DeliveryTaken("e", BOT_REF, NOW_MS)]
)
def test_nothing_is_taken_that_is_not_elsewhere(ledger: Ledger, state: State, taken: DeliveryTaken) -> None:
    for ref in (BOT_REF, SERVER_REF):
        a_listing(ledger, ref)
    ledger.commit([DeliveryMerged(ELSEWHERE)])
    ledger.commit([taken])
    assert (state.deliveries.remote, state.deliveries.pending) == ({BOT_REF: {"d": ELSEWHERE}}, {})


@pytest.mark.parametrize("first", [ELSEWHERE, FINISHED, replace(ELSEWHERE, owner="")])
@pytest.mark.parametrize("then", [ELSEWHERE, replace(ELSEWHERE, owner="c.1"), FINISHED])
def test_a_merged_delivery_takes_the_place_of_what_is_known_of_it(
    ledger: Ledger, state: State, first: Delivery, then: Delivery
) -> None:
    a_listing(ledger)
    ledger.commit([DeliveryMerged(first)])
    ledger.commit([DeliveryMerged(then)])
    assert state.deliveries.newest_first(BOT_REF) == [then]
    assert_indexes_agree(state)


def test_a_delivery_for_what_is_not_listed_is_not_kept(ledger: Ledger, state: State) -> None:
    ledger.commit([DeliveryMerged(ELSEWHERE)])
    assert not state.deliveries.remote


def test_a_delivery_that_another_node_sent_is_sent_again_by_this_one(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([DeliveryMerged(FINISHED)])
    ledger.commit([DeliveryQueued("d", BOT_REF, USER, False, LATER_MS)])
    row = state.deliveries.pending["d"]
    assert (row.owner, row.owned_ms, row.round_ms, row.delivered) == ("", LATER_MS, LATER_MS, False)


@pytest.mark.parametrize(
    "event",
    [UserErased(USER, (BOT_REF,)), webhook_removed(BOT_REF), ListingRemoved(BOT_REF)],
    ids=lambda e: type(e).__name__,
)
def test_deliveries_of_other_nodes_end_like_pending_ones_here(
    ledger: Ledger, state: State, event: Event
) -> None:
    a_listing(ledger)
    a_finished_delivery(ledger, "finished")
    ledger.commit([DeliveryMerged(ELSEWHERE)])
    ledger.commit([event])
    assert (state.deliveries.remote, state.deliveries.remote_counts) == ({}, {})
    assert_indexes_agree(state)


def test_deliveries_of_other_nodes_stay_when_another_user_is_erased(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([DeliveryMerged(ELSEWHERE)])
    ledger.commit([UserErased(OTHER_USER, (BOT_REF,))])
    assert state.deliveries.remote == {BOT_REF: {"d": ELSEWHERE}}


def test_the_delivery_of_a_user_s_latest_vote_is_found_wherever_it_is(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([DeliveryMerged(ELSEWHERE)])
    assert state.deliveries.of_vote(BOT_REF, USER, NOW_MS) == ELSEWHERE
    ledger.commit([DeliveryTaken("d", BOT_REF, LATER_MS)])
    assert state.deliveries.of_vote(BOT_REF, USER, NOW_MS) == state.deliveries.pending["d"]
    a_delivery(ledger, "later", at_ms=LATER_MS)
    assert state.deliveries.of_vote(BOT_REF, USER, LATER_MS) == state.deliveries.pending["later"]
    ledger.commit([DeliveryAttempted("d", BOT_REF, 1, REFUSED, "retry", LATER_MS)])
    assert state.deliveries.of_vote(BOT_REF, USER, LATER_MS) == state.deliveries.pending["later"]
    ledger.commit([DeliveryMerged(replace(FINISHED, id="later", queued_ms=LATER_MS))])
    found = state.deliveries.of_vote(BOT_REF, USER, LATER_MS)
    assert (found and found.id, found and found.state) == ("later", "delivered")


@pytest.mark.parametrize(
    "other",
    [
        DeliveryQueued("e", BOT_REF, OTHER_USER, False, NOW_MS),
        DeliveryQueued("e", BOT_REF, USER, True, NOW_MS),
        DeliveryQueued("e", BOT_REF, USER, False, NOW_MS, "vote.struck"),
        DeliveryQueued("e", SERVER_REF, USER, False, NOW_MS),
        DeliveryQueued("e", BOT_REF, USER, False, LATER_MS),
    ],
)
def test_a_delivery_of_another_event_is_not_the_delivery_of_a_vote(
    ledger: Ledger, state: State, other: DeliveryQueued
) -> None:
    for ref in (BOT_REF, SERVER_REF):
        a_listing(ledger, ref)
    ledger.commit([other])
    assert state.deliveries.of_vote(BOT_REF, USER, NOW_MS) is None


@pytest.mark.parametrize(
    "event",
    [UserErased(USER, (BOT_REF,)), webhook_removed(BOT_REF), ListingRemoved(BOT_REF)],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("row", [ELSEWHERE, replace(ELSEWHERE, owner="")])
def test_a_delivery_that_is_gone_is_that_of_no_vote(
    ledger: Ledger, state: State, event: Event, row: Delivery
) -> None:
    a_listing(ledger)
    ledger.commit([DeliveryMerged(row)])
    ledger.commit([event])
    assert state.deliveries.of_vote(BOT_REF, USER, NOW_MS) is None


def test_only_one_of_many_waiting_deliveries_is_read(
    ledger: Ledger, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_listing(ledger)
    users = [str(300_000_000_000_000_000 + number) for number in range(1_000)]
    ledger.commit(
        [DeliveryQueued(f"d{number}", BOT_REF, user, False, NOW_MS) for number, user in enumerate(users)]
    )
    looked_at = list[str]()

    def is_vote(row: Delivery) -> bool:
        looked_at.append(row.id)
        return True

    monkeypatch.setattr(delivery_table, "_is_vote", is_vote)
    for number in (0, 500, 999):
        assert state.deliveries.of_vote(BOT_REF, users[number], NOW_MS) is not None
    assert looked_at == ["d0", "d500", "d999"]
