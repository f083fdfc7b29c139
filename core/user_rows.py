"""The rows of users, people who have signed in, with their sessions.

A user whom an operator has made a moderator, or put under quarantine, has a row before the first sign-in.
Invariant: a row holds no secret: the values of sessions stay in browsers, and their digests are keyed.
"""

from typing import Literal

import msgspec

from core.actors import Actor
from core.rows import UNSTAMPED, Attempt, MapRow, Stamp
from languages.language_names import Language

USERS = "users/"

Role = Literal["moderator"]
QuarantinedAct = Literal["sign_in", "submit", "vote", "report"]
"""The acts that a quarantine forbids."""
MailTopic = Literal["decisions", "webhooks", "reports"]
"""The subjects of e-mails: decisions on the user's listings, endpoints that are suspended, and reports of
visitors for moderators."""


def user_ref(user_id: str) -> str:
    """Return the ref of a user's row. It is the user's name as an actor, too."""
    return USERS + user_id


class UserProfile(MapRow, frozen=True):
    """The user's profile at the chat platform, as of the last sign-in. `avatar` is a hash from which the
    picture's address is made."""

    username: str
    display_name: str | None = None
    avatar: str | None = None
    locale: str | None = None

    @property
    def shown_name(self) -> str:
        return self.display_name or self.username


class UserSession(MapRow, frozen=True):
    """A browser that is signed in. `label` says which, in words; `seen_ms` is coarse."""

    digest: str
    label: str
    opened_ms: int
    seen_ms: int


