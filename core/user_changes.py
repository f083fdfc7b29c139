"""The change that an event makes to the row of a user. Law: row, event and stamp decide it, nothing else.

Of one thing that two nodes know, the same functions choose (`joined_*`), so that what a node does by itself
and what it hears of another one end in the same row.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar, assert_never

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from core.actors import ERASED, Actor
from core.events import (
    NamingSet,
    NoticesRead,
    QuarantineSet,
    ReminderAttempted,
    ReminderCleared,
    ReminderEvent,
    ReminderSet,
    RoleSet,
    SessionSeen,
    SessionsEnded,
    UserEvent,
    UserSignedIn,
)
from core.reminder_changes import changed_reminders, joined_reminders
from core.rows import UNSTAMPED, Stamp
from core.user_rows import EndedSession, Naming, Quarantine, UserRow, UserSession, UserStamps

ENDED_KEPT = 1_000
"""Endings of one user. Nobody signs in so often before sessions are too old to need them."""
_encode = msgspec.msgpack.Encoder().encode
T = TypeVar("T")


def changed_user(row: UserRow | None, event: UserEvent, stamp: Stamp | None) -> UserRow | None:
    """Return the row after the event; None if there is still none."""
    match event:
        case UserSignedIn():
            row = row if row is not None else UserRow(event.ref, event.session.opened_ms)
            stamps = _stamped(row.stamps, "profile", stamp)
            signed_in = replace(row, profile=event.profile, stamps=stamps)
            return _with_ended(signed_in, [event.session], event.ends, stamp)
        case SessionSeen():
            known = row.session(event.digest) if row is not None else None
            if row is None or known is None:
                return row
            return with_sessions(row, [replace(known, seen_ms=event.at_ms)], ())
        case SessionsEnded():
            if row is None:
                return None
            return _with_ended(row, (), event.digests, stamp)
        case RoleSet():
            row = row if row is not None else UserRow(event.ref, event.at_ms)
            return replace(row, role=event.role, stamps=_stamped(row.stamps, "role", stamp))
        case QuarantineSet():
            row = row if row is not None else UserRow(event.ref, event.at_ms)
            new = event.quarantine if stamp is None else replace(event.quarantine, stamp=stamp)
            others = tuple(each for each in row.quarantines if each.act != new.act)
            return replace(row, quarantines=_in_order((*others, new)))
        case NoticesRead():
            return replace(row, read_ms=max(event.until_ms, row.read_ms)) if row is not None else None
        case ReminderSet() | ReminderCleared() | ReminderAttempted() | NamingSet():
            return _with_wish(row, event, stamp) if row is not None else None
        case _:
            assert_never(event)


def with_sessions(row: UserRow, opened: Iterable[UserSession], ended: Iterable[EndedSession]) -> UserRow:
    """Return the row with more sessions, and without those that were ended, now or before."""
    over: dict[str, EndedSession] = {}
    for each in (*row.ended, *ended):
        over[each.digest] = max(each, over.get(each.digest, each))
    sessions = {session.digest: session for session in row.sessions}
    for session in opened:
        known = sessions.get(session.digest, session)
        sessions[session.digest] = max(known, session, key=lambda each: (each.seen_ms, _encode(each)))
    left = [session for session in sessions.values() if session.digest not in over]
    left.sort(key=lambda session: (session.opened_ms, session.digest))
    return replace(row, sessions=tuple(left), ended=tuple(sorted(over.values())[-ENDED_KEPT:]))


def joined_users(one: UserRow, other: UserRow) -> UserRow:
    """Merge two rows of one user, of two nodes of a fleet."""
    profile = max(one, other, key=lambda row: (row.stamps.profile, _rank(row.profile)))
    role = max(one, other, key=lambda row: (row.stamps.role, _rank(row.role)))
    row = replace(
        one,
        first_ms=min(one.first_ms, other.first_ms),
        profile=profile.profile,
        role=role.role,
        quarantines=_joined_quarantines(one.quarantines, other.quarantines),
        stamps=UserStamps(profile.stamps.profile, role.stamps.role),
        read_ms=max(one.read_ms, other.read_ms),
        reminders=joined_reminders(one.reminders, other.reminders),
        naming=_joined_naming(one.naming, other.naming),
    )
    return with_sessions(row, other.sessions, other.ended)


def without_actor(row: UserRow, actor: Actor, until_ms: int | None) -> UserRow:
    """Return the row without the name of an actor who was erased, up to and with a time; None means all
    times."""
    if not has_acted(row, actor):
        return row
    return replace(row, quarantines=tuple(_struck_out(each, actor, until_ms) for each in row.quarantines))


def has_acted(row: UserRow, actor: Actor) -> bool:
    return any(each.by == actor for each in row.quarantines)


def _struck_out(quarantine: Quarantine, actor: Actor, until_ms: int | None) -> Quarantine:
    at_ms = quarantine.stamp.ms or quarantine.since_ms
    is_meant = quarantine.by == actor and (until_ms is None or at_ms <= until_ms)
    return replace(quarantine, by=ERASED) if is_meant else quarantine


def _with_wish(row: UserRow, event: ReminderEvent | NamingSet, stamp: Stamp | None) -> UserRow:
    if isinstance(event, NamingSet):
        at = stamp if stamp is not None else UNSTAMPED
        return replace(row, naming=Naming(event.at_ms, event.is_allowed, at))
    return replace(row, reminders=changed_reminders(row.reminders, event, stamp))


def _joined_naming(one: Naming | UnsetType, other: Naming | UnsetType) -> Naming | UnsetType:
    """Return the later choice; of two of the same moment the one that shows less."""
    if one is UNSET or other is UNSET:
        return other if one is UNSET else one
    return max(one, other, key=lambda each: (each.stamp, each.set_ms, not each.is_allowed))


def _joined_quarantines(one: Iterable[Quarantine], other: Iterable[Quarantine]) -> tuple[Quarantine, ...]:
    latest: dict[str, Quarantine] = {}
    for each in (*one, *other):
        known = latest.get(each.act, each)
        latest[each.act] = max(known, each, key=lambda it: (it.stamp, it.by == ERASED, _encode(it)))
    return _in_order(latest.values())


def without_endings(row: UserRow, before_ms: int) -> UserRow:
    """Return the row without the sessions that were ended before a time: they are too old to come back."""
    return replace(row, ended=tuple(each for each in row.ended if each.ms >= before_ms))


def _in_order(quarantines: Iterable[Quarantine]) -> tuple[Quarantine, ...]:
    return tuple(sorted(quarantines, key=lambda each: each.act))


def _rank(value: object) -> tuple[bool, bytes]:
    """Rank values without stamps: something is more than nothing, and then the content decides."""
    return value is not None, _encode(value)


def _with_ended(
    row: UserRow, opened: Iterable[UserSession], digests: Iterable[str], stamp: Stamp | None
) -> UserRow:
    """Return the row with more sessions, and without those of the digests. Outside of a fleet nobody could
    bring them back, so nothing remembers them."""
    ended = [EndedSession(stamp.ms if stamp is not None else 0, digest) for digest in digests]
    after = with_sessions(row, opened, ended)
    return after if stamp is not None else replace(after, ended=row.ended)


def _stamped(stamps: UserStamps, part: str, stamp: Stamp | None) -> UserStamps:
    changes: Mapping[str, Stamp] = {part: stamp} if stamp is not None else {}
    return replace(stamps, **changes)
