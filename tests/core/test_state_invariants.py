"""core/state.py: its laws, over any sequence of events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.actors import user_actor
from core.events import (
    CoOwnerSaved,
    DeliveryAttempted,
    DeliveryQueued,
    Event,
    KeyDeleted,
    KeySaved,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    NodeNamed,
    OwnerMessageQueued,
    OwnerSet,
    StatsUpdated,
    UserErased,
    VoteCast,
    encode_record,
)
from core.ledger import Ledger
from core.rows import Delivery, Key, Listing, Policy, StatsWindow, Webhook
from core.state import State
from core.vote_table import leaves_of
from tests.support.co_owners import co_owner
from tests.support.committed_rows import a_delivery, a_finished_delivery, a_key, a_listing, a_webhook
from tests.support.examples import examples
from tests.support.generated_events import OF_TYPE, events, sequences
from tests.support.generated_profiles import REF_OF
from tests.support.memory_ledger import empty_state, fold, state_after
from tests.support.sample_rows import (
    BOT_PROFILE,
    BOT_REF,
    DELIVERED,
    NOW_MS,
    OTHER_USER,
    OWNER,
    SERVER_PROFILE,
    SERVER_REF,
    USER,
)
from tests.support.slots_set import actual_count_set, limits_set, webhook_removed, webhook_saved
from tests.support.state_invariants import (
    Picture,
    assert_indexes_agree,
    digested,
    parts_of,
    picture,
    reloaded,
    voted,
    voted_for,
)


def submitted(ref: str) -> ListingSaved:
    return ListingSaved(ref, OWNER, BOT_PROFILE, "in_review", NOW_MS)


@examples(150)
@given(sequences)
def test_any_event_may_come_at_any_time_and_the_indexes_agree_with_the_tables(sequence: list[Event]) -> None:
    state = empty_state()
    for event in sequence:
        state.apply(event)
        assert_indexes_agree(state)


@examples(150)
@given(sequences, events)
def test_an_event_applied_twice_is_an_event_applied_once(sequence: list[Event], event: Event) -> None:
    state = state_after([*sequence, event])
    once, digest = picture(state), state.digest()
    state.apply(event)
    assert picture(state) == once
    assert state.digest() == digest
    assert_indexes_agree(state)


@pytest.mark.parametrize("event_type", OF_TYPE)
@examples(20)
@given(choice=st.data())
def test_an_event_of_any_type_applied_twice_is_one_applied_once(
    event_type: type[Event], choice: st.DataObject
) -> None:
    state = state_after([NodeNamed("a.1"), *(submitted(ref) for ref in (BOT_REF, SERVER_REF))])
    event = choice.draw(OF_TYPE[event_type])
    state.apply(event)
    once = picture(state)
    state.apply(event)
    assert picture(state) == once


@examples(100)
@given(sequences)
def test_every_event_of_a_history_applied_twice_is_the_history(sequence: list[Event]) -> None:
    once, twice = state_after(sequence), state_after([event for event in sequence for _ in range(2)])
    assert twice.digest() == once.digest()
    assert picture(twice) == picture(once)


@examples(150)
@given(sequences, st.data())
def test_a_state_folds_from_its_records(sequence: list[Event], cuts: st.DataObject) -> None:
    """The digest depends neither on records nor on the times at which digests were asked for."""
    state, records, start = empty_state(), [], 0
    while start < len(sequence):
        end = cuts.draw(st.integers(start + 1, len(sequence)))
        records.append(encode_record(sequence[start:end]))
        for event in sequence[start:end]:
            state.apply(event)
        state.digest()
        start = end
    folded = fold(records)
    assert folded.digest() == state.digest()
    assert picture(folded) == picture(state)


@examples(100)
@given(sequences, sequences)
def test_a_state_loads_from_the_tables_of_another(before: list[Event], after: list[Event]) -> None:
    state = state_after(before)
    copy = reloaded(state)
    assert copy.digest() == state.digest()
    assert picture(copy) == picture(state)
    assert_indexes_agree(copy)
    for event in after:  # and lives on like the other
        state.apply(event)
        copy.apply(event)
    assert copy.digest() == state.digest()
    assert picture(copy) == picture(state)


@examples(100)
@given(sequences)
def test_digests_are_equal_for_equal_states_and_for_no_others(sequence: list[Event]) -> None:
    state = empty_state()
    moments: list[tuple[str, Picture]] = [(state.digest(), digested(state))]
    for event in sequence:
        state.apply(event)
        moments.append((state.digest(), digested(state)))
    for number, (digest, pictured) in enumerate(moments):
        for other_digest, other_pictured in moments[:number]:
            assert (digest == other_digest) == (pictured == other_pictured)


def test_a_digest_is_128_bits_in_hex_however_much_it_covers(ledger: Ledger, state: State) -> None:
    assert state.digest() == "0" * 32
    for number in range(20):
        a_listing(ledger, f"bots/{10**17 + number}")
        assert len(state.digest()) == 32
        assert int(state.digest(), 16)


def test_a_digest_does_not_depend_on_the_order_of_listings() -> None:
    first = ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS)
    second = ListingSaved("bots/999999999999999999", OWNER, BOT_PROFILE, "in_review", NOW_MS)
    assert state_after([first, second]).digest() == state_after([second, first]).digest()


@pytest.mark.parametrize(
    "event",
    [
        ListingSaved(BOT_REF, OWNER, SERVER_PROFILE, "approved", NOW_MS),
        OwnerSet(BOT_REF, OTHER_USER, None, "handed_over", NOW_MS),
        CoOwnerSaved(BOT_REF, co_owner(OTHER_USER), NOW_MS),
        ListingReviewed(BOT_REF, "denied", None, NOW_MS),
        ListingRemoved(BOT_REF),
        KeySaved(BOT_REF, Key("k2", "another", "d2", "d2", NOW_MS)),
        KeyDeleted(BOT_REF, "k1"),
        StatsUpdated(BOT_REF, None, None, StatsWindow(NOW_MS, 1), NOW_MS),
        actual_count_set(BOT_REF, 0),
        limits_set(BOT_REF, None, Policy(1, 1)),
        webhook_saved(BOT_REF, Webhook("https://receiver.example/votes", NOW_MS, "another secret")),
        webhook_removed(BOT_REF),
        VoteCast(BOT_REF, USER, 1, NOW_MS + 1),
        VoteCast(BOT_REF, USER, 2, NOW_MS),
        VoteCast(BOT_REF, OTHER_USER, 1, NOW_MS),
        UserErased(USER, (BOT_REF,)),
        DeliveryQueued("new", BOT_REF, OTHER_USER, test=False, at_ms=NOW_MS),
        DeliveryQueued("finished", BOT_REF, USER, test=False, at_ms=NOW_MS),
        DeliveryAttempted("pending", BOT_REF, 1, DELIVERED, "retry", NOW_MS),
        DeliveryAttempted("pending", BOT_REF, 1, DELIVERED, "delivered", None),
        DeliveryAttempted("pending", BOT_REF, 1, DELIVERED, "failed", None),
        OwnerMessageQueued(BOT_REF, user_actor(OWNER), "approved", None, NOW_MS),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_digest_changes_when_anything_changes(ledger: Ledger, state: State, event: Event) -> None:
    a_listing(ledger)
    a_key(ledger, "k1")
    a_webhook(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    a_finished_delivery(ledger, "finished", user=OTHER_USER)
    a_delivery(ledger, "pending", user=OTHER_USER)
    before = state.digest()
    ledger.commit([event])
    assert state.digest() != before


def test_whatever_is_loaded_shows_in_the_digest(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    a_finished_delivery(ledger, "finished")
    a_delivery(ledger, "pending")
    copy, digests = empty_state(), []
    rows: list[Listing | Delivery] = [
        state.listings[BOT_REF],
        *state.deliveries.finished[BOT_REF],
        *state.deliveries.pending.values(),
    ]
    for row in rows:
        copy.load([row])
        copy.loaded()
        digests.append(copy.digest())
    copy.load_votes([(BOT_REF, b"".join(voted(state, BOT_REF)))])
    copy.loaded()
    digests.append(copy.digest())
    assert len(set(digests)) == 4
    assert digests[-1] == state.digest()


@examples(200)
@given(sequences, st.data())
def test_votes_newer_than_the_rows_beside_them_replay_to_the_same_state(
    sequence: list[Event], choice: st.DataObject
) -> None:
    """A snapshot copies rows at one moment, the votes of each listing some time later, and the counts of
    voters of several nodes later still."""
    moment = choice.draw(st.integers(0, len(sequence)))
    later = st.integers(moment, len(sequence))
    refs = choice.draw(st.permutations([*REF_OF.values()]))
    ends = sorted(choice.draw(st.lists(later, min_size=len(refs) + 1, max_size=len(refs) + 1)))
    leaves: dict[str, list[bytes]] = {}
    for ref, end in zip(refs, ends, strict=False):
        state = state_after(sequence[:end])
        if ref in voted_for(state):
            leaves[ref] = list(leaves_of(state.votes, ref))
    copy = reloaded(state_after(sequence[:moment]), leaves, parts_of(state_after(sequence[: ends[-1]])))
    for event in sequence[moment:]:
        copy.apply(event)
    whole = state_after(sequence)
    assert copy.digest() == whole.digest()
    assert picture(copy) == picture(whole)
    assert_indexes_agree(copy)
