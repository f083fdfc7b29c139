"""The rows of the table of routes on users: what they may do, their sessions, and to forget them."""

from core.refusals import Conflict
from handlers.manage import UsersQuery
from handlers.manage_users import QuarantineTerms
from handlers.route import (
    BAD_ACT,
    BAD_ID,
    NO_QUARANTINE,
    NO_SESSION,
    NO_USER,
    NO_WRITES,
    RefusalKind,
    Route,
)
from handlers.user_views import EndedSessions, ModeratorList, UserAnswer, UserNotices, UserPage, UserSessions
from handlers.views import Success
from listings import forms

_USER = "/manage/users/{id}"
USER_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/manage/users",
        "listUsers",
        endpoint=lambda to: to.users.index,
        access="operator",
        tag="Users",
        summary="List users",
        description=(
            "Those who have signed in, were made moderators, or were put under quarantine. In the order of "
            "their ids as text, in pages."
        ),
        answer=UserPage,
        outcome="A page of users.",
        query=UsersQuery,
    ),
    Route(
        "GET",
        _USER,
        "showUser",
        endpoint=lambda to: to.users.show,
        access="operator",
        tag="Users",
        summary="Show a user",
        description="The name, whether the user moderates, and what is forbidden to the user.",
        answer=UserAnswer,
        outcome="The user.",
        refuses=(BAD_ID, NO_USER),
    ),
    Route(
        "DELETE",
        _USER,
        "forgetUser",
        endpoint=lambda to: to.users.erase,
        access="operator",
        tag="Users",
        summary="Forget a user",
        description=(
            "Removes all that is known of the user, the user's votes, and every delivery that names the "
            "user, everywhere. A quarantine in force stays until it ends: lift it first. The user may vote "
            "again at once. Succeeds for a user that nobody knows, too."
        ),
        answer=Success,
        outcome="The user's votes, and the deliveries that name the user, are gone.",
        refuses=(BAD_ID, NO_WRITES),
    ),
    Route(
        "GET",
        "/manage/moderators",
        "listModerators",
        endpoint=lambda to: to.users.moderators,
        access="operator",
        tag="Users",
        summary="List moderators",
        description="Those whom `web.moderators` names, and those who were appointed.",
        answer=ModeratorList,
        outcome="The moderators.",
    ),
    Route(
        "PUT",
        f"{_USER}/moderator",
        "appointModerator",
        endpoint=lambda to: to.users.appoint,
        access="operator",
        tag="Users",
        summary="Make a user a moderator",
        description="Also one who has never signed in. Sessions of moderators end earlier, from now on.",
        answer=UserAnswer,
        outcome="The user.",
        refuses=(BAD_ID, NO_WRITES),
        body=forms.Nothing,
    ),
    Route(
        "DELETE",
        f"{_USER}/moderator",
        "dismissModerator",
        endpoint=lambda to: to.users.dismiss,
        access="operator",
        tag="Users",
        summary="Take the role of a moderator away",
        description="It holds at once. Succeeds for a user who does not moderate, too.",
        answer=Success,
        outcome="The user does not moderate.",
        refuses=(BAD_ID, RefusalKind(Conflict, "moderator_by_settings"), NO_WRITES),
    ),
    Route(
        "GET",
        f"{_USER}/sessions",
        "listSessions",
        endpoint=lambda to: to.users.sessions,
        access="operator",
        tag="Users",
        summary="List a user's sessions",
        description="The browsers that are signed in.",
        answer=UserSessions,
        outcome="The open sessions.",
        refuses=(BAD_ID, NO_USER),
    ),
    Route(
        "GET",
        f"{_USER}/notices",
        "listNotices",
        endpoint=lambda to: to.users.notices,
        access="operator",
        tag="Users",
        summary="List a user's notices",
        description="What others did with the listings that the user owns, as the user reads it on the site.",
        answer=UserNotices,
        outcome="The newest notices.",
        refuses=(BAD_ID, NO_USER),
    ),
    Route(
        "DELETE",
        f"{_USER}/sessions",
        "endSessions",
        endpoint=lambda to: to.users.end_sessions,
        access="operator",
        tag="Users",
        summary="End all sessions of a user",
        description="The user is signed out everywhere, and may sign in again.",
        answer=Success,
        outcome="No browser is signed in.",
        refuses=(BAD_ID, NO_USER, NO_WRITES),
    ),
    Route(
        "DELETE",
        "/manage/sessions",
        "endAllSessions",
        endpoint=lambda to: to.users.end_all_sessions,
        access="operator",
        tag="Users",
        summary="End the sessions of all users",
        description=(
            "Everybody is signed out everywhere, and may sign in again. Sessions that begin meanwhile stay. "
            "After a 503, send it again."
        ),
        answer=EndedSessions,
        outcome="How many sessions it has ended.",
        refuses=(NO_WRITES,),
    ),
    Route(
        "DELETE",
        f"{_USER}/sessions/{{session_id}}",
        "endSession",
        endpoint=lambda to: to.users.end_session,
        access="operator",
        tag="Users",
        summary="End a session of a user",
        description="That browser is signed out.",
        answer=Success,
        outcome="It is over.",
        refuses=(BAD_ID, NO_USER, NO_SESSION, NO_WRITES),
    ),
    Route(
        "PUT",
        f"{_USER}/quarantines/{{act}}",
        "quarantineUser",
        endpoint=lambda to: to.users.quarantine,
        access="operator",
        tag="Users",
        summary="Forbid an act to a user",
        description="""\
For a time, or until it is lifted; also to a user who has never signed in. It takes the place of an earlier
quarantine of the same act.

A user who may not sign in is signed out everywhere.""",
        answer=UserAnswer,
        outcome="The user.",
        refuses=(BAD_ID, BAD_ACT, NO_WRITES),
        body=QuarantineTerms,
    ),
    Route(
        "DELETE",
        f"{_USER}/quarantines/{{act}}",
        "liftQuarantine",
        endpoint=lambda to: to.users.lift,
        access="operator",
        tag="Users",
        summary="Lift a quarantine",
        description="The user may do it again at once.",
        answer=Success,
        outcome="It is over.",
        refuses=(BAD_ID, BAD_ACT, NO_QUARANTINE, NO_WRITES),
    ),
)
