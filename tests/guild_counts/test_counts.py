"""The actual server count of a bot that the operator sets."""

from guild_counts.counts import NoCounts, OperatorCounts
from tests.support.coroutines import run
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, OTHER_REF, listed
from tests.support.slots_set import actual_count_set


def test_without_a_source_no_count_is_known() -> None:
    assert run(NoCounts().actual(BOT_REF)) is None


def test_the_operator_s_count_is_what_was_set_last() -> None:
    state = empty_state()
    counts = OperatorCounts(state)
    assert run(counts.actual(BOT_REF)) is None
    for event in listed(BOT_REF):
        state.apply(event)
    assert run(counts.actual(BOT_REF)) is None
    for count in (7, 0):
        state.apply(actual_count_set(BOT_REF, count))
        assert run(counts.actual(BOT_REF)) == count
    assert run(counts.actual(OTHER_REF)) is None
