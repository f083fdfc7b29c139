"""Users: show them, appoint moderators, end sessions, impose quarantines, forget one.

Invariant: a session is shown by its id, and its digest never leaves.

A user may be named before the first sign-in, so every well-formed id can be appointed or put under
quarantine.
"""

from typing import Annotated, get_args

from msgspec import Meta
from msgspec.structs import asdict

from actions.action import Access, Action, Call, Command, Option
from actions.notices import NOTICE_ACTIONS
from actions.query_forms import UsersQuery
from actions.tools import Tools
from actions.views import (
    NEXT,
    ActorName,
    Count,
    Moment,
    NoMore,
    Success,
    UserId,
    View,
    described,
    example,
    including,
)
from core.actors import OPERATOR
from core.user_rows import Quarantine, QuarantinedAct, user_ref
from forms.fields import ABOUT_PROSE, LAST_MS, Form, Nothing
from forms.rules import IN_PROSE, About, Between, Size
from languages.refusals import Invalid
from languages.said import Fault
from listings import rules
from people import quarantine
from people.permissions import ModeratorSource
from people.queries import users_page
from people.user_sessions import SHOWN_DIGITS, digests_of, end_everyone, end_sessions, session_id
from votes.rules import erase_user, keep_cooldowns

ACTS: tuple[QuarantinedAct, ...] = get_args(QuarantinedAct)
Username = Annotated[str | None, described("The name at the last sign-in; null before the first one.", "ada")]
DisplayName = Annotated[str | None, described("The display name; null if the user has none.", "Ada")]


SESSION_PATTERN = f"^[0-9a-f]{{{SHOWN_DIGITS}}}$"
USERS_AT_ONCE = 64
"""Users whose sessions end in one record."""


class QuarantineTerms(Form, frozen=True):
    """The reason and the end of a quarantine."""

    reason: Annotated[
        str, Size(1, quarantine.MOST_CHARACTERS), About(f"Shown to the user. {ABOUT_PROSE}"), IN_PROSE
    ]
    until: Annotated[
        Annotated[int, Between(0, LAST_MS)] | None,
        About(
            "The time when the quarantine ends, in Unix milliseconds, later than now. It has no end if "
            "this is left out or null."
        ),
    ] = None


class QuarantineView(View):
    """An act that is forbidden to a user, or was."""

    act: Annotated[QuarantinedAct, example("vote")]
    reason: Annotated[str, described("The reason, which the user can see.", "You voted from many accounts.")]

    by: ActorName
    since: Moment
    until: Annotated[
        Count | None,
        described(
            "The time when the quarantine ends or ended, in Unix milliseconds; null for no end.",
            1_750_604_800_000,
        ),
    ]
    in_force: Annotated[bool, example(True)]


class UserView(View):
    """A user, as far as this gateway knows one."""

    id: UserId
    username: Username
    display_name: DisplayName
    locale: Annotated[str | None, described("The language that the user has chosen on the site.", "en-GB")]
    first_at: Annotated[
        Count | None,
        described(
            "The time of the first sign-in, appointment or quarantine; null if there was none.",
            1_747_000_000_000,
        ),
    ]
    moderator: Annotated[
        ModeratorSource | None,
        described(
            "`settings` for a user whom `web.moderators` names, `appointed` for other moderators; null "
            "for a user who is no moderator.",
            None,
        ),
    ]
    sessions: Annotated[Count, described("The number of browsers that are signed in.")]
    quarantines: Annotated[
        tuple[QuarantineView, ...],
        described("The last quarantine for each act, including those that have ended."),
    ]


@including(UserView)
class UserAnswer(Success):
    """The user."""


class UserPage(Success):
    """Users in the order of their ids as text."""

    users: tuple[UserView, ...]
    next: Annotated[UserId | None, described(NEXT, None)]


class ListedModeratorView(View):
    """A user who moderates."""

    id: UserId
    username: Username
    display_name: DisplayName
    moderator: Annotated[
        ModeratorSource,
        described("`settings` for a moderator whom `web.moderators` names, `appointed` for others."),
    ]


class ModeratorList(Success):
    """All moderators in the order of their ids as text."""

    moderators: tuple[ListedModeratorView, ...]
    next: NoMore = None


