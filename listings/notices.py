"""What owners are told of their listings. Law: a notice is an act that somebody else did, read off a trail.

So nothing is kept of a notice, but for the time up to which its reader has read. A search goes through the
listings of an owner in slices, and holds only as many notices as it is asked for.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from core.actors import Actor, user_actor
from core.ref_slices import SLICE
from core.rows import Act, Deed, Listing
from core.state import State
from core.user_rows import user_ref

TOLD: frozenset[Deed] = frozenset(
    {
        *("approved", "denied", "handed_over", "actual_count_set", "limits_set"),
        *("co_owner_joined", "invitation_declined", "co_owner_left", "hand_over_declined"),
        *("suspension_lifted", "endpoint_probed", "votes_struck"),
        *("found_failing", "hidden", "shown_again"),
    }
)
"""Deeds of others that an owner is told of. Of a hand-over its former owner is told, too: somebody else may
have made it with a session of theirs."""
ALWAYS: frozenset[Deed] = frozenset({"handed_over", "found_failing", "hidden", "shown_again"})
"""Those of which one is told whoever did it: a check that an owner asks for finds what nobody wanted."""


class OwnerNotice(NamedTuple):
    """An act, and whether it is news to the user. `is_given`: it made the listing the user's."""

    row: Listing
    act: Act
    is_given: bool
    is_new: bool

    @property
    def at_ms(self) -> int:
        return self.act.at_ms


class NoticeSearch:
    """The newest notices of a user. Both results are complete when the iterator ends.

    Args:
        refs: the listings that the user owns.
        most: how many notices are wanted.
    """

    def __init__(self, state: State, user_id: str, refs: Sequence[str], most: int) -> None:
        account = state.users.get(user_ref(user_id))
        self._read_ms = account.read_ms if account is not None else 0
        self._listings = state.listings
        self._user_id = user_id
        self._refs = [*refs]
        self._most = most
        self.newest: list[OwnerNotice] = []
        """The newest first."""
        self.unread = 0

    def slices(self) -> Iterator[None]:
        actor = user_actor(self._user_id)
        for start in range(0, len(self._refs), SLICE):
            for ref in self._refs[start : start + SLICE]:
                if ref in self._listings:
                    self._look(self._listings.peek(ref), actor)
            self.newest.sort(key=lambda notice: notice.act.at_ms, reverse=True)
            del self.newest[self._most :]
            yield

    def _look(self, row: Listing, actor: Actor) -> None:
        for act in row.trail:
            if act.deed in TOLD and (act.by != actor or act.deed in ALWAYS):
                is_new = act.at_ms > self._read_ms
                self.unread += is_new
                self.newest.append(OwnerNotice(row, act, self._is_given(row, act), is_new))

    def _is_given(self, row: Listing, act: Act) -> bool:
        """Tell whether an act made the listing the user's: the last hand-over was to the present owner."""
        last = next((each for each in reversed(row.trail) if each.deed == "handed_over"), None)
        return act is last and row.owner_id == self._user_id
