"""The change that an event makes to the row of a listing. Invariant: row, event and stamp decide it, nothing
else.

A stamp is given inside a fleet only. It goes to the slots that the event writes, because two nodes may write
two slots at the same time and neither change may undo the other. In a fleet the stamp is also the time of an
entry in the audit log, so that an entry that follows an erasure is later than it.
"""

from collections.abc import Collection
from typing import Any, assert_never

from msgspec import UNSET
from msgspec.structs import replace

from core import events as ev
from core import rows
from core.actors import UNKNOWN, user_actor
from core.audit_log import newest, newest_flags, newest_notes, reports_of
from core.clock import day_of
from core.push_history import with_push
from core.rows import Listing, Reports, Stamp
from core.sharing import SET_SLOTS, SLOTS, Latest, in_order, joined_downloads, newest_revocations


def saved(row: Listing | None, event: ev.ListingSaved, stamp: Stamp | None) -> Listing:
    """Return the row as submitted or edited; `row` is the one before, if there is one."""
    at_ms, change = event.at_ms, _stamped_change(event.change, stamp)
    if row is None:
        review = rows.Reviewed(event.review, at_ms)
        row = Listing(event.ref, event.owner_id, event.profile, at_ms, at_ms, review, change)
        return _logged(_stamped(row, stamp, "profile", "owner_id"), event, stamp, "submitted")
    is_decided = event.review != "in_review"
    edited = replace(
        row,
        profile=event.profile,
        review=_edited_review(row, event),
        change=change,
        updated_ms=row.updated_ms if is_decided and event.profile == row.profile else at_ms,
    )
    action: rows.AuditAction = "submitted" if at_ms == row.created_ms else "edited"
    return _logged(_stamped(edited, stamp, "profile"), event, stamp, action)


def _edited_review(row: Listing, event: ev.ListingSaved) -> rows.Reviewed:
    """Return the review after an edit. A listing that waits for a decision again, or still, has the profile
    that was denied, because a moderator compares the new one with it."""
    before = row.review
    if before is None:
        return rows.Reviewed(event.review, event.at_ms)
    if event.review != "in_review":
        return replace(before, state=event.review, denied_profile=None)
    sent_ms = before.sent_ms if before.state == "in_review" else event.at_ms
    denied = row.profile if before.state == "denied" else before.denied_profile
    return rows.Reviewed("in_review", sent_ms, denied_profile=denied)


def _stamped_change(change: rows.PendingChange | None, stamp: Stamp | None) -> rows.PendingChange | None:
    """Return the change with the time of the stamp, so that a change after an erasure has a later time."""
    if change is None or stamp is None:
        return change
    since_ms = stamp.ms if change.since_ms == change.sent_ms else change.since_ms
    return replace(change, sent_ms=stamp.ms, since_ms=since_ms)


def changed(row: Listing, event: ev.RowEvent, stamp: Stamp | None) -> Listing:
    match event:
        case ev.StatsUpdated():
            return _pushed(row, event, stamp)
        case ev.EndpointHealthSet():
            return _with_health(row, event)
        case ev.KeyUsed():
            return _with_key_used(row, event)
        case ev.DownloadCounted():
            own = rows.NodeDownloads("", event.count)
            return replace(row, downloads=joined_downloads(row.downloads, (own,)))
        case ev.OwnerMessageQueued() | ev.OwnerMessageAttempted() | ev.OwnerMessageTaken():
            return replace(row, message=changed_message(row.message, event, stamp))
        case ev.VoteFlagged():
            at = stamp or Stamp(event.at_ms)
            flag = rows.VoteFlag(at.ms, user_actor(event.user), event.rule, event.flag_id, at.node)
            return replace(row, flags=newest_flags((*row.flags, flag)))
        case _:
            return _managed(row, event, stamp)


def _managed(row: Listing, event: ev.ManagedRowEvent, stamp: Stamp | None) -> Listing:
    match event:
        case ev.OwnerSet() | ev.CoOwnerSaved() | ev.CoOwnersEnded():
            return _with_owners(row, event, stamp)
        case ev.KeySaved() | ev.KeyDeleted():
            return _with_keys(row, event, stamp)
        case ev.ListingReviewed() | ev.ChangeDecided():
            return _decided(row, event, stamp)
        case ev.SlotsSet():
            return _with_slots(row, event, stamp)
        case ev.ListingTakenOver():
            return _taken_over(row, event, stamp)
        case ev.NoteAdded():
            at = stamp or Stamp(event.at_ms)
            note = rows.Note(at.ms, event.by, event.text, at.node)
            return replace(row, notes=newest_notes((*row.notes, note)))
        case ev.ListingReported():
            at = stamp or Stamp(event.at_ms)
            report = rows.Report(at.ms, event.by, event.reason, event.text, at.node, event.rating)
            closed = row.reports.closed if row.reports is not None else ()
            return replace(row, reports=reports_of((*row.open_reports, report), closed))
        case ev.ReportsSettled():
            return _settled(row, event, stamp)
        case ev.VotesRemoved():
            # The users are not named: the owner reads this, and erasures would have to search for them here.
            # Nor does a further part of one removal have the reason again.
            return _logged(row, event, stamp, "votes_struck", event.reason) if event.reason else row
        case _:
            assert_never(event)