class UserSessionView(View):
    """A browser that is signed in."""

    id: Annotated[str, Meta(pattern=SESSION_PATTERN), example("4f1d0c9a7b3e5826")]
    label: Annotated[
        str,
        described("The browser and its system, as its `User-Agent` header names them.", "Firefox on Linux"),
    ]
    opened_at: Moment
    seen_at: Annotated[Moment, described("The last use of the session, which is saved at most once an hour.")]


class UserSessions(Success):
    """The open sessions of a user, the newest first."""

    sessions: tuple[UserSessionView, ...]
    next: NoMore = None


class EndedSessions(Success):
    """The number of sessions that were ended, including expired ones."""

    ended: Annotated[Count, example(12)]


def user_view(tools: Tools, user_id: str, now_ms: int) -> UserView:
    """Return the view of a user, who may have no row."""
    row = tools.ledger.state.users.get(user_ref(user_id))
    profile = row.profile if row is not None else None
    return UserView(
        id=user_id,
        username=profile.username if profile is not None else None,
        display_name=profile.display_name if profile is not None else None,
        locale=profile.locale if profile is not None else None,
        first_at=row.first_ms if row is not None else None,
        moderator=tools.moderators.source(user_id),
        sessions=len(tools.sessions.open_of(row, now_ms)) if row is not None else 0,
        quarantines=tuple(_quarantine(each, now_ms) for each in row.quarantines) if row is not None else (),
    )


def _quarantine(found: Quarantine, now_ms: int) -> QuarantineView:
    return QuarantineView(
        act=found.act,
        reason=found.reason,
        by=found.by,
        since=found.since_ms,
        until=found.until_ms,
        in_force=found.is_in_force(now_ms),
    )


def index(call: Call, form: UsersQuery) -> UserPage:
    """Return a page of users."""
    rows, following = users_page(call.state, after=form.after, limit=form.limit)
    users = tuple(user_view(call.tools, row.id, call.now_ms) for row in rows)
    return UserPage(users=users, next=following)


def show(call: Call, _: None) -> UserAnswer:
    """Return the user of the path."""
    return _answer(call, call.known_user_id())


def _answer(call: Call, user_id: str) -> UserAnswer:
    return UserAnswer(**asdict(user_view(call.tools, user_id, call.now_ms)))


def moderators(call: Call, _: None) -> ModeratorList:
    """Return all moderators."""
    found = []
    for user_id, source in call.tools.moderators.sources().items():
        user = user_view(call.tools, user_id, call.now_ms)
        found.append(
            ListedModeratorView(
                id=user_id, username=user.username, display_name=user.display_name, moderator=source
            )
        )
    return ModeratorList(moderators=tuple(found))


async def appoint(call: Call, _: Nothing) -> UserAnswer:
    """Make a user a moderator."""
    user_id = call.user_id()
    events = call.tools.moderators.appoint(user_id, call.now_ms, by=call.by)
    return await call.commit(events, lambda: _answer(call, user_id))


async def dismiss(call: Call, _: None) -> Success:
    """Take the role away. Succeeds for a user who has none, too."""
    events = call.tools.moderators.dismiss(call.user_id(), call.now_ms, by=call.by)
    return await call.done(events)


async def impose(call: Call, form: QuarantineTerms) -> UserAnswer:
    """Forbid an act to a user."""
    user_id, act = user_and_act(call)
    events = quarantine.impose(call.state, user_id, act, form.reason, form.until, call.now_ms, by=call.by)
    return await call.commit(events, lambda: _answer(call, user_id))


async def lift(call: Call, _: None) -> Success:
    """End a quarantine."""
    return await call.done(quarantine.lift(call.state, *user_and_act(call), call.now_ms, by=call.by))


def user_and_act(call: Call) -> tuple[str, QuarantinedAct]:
    """Return the id of the user and the act in the path. Raises Invalid."""
    user_id, act = call.user_id(), call.ids[1]
    if act not in ACTS:
        raise Invalid({"act": Fault("not_one_of", {"choices": ", ".join(ACTS)})})
    return user_id, act


