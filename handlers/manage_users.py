"""Management of users: who they are, who moderates, whose sessions end, what is forbidden, forgetting one.

Law: a user may be named before the first sign-in, so every well-formed id can be appointed or put under
quarantine.
"""

import asyncio
from collections.abc import Collection, Sequence
from typing import Annotated, get_args

from msgspec.structs import asdict

from actions.query_forms import UsersQuery
from core.actors import OPERATOR
from core.due_reminders import due_reminder, ends_ms, standing
from core.events import Event
from core.refusals import Invalid, Refusal
from core.user_rows import QuarantinedAct, user_ref
from forms.fields import ABOUT_PROSE, LAST_MS, Form, Nothing
from forms.reading import read, read_query
from forms.rules import IN_PROSE, About, Between, Size
from handlers.manage import ManageContext, user_id
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.slices import in_slices
from handlers.user_views import (
    NOTICES,
    EndedSessions,
    ModeratorList,
    UserAnswer,
    UserNotices,
    UserPage,
    UserReminders,
    UserSessions,
    UserView,
    UserViews,
    notice_view,
    reminder_view,
)
from languages.said import Fault
from listings.notices import NoticeSearch
from listings.ownership import Ownership
from people.quarantine import MOST_CHARACTERS, after_erasure, impose, lift
from people.queries import users_page
from people.reminders import clear_reminders
from people.user_sessions import digests_of, end_everyone, end_sessions
from votes.rules import erase_user, keep_cooldowns

ACTS: tuple[QuarantinedAct, ...] = get_args(QuarantinedAct)
USERS_AT_ONCE = 64
"""Users whose sessions end in one record."""


class QuarantineTerms(Form, frozen=True):
    """The reason and the end of a quarantine."""

    reason: Annotated[str, Size(1, MOST_CHARACTERS), About(f"Shown to the user. {ABOUT_PROSE}"), IN_PROSE]
    until: Annotated[
        Annotated[int, Between(0, LAST_MS)] | None,
        About("When it ends, in Unix milliseconds, later than now; left out or null for no end."),
    ] = None