def _settled(row: Listing, event: ev.ReportsSettled, stamp: Stamp | None) -> Listing:
    """Return the row without the reports that are settled. Only a fleet has to remember which these were."""
    closed = (*(row.reports.closed if row.reports is not None else ()), *event.settled)
    reports = reports_of(row.open_reports, closed)
    if stamp is None:
        reports = Reports(reports.open) if reports is not None and reports.open else None
    return _logged(replace(row, reports=reports), event, stamp, "reports_settled")


def _with_slots(row: Listing, event: ev.SlotsSet, stamp: Stamp | None) -> Listing:
    values: dict[str, Any] = {slot: getattr(event, slot) for slot in SET_SLOTS}
    values = {slot: value for slot, value in values.items() if value is not UNSET}
    after = _stamped(replace(row, **values), stamp, *values)
    return _logged(after, event, stamp, event.action, event.about) if event.action is not None else after


def _pushed(row: Listing, event: ev.StatsUpdated, stamp: Stamp | None) -> Listing:
    servers, commands = event.server_count, event.command_count
    after = replace(
        row,
        counts=rows.BotCounts(servers, commands, event.at_ms),
        pushed=with_push(row.pushed, day_of(event.at_ms), servers, commands),
        window=event.window,
    )
    return _stamped(after, stamp, "counts")


def _decided(row: Listing, event: ev.ListingReviewed | ev.ChangeDecided, stamp: Stamp | None) -> Listing:
    action: rows.AuditAction
    if isinstance(event, ev.ChangeDecided):
        updated_ms = row.updated_ms if event.profile == row.profile else event.at_ms
        row = replace(row, profile=event.profile, change=None, updated_ms=updated_ms)
        action = "change_agreed" if event.is_agreed else "change_refused"
    else:
        sent_ms = row.review.sent_ms if row.review is not None else event.at_ms
        review = rows.Reviewed(event.review, sent_ms, event.at_ms, event.reason)
        # A listing that is not approved has one version.
        row = replace(row, profile=row.latest, change=None, review=review)
        action = "approved" if event.review == "approved" else "withdrawn" if event.withdraws else "denied"
    return _logged(_stamped(row, stamp, "profile"), event, stamp, action, event.reason or "")


def _taken_over(row: Listing, event: ev.ListingTakenOver, stamp: Stamp | None) -> Listing:
    """Return the row of its new owner: votes, counts and the review stay. A separate event removes the
    webhook, because readers of the log look for that event."""
    taken = replace(
        row,
        owner_id=event.owner_id,
        co_owners=(),
        hand_over=None,
        updated_ms=event.at_ms,
        keys=(),
        proof=rows.Proof(event.at_ms, user_actor(event.owner_id)),
        taken=rows.Takeover(stamp or rows.UNSTAMPED, event.at_ms, user_actor(event.lost_by)),
    )
    return _logged(_stamped(taken, stamp, "profile", "proof", "owner_id"), event, stamp, "taken_over")


# -- Owners ------------------------------------------------------------------------------------------------


def _with_owners(row: Listing, event: ev.OwnersEvent, stamp: Stamp | None) -> Listing:
    # Nobody else is named in the entry: an erasure would have to search for them in its text.
    match event:
        case ev.OwnerSet():
            owned = replace(row, owner_id=event.owner_id, hand_over=event.hand_over)
            return _logged(_stamped(owned, stamp, "owner_id"), event, stamp, event.action)
        case ev.CoOwnerSaved(co_owner=co_owner):
            action: rows.AuditAction = "co_owner_invited" if co_owner.joined_ms is None else "co_owner_joined"
            new = co_owner if stamp is None else replace(co_owner, stamp=stamp)
            others = (each for each in row.co_owners if each.id != new.id)
            return _logged(replace(row, co_owners=in_order((*others, new))), event, stamp, action)
        case ev.CoOwnersEnded():
            left = tuple(each for each in row.co_owners if each.id not in event.ids)
            row = _revoked(replace(row, co_owners=left), event.ids, stamp)
            return _logged(row, event, stamp, event.action)


