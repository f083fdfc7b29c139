"""The notices of a user: the acts of others on their listings, and the reminders that they turned on."""

from typing import Annotated, Literal

from actions.action import Action, Call, Command
from actions.views import ActorName, Count, ListingName, Moment, NoMore, Success, View, described, example
from core.due_reminders import due_reminder, ends_ms, standing
from core.user_rows import Reminder, ReminderMessage, UserRow, user_ref
from kinds.registry import KINDS, SAMPLE_REF
from listings.notices import NoticeDeed, NoticeSearch, OwnerNotice
from people import choices

NOTICES = 50
"""The notices on one page."""
ReminderMessageState = Literal["none", "pending", "delivered", "failed"]
ListingPath = Annotated[
    str, described(f"The listing's path in this API, such as `{KINDS[0]}/<id>`.", SAMPLE_REF)
]


class NoticeView(View):
    """Something that an owner reads: an action of somebody else, a suspended endpoint, or an invitation."""

    listing: ListingPath
    name: ListingName
    at: Moment
    by: ActorName
    deed: Annotated[NoticeDeed, example("approved")]
    about: Annotated[
        str,
        described("The object of the action, such as the reason of a denial; empty if there is none.", ""),
    ]
    is_new: Annotated[bool, described("True until the user has seen the notice.")]


class UserNotices(Success):
    """The notices of a user, the newest first."""

    unread: Annotated[
        Count, described("The number of all new notices, including those that are not in the list.")
    ]
    notices: Annotated[tuple[NoticeView, ...], described(f"The newest {NOTICES} notices.")]
    next: NoMore = None


class ReminderView(View):
    """A reminder for a user: they may vote for the listing again."""

    listing: ListingPath
    name: ListingName
    set_at: Annotated[Moment, described("The time when the user turned the reminder on.")]
    ends_at: Annotated[
        Count | None,
        described(
            "The end of the user's last cooldown, in Unix milliseconds; null if there is none, or if "
            "it ended before the reminder was turned on.",
            1_750_086_400_000,
        ),
    ]
    is_due: Annotated[bool, described("True if the site shows the reminder to the user now.")]
    is_new: Annotated[bool, described("True if the reminder is due and the user has not seen it yet.")]
    message: Annotated[
        ReminderMessageState,
        described(
            "The state of the direct message about this cooldown: `none` if nothing was attempted yet, "
            "else `pending`, `delivered` or `failed`."
        ),
    ]


class UserReminders(Success):
    """The reminders of a user that are on, in the order of their listings."""

    reminders: tuple[ReminderView, ...]
    next: NoMore = None


async def notices(call: Call, _: None) -> UserNotices:
    """Return the newest notices of a user."""
    user_id, ownership = call.known_user_id(), call.tools.ownership
    await call.tools.in_slices(ownership.survey())
    search = await found_for(call, user_id)
    return UserNotices(unread=search.unread, notices=tuple(map(_notice, search.newest)))


async def found_for(call: Call, user_id: str) -> NoticeSearch:
    """Return the notices of a user, as far as the owners of listings are known."""
    ownership = call.tools.ownership
    refs, has_ratings = ownership.noticed_by(user_id), "ratings" not in call.tools.without
    search = NoticeSearch(call.state, user_id, refs, NOTICES, call.now_ms, has_ratings=has_ratings)
    await call.tools.in_slices(search.slices())
    return search


def _notice(notice: OwnerNotice) -> NoticeView:
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


def reminders_of(call: Call, _: None) -> UserReminders:
    """Return the reminders of a user. A moderator by the settings who has never signed in has none."""
    row = call.state.users.get(user_ref(call.known_user_id()))
    if row is None:
        return UserReminders(reminders=())
    return UserReminders(reminders=tuple(_reminder(call, row, each) for each in standing(call.state, row)))


def _reminder(call: Call, row: UserRow, reminder: Reminder) -> ReminderView:
    state, cooldown_ms = call.state, call.tools.cooldown_ms
    end_ms = ends_ms(state, row, reminder, cooldown_ms)
    due = due_reminder(state, row, reminder, cooldown_ms, call.now_ms)
    return ReminderView(
        listing=reminder.listing,
        name=state.listings[reminder.listing].profile.name,
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


async def clear_reminders(call: Call, _: None) -> Success:
    """Turn all reminders of a user off."""
    events = choices.clear_reminders(call.state, call.known_user_id(), None, call.now_ms, by=call.by)
    return await call.done(events)


LIST_NOTICES = Action(
    name="listNotices",
    run=notices,
    route="GET /manage/users/{id}/notices",
    summary="List a user's notices",
    about=(
        "A notice tells the user what others did with a listing that the user owns, that its endpoint is "
        "suspended, or that its owner invites the user. The site shows "
        "the same notices."
    ),
    outcome="The newest notices.",
    refuses=("no_such_user",),
    command=Command("users notices"),
)
LIST_REMINDERS = Action(
    name="listReminders",
    run=reminders_of,
    route="GET /manage/users/{id}/reminders",
    summary="List a user's reminders",
    about="A reminder tells the user that they may vote for a listing again.",
    outcome="The reminders that are on.",
    refuses=("no_such_user",),
    command=Command("users reminders"),
)
CLEAR_REMINDERS = Action(
    name="clearReminders",
    run=clear_reminders,
    route="DELETE /manage/users/{id}/reminders",
    summary="Turn off all reminders of a user",
    about="The user gets no more reminders, but may turn them on again.",
    outcome="Confirmation that no reminder is on.",
    refuses=("no_such_user",),
    command=Command("users clear-reminders"),
)
NOTICE_ACTIONS = (LIST_NOTICES, LIST_REMINDERS, CLEAR_REMINDERS)