def sessions_of(call: Call, _: None) -> UserSessions:
    """Return the open sessions of a user."""
    row = call.state.users.get(user_ref(call.known_user_id()))
    found = call.tools.sessions.open_of(row, call.now_ms) if row is not None else ()
    shown = tuple(
        UserSessionView(id=session_id(each), label=each.label, opened_at=each.opened_ms, seen_at=each.seen_ms)
        for each in found
    )
    return UserSessions(sessions=shown)


async def end_session(call: Call, _: None) -> Success:
    """End the session that the path names; all sessions of the user if it names none."""
    user_id, named = call.known_user_id(), call.ids[1:]
    digests = digests_of(call.state.users.get(user_ref(user_id)), *named) if named else None
    events = end_sessions(call.state, user_id, digests, call.now_ms, by=call.by)
    return await call.done(events)


async def end_all_sessions(call: Call, _: None) -> EndedSessions:
    """End the sessions of all users, some users at a time. Those that begin meanwhile stay."""
    refs, ended = [*dict.fromkeys(call.state.users.by_session.values())], 0
    for start in range(0, len(refs), USERS_AT_ONCE):
        events = end_everyone(call.state, refs[start : start + USERS_AT_ONCE], call.now_ms, by=call.by)
        ended += sum(len(event.digests) for event in events)
        await call.done(events)
    return EndedSessions(ended=ended)


async def forget(call: Call, _: None) -> Success:
    """Forget a user, but for quarantines in force; and for cooldowns, unless the operator asks.

    Succeeds for a user who never voted, too: the answer gives nothing away.
    """
    user_id, tools = call.user_id(), call.tools
    with tools.searches.of(user_id) as search:
        await tools.in_slices(search.slices())
        call = call.rechecked()
        state, now_ms = call.state, call.now_ms
        # Cooldowns come first, so that other nodes, too, know of them before they forget the votes.
        cooldowns = (
            keep_cooldowns(
                *(state, user_id, search.refs, tools.vote_pseudonym),
                now_ms=now_ms,
                cooldown_ms=tools.cooldown_ms,
            )
            if call.by != OPERATOR
            else []
        )
        pseudonym = tools.pseudonym(user_id)
        removed = rules.remove_of_user(state, user_id, now_ms, by=call.by)
        erased = erase_user(user_id, search.refs, pseudonym, now_ms=now_ms, by=call.by)
        kept = quarantine.after_erasure(state, user_id, now_ms)
        tools.files.forget_sender(user_id)
        return await call.done([*cooldowns, *removed, *erased, *kept])


