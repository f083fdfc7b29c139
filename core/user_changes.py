"""The change that an event makes to the row of a user, and how two rows of one user join.

Invariant: row, event and stamp decide it, nothing else. Joins are commutative, associative and idempotent, as
those of listings: see `core/sharing.py`.

    profile, role     the value with the later stamp stands
    sessions, ended   all that were opened, less those that were ended
    quarantines       of each act the later one
    reminders         of each listing the later choice, and of its messages the furthest
    naming            the later choice; of two at one moment, the choice that shows less
    mail              the later choice; of two at one moment, the choice of fewer topics
    mails             of each topic and listing the furthest
    read_ms           the greater one
    settled           of each listing the latest, and of these the newest
    ratings           of each listing the review that was written later, and the later answer
"""

from collections.abc import Iterable
from typing import assert_never

import msgspec
from msgspec import UNSET
from msgspec.structs import astuple, replace

from core import events as ev
from core.actors import ERASED, Actor
from core.rows import UNSTAMPED, Stamp, greatest_of_each
from core.user_rows import (
    NO_USER_STAMPS,
    AnsweredReport,
    EndedSession,
    MailChoice,
    MailSent,
    Naming,
    Quarantine,
    Rating,
    RatingAnswer,
    Reminder,
    ReminderMessage,
    UserRow,
    UserSession,
    UserStamps,
)

ENDED_KEPT = 1_000
"""Endings of one user. Nobody signs in so often before sessions are too old to need them."""
OFF_KEPT = 200
"""The reminders of one user that are off and still remembered. Nobody turns off more while a node is away."""
RATINGS_GONE = 200
"""The reviews of one user that were taken back and are still remembered, and as many that were removed."""
MAILS_KEPT = 200
"""The number of a user's mails that are remembered. See `mailed_ms` for what happens to older ones."""
SETTLED_KEPT = 50
"""The settled reports of one user that are remembered: as many as a page shows of notices."""
_encode = msgspec.msgpack.Encoder().encode


def changed_user(row: UserRow | None, event: ev.UserEvent, stamp: Stamp | None) -> UserRow | None:
    """Return the row after the event; None if there is still none."""
    match event:
        case ev.UserSignedIn():
            row = row if row is not None else UserRow(event.ref, event.session.opened_ms)
            stamps = row.stamps if stamp is None else replace(row.known_stamps, profile=stamp)
            signed_in = replace(row, profile=event.profile, stamps=stamps)
            return _with_ended(signed_in, [event.session], event.ends, stamp)
        case ev.SessionSeen():
            known = row.session(event.digest) if row is not None else None
            if row is None or known is None:
                return row
            return with_sessions(row, [replace(known, seen_ms=event.at_ms)], ())
        case ev.SessionsEnded():
            if row is None:
                return None
            return _with_ended(row, (), event.digests, stamp)
        case ev.UserSlotsSet():
            return _with_slots(row, event, stamp)
        case ev.QuarantineSet():
            row = row if row is not None else UserRow(event.ref, event.at_ms)
            new = event.quarantine if stamp is None else replace(event.quarantine, stamp=stamp)
            others = tuple(each for each in row.quarantines if each.act != new.act)
            return replace(row, quarantines=_in_order((*others, new)))
        case ev.RatingSet() | ev.RatingAnswered():
            row = row if row is not None else UserRow(event.ref, event.at_ms)
            return replace(row, ratings=_changed_ratings(row, event, stamp))
        case ev.ReminderSet() | ev.ReminderAttempted() | ev.MailAttempted():
            return _with_message(row, event, stamp) if row is not None else None
        case _:
            assert_never(event)


def with_sessions(row: UserRow, opened: Iterable[UserSession], ended: Iterable[EndedSession]) -> UserRow:
    """Return the row with more sessions, and without the sessions that were ended now or before."""
    over = greatest_of_each((*row.ended, *ended), lambda each: each.digest, lambda each: each)
    gone = {each.digest for each in over}
    sessions = greatest_of_each(
        (*row.sessions, *opened), lambda each: each.digest, lambda each: (each.seen_ms, _encode(each))
    )
    left = [session for session in sessions if session.digest not in gone]
    left.sort(key=lambda session: (session.opened_ms, session.digest))
    return replace(row, sessions=tuple(left), ended=tuple(sorted(over)[-ENDED_KEPT:]))


