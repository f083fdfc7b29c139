"""Users: who they are, who moderates, what is forbidden to them, and to forget one.

A user may be named before the first sign-in, so every well-formed id can be appointed or put under
quarantine.
"""

from typing import Annotated, get_args

from msgspec import Meta
from msgspec.structs import asdict

from actions.action import Access, Action, Call, Command
from actions.query_forms import UsersQuery
from actions.tools import Tools
from actions.views import (
    NEXT,
    NULL,
    ActorName,
    Count,
    Moment,
    NoMore,
    Success,
    UserId,
    View,
    example,
    including,
)
from core.actors import OPERATOR
from core.user_rows import Quarantine, QuarantinedAct, UserRow, user_ref
from forms.fields import ABOUT_PROSE, LAST_MS, Form, Nothing
from forms.rules import IN_PROSE, About, Between, Size
from languages.refusals import Invalid, Refusal
from languages.said import Fault
from people import quarantine
from people.permissions import ModeratorSource
from search.paging import page_of, rows_behind
from votes.rules import erase_user, keep_cooldowns

ACTS: tuple[QuarantinedAct, ...] = get_args(QuarantinedAct)
Username = Annotated[
    str | None,
    Meta(description="As the chat platform said at the last sign-in; null before the first."),
    example("ada"),
]
DisplayName = Annotated[str | None, Meta(description="Null for a user who has none, too."), example("Ada")]


class QuarantineTerms(Form, frozen=True):
    """The reason and the end of a quarantine."""

    reason: Annotated[
        str, Size(1, quarantine.MOST_CHARACTERS), About(f"Shown to the user. {ABOUT_PROSE}"), IN_PROSE
    ]
    until: Annotated[
        Annotated[int, Between(0, LAST_MS)] | None,
        About("When it ends, in Unix milliseconds, later than now; left out or null for no end."),
    ] = None


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


def user_view(tools: Tools, user_id: str, now_ms: int) -> UserView:
    """Return a user, also one of whom nothing is known, or who moderates by the settings without a row."""
    row = _row(tools, user_id)
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


def _row(tools: Tools, user_id: str) -> UserRow | None:
    return tools.ledger.state.users.get(user_ref(user_id))


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
    users = call.state.users
    behind = rows_behind(users.refs, user_ref(form.after or ""))
    rows, following = page_of((users[ref] for ref in behind), form.limit, lambda row: row.id)
    views = tuple(user_view(call.tools, row.id, call.now_ms) for row in rows)
    return UserPage(users=views, next=following)


def show(call: Call, _: None) -> UserAnswer:
    """Return the user of the path."""
    return _answer(call, known_id(call))


def known_id(call: Call) -> str:
    """Return the id of the user in the path, who has a row or is named by the settings. Raises Refusal."""
    user_id = call.user_id()
    if _row(call.tools, user_id) is None and not call.tools.moderators.has(user_id):
        raise Refusal("no_such_user")
    return user_id


def _answer(call: Call, user_id: str) -> UserAnswer:
    return UserAnswer(**asdict(user_view(call.tools, user_id, call.now_ms)))


def moderators(call: Call, _: None) -> ModeratorList:
    """Return all moderators."""
    found = []
    for user_id, source in call.tools.moderators.sources().items():
        user = user_view(call.tools, user_id, call.now_ms)
        found.append(
            ModeratorView(
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
    return await call.commit(events, Success)


async def impose(call: Call, form: QuarantineTerms) -> UserAnswer:
    """Forbid an act to a user."""
    user_id, act = user_and_act(call)
    events = quarantine.impose(call.state, user_id, act, form.reason, form.until, call.now_ms, by=call.by)
    return await call.commit(events, lambda: _answer(call, user_id))


async def lift(call: Call, _: None) -> Success:
    """End a quarantine."""
    return await call.commit(
        quarantine.lift(call.state, *user_and_act(call), call.now_ms, by=call.by), Success
    )


def user_and_act(call: Call) -> tuple[str, QuarantinedAct]:
    """Return the id of the user and the act in the path. Raises Invalid."""
    user_id, act = call.user_id(), call.ids[1]
    if act not in ACTS:
        raise Invalid({"act": Fault("not_one_of", {"choices": ", ".join(ACTS)})})
    return user_id, act


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
                *(state, user_id, search.refs, tools.vote_mark), now_ms=now_ms, cooldown_ms=tools.cooldown_ms
            )
            if call.by != OPERATOR
            else []
        )
        pseudonym = tools.pseudonym(user_id)
        erased = erase_user(user_id, search.refs, pseudonym, now_ms=now_ms, by=call.by)
        kept = quarantine.after_erasure(state, user_id, now_ms)
        return await call.commit([*cooldowns, *erased, *kept], Success)


