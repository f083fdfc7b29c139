"""Users who have signed in, and their sessions. Invariant: a session counts once it is durable.

The browser holds the value of a session, and the state a keyed digest of it. A page knows no value.
"""

import contextlib
from base64 import urlsafe_b64encode

from msgspec import Struct

from actions.tools import Tools
from chatplatform.answers import PlatformUser, avatar_url
from core.actors import user_actor
from core.failures import Unavailable
from core.user_rows import UserProfile
from languages.language_names import Language, language_of
from languages.refusals import Refusal
from people.choices import unread_reminders
from people.user_sessions import Known, end_sessions, seen
from web.sessions import VALUE_CHARACTERS

VALUE_BYTES = 32


class Person(Struct, frozen=True):
    """A user with a session.

    Args:
        language: that of the account at the platform, if it is one of ours.
        session_digest: names the session among those of the user.
        signed_in_ms: when the session began (Unix milliseconds).
        reminders: how many the user has not seen yet.
    """

    id: str
    name: str
    avatar_url: str | None
    is_moderator: bool
    language: Language | None
    session_digest: str
    signed_in_ms: int
    reminders: int = 0


class People:
    """The users and sessions of a deployment.

    Args:
        cdn_url: where the chat platform has its pictures.
    """

    def __init__(self, tools: Tools, cdn_url: str) -> None:
        self._tools = tools
        self._cdn_url = cdn_url

    def known(self, value: str | None) -> Person | None:
        """Return who has a session of this value, and note now and then that it is used.

        None for a value that is of no session any more.
        """
        if value is None or len(value) != VALUE_CHARACTERS:
            return None
        tools, now_ms = self._tools, self._tools.clock.now_ms()
        known = tools.sessions.known(tools.digester.digest(value), now_ms)
        if known is None:
            return None
        with contextlib.suppress(Unavailable):  # a page that only shows something needs no disk
            tools.ledger.commit(seen(known, now_ms))
        return self._person(known, now_ms)

    async def sign_in(self, user: PlatformUser, label: str, ends: str | None) -> str:
        """Open a session and return its value, once that is durable.

        Raises Unavailable, and the refusals of the rules on users.

        Args:
            label: the browser, as the user will recognise it.
            ends: the value that the browser had before; its session ends.
        """
        tools = self._tools
        value = urlsafe_b64encode(tools.random(VALUE_BYTES)).rstrip(b"=").decode()
        profile = UserProfile(user.username, user.display_name, user.avatar, user.locale)
        ended = tools.digester.digest(ends) if ends is not None else None
        digest, now_ms = tools.digester.digest(value), tools.clock.now_ms()
        events = tools.sessions.sign_in(user.id, profile, digest, label, now_ms, ends=ended)
        await tools.ledger.durable(tools.ledger.commit(events))
        return value

    async def sign_out(self, value: str | None) -> None:
        """End the session of this value, if there is one. Raises Unavailable."""
        ledger, digest = self._tools.ledger, self._tools.digester.digest(value) if value is not None else ""
        users = ledger.state.users
        ref = users.by_session.get(digest)
        if ref is None:
            return
        user_id, now_ms = users[ref].id, self._tools.clock.now_ms()
        events = end_sessions(ledger.state, user_id, [digest], now_ms, by=user_actor(user_id))
        await ledger.durable(ledger.commit(events))

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
            unread_reminders(self._tools.ledger.state, self._tools.cooldown_ms, row, now_ms),
        )