def joined_users(one: UserRow, other: UserRow) -> UserRow:
    """Merge two rows of one user, of two nodes of a fleet."""
    profile = max(one, other, key=lambda row: (row.known_stamps.profile, _rank(row.profile)))
    role = max(one, other, key=lambda row: (row.known_stamps.role, _rank(row.role)))
    stamps = UserStamps(profile.known_stamps.profile, role.known_stamps.role)
    row = replace(
        one,
        first_ms=min(one.first_ms, other.first_ms),
        profile=profile.profile,
        role=role.role,
        quarantines=_joined_quarantines(one.quarantines, other.quarantines),
        stamps=stamps if stamps != NO_USER_STAMPS else None,
        read_ms=max(one.read_ms, other.read_ms),
        reminders=joined_reminders(one.reminders, other.reminders),
        naming=joined_namings(one.naming, other.naming),
        mail=_joined_choices(one.mail, other.mail),
        mails=_joined_mails(one.mails, other.mails),
        settled=_kept_settled((*one.settled, *other.settled)),
        ratings=_joined_ratings(one.ratings, other.ratings),
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
    at_ms = quarantine.stamp.ms if quarantine.stamp is not None else quarantine.since_ms
    is_meant = quarantine.by == actor and (until_ms is None or at_ms <= until_ms)
    return replace(quarantine, by=ERASED) if is_meant else quarantine


def _with_slots(row: UserRow | None, event: ev.UserSlotsSet, stamp: Stamp | None) -> UserRow | None:
    if event.role is not UNSET:
        row = row if row is not None else UserRow(event.ref, event.at_ms)
        stamps = row.stamps if stamp is None else replace(row.known_stamps, role=stamp)
        row = replace(row, role=event.role, stamps=stamps)
    if row is not None and event.naming is not UNSET:
        row = replace(row, naming=event.naming if stamp is None else replace(event.naming, stamp=stamp))
    if row is not None and event.mail is not UNSET:
        row = replace(row, mail=event.mail if stamp is None else replace(event.mail, stamp=stamp))
    if row is not None and event.read_ms is not UNSET:
        row = replace(row, read_ms=max(event.read_ms, row.read_ms))
    if row is not None and event.settled is not UNSET:
        row = replace(row, settled=_kept_settled((*row.settled, event.settled)))
    return row


def _with_message(row: UserRow, event: ev.ReminderEvent | ev.MailAttempted, stamp: Stamp | None) -> UserRow:
    if isinstance(event, ev.MailAttempted):
        return replace(row, mails=_with_attempt(row, event))
    return replace(row, reminders=changed_reminders(row.reminders, event, stamp))


def _kept_settled(reports: Iterable[AnsweredReport]) -> tuple[AnsweredReport, ...]:
    latest = greatest_of_each(reports, lambda each: each.listing, lambda each: each)
    return tuple(sorted(latest)[-SETTLED_KEPT:])


def joined_namings(one: Naming | None, other: Naming | None) -> Naming | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=lambda each: (each.stamp or UNSTAMPED, each.set_ms, not each.is_allowed))


def _joined_quarantines(one: Iterable[Quarantine], other: Iterable[Quarantine]) -> tuple[Quarantine, ...]:
    def rank(each: Quarantine) -> tuple[Stamp, bool, bytes]:
        return each.stamp or UNSTAMPED, each.by == ERASED, _encode(each)

    return _in_order(greatest_of_each((*one, *other), lambda each: each.act, rank))


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


