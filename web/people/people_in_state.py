"""People whose sessions stand in the state. Law: a session counts once it is durable.

The browser holds the value of a session, and the state a keyed digest of it.
"""

import contextlib
from collections.abc import Callable

from chatplatform.answers import PlatformUser, avatar_url
from core.actors import user_actor
from core.clock import Clock
from core.ledger import Ledger
from core.refusals import Refusal, Unavailable
from core.user_rows import UserProfile, UserRow
from languages.preferences import language_of
from people.user_sessions import Known, Sessions, end_sessions, seen
from web.people.visitors import Person
from web.sessions import VALUE_CHARACTERS


class PeopleInState:
    """The users and sessions of a deployment.

    Args:
        digest: makes a keyed digest of a session's value.
        new_value: makes a value of 256 random bits.
        cdn_url: where the chat platform has its pictures.
        reminders: returns how many reminders a user has not seen at a time.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        sessions: Sessions,
        digest: Callable[[str], str],
        new_value: Callable[[], str],
        cdn_url: str,
        reminders: Callable[[UserRow, int], int] = lambda _row, _now_ms: 0,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._sessions = sessions
        self._digest = digest
        self._new_value = new_value
        self._cdn_url = cdn_url
        self._reminders = reminders

    def known(self, value: str | None) -> Person | None:
        """Return who has a session of this value, and note now and then that it is used."""
        if value is None or len(value) != VALUE_CHARACTERS:
            return None
        now_ms = self._clock.now_ms()
        known = self._sessions.known(self._digest(value), now_ms)
        if known is None:
            return None
        with contextlib.suppress(Unavailable):  # a page that only shows something needs no disk
            self._ledger.commit(seen(known, now_ms))
        return self._person(known, now_ms)

    async def sign_in(self, user: PlatformUser, label: str, ends: str | None) -> str:
        """Open a session and return its value, once that is durable. Raises Refusal and Unavailable."""
        value = self._new_value()
        profile = UserProfile(user.username, user.display_name, user.avatar, user.locale)
        ended = self._digest(ends) if ends is not None else None
        digest, now_ms = self._digest(value), self._clock.now_ms()
        events = self._sessions.sign_in(user.id, profile, digest, label, now_ms, ends=ended)
        await self._ledger.durable(self._ledger.commit(events))
        return value

    async def sign_out(self, value: str | None) -> None:
        digest = self._digest(value) if value is not None else ""
        ref = self._ledger.state.users.by_session.get(digest)
        if ref is None:
            return
        user_id = self._ledger.state.users[ref].id
        await self.end(user_id, [digest])

    async def end(self, user_id: str, digests: list[str] | None) -> None:
        """End sessions of a user; all of them if None. Raises Refusal and Unavailable."""
        now_ms = self._clock.now_ms()
        events = end_sessions(self._ledger.state, user_id, digests, now_ms, by=user_actor(user_id))
        await self._ledger.durable(self._ledger.commit(events))

    def _person(self, known: Known, now_ms: int) -> Person:
        row, profile = known.user, known.user.profile
        if profile is None:
            raise Refusal("no_such_user")
        return Person(
            row.id,
            profile.shown_name,
            avatar_url(self._cdn_url, row.id, profile.avatar),
            known.is_moderator,
            language_of(profile.locale or ""),
            known.session.digest,
            known.session.opened_ms,
            self._reminders(row, now_ms),
        )
