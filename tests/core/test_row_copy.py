"""core/row_copy.py: a copy has the rows of the moment at which it began, even if they change meanwhile."""

from itertools import islice

import pytest
from hypothesis import given

from core import row_copy
from core.events import Event
from core.packing import unpack, unpack_user
from core.row_copy import Rows
from core.rows import Delivery, Listing
from core.state import State
from core.user_rows import USERS, UserRow
from tests.support.examples import examples
from tests.support.generated_events import frequent, histories, sequences
from tests.support.memory_ledger import empty_state

Copied = list[tuple[Listing | UserRow, tuple[Delivery, ...], tuple[bytes, ...]]]


def place(row: Delivery) -> tuple[str, str]:
    """Return the key of a delivery. One from another node may have the id of one that is pending here."""
    return row.id, row.owner


def unpacked(rows: Rows) -> Listing | UserRow:
    """Return the row of a copy."""
    row = rows.row
    assert row is not None
    if isinstance(row, Listing):
        return row
    return (unpack_user if row.ref.startswith(USERS) else unpack)(row.content)


def rows_now(state: State) -> Copied:
    listings = [
        (
            state.listings[ref],
            tuple(sorted(state.deliveries.newest_first(ref), key=place)),
            tuple(state.vote_counts.rows(ref)),
        )
        for ref in state.listings.refs
    ]
    return [*listings, *((state.users[ref], (), ()) for ref in state.users.refs)]


@examples(200)
@given(before=sequences, during=histories(frequent, 40))
def test_a_copy_is_of_the_moment_it_began(before: list[Event], during: list[Event]) -> None:
    state = empty_state()
    for event in before:
        state.apply(event)
    expected, happening = rows_now(state), iter(during)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_copy, "SLICE", 1)
        copy, copied = state.copy_rows(), Copied()
        for event in islice(happening, 2):
            state.apply(event)
        for rows in copy.slices():
            copied.extend(
                (unpacked(each), tuple(sorted(each.deliveries, key=place)), tuple(each.counts))
                for each in rows
                if each.row is not None
            )
            for event in islice(happening, 1):
                state.apply(event)
        state.end_copy(copy)

    assert sorted(copied, key=lambda row: row[0].ref) == expected


def test_a_copy_given_up_does_not_end_the_one_after_it() -> None:
    state = empty_state()
    given_up = state.copy_rows()
    current = state.copy_rows()
    state.end_copy(given_up)
    assert state._copy is current
    state.end_copy(current)
    assert state._copy is None