class ManageUsers:
    def __init__(self, context: ManageContext, ownership: Ownership) -> None:
        self._context = context
        self._ownership = ownership
        self._state = context.ledger.state
        self._clock = context.clock
        self._views = UserViews(self._state, context.moderators, context.sessions)

    def index(self, request: Request) -> Reply:
        asked, now_ms = read_query(UsersQuery, request.query), self._clock.now_ms()
        rows, following = users_page(self._state, after=asked.after, limit=asked.limit)
        users = tuple(self._views.user(row.id, now_ms) for row in rows)
        return success(UserPage(users=users, next=following))

    def show(self, request: Request) -> Reply:
        return success(UserAnswer(**asdict(self._known(request, self._clock.now_ms()))))

    def moderators(self, _: Request) -> Reply:
        return success(ModeratorList(moderators=self._views.moderators()))

    async def appoint(self, request: Request) -> Reply:
        user, now_ms = user_id(request), self._clock.now_ms()
        read(Nothing, request.json_object())
        events = self._context.moderators.appoint(user, now_ms, by=request.by)
        return await self._context.commit(events, lambda: self._show(user, now_ms))

    async def dismiss(self, request: Request) -> Reply:
        """Take the role away. Succeeds for a user who has none, too."""
        events = self._context.moderators.dismiss(user_id(request), self._clock.now_ms(), by=request.by)
        return await self._context.commit(events)

    def sessions(self, request: Request) -> Reply:
        now_ms = self._clock.now_ms()
        user = self._known(request, now_ms)
        return success(UserSessions(sessions=self._views.sessions(user.id, now_ms)))

    async def notices(self, request: Request) -> Reply:
        user = self._known(request, self._clock.now_ms())
        await in_slices(self._ownership.survey())
        search = NoticeSearch(self._state, user.id, self._ownership.told_of(user.id), NOTICES)
        await in_slices(search.slices())
        return success(UserNotices(unread=search.unread, notices=tuple(map(notice_view, search.newest))))

    def reminders(self, request: Request) -> Reply:
        now_ms, cooldown_ms = self._clock.now_ms(), self._context.cooldown_ms
        row = self._state.users.get(user_ref(self._known(request, now_ms).id))
        if row is None:  # a moderator whom the settings name, and who has never signed in
            return success(UserReminders(reminders=()))
        shown = []
        for each in standing(self._state, row):
            end_ms = ends_ms(self._state, row, each, cooldown_ms)
            due = due_reminder(self._state, row, each, cooldown_ms, now_ms)
            shown.append(reminder_view(self._state.listings[each.listing], each, end_ms, due))
        return success(UserReminders(reminders=tuple(shown)))

    async def clear_reminders(self, request: Request) -> Reply:
        now_ms = self._clock.now_ms()
        user = self._known(request, now_ms)
        events = clear_reminders(self._state, user.id, None, now_ms, by=request.by)
        return await self._context.commit(events)

    async def end_sessions(self, request: Request) -> Reply:
        now_ms = self._clock.now_ms()
        user = self._known(request, now_ms)
        events = end_sessions(self._state, user.id, None, now_ms, by=request.by)
        return await self._context.commit(events)

    async def end_all_sessions(self, request: Request) -> Reply:
        """End the sessions of all users, some users at a time. Those that begin meanwhile stay."""
        now_ms, ended = self._clock.now_ms(), 0
        refs = [*self._state.users.refs]
        for start in range(0, len(refs), USERS_AT_ONCE):
            events = end_everyone(self._state, refs[start : start + USERS_AT_ONCE], now_ms, by=request.by)
            if events:
                ended += sum(len(event.digests) for event in events)
                await self._context.commit(events)
            await asyncio.sleep(0)
        return success(EndedSessions(ended=ended))

    async def end_session(self, request: Request) -> Reply:
        now_ms = self._clock.now_ms()
        user = self._known(request, now_ms)
        digests = digests_of(self._state.users.get(user_ref(user.id)), request.params[1])
        events = end_sessions(self._state, user.id, digests, now_ms, by=request.by)
        return await self._context.commit(events)

    async def quarantine(self, request: Request) -> Reply:
        user, act, now_ms = user_id(request), _act(request), self._clock.now_ms()
        form = read(QuarantineTerms, request.json_object())
        events = impose(self._state, user, act, form.reason, form.until, now_ms, by=request.by)
        return await self._context.commit(events, lambda: self._show(user, now_ms))

    async def lift(self, request: Request) -> Reply:
        user, act = user_id(request), _act(request)
        events = lift(self._state, user, act, self._clock.now_ms(), by=request.by)
        return await self._context.commit(events)

    async def erase(self, request: Request) -> Reply:
        """Forget a user, but for quarantines in force; and for cooldowns, if it is not the operator who asks.
        Succeeds for a user who never voted, too: the answer gives nothing away."""
        user = user_id(request)
        with self._context.searches.of(user) as search:
            for _ in search.slices():
                await asyncio.sleep(0)
            now_ms = self._clock.now_ms()
            # Cooldowns come first, so that other nodes, too, know of them before they forget the votes.
            cooldowns = self._cooldowns(user, search.refs, now_ms) if request.by != OPERATOR else []
            erased = erase_user(
                user, search.refs, self._context.pseudonym(user), now_ms=now_ms, by=request.by
            )
            kept = after_erasure(self._state, user, now_ms)
            return await self._context.commit([*cooldowns, *erased, *kept])

    def _cooldowns(self, user: str, refs: Collection[str], now_ms: int) -> Sequence[Event]:
        pseudonym_of, cooldown_ms = self._context.vote_mark, self._context.cooldown_ms
        return keep_cooldowns(self._state, user, refs, pseudonym_of, now_ms=now_ms, cooldown_ms=cooldown_ms)

    def _known(self, request: Request, now_ms: int) -> UserView:
        """Return the user in the path: one who has a row, or whom the settings name. Raises Refusal."""
        user = self._views.user(user_id(request), now_ms)
        if user.first_at is None and user.moderator is None:
            raise Refusal("no_such_user")
        return user

    def _show(self, user: str, now_ms: int) -> Reply:
        return success(UserAnswer(**asdict(self._views.user(user, now_ms))))


def _act(request: Request) -> QuarantinedAct:
    """Return the act in the path. Raises Invalid."""
    act = request.params[1]
    if act not in ACTS:
        raise Invalid({"act": Fault("not_one_of", {"choices": ", ".join(ACTS)})})
    return act
