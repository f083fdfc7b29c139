"""The notices to owners. Invariant: a notice follows from a listing, and the state keeps none.

    actions of somebody else     read from the audit log
    a suspended endpoint         for as long as it is suspended
    an invitation, or an offer   to become an owner, until it is answered

    reviews by users             one notice: of the newest one, with the number of those that are new

A user also gets a notice of each report of theirs that was settled, and of each review of theirs that
moderators removed: the row of the user has them. The first says neither what was decided nor by whom.

The state keeps only the time up to which each user has read them. A search goes through the listings of an
owner in slices, and keeps no more notices than its caller wants.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from core.actors import GATEWAY, MODERATOR, Actor, user_actor
from core.listing_table import SLICE
from core.rows import AuditAction, AuditEntry, Listing
from core.state import State
from core.user_rows import user_ref
from listings.owners import is_offered_to, open_offer

TOLD: frozenset[AuditAction] = frozenset(
    {
        *("approved", "denied", "withdrawn", "change_agreed", "change_refused"),
        *("handed_over", "actual_count_set", "limits_set"),
        *("co_owner_joined", "invitation_declined", "co_owner_left", "hand_over_declined"),
        *("suspension_lifted", "endpoint_probed", "votes_struck", "rating_removed"),
        *("found_failing", "hidden", "shown_again", "invite_broken", "values_lost", "taken_over"),
    }
)
"""Actions of others that become notices. A hand-over is a notice to the former owner, too: somebody else may
have made it with that owner's session. So is a take-over to the owner who lost the listing."""
ALWAYS: frozenset[AuditAction] = frozenset(
    {"handed_over", "found_failing", "hidden", "shown_again", "invite_broken", "taken_over"}
)
"""Actions that notify even their author: a check that an owner asks for may find a failure."""

_FOUND: tuple[AuditAction, ...] = ("invite_broken", "values_lost")
"""Actions of a gateway that become one notice, however often they were found."""

NoticeDeed = Literal[
    AuditAction, "endpoint_suspended", "report_settled", "rating_posted", "own_rating_removed"
]


class NoticeAct(NamedTuple):
    """An action, or something else that happened. `about` is its object, such as the reason of a denial."""

    at_ms: int
    by: Actor
    action: NoticeDeed
    about: str = ""


class OwnerNotice(NamedTuple):
    """Something for a user to read.

    Args:
        is_given: true if it made the listing the user's.
        is_new: true if the user has not read it.
        is_lost: true if it took the listing from the user, who may not see it any more.
        is_asking: true if it asks the user to become an owner.
    """

    row: Listing
    act: NoticeAct
    is_given: bool
    is_new: bool
    is_lost: bool = False
    is_asking: bool = False

    @property
    def at_ms(self) -> int:
        return self.act.at_ms


def notices_of(row: Listing, user_id: str, read_ms: int, now_ms: int) -> Iterator[OwnerNotice]:
    """Yield the notices of a listing to a user who owns it, has lost it, or is asked to own it."""
    actor = user_actor(user_id)
    is_owner = user_id == row.owner_id or user_id in row.extra_owners
    is_lost = not is_owner and row.taken is not None and row.taken.lost_by == actor
    is_asked = not is_owner and (user_id in row.invited or is_offered_to(row, user_id))
    given = _last(row, "handed_over")
    newest = {action: _last(row, action) for action in _FOUND}
    for entry in row.audit_log if is_lost or not is_asked else ():  # its history is not for who is asked
        if is_lost and not _took(row, entry):
            continue  # other actions on a lost listing are not for its former owner
        if entry.action in newest and entry is not newest[entry.action]:
            continue  # nodes that do not hear each other find the same
        if entry.action in TOLD and (entry.by != actor or entry.action in ALWAYS):
            act = NoticeAct(entry.at_ms, entry.by, entry.action, entry.about)
            is_given = entry is given and row.owner_id == user_id
            yield OwnerNotice(row, act, is_given, act.at_ms > read_ms, is_lost)
    suspension = row.webhook.suspension if is_owner and row.webhook is not None else None
    if suspension is not None:
        act = NoticeAct(suspension.since_ms, GATEWAY, "endpoint_suspended", suspension.reason)
        yield OwnerNotice(row, act, is_given=False, is_new=act.at_ms > read_ms)
    for act in _asking(row, user_id, now_ms):
        yield OwnerNotice(row, act, is_given=False, is_new=act.at_ms > read_ms, is_asking=True)


