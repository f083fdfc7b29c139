"""Views of users: who they are, whether they moderate, and what is forbidden to them.

Law: a session is shown by its id, and its digest never leaves.
"""

from typing import Annotated, Literal, NamedTuple

from msgspec import Meta

from actions.views import (
    NEXT,
    NULL,
    ActorName,
    Count,
    ListingName,
    Moment,
    NoMore,
    Success,
    UserId,
    View,
    example,
    including,
)
from core.due_reminders import DueReminder
from core.rows import AuditAction, Listing
from core.state import State
from core.user_rows import (
    Quarantine,
    QuarantinedAct,
    Reminder,
    ReminderMessage,
    UserRow,
    UserSession,
    user_ref,
)
from listings.notices import OwnerNotice
from people.permissions import Moderators, ModeratorSource
from people.user_sessions import SHOWN_DIGITS, Sessions, session_id

NOTICES = 50
"""Those that are shown at once."""
SESSION_PATTERN = f"^[0-9a-f]{{{SHOWN_DIGITS}}}$"

ReminderMessageState = Literal["none", "pending", "delivered", "failed"]
Username = Annotated[
    str | None,
    Meta(description="As the chat platform said at the last sign-in; null before the first."),
    example("ada"),
]
DisplayName = Annotated[str | None, Meta(description="Null for a user who has none, too."), example("Ada")]


class QuarantineView(View):
    """An act that is forbidden to a user, or was."""

    act: Annotated[QuarantinedAct, example("vote")]
    reason: Annotated[str, Meta(description="The user may see it."), example("You voted from many accounts.")]

    by: ActorName
    since: Moment
    until: Annotated[
        Count | None,
        Meta(description="The time when it ends or ended, in Unix milliseconds; null for no end."),
        example(1_750_604_800_000),
    ]
    in_force: Annotated[bool, example(True)]


class UserView(View):
    """A user, as far as this gateway knows one."""

    id: UserId
    username: Username
    display_name: DisplayName
    locale: Annotated[
        str | None, Meta(description="The language that the user has chosen there."), example("en-GB")
    ]
    first_at: Annotated[
        Count | None,
        Meta(description="The first sign-in, appointment or quarantine; null if there was none."),
        example(1_747_000_000_000),
    ]
    moderator: Annotated[
        ModeratorSource | None,
        Meta(
            description="`settings` for one whom `web.moderators` names, else `appointed`; null for a user "
            "who does not moderate.",
            examples=[None],
        ),
    ]
    sessions: Annotated[Count, Meta(description="How many browsers are signed in.")]
    quarantines: Annotated[
        tuple[QuarantineView, ...], Meta(description="The last of each act, also those that are over.")
    ]


@including(UserView)
class UserAnswer(Success):
    """The user."""


class UserPage(Success):
    """Users in the order of their ids as text."""

    users: tuple[UserView, ...]
    next: Annotated[UserId | None, Meta(description=NEXT), NULL]


class UserSessionView(View):
    """A browser that is signed in."""

    id: Annotated[str, Meta(pattern=SESSION_PATTERN), example("4f1d0c9a7b3e5826")]
    label: Annotated[
        str, Meta(description="The browser and its system, as it called itself."), example("Firefox on Linux")
    ]
    opened_at: Moment
    seen_at: Annotated[Moment, Meta(description="Its last use, which is written once an hour at most.")]


class UserSessions(Success):
    """The open sessions of a user, the newest first."""

    sessions: tuple[UserSessionView, ...]
    next: NoMore = None


ListingPath = Annotated[
    str, Meta(description="Its path in this API, such as `bots/<id>`."), example("bots/123456789012345678")
]


class NoticeView(View):
    """An act of somebody else that an owner is told of."""

    listing: ListingPath
    name: ListingName
    at: Moment
    by: ActorName
    deed: Annotated[AuditAction, example("approved")]
    about: Annotated[
        str, Meta(description="Its object, such as the reason of a denial; or empty."), example("")
    ]
    is_new: Annotated[bool, Meta(description="True until the user has seen it.")]


class UserNotices(Success):
    """The notices of a user, the newest first."""

    unread: Annotated[Count, Meta(description="All that are new, also those that are not in the list.")]
    notices: Annotated[tuple[NoticeView, ...], Meta(description=f"The newest {NOTICES}.")]
    next: NoMore = None


class ReminderView(View):
    """The wish of a user to be told when they may vote for a listing again."""

    listing: ListingPath
    name: ListingName
    set_at: Annotated[Moment, Meta(description="When the user turned it on.")]
    ends_at: Annotated[
        Count | None,
        Meta(
            description="The end of the user's last cooldown, in Unix milliseconds; null if there is none, "
            "or if it was over before.",
            examples=[1_750_086_400_000],
        ),
    ]
    is_due: Annotated[bool, Meta(description="True if the user is told of that on the site now.")]
    is_new: Annotated[bool, Meta(description="True if it is due, until the user has seen it.")]
    message: Annotated[
        ReminderMessageState,
        Meta(
            description="The direct message about that end: `none` was attempted yet, or it is `pending`, "
            "`delivered` or `failed`."
        ),
    ]