class EndedSession(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """A session that was ended. In a fleet the row remembers it until the session would be too old, so that
    no other node brings it back."""

    ms: int
    digest: str


class Quarantine(MapRow, frozen=True):
    """An act that is forbidden to a user, from `since_ms` to `until_ms`; None means without end. One that was
    lifted has ended at that time."""

    act: QuarantinedAct
    reason: str
    by: Actor
    since_ms: int
    until_ms: int | None = None
    stamp: Stamp | None = None

    def is_in_force(self, now_ms: int) -> bool:
        return self.until_ms is None or now_ms < self.until_ms


class ReminderMessage(MapRow, frozen=True):
    """The direct message that tells a user of the end of one cooldown, at `ends_ms`, once it was attempted.

    `made` counts all attempts, and `tries` those that count. `next_attempt_ms` is None once it is finished:
    the user was told, or the message failed for the error of the `last` attempt.
    """

    ends_ms: int
    made: int
    tries: int
    next_attempt_ms: int | None
    last: Attempt


class Reminder(MapRow, frozen=True):
    """The wish to be told when one may vote for a listing again. `listing` is its ref.

    `set_ms` is the time at which the user turned it on or off. One that is off is kept in a fleet alone, so
    that no other node brings it back.
    """

    listing: str
    set_ms: int
    is_on: bool = True
    stamp: Stamp | None = None
    message: ReminderMessage | None = None


class Naming(MapRow, frozen=True):
    """The user's choice whether owners of listings may see the user's name among their top voters. `set_ms`
    is its time."""

    set_ms: int
    is_allowed: bool = True
    stamp: Stamp | None = None


class MailChoice(MapRow, frozen=True):
    """The user's choice to get e-mails, and the address that the chat platform gave at the last sign-in.

    `set_ms` is the time of the choice: no mail is about anything earlier. `language` is that of the page on
    which the user chose. Without topics there are no mails, and no address is kept.
    """

    set_ms: int
    topics: tuple[MailTopic, ...] = ()
    language: Language | None = None
    address: str | None = None
    stamp: Stamp | None = None


class MailSent(MapRow, frozen=True):
    """The last mail to a user on one topic and one listing, or on all listings if `listing` is empty.

    It is about what happened up to `about_ms`. `made`, `tries`, `next_attempt_ms` and `last` are those of a
    `ReminderMessage`.
    """

    topic: MailTopic
    listing: str
    about_ms: int
    made: int
    tries: int
    next_attempt_ms: int | None
    last: Attempt


class AnsweredReport(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """A report of the user that the moderators have settled. `listing` is the ref of what was reported."""

    at_ms: int
    listing: str


class RatingAnswer(MapRow, frozen=True):
    """The answer of a listing's owners to a review; without a text, it was taken back."""

    at_ms: int
    text: str = ""
    stamp: Stamp | None = None


class Rating(MapRow, frozen=True):
    """A user's review of a listing. `listing` is its ref.

    Without `stars` there is no review any more. A fleet remembers that, so that no other node brings it back.
    If moderators removed it, `reason` says why, and `edited_ms` when; then the author writes no other one.
    Else `edited_ms` is the time of the last edit, if there was one. The answer stands if it is not older than
    the review.
    """

    listing: str
    at_ms: int
    stars: int = 0
    text: str = ""
    edited_ms: int = 0
    reason: str = ""
    stamp: Stamp | None = None
    answer: RatingAnswer | None = None

    @property
    def standing_answer(self) -> RatingAnswer | None:
        answer = self.answer
        return answer if answer is not None and answer.text and answer.at_ms >= self.at_ms else None


class UserStamps(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The stamps of a row's parts, which are written independently of each other."""

    profile: Stamp = UNSTAMPED
    role: Stamp = UNSTAMPED


NO_USER_STAMPS = UserStamps()


class UserRow(MapRow, frozen=True):
    """A user. `ref` is "users/<id>". `profile` is None before the first sign-in.

    Sessions are in the order of opening and digest, quarantines in that of acts, reminders and reviews in
    that of listings, mails in that of topics and listings, and settled reports in that of times. The user has
    read the notices up to `read_ms`: those are in the audit logs of the user's listings, for reminders they
    are ends of cooldowns, and the settled reports are notices, too.
    """

    ref: str
    first_ms: int
    profile: UserProfile | None = None
    sessions: tuple[UserSession, ...] = ()
    ended: tuple[EndedSession, ...] = ()
    role: Role | None = None
    quarantines: tuple[Quarantine, ...] = ()
    stamps: UserStamps | None = None
    read_ms: int = 0
    reminders: tuple[Reminder, ...] = ()
    naming: Naming | None = None
    mail: MailChoice | None = None
    mails: tuple[MailSent, ...] = ()
    settled: tuple[AnsweredReport, ...] = ()
    ratings: tuple[Rating, ...] = ()

    @property
    def id(self) -> str:
        return self.ref.removeprefix(USERS)

    @property
    def known_stamps(self) -> UserStamps:
        return self.stamps or NO_USER_STAMPS

    def session(self, digest: str) -> UserSession | None:
        return next((session for session in self.sessions if session.digest == digest), None)

    @property
    def reminders_on(self) -> tuple[Reminder, ...]:
        return tuple(each for each in self.reminders if each.is_on)

    def reminder(self, listing: str) -> Reminder | None:
        """Return the reminder of a listing that is on."""
        return next((each for each in self.reminders_on if each.listing == listing), None)

    @property
    def ratings_given(self) -> tuple[Rating, ...]:
        """The reviews of the user that stand, also those of listings that are gone."""
        return tuple(each for each in self.ratings if each.stars)

    def rating(self, listing: str) -> Rating | None:
        return next((each for each in self.ratings if each.listing == listing), None)

    @property
    def lets_name(self) -> bool:
        """True if owners of listings may see the user's name among their top voters."""
        return self.naming is not None and self.naming.is_allowed

    @property
    def mailed_topics(self) -> tuple[MailTopic, ...]:
        """The topics that the user gets mails on; none while no address is known."""
        return self.mail.topics if self.mail is not None and self.mail.address is not None else ()

    def mail_sent(self, topic: MailTopic, listing: str) -> MailSent | None:
        return next((each for each in self.mails if (each.topic, each.listing) == (topic, listing)), None)

    @property
    def is_indexed(self) -> bool:
        """True if an index other than that of sessions finds the row: see `core/user_table.py`."""
        acts = self.role or self.reminders_on or self.mailed_topics or self.lets_name
        return bool(acts or self.ratings or self.quarantines)

    def quarantine(self, act: QuarantinedAct, now_ms: int) -> Quarantine | None:
        """Return the quarantine of the act that is in force now."""
        return next((each for each in self.quarantines if each.act == act and each.is_in_force(now_ms)), None)
