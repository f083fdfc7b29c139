"""The state as chunks of a file, copied while it changes. Law: no step takes longer than a millisecond.

Rows are exact as of the start position. Votes are copied leaf by leaf while more of them arrive; votes newer
than the start position may be among them, and replaying the journal over them changes nothing, because events
carry results.
"""

from collections.abc import Iterator

from core.state import State
from core.votes import copy_votes
from snapshot.files import Deliveries, Leaves, Listings

DELIVERIES_PER_CHUNK = 64


class StateCopy:
    """The chunks of a state as it is now, except the last; `rows` counts what they held so far.

    A context, because the state sets aside what changes for as long as its copy is under way.
    """

    def __init__(self, state: State) -> None:
        self.rows = 0
        self._state = state
        self._copy = state.copy_rows()

    def __enter__(self) -> "StateCopy":
        return self

    def __exit__(self, *_: object) -> None:
        self._state.end_copy(self._copy)

    def __iter__(self) -> Iterator[Listings | Deliveries | Leaves]:
        for chunk in self._chunks():
            self.rows += len(chunk.rows)
            yield chunk

    def _chunks(self) -> Iterator[Listings | Deliveries | Leaves]:
        for slice_ in self._copy.slices():
            yield Listings([rows.listing for rows in slice_ if rows.listing is not None])
            deliveries = [delivery for rows in slice_ for delivery in rows.deliveries]
            for start in range(0, len(deliveries), DELIVERIES_PER_CHUNK):
                yield Deliveries(deliveries[start : start + DELIVERIES_PER_CHUNK])
        yield from map(Leaves, copy_votes(self._state.votes, self._state.refs))