_USER = "/manage/users/{id}"

LIST_USERS = Action(
    name="listUsers",
    run=index,
    form=UsersQuery,
    view=UserPage,
    access=Access(),
    method="GET",
    path="/manage/users",
    tag="Users",
    summary="List users",
    about=(
        "Those who have signed in, were made moderators, or were put under quarantine. In the order of their "
        "ids as text, in pages."
    ),
    outcome="A page of users.",
    command=Command("users list"),
)
SHOW_USER = Action(
    name="showUser",
    run=show,
    view=UserAnswer,
    access=Access(),
    method="GET",
    path=_USER,
    tag="Users",
    summary="Show a user",
    about="The name, whether the user moderates, and what is forbidden to the user.",
    outcome="The user.",
    refuses=("invalid_id", "no_such_user"),
    command=Command("users show"),
)
FORGET_USER = Action(
    name="forgetUser",
    run=forget,
    view=Success,
    access=Access(fresh=True),
    method="DELETE",
    path=_USER,
    tag="Users",
    summary="Forget a user",
    about=(
        "Removes all that is known of the user, the user's votes, and every delivery that names the user, "
        "everywhere. The user stops being a co-owner of listings. A quarantine in force stays until it ends: "
        "lift it first. The user may vote again at once. Succeeds for an unknown user, too."
    ),
    outcome="The user's votes, and the deliveries that name the user, are gone.",
    refuses=("invalid_id", "unavailable"),
    command=Command(
        "users erase",
        loses="This removes all that is known of user {id}, with votes and deliveries, everywhere.",
    ),
)
LIST_MODERATORS = Action(
    name="listModerators",
    run=moderators,
    view=ModeratorList,
    access=Access(),
    method="GET",
    path="/manage/moderators",
    tag="Users",
    summary="List moderators",
    about="Those whom `web.moderators` names, and those who were appointed.",
    outcome="The moderators.",
    command=Command("moderators list"),
)
APPOINT_MODERATOR = Action(
    name="appointModerator",
    run=appoint,
    finds=Call.user_id,
    form=Nothing,
    view=UserAnswer,
    access=Access(),
    method="PUT",
    path=f"{_USER}/moderator",
    tag="Users",
    summary="Make a user a moderator",
    about="Also one who has never signed in. Sessions of moderators end earlier, from now on.",
    outcome="The user.",
    refuses=("invalid_id", "unavailable"),
    command=Command("moderators add"),
)
DISMISS_MODERATOR = Action(
    name="dismissModerator",
    run=dismiss,
    view=Success,
    access=Access(),
    method="DELETE",
    path=f"{_USER}/moderator",
    tag="Users",
    summary="Take the role of a moderator away",
    about="It holds at once. Succeeds for a user who does not moderate, too.",
    outcome="The user does not moderate.",
    refuses=("invalid_id", "moderator_by_settings", "unavailable"),
    command=Command("moderators remove"),
)
QUARANTINE_USER = Action(
    name="quarantineUser",
    run=impose,
    finds=user_and_act,
    form=QuarantineTerms,
    view=UserAnswer,
    access=Access(),
    method="PUT",
    path=f"{_USER}/quarantines/{{act}}",
    tag="Users",
    summary="Forbid an act to a user",
    about="""\
For a time, or until it is lifted; also to a user who has never signed in. It takes the place of an earlier
quarantine of the same act.

A user who may not sign in is signed out everywhere.""",
    outcome="The user.",
    refuses=("invalid_id", "invalid_act", "unavailable"),
    command=Command("users quarantine"),
)
LIFT_QUARANTINE = Action(
    name="liftQuarantine",
    run=lift,
    view=Success,
    access=Access(),
    method="DELETE",
    path=f"{_USER}/quarantines/{{act}}",
    tag="Users",
    summary="Lift a quarantine",
    about="The user may do it again at once.",
    outcome="It is over.",
    refuses=("invalid_id", "invalid_act", "no_such_quarantine", "unavailable"),
    command=Command("users lift"),
)
