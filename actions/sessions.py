"""The sessions of users. Invariant: a session is shown by its id, and its digest never leaves."""

from typing import Annotated

from msgspec import Meta

from actions.action import Action, Call, Command
from actions.users import known_id
from actions.views import Count, Moment, NoMore, Success, View, example
from core.user_rows import user_ref
from people.user_sessions import SHOWN_DIGITS, digests_of, end_everyone, end_sessions, session_id

SESSION_PATTERN = f"^[0-9a-f]{{{SHOWN_DIGITS}}}$"
USERS_AT_ONCE = 64
"""Users whose sessions end in one record."""


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


class EndedSessions(Success):
    """The number of sessions that were ended, including expired ones."""

    ended: Annotated[Count, example(12)]


def index(call: Call, _: None) -> UserSessions:
    """Return the open sessions of a user."""
    row = call.state.users.get(user_ref(known_id(call)))
    found = call.tools.sessions.open_of(row, call.now_ms) if row is not None else ()
    shown = tuple(
        UserSessionView(id=session_id(each), label=each.label, opened_at=each.opened_ms, seen_at=each.seen_ms)
        for each in found
    )
    return UserSessions(sessions=shown)


async def end(call: Call, _: None) -> Success:
    """End the session that the path names; all sessions of the user if it names none."""
    user_id, named = known_id(call), call.ids[1:]
    digests = digests_of(call.state.users.get(user_ref(user_id)), *named) if named else None
    events = end_sessions(call.state, user_id, digests, call.now_ms, by=call.by)
    return await call.done(events)


async def end_all(call: Call, _: None) -> EndedSessions:
    """End the sessions of all users, some users at a time. Those that begin meanwhile stay."""
    refs, ended = [*dict.fromkeys(call.state.users.by_session.values())], 0
    for start in range(0, len(refs), USERS_AT_ONCE):
        events = end_everyone(call.state, refs[start : start + USERS_AT_ONCE], call.now_ms, by=call.by)
        ended += sum(len(event.digests) for event in events)
        await call.done(events)
    return EndedSessions(ended=ended)


_SESSIONS = "/manage/users/{id}/sessions"

LIST_SESSIONS = Action(
    name="listSessions",
    run=index,
    method="GET",
    path=_SESSIONS,
    summary="List a user's sessions",
    about="The browsers that are signed in.",
    outcome="The open sessions.",
    refuses=("no_such_user",),
    command=Command("users sessions"),
)
END_SESSIONS = Action(
    name="endSessions",
    run=end,
    method="DELETE",
    path=_SESSIONS,
    summary="End all sessions of a user",
    about="The user is signed out everywhere, and may sign in again.",
    outcome="No browser is signed in.",
    refuses=("no_such_user",),
    command=Command("users end-sessions", loses="This signs the user {id} out everywhere."),
)
END_ALL_SESSIONS = Action(
    name="endAllSessions",
    run=end_all,
    method="DELETE",
    path="/manage/sessions",
    summary="End the sessions of all users",
    about=(
        "Everybody is signed out everywhere, and may sign in again. Sessions that begin meanwhile stay. "
        "After a 503, send it again."
    ),
    outcome="How many sessions it has ended.",
    command=Command("users end-all-sessions", loses="This signs everybody out everywhere."),
)
END_SESSION = Action(
    name="endSession",
    run=end,
    method="DELETE",
    path=f"{_SESSIONS}/{{session_id}}",
    summary="End a session of a user",
    about="That browser is signed out.",
    outcome="It is over.",
    refuses=("no_such_user", "no_such_session"),
    command=Command("users end-session", loses="This ends the session {session_id} of the user {id}."),
)