LIST_USERS = Action(
    name="listUsers",
    run=index,
    route="GET /manage/users",
    summary="List users",
    about=(
        "The list has the users who have signed in, were appointed as moderators, or were put "
        "under quarantine. It is in pages, in the order of the ids as text."
    ),
    outcome="A page of users.",
    command=Command(
        "users list",
        "List all users.\n\nThese are the users who have signed in, were appointed as moderators, or "
        "were put under quarantine.",
        is_whole=True,
    ),
)
SHOW_USER = Action(
    name="showUser",
    run=show,
    route="GET /manage/users/{id}",
    summary="Show a user",
    about=(
        "The answer has the user's name, role as a moderator, quarantines, and number of signed-in browsers."
    ),
    outcome="The user.",
    refuses=("no_such_user",),
    command=Command("users show"),
)
FORGET_USER = Action(
    name="forgetUser",
    run=forget,
    access=Access(fresh=True),
    route="DELETE /manage/users/{id}",
    summary="Erase a user",
    about=(
        "Removes everything about the user, the user's votes, and every delivery that names the "
        "user, on all nodes. The user stops being a co-owner of listings, and may vote again at "
        "once. A quarantine in force stays until it ends, unless you lift it first. The call "
        "succeeds for an unknown user, too."
    ),
    outcome="Confirmation that the user is erased.",
    command=Command(
        "users erase",
        loses="This removes everything about the user {id}, with votes and deliveries, on all nodes.",
    ),
)
LIST_MODERATORS = Action(
    name="listModerators",
    run=moderators,
    route="GET /manage/moderators",
    summary="List moderators",
    about=(
        "The list has the moderators whom the setting `web.moderators` names, and those who were appointed."
    ),
    outcome="The moderators.",
    command=Command("moderators list"),
)
APPOINT_MODERATOR = Action(
    name="appointModerator",
    run=appoint,
    route="PUT /manage/users/{id}/moderator",
    summary="Appoint a moderator",
    about=(
        "The user may never have signed in yet. From now on the user's sessions end earlier, as those of all "
        "moderators do."
    ),
    outcome="The user, as a moderator.",
    command=Command("moderators add"),
)
DISMISS_MODERATOR = Action(
    name="dismissModerator",
    run=dismiss,
    route="DELETE /manage/users/{id}/moderator",
    summary="Dismiss a moderator",
    about="The user loses the role at once. The call succeeds for a user who is no moderator, too.",
    outcome="Confirmation that the user is no moderator.",
    refuses=("moderator_by_settings",),
    command=Command("moderators remove"),
)
QUARANTINE_USER = Action(
    name="quarantineUser",
    run=impose,
    finds=user_and_act,
    route="PUT /manage/users/{id}/quarantines/{act}",
    summary="Impose a quarantine on a user",
    about="""\
A quarantine forbids the user an act for a time, or until it is lifted. The user may never have signed in
yet. A new quarantine replaces an earlier one for the same act.

A user under a quarantine for `sign_in` is signed out everywhere.""",
    outcome="The user, with the quarantine.",
    command=Command(
        "users quarantine",
        "Impose a quarantine on a user.\n\nREASON is shown to the user. Without --until or --for the "
        "quarantine has no end. With sign_in the user is also signed out.",
        {"act": Option(choices=ACTS), "reason": Option(), "until": Option(reads="end")},
    ),
)
LIFT_QUARANTINE = Action(
    name="liftQuarantine",
    run=lift,
    route="DELETE /manage/users/{id}/quarantines/{act}",
    summary="Lift a quarantine",
    about="The user may do the act again at once.",
    outcome="Confirmation that the quarantine has ended.",
    refuses=("no_such_quarantine",),
    command=Command(
        "users lift",
        "Lift a quarantine.\n\nThe user may do the act again at once.",
        {"act": Option(choices=ACTS)},
    ),
)
LIST_SESSIONS = Action(
    name="listSessions",
    run=sessions_of,
    route="GET /manage/users/{id}/sessions",
    summary="List a user's sessions",
    about="Each session is a browser that is signed in.",
    outcome="The open sessions.",
    refuses=("no_such_user",),
    command=Command("users sessions"),
)
END_SESSIONS = Action(
    name="endSessions",
    run=end_session,
    route="DELETE /manage/users/{id}/sessions",
    summary="End all sessions of a user",
    about="The user is signed out everywhere, and may sign in again.",
    outcome="Confirmation that all sessions of the user have ended.",
    refuses=("no_such_user",),
    command=Command("users end-sessions", loses="This signs the user {id} out everywhere."),
)
END_ALL_SESSIONS = Action(
    name="endAllSessions",
    run=end_all_sessions,
    route="DELETE /manage/sessions",
    summary="End the sessions of all users",
    about=(
        "All users are signed out everywhere, and may sign in again. Sessions that begin during "
        "the call stay. If the answer is 503, send the request again."
    ),
    outcome="The number of ended sessions.",
    command=Command("users end-all-sessions", loses="This signs all users out everywhere."),
)
END_SESSION = Action(
    name="endSession",
    run=end_session,
    route="DELETE /manage/users/{id}/sessions/{session_id}",
    summary="End a session of a user",
    about="The browser with this session is signed out.",
    outcome="Confirmation that the session has ended.",
    refuses=("no_such_user", "no_such_session"),
    command=Command("users end-session", loses="This ends the session {session_id} of the user {id}."),
)
USER_ACTIONS = (
    *(LIST_USERS, SHOW_USER, FORGET_USER, LIST_MODERATORS, APPOINT_MODERATOR, DISMISS_MODERATOR),
    *(LIST_SESSIONS, *NOTICE_ACTIONS, END_SESSIONS, END_ALL_SESSIONS, END_SESSION),
    *(QUARANTINE_USER, LIFT_QUARANTINE),
)