def newest_ms_of_user(row: UserRow) -> int:
    """Return the newest time of a stamp or an ended session in the row."""
    choices = (each for each in (row.naming, row.mail) if each is not None)
    answers = (each.answer for each in row.ratings if each.answer is not None)
    written = (row.quarantines, row.reminders, row.ratings, answers, choices)
    stamps = [each.stamp for entries in written for each in entries]
    known: list[Stamp] = [*astuple(row.known_stamps), *(stamp for stamp in stamps if stamp is not None)]
    return max([*(stamp.ms for stamp in known), *(ended.ms for ended in row.ended)])


# -- Reminders ---------------------------------------------------------------------------------------------


def changed_reminders(
    known: tuple[Reminder, ...], event: ev.ReminderEvent, stamp: Stamp | None
) -> tuple[Reminder, ...]:
    """Return the reminders after an event. `stamp` is given inside a fleet only."""
    rows = {each.listing: each for each in known}
    match event:
        case ev.ReminderSet():
            rows.pop(event.listing, None)
            if event.is_on or stamp is not None:  # outside of a fleet nobody could bring it back
                rows[event.listing] = Reminder(event.listing, event.at_ms, event.is_on, stamp)
        case ev.ReminderAttempted():
            row = rows.get(event.listing)
            if row is None or not row.is_on or _is_known(row.message, event):
                return known
            tries = row.message.tries if row.message is not None and event.number > 1 else 0
            tries += event.outcome != "held"
            message = ReminderMessage(
                event.ends_ms, event.number, tries, event.next_attempt_ms, event.attempt
            )
            rows[event.listing] = replace(row, message=message)
        case _:
            assert_never(event)
    return _kept_reminders(rows.values())


def joined_reminders(one: tuple[Reminder, ...], other: tuple[Reminder, ...]) -> tuple[Reminder, ...]:
    """Merge the reminders of two rows of one user."""
    latest: dict[str, Reminder] = {}
    for each in (*one, *other):
        latest[each.listing] = _joined_reminder(latest.get(each.listing, each), each)
    return _kept_reminders(latest.values())


def _joined_reminder(one: Reminder, other: Reminder) -> Reminder:
    if _setting(one) != _setting(other):
        return max(one, other, key=_setting)
    return max(one, other, key=lambda each: _progress(each.message))


def _setting(row: Reminder) -> tuple[Stamp, int, bool]:
    """Rank the choice of the user. Of two at one moment, the reminder that is off wins."""
    return row.stamp or UNSTAMPED, row.set_ms, not row.is_on


def _progress(message: ReminderMessage | None) -> tuple[int, int, bool, bytes]:
    """Rank a message. The bytes decide nothing among rows of one history: they make the rank total."""
    if message is None:
        return -1, 0, False, b""
    return message.ends_ms, message.made, message.next_attempt_ms is None, _encode(message)


def _is_known(message: ReminderMessage | None, event: ev.ReminderAttempted) -> bool:
    return message is not None and (event.ends_ms, event.number) <= (message.ends_ms, message.made)


def _kept_reminders(rows: Iterable[Reminder]) -> tuple[Reminder, ...]:
    """Return the rows in order: all that are on, and the newest that are off."""
    rows = [*rows]
    off = sorted(
        (each for each in rows if not each.is_on), key=lambda each: (each.stamp or UNSTAMPED, each.listing)
    )
    left = [*(each for each in rows if each.is_on), *off[-OFF_KEPT:]]
    return tuple(sorted(left, key=lambda each: each.listing))


# -- Reviews -----------------------------------------------------------------------------------------------


def _changed_ratings(row: UserRow, event: ev.RatingEvent, stamp: Stamp | None) -> tuple[Rating, ...]:
    """Return the reviews after an event. `stamp` is given inside a fleet only."""
    if isinstance(event, ev.RatingAnswered):
        return _with_answer(row, event, stamp)
    rating = event.rating
    known = row.rating(rating.listing)
    others = (each for each in row.ratings if each is not known)
    if not rating.stars and not rating.reason and stamp is None:  # nobody could bring it back
        return tuple(others)
    return _kept_ratings((*others, replace(rating, stamp=stamp, answer=known.answer if known else None)))


