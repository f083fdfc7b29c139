"""core/listing_table.py: a packed listing is unpacked at the first look, and is like any other."""

import pytest
from hypothesis import given

from core.events import Event, ListingRemoved
from core.ledger import Ledger
from core.listing_table import ListingTable
from core.packing import PackedRow, pack, unpack
from core.rows import Listing
from core.state import State
from tests.support.committed_rows import a_key, a_listing
from tests.support.examples import examples
from tests.support.generated_events import events, sequences
from tests.support.memory_ledger import empty_state, state_after
from tests.support.sample_rows import BOT_REF, OTHER_REF, SERVER_REF
from tests.support.state_invariants import (
    assert_indexes_agree,
    counts_of,
    leaves_by_ref,
    parts_of,
    picture,
    reloaded,
)

UNKNOWN = "bots/999999999999999999"


def packed(state: State) -> State:
    """The state as a start takes it up."""
    copy = empty_state()
    copy.load_fleet(state.fleet.row)
    rows = list(state.listings.values())
    suspended = [row.ref for row in rows if row.webhook is not None and row.webhook.suspension is not None]
    keys = sum(len(row.keys) for row in rows)
    at_once = {*suspended, *state.listings.untold}
    copy.load_packed([row.ref for row in rows], list(map(pack, rows)), keys, sorted(at_once))
    for kept in (
        *state.deliveries.finished.values(),
        *(rows.values() for rows in state.deliveries.remote.values()),
    ):
        copy.load(kept)
    copy.load(state.deliveries.pending.values())
    copy.load(state.users.values())
    for ref, leaves in leaves_by_ref(state).items():
        copy.load_votes((ref, leaf) for leaf in leaves)
    copy.load_vote_counts((ref, rows) for ref, (_, rows) in counts_of(state).items() if rows)
    copy.load_parts(parts_of(state))
    copy.load_cooldowns(state.cooldowns.items())
    copy.loaded()
    return copy


@pytest.fixture
def taken_up(ledger: Ledger) -> State:
    """A state with three packed listings, one of which has a key."""
    for ref in (BOT_REF, OTHER_REF, SERVER_REF):
        a_listing(ledger, ref)
    a_key(ledger)
    return packed(ledger.state)


def at_hand(state: State) -> list[str]:
    return [row.ref for row in state.listings.unpacked()]


def test_a_listing_is_unpacked_when_it_is_asked_for_and_no_other_one_is(
    taken_up: State, state: State
) -> None:
    assert at_hand(taken_up) == []
    assert taken_up.listings.by_ref[BOT_REF] == taken_up.listings[BOT_REF] == state.listings[BOT_REF]
    assert taken_up.listings.get(SERVER_REF) == state.listings[SERVER_REF]
    assert at_hand(taken_up) == [BOT_REF, SERVER_REF]


def test_what_only_counts_or_names_listings_unpacks_none(taken_up: State) -> None:
    assert (len(taken_up.listings), sorted(taken_up.listings)) == (3, list(taken_up.listings.refs))
    assert (BOT_REF in taken_up.listings, UNKNOWN in taken_up.listings) == (True, False)
    assert taken_up.listings.key_count == 1
    assert at_hand(taken_up) == []


def test_a_digest_unpacks_none(taken_up: State, state: State) -> None:
    assert taken_up.digest() == state.digest()
    assert taken_up.shared_digest() == state.shared_digest()
    assert at_hand(taken_up) == []


def test_a_copy_has_the_rows_as_they_are(taken_up: State, state: State) -> None:
    first = taken_up.listings[SERVER_REF]
    copy = taken_up.copy_rows()
    taken_up.apply(ListingRemoved(BOT_REF))  # which has a key
    rows = [row.row for rows in copy.slices() for row in rows]
    taken_up.end_copy(copy)

    assert [row for row in rows if isinstance(row, Listing)] == [first]
    packed_rows = {row.ref: row for row in rows if isinstance(row, PackedRow)}
    assert {ref: unpack(row.content) for ref, row in packed_rows.items()} == {
        ref: state.listings[ref] for ref in (BOT_REF, OTHER_REF)
    }
    assert {ref: row.keys for ref, row in packed_rows.items()} == {BOT_REF: 1, OTHER_REF: 0}


def test_a_listing_that_is_not_there_is_no_packed_one(taken_up: State) -> None:
    assert taken_up.listings.get(UNKNOWN) is None
    with pytest.raises(KeyError):
        taken_up.listings.by_ref[UNKNOWN]


def test_whoever_goes_through_all_listings_sees_all(taken_up: State, state: State) -> None:
    assert dict(taken_up.listings) == dict(state.listings)
    assert taken_up.listings == state.listings


def test_keys_open_a_listing_from_when_it_is_unpacked_and_are_counted_once(
    taken_up: State, state: State
) -> None:
    assert dict(taken_up.listings.grants) == {}
    assert taken_up.listings.get(BOT_REF) is not None
    assert taken_up.listings.grants == state.listings.grants
    assert taken_up.listings.key_count == 1


def test_each_listing_is_told_once_now_or_when_it_is_unpacked(taken_up: State) -> None:
    told: list[Listing] = []
    first = taken_up.listings[SERVER_REF]
    taken_up.listings.for_each(told.append)
    assert told == [first]
    taken_up.listings.get(SERVER_REF)
    assert told == [first]
    second = taken_up.listings[BOT_REF]
    assert told == [first, second]


def test_a_packed_listing_is_removed_with_its_keys(taken_up: State) -> None:
    taken_up.apply(ListingRemoved(BOT_REF))
    assert (BOT_REF in taken_up.listings, taken_up.listings.key_count, dict(taken_up.listings.grants)) == (
        False,
        0,
        {},
    )
    assert_indexes_agree(taken_up)


def test_refs_and_rows_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ListingTable().load_packed([BOT_REF, SERVER_REF], [b""], 0)


@examples(100)
@given(sequences)
def test_a_packed_state_is_the_state(sequence: list[Event]) -> None:
    state = state_after(sequence)
    copy = packed(state)
    assert copy.digest() == state.digest()
    assert picture(copy) == picture(state)
    assert_indexes_agree(copy)


@examples(100)
@given(sequences, events)
def test_an_event_does_to_a_packed_state_what_it_does_to_the_state(
    sequence: list[Event], event: Event
) -> None:
    state = state_after(sequence)
    copies = packed(state), reloaded(state)
    for copy in copies:
        copy.apply(event)
    assert copies[0].digest() == copies[1].digest()
    assert picture(copies[0]) == picture(copies[1])
    assert_indexes_agree(copies[0])