def _revoked(row: Listing, ids: Collection[str], stamp: Stamp | None) -> Listing:
    """Return the row with the ids of what was deleted. Only a fleet has to remember them."""
    if stamp is None:
        return row
    gone = (rows.Revocation(stamp.ms, each) for each in ids)
    return replace(row, revoked=newest_revocations((*row.revoked, *gone)))


# -- Keys and webhooks -------------------------------------------------------------------------------------


def _with_keys(row: Listing, event: ev.KeySaved | ev.KeyDeleted, stamp: Stamp | None) -> Listing:
    if isinstance(event, ev.KeySaved):
        key = event.key if stamp is None else replace(event.key, stamp=stamp)
        action: rows.AuditAction = "key_issued" if key.rotated_ms is None else "key_rotated"
        return _logged(_with_key(row, key), event, stamp, action, key.name)
    known = row.key(event.key_id)
    left = tuple(key for key in row.keys if key is not known)
    row = _revoked(replace(row, keys=left), (event.key_id,), stamp)
    return _logged(row, event, stamp, "key_deleted", known.name) if known is not None else row


def _with_key(row: Listing, key: rows.Key) -> Listing:
    """Return the row with the key, in place of the one of its id."""
    if row.key(key.id) is None:
        return replace(row, keys=(*row.keys, key))
    return replace(row, keys=tuple(key if each.id == key.id else each for each in row.keys))


def _with_key_used(row: Listing, event: ev.KeyUsed) -> Listing:
    """Return the row with the day of a key's use, which has no stamp: of two days the later one holds."""
    key = row.key(event.key_id)
    if key is None or event.day <= key.used_day:
        return row
    return _with_key(row, replace(key, used_day=event.day))


def _with_health(row: Listing, event: ev.EndpointHealthSet) -> Listing:
    """Return the row with the health of its endpoint, which has no stamp because each node has its own."""
    if row.webhook is None:
        return row
    return replace(row, webhook=replace(row.webhook, failed=event.failed, suspension=event.suspension))


# -- Messages to owners ------------------------------------------------------------------------------------


def changed_message(
    known: rows.OwnerMessage | None, event: ev.OwnerMessageEvent, stamp: Stamp | None
) -> rows.OwnerMessage | None:
    """Return the message after an event. An attempt or a takeover of the message of another decision changes
    nothing. `stamp` is the stamp of a new decision."""
    match event:
        case ev.OwnerMessageQueued():
            at_ms = event.at_ms
            if known is not None and (known.stamp, known.decided_ms) == (stamp, at_ms):
                return known
            return rows.OwnerMessage(event.to, event.decision, event.reason, at_ms, at_ms, stamp=stamp)
        case ev.OwnerMessageAttempted():
            if known is None or not _is_local(known, event.decided_ms) or event.number <= known.made:
                return known
            return replace(
                known,
                made=event.number,
                tries=known.tries + (event.outcome != "held"),
                next_attempt_ms=event.next_attempt_ms,
                delivered=event.outcome == "delivered",
                last=event.attempt,
            )
        case ev.OwnerMessageTaken():
            if known is None or not known.node or known.decided_ms != event.decided_ms:
                return known
            if known.next_attempt_ms is None:
                return known
            due_ms = min(known.next_attempt_ms, event.at_ms)  # the clock of its sender may be ahead
            # Later than the takeover before, whatever the clocks say.
            taken_ms = max(event.at_ms, known.taken_ms + 1)
            return replace(known, node="", taken_ms=taken_ms, next_attempt_ms=due_ms)
        case _:
            assert_never(event)


def _is_local(message: rows.OwnerMessage, decided_ms: int) -> bool:
    """Tell if it is a message that this node is to send, of the decision of that time."""
    return (message.node, message.decided_ms) == ("", decided_ms) and message.next_attempt_ms is not None


# -- Stamps and the audit log ------------------------------------------------------------------------------


def _stamped(row: Listing, stamp: Stamp | None, *slots: str) -> Listing:
    """Return the row with the stamp of these slots."""
    if stamp is None or not slots:
        return row
    rules = (SLOTS[slot] for slot in slots)
    stamps = {rule.stamp: stamp for rule in rules if isinstance(rule, Latest)}
    return replace(row, stamps=replace(row.known_stamps, **stamps))


def _logged(
    row: Listing,
    event: ev.ListingSaved | ev.ManagedRowEvent,
    stamp: Stamp | None,
    action: rows.AuditAction,
    about: str = "",
) -> Listing:
    if event.by == UNKNOWN:
        return row
    at = stamp or Stamp(event.at_ms)
    entry = rows.AuditEntry(at.ms, event.by, action, about, at.node)
    return replace(row, audit_log=newest((*row.audit_log, entry)))
