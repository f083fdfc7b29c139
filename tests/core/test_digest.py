"""core/digest.py: equal states have equal digests, after any history."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import digest, vote_table
from core.events import Event, ListingReviewed, ListingSaved
from core.state import State
from core.vote_table import leaves_of
from tests.support.examples import examples
from tests.support.generated_events import frequent, histories, sequences
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, NOW_MS
from tests.support.state_invariants import reloaded


def state_of(events: list[Event]) -> State:
    state = empty_state()
    for event in events:
        state.apply(event)
    return state


@examples(150)
@given(before=sequences, during=histories(frequent, 30))
def test_a_digest_refreshed_while_the_state_changes_is_that_of_the_state(
    before: list[Event], during: list[Event]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digest, "SLICE_BYTES", 1)
        state, happening = state_of(before), iter(during)
        refreshing, beside_it = state.refresh_digest(), state.refresh_digest()
        for _ in refreshing:
            next(beside_it, None)
            for event in islice(happening, 1):
                state.apply(event)
        for event in happening:
            state.apply(event)

        assert state.digest() == state_of(before + during).digest()


@examples(50)
@given(before=sequences, steps=st.integers(0, 5))
def test_a_refresh_that_is_given_up_leaves_the_digest_right(before: list[Event], steps: int) -> None:
    state = state_of(before)
    for _ in islice(state.refresh_digest(), steps):
        pass

    assert state.digest() == state_of(before).digest()


@examples(50)
@given(before=sequences)
def test_the_leaves_in_which_votes_stand_do_not_show(before: list[Event]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vote_table, "LEAF", 2)
        split = state_of(before)
        leaves = {ref: len(list(leaves_of(split.votes, ref))) for ref in split.listings.refs}

    whole = state_of(before)

    assert split.digest() == whole.digest() == reloaded(split).digest()
    assert all(count >= len(list(leaves_of(whole.votes, ref))) for ref, count in leaves.items())


def test_a_refreshed_digest_hashes_only_what_changed_since(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "SLICE_BYTES", 1)  # so that each part hashed is a slice
    state = empty_state()
    for ref in ("bots/1", "bots/2"):
        state.apply(ListingSaved(ref, "1", BOT_PROFILE, "in_review", NOW_MS))
    assert len(list(state.refresh_digest())) == 2
    assert list(state.refresh_digest()) == []
    state.apply(ListingReviewed("bots/2", "approved", None, NOW_MS))
    assert len(list(state.refresh_digest())) == 1
