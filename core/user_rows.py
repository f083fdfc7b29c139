"""The row of a user: who somebody is that has signed in, and from where. A frozen value like all rows.

A user whom an operator has made a moderator, or put under quarantine, has a row before the first sign-in.
Law: a row holds no secret: the values of sessions stay in browsers, and their digests are keyed.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from core.actors import Actor
from core.rows import UNSTAMPED, Attempt, Stamp

USERS = "users/"

Role = Literal["moderator"]
QuarantinedAct = Literal["sign_in", "submit", "vote"]
"""What a user under quarantine may not do."""


def user_ref(user_id: str) -> str:
    """Return the ref of a user's row. It is the user's name as an actor, too."""
    return USERS + user_id


class UserProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What the chat platform said at the last sign-in. `avatar` is a hash, of which the picture's address is
    made."""

    username: str
    display_name: str | None = None
    avatar: str | None = None
    locale: str | None = None

    @property
    def shown_name(self) -> str:
        return self.display_name or self.username


class UserSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
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


class Quarantine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """An act that is forbidden to a user, from `since_ms` to `until_ms`; None means without end. One that was
    lifted has ended at that time."""

    act: QuarantinedAct
    reason: str
    by: Actor
    since_ms: int
    until_ms: int | None = None
    stamp: Stamp = UNSTAMPED

    def is_in_force(self, now_ms: int) -> bool:
        return self.until_ms is None or now_ms < self.until_ms


class ReminderMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The direct message that tells a user of the end of one cooldown, at `ends_ms`, once it was attempted.

    `made` counts all attempts, and `tries` those that count. `next_attempt_ms` is None once it is finished:
    the user was told, or the message failed for the error of the `last` attempt.
    """

    ends_ms: int
    made: int
    tries: int
    next_attempt_ms: int | None
    last: Attempt


class Reminder(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The wish to be told when one may vote for a listing again. `listing` is its ref.

    `set_ms` is the time at which the user turned it on or off. One that is off is kept in a fleet alone, so
    that no other node brings it back.
    """

    listing: str
    set_ms: int
    is_on: bool = True
    stamp: Stamp = UNSTAMPED
    message: ReminderMessage | None = None


class Naming(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The user's choice whether owners of listings may see the user's name among their top voters. `set_ms`
    is its time."""

    set_ms: int
    is_allowed: bool = True
    stamp: Stamp = UNSTAMPED


class UserStamps(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The stamps of a row's parts, which are written independently of each other."""

    profile: Stamp = UNSTAMPED
    role: Stamp = UNSTAMPED


class UserRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A user. `ref` is "users/<id>". `profile` is None before the first sign-in.

    Sessions and quarantines are in order: by opening and digest, and by act. Notices up to `read_ms` have
    been read: the trails of the user's listings hold them, and the ends of cooldowns, for reminders. Those
    are in the order of their listings. A row without any has no such field in its bytes, and neither has one
    of a user who has made no choice about `naming`.
    """

    ref: str
    first_ms: int
    profile: UserProfile | None = None
    sessions: tuple[UserSession, ...] = ()
    ended: tuple[EndedSession, ...] = ()
    role: Role | None = None
    quarantines: tuple[Quarantine, ...] = ()
    stamps: UserStamps = UserStamps()
    read_ms: int = 0
    reminders: tuple[Reminder, ...] | UnsetType = UNSET
    naming: Naming | UnsetType = UNSET

    @property
    def id(self) -> str:
        return self.ref.removeprefix(USERS)

    def session(self, digest: str) -> UserSession | None:
        return next((session for session in self.sessions if session.digest == digest), None)

    @property
    def reminders_on(self) -> tuple[Reminder, ...]:
        if self.reminders is UNSET:
            return ()
        return tuple(each for each in self.reminders if each.is_on)

    def reminder(self, listing: str) -> Reminder | None:
        """Return the reminder of a listing that is on."""
        return next((each for each in self.reminders_on if each.listing == listing), None)

    @property
    def lets_name(self) -> bool:
        """True if owners of listings may see the user's name among their top voters."""
        return self.naming is not UNSET and self.naming.is_allowed

    def quarantine(self, act: QuarantinedAct, now_ms: int) -> Quarantine | None:
        """Return the quarantine of the act that is in force now."""
        return next((each for each in self.quarantines if each.act == act and each.is_in_force(now_ms)), None)