def _with_answer(row: UserRow, event: ev.RatingAnswered, stamp: Stamp | None) -> tuple[Rating, ...]:
    answer = replace(event.answer, stamp=stamp) if event.answer.text or stamp is not None else None
    return tuple(
        replace(each, answer=answer) if each.listing == event.listing else each for each in row.ratings
    )


def _joined_ratings(one: tuple[Rating, ...], other: tuple[Rating, ...]) -> tuple[Rating, ...]:
    latest: dict[str, Rating] = {}
    for each in (*one, *other):
        latest[each.listing] = _joined_rating(latest.get(each.listing, each), each)
    return _kept_ratings(latest.values())


def _joined_rating(one: Rating, other: Rating) -> Rating:
    """Return the review that was written later, with the later answer: each has its own author."""

    def written(each: Rating) -> tuple[Stamp, bytes]:
        return each.stamp or UNSTAMPED, _encode(replace(each, answer=None))

    def answered(each: RatingAnswer | None) -> tuple[bool, Stamp, bytes]:
        stamp = each.stamp if each is not None else None
        return each is not None, stamp or UNSTAMPED, _encode(each)

    return replace(max(one, other, key=written), answer=max(one.answer, other.answer, key=answered))


def _kept_ratings(ratings: Iterable[Rating]) -> tuple[Rating, ...]:
    """Return the reviews in order: all that stand, and the newest that were taken back, and that moderators
    removed. So nobody makes the row forget a removal by taking back others."""
    ratings = [*ratings]
    gone = sorted(
        (each for each in ratings if not each.stars),
        key=lambda each: (each.stamp or UNSTAMPED, each.at_ms, each.listing),
    )
    taken_back = [each for each in gone if not each.reason][-RATINGS_GONE:]
    removed = [each for each in gone if each.reason][-RATINGS_GONE:]
    left = [*(each for each in ratings if each.stars), *taken_back, *removed]
    return tuple(sorted(left, key=lambda each: each.listing))


# -- Mails -------------------------------------------------------------------------------------------------


def mailed_ms(row: UserRow) -> int:
    """Return the time up to which happenings cause no mail to the user.

    A row that remembers as many mails as it can has forgotten older ones: they must not be sent again.
    """
    set_ms = row.mail.set_ms if row.mail is not None else 0
    return max(set_ms, min(each.about_ms for each in row.mails)) if len(row.mails) >= MAILS_KEPT else set_ms


def _with_attempt(row: UserRow, event: ev.MailAttempted) -> tuple[MailSent, ...]:
    known = row.mail_sent(event.topic, event.listing)
    if known is not None and (event.about_ms, event.number) <= (known.about_ms, known.made):
        return row.mails
    tries = known.tries if known is not None and event.number > 1 else 0
    tries += event.outcome != "held"
    about = (event.topic, event.listing, event.about_ms)
    mail = MailSent(*about, event.number, tries, event.next_attempt_ms, event.attempt)
    return _kept_mails((*row.mails, mail))


def _joined_choices(one: MailChoice | None, other: MailChoice | None) -> MailChoice | None:
    if one is None or other is None:
        return other if one is None else one
    return max(
        one, other, key=lambda each: (each.stamp or UNSTAMPED, each.set_ms, -len(each.topics), _encode(each))
    )


def _joined_mails(one: tuple[MailSent, ...], other: tuple[MailSent, ...]) -> tuple[MailSent, ...]:
    return _kept_mails((*one, *other)) if one and other else one or other


def _kept_mails(mails: Iterable[MailSent]) -> tuple[MailSent, ...]:
    """Return the furthest mail of each topic and listing: the newest of these, in order."""
    furthest = greatest_of_each(mails, lambda each: f"{each.topic} {each.listing}", _mail_progress)
    newest = sorted(furthest, key=lambda each: (each.about_ms, each.topic, each.listing))[-MAILS_KEPT:]
    return tuple(sorted(newest, key=lambda each: (each.topic, each.listing)))


def _mail_progress(mail: MailSent) -> tuple[int, int, bool, bytes]:
    """Rank a mail as `_progress` ranks a message."""
    return mail.about_ms, mail.made, mail.next_attempt_ms is None, _encode(mail)
