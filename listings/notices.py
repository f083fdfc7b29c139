"""The notices to owners. Invariant: a notice is an action of somebody else, read from an audit log.

So the state keeps no notices, but only the time up to which each user has read them. A search goes through
the listings of an owner in slices, and keeps no more notices than its caller wants.
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
        *("found_failing", "hidden", "shown_again", "invite_broken", "taken_over"),
    }
)
"""Actions of others that become notices. A hand-over is a notice to the former owner, too: somebody else may
have made it with that owner's session. So is a take-over to the owner who lost the listing."""
ALWAYS: frozenset[AuditAction] = frozenset(
    {"handed_over", "found_failing", "hidden", "shown_again", "invite_broken", "taken_over"}
)
"""Actions that notify even their author: a check that an owner asks for may find a failure."""


class OwnerNotice(NamedTuple):
    """An action for a user to read.

    Args:
        is_given: true if it made the listing the user's.
        is_new: true if the user has not read it.
        is_lost: true if it took the listing from the user, who may not see it any more.
    """

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
        most: the number of notices at most.
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
                continue  # other actions on a lost listing are not for its former owner
            if act.action in TOLD and (act.by != actor or act.action in ALWAYS):
                is_new = act.at_ms > self._read_ms
                self.unread += is_new
                self.newest.append(OwnerNotice(row, act, self._is_given(row, act), is_new, is_lost))

    def _is_given(self, row: Listing, act: AuditEntry) -> bool:
        """Return true if an action made the listing the user's: it is the last hand-over."""
        last = next((each for each in reversed(row.audit_log) if each.action == "handed_over"), None)
        return act is last and row.owner_id == self._user_id


def _is_lost(row: Listing, user_id: str, actor: Actor) -> bool:
    """Return true if the user owned the listing until somebody took it over."""
    is_owner = user_id == row.owner_id or user_id in row.extra_owners
    return not is_owner and row.taken is not None and row.taken.lost_by == actor


def _took(row: Listing, act: AuditEntry) -> bool:
    """Return true for the action of the last take-over. In a fleet the stamp has its time."""
    taken = row.taken
    return act.action == "taken_over" and taken is not None and act.at_ms == (taken.stamp.ms or taken.at_ms)