class UserReminders(Success):
    """The reminders of a user that hold, in the order of their listings."""

    reminders: tuple[ReminderView, ...]
    next: NoMore = None


class EndedSessions(Success):
    """How many sessions were ended, those included that were over by themselves."""

    ended: Annotated[Count, example(12)]


class ModeratorView(View):
    """A user who moderates."""

    id: UserId
    username: Username
    display_name: DisplayName
    moderator: Annotated[
        ModeratorSource, Meta(description="`settings` for one whom `web.moderators` names, else `appointed`.")
    ]


class ModeratorList(Success):
    """All moderators in the order of their ids as text."""

    moderators: tuple[ModeratorView, ...]
    next: NoMore = None


class UserViews:
    """Makes views of users from their rows and from the rules on people."""

    def __init__(self, state: State, moderators: Moderators, sessions: Sessions) -> None:
        self._state = state
        self._moderators = moderators
        self._sessions = sessions

    def user(self, user_id: str, now_ms: int) -> UserView:
        """Show a user, also one of whom nothing is known."""
        row = self._state.users.get(user_ref(user_id))
        open_now = self._sessions.open_of(row, now_ms) if row is not None else ()
        return user_view(user_id, row, self._moderators.source(user_id), len(open_now), now_ms)

    def sessions(self, user_id: str, now_ms: int) -> tuple[UserSessionView, ...]:
        row = self._state.users.get(user_ref(user_id))
        return tuple(map(session_view, self._sessions.open_of(row, now_ms))) if row is not None else ()

    def moderators(self) -> tuple[ModeratorView, ...]:
        rows = self._state.users
        return tuple(
            moderator_view(user_id, rows.get(user_ref(user_id)), source)
            for user_id, source in self._moderators.sources().items()
        )


def user_view(
    user_id: str, row: UserRow | None, moderator: ModeratorSource | None, sessions: int, now_ms: int
) -> UserView:
    """Show a user with so many open sessions. One without a row may still be a moderator."""
    names, quarantines = _names(row), row.quarantines if row is not None else ()
    return UserView(
        id=user_id,
        username=names.username,
        display_name=names.display_name,
        locale=names.locale,
        first_at=row.first_ms if row is not None else None,
        moderator=moderator,
        sessions=sessions,
        quarantines=tuple(_quarantine_view(each, now_ms) for each in quarantines),
    )


def reminder_view(
    listing: Listing, reminder: Reminder, end_ms: int | None, due: DueReminder | None
) -> ReminderView:
    """Show a reminder of a listing; `end_ms` is the end of the cooldown, and `due` is None before that."""
    return ReminderView(
        listing=reminder.listing,
        name=listing.profile.name,
        set_at=reminder.set_ms,
        ends_at=end_ms,
        is_due=due is not None,
        is_new=due is not None and due.is_new,
        message=_message_state(reminder.message, end_ms),
    )


def _message_state(message: ReminderMessage | None, end_ms: int | None) -> ReminderMessageState:
    if message is None or message.ends_ms != end_ms:
        return "none"
    if message.next_attempt_ms is not None:
        return "pending"
    return "delivered" if message.last.error is None else "failed"


def notice_view(notice: OwnerNotice) -> NoticeView:
    act = notice.act
    return NoticeView(
        listing=notice.row.ref,
        name=notice.row.profile.name,
        at=act.at_ms,
        by=act.by,
        deed=act.action,
        about=act.about,
        is_new=notice.is_new,
    )


def session_view(session: UserSession) -> UserSessionView:
    return UserSessionView(
        id=session_id(session), label=session.label, opened_at=session.opened_ms, seen_at=session.seen_ms
    )


def moderator_view(user_id: str, row: UserRow | None, source: ModeratorSource) -> ModeratorView:
    names = _names(row)
    return ModeratorView(
        id=user_id, username=names.username, display_name=names.display_name, moderator=source
    )


class _Names(NamedTuple):
    username: str | None = None
    display_name: str | None = None
    locale: str | None = None


def _names(row: UserRow | None) -> _Names:
    """Return what the chat platform said; nothing of a user who has never signed in."""
    profile = row.profile if row is not None else None
    return _Names(profile.username, profile.display_name, profile.locale) if profile is not None else _Names()


def _quarantine_view(quarantine: Quarantine, now_ms: int) -> QuarantineView:
    return QuarantineView(
        act=quarantine.act,
        reason=quarantine.reason,
        by=quarantine.by,
        since=quarantine.since_ms,
        until=quarantine.until_ms,
        in_force=quarantine.is_in_force(now_ms),
    )