def settled_reports(state: State, user_id: str) -> Iterator[OwnerNotice]:
    """Yield the notices of a user's settled reports: a look-up for each, so every page may ask."""
    account = state.users.get(user_ref(user_id))
    for each in account.settled if account is not None else ():
        row = state.listings.get(each.listing)
        if account is not None and row is not None and row.created_ms <= each.at_ms:
            act = NoticeAct(each.at_ms, GATEWAY, "report_settled")
            yield OwnerNotice(row, act, is_given=False, is_new=each.at_ms > account.read_ms)


def rating_notices(state: State, row: Listing, user_id: str, read_ms: int) -> Iterator[OwnerNotice]:
    """Yield the notice of the reviews of a listing to a user who owns it. It says how many are new."""
    ratings = state.users.ratings
    newest = next(ratings.newest(row.ref, row.created_ms), None)
    if newest is not None and (user_id == row.owner_id or user_id in row.extra_owners):
        new = ratings.count_since(row.ref, max(row.created_ms, read_ms + 1))
        act = NoticeAct(newest[0], GATEWAY, "rating_posted", str(new) if new else "")
        yield OwnerNotice(row, act, is_given=False, is_new=new > 0)


def removed_ratings(state: State, user_id: str) -> Iterator[OwnerNotice]:
    """Yield the notices of a user's reviews that moderators removed: a look-up for each."""
    account = state.users.get(user_ref(user_id))
    for each in account.ratings if account is not None else ():
        row = state.listings.get(each.listing)
        if account is not None and each.reason and row is not None and row.created_ms <= each.at_ms:
            act = NoticeAct(each.edited_ms, MODERATOR, "own_rating_removed", each.reason)
            yield OwnerNotice(row, act, is_given=False, is_new=act.at_ms > account.read_ms)


class NoticeSearch:
    """The newest notices of a user. Both results are complete when the iterator ends.

    Args:
        refs: the listings that the user owns, has lost, or is asked to own.
        most: the number of notices at most.
        has_ratings: false for a gateway that offers no reviews by users.
    """

    def __init__(
        self,
        state: State,
        user_id: str,
        refs: Sequence[str],
        most: int,
        now_ms: int,
        *,
        has_ratings: bool = True,
    ) -> None:
        account = state.users.get(user_ref(user_id))
        self._read_ms = account.read_ms if account is not None else 0
        self._state = state
        self._listings = state.listings
        self._user_id = user_id
        self._refs = [*refs]
        self._most = most
        self._now_ms = now_ms
        self._has_ratings = has_ratings
        self.newest: list[OwnerNotice] = []
        """The newest first."""
        self.unread = 0

    def slices(self) -> Iterator[None]:
        self.newest = [*settled_reports(self._state, self._user_id)]
        if self._has_ratings:
            self.newest += removed_ratings(self._state, self._user_id)
        self.newest.sort(key=lambda notice: notice.act.at_ms, reverse=True)
        self.unread = sum(each.is_new for each in self.newest)
        for start in range(0, len(self._refs), SLICE):
            for ref in self._refs[start : start + SLICE]:
                if ref in self._listings:
                    row = self._listings.peek(ref)
                    found = [*notices_of(row, self._user_id, self._read_ms, self._now_ms)]
                    if self._has_ratings:
                        found += rating_notices(self._state, row, self._user_id, self._read_ms)
                    self.unread += sum(each.is_new for each in found)
                    self.newest += found
            self.newest.sort(key=lambda notice: notice.act.at_ms, reverse=True)
            del self.newest[self._most :]
            yield


def _last(row: Listing, action: AuditAction) -> AuditEntry | None:
    return next((each for each in reversed(row.audit_log) if each.action == action), None)


def _took(row: Listing, act: AuditEntry) -> bool:
    """Return true for the action of the last take-over. In a fleet the stamp has its time."""
    taken = row.taken
    return act.action == "taken_over" and taken is not None and act.at_ms == (taken.stamp.ms or taken.at_ms)


def _asking(row: Listing, user_id: str, now_ms: int) -> Iterator[NoticeAct]:
    """Yield the invitation and the offer that a user can accept now."""
    owner = user_actor(row.owner_id)
    if user_id in row.invited:
        invited_ms = max(each.invited_ms for each in row.co_owners if each.user == user_actor(user_id))
        yield NoticeAct(invited_ms, owner, "co_owner_invited")
    offer = open_offer(row, now_ms)
    if offer is not None and is_offered_to(row, user_id):
        yield NoticeAct(offer.at_ms, owner, "hand_over_offered")
