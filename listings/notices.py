"""The notices to owners. Invariant: a notice is an action of somebody else, read from an audit log.

So nothing is kept of a notice, but for the time up to which its reader has read. A search goes through the
listings of an owner in slices, and holds only as many notices as it is asked for.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from core.actors import Actor, user_actor
from core.listing_table import SLICE
from core.rows import AuditAction, AuditEntry, Listing
from core.state import State
from core.user_rows import user_ref

TOLD: frozenset[AuditAction] = frozenset(
    {
        *("approved", "denied", "withdrawn", "change_agreed", "change_refused"),
        *("handed_over", "actual_count_set", "limits_set"),
        *("co_owner_joined", "invitation_declined", "co_owner_left", "hand_over_declined"),
        *("suspension_lifted", "endpoint_probed", "votes_struck"),
        *("found_failing", "hidden", "shown_again", "taken_over"),
    }
)
"""Deeds of others that an owner is told of. Of a hand-over its former owner is told, too: somebody else may
have made it with a session of theirs. So is the owner who lost a listing to somebody who took it over."""
ALWAYS: frozenset[AuditAction] = frozenset(
    {"handed_over", "found_failing", "hidden", "shown_again", "taken_over"}
)
"""Deeds that notify even their author: a check that an owner asks for finds what nobody wanted."""


class OwnerNotice(NamedTuple):
    """An act, and whether it is news to the user. `is_given`: it made the listing the user's. `is_lost`: it
    took the listing from the user, who may not see it any more."""

    row: Listing
    act: AuditEntry
    is_given: bool
    is_new: bool
    is_lost: bool = False

    @property
    def at_ms(self) -> int:
        return self.act.at_ms


class NoticeSearch:
    """The newest notices of a user. Both results are complete when the iterator ends.

    Args:
        refs: the listings that the user owns or has lost.
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
        is_lost = _is_lost(row, self._user_id, actor)
        for act in row.audit_log:
            if is_lost and not _took(row, act):
                continue  # what became of it before and since is no matter of theirs
            if act.action in TOLD and (act.by != actor or act.action in ALWAYS):
                is_new = act.at_ms > self._read_ms
                self.unread += is_new
                self.newest.append(OwnerNotice(row, act, self._is_given(row, act), is_new, is_lost))

    def _is_given(self, row: Listing, act: AuditEntry) -> bool:
        """Tell whether an act made the listing the user's: the last hand-over was to the present owner."""
        last = next((each for each in reversed(row.audit_log) if each.action == "handed_over"), None)
        return act is last and row.owner_id == self._user_id


def _is_lost(row: Listing, user_id: str, actor: Actor) -> bool:
    """Tell whether the user owned the listing until somebody took it over."""
    is_owner = user_id == row.owner_id or user_id in row.extra_owners
    return not is_owner and row.taken is not None and row.taken.lost_by == actor


def _took(row: Listing, act: AuditEntry) -> bool:
    """Tell whether it is the act of the last take-over. In a fleet its time is that of the stamp."""
    taken = row.taken
    return act.action == "taken_over" and taken is not None and act.at_ms == (taken.stamp.ms or taken.at_ms)
