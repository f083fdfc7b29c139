"""Sessions: the browsers that are signed in as a user. Nothing else tells who a visitor is.

Invariant: a session ends when it is unused for too long, when it is too old, and when somebody ends it.

    sign_in -> known <-> seen -> (idle, too old) | ended

The browser holds 256 random bits. The state has a digest of them, keyed with the deployment's secret. A
sign-in always begins a new session, so a value that somebody has planted in a browser is worth nothing.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from core.actors import GATEWAY, Actor, user_actor
from core.events import EndingsForgotten, Event, SessionSeen, SessionsEnded, UserSignedIn
from core.state import State
from core.user_rows import UserProfile, UserRow, UserSession, user_ref
from languages.refusals import Refusal
from people.permissions import Moderators
from people.quarantine import refuse_quarantined

MOST_SESSIONS = 20  # of one user
SHOWN_DIGITS = 16
"""The hex digits of a session's digest that are its id for people. The digest itself never leaves."""
SEEN_EVERY_MS = 3_600_000
"""A session's use is written once an hour at most, so it may end by that much too early, never too late."""
SEEN_PARTS = 8
"""With a short idle time, use is written after this part of it."""


class SessionTerms(NamedTuple):
    """The ages at which a session ends: unused, and at all."""

    idle_ms: int
    longest_ms: int


class Terms(NamedTuple):
    """The terms for everybody, and those for moderators, who can do more harm."""

    users: SessionTerms
    moderators: SessionTerms


class Known(NamedTuple):
    """A visitor who is signed in."""

    user: UserRow
    session: UserSession
    is_moderator: bool
    terms: SessionTerms


class Sessions:
    """The rules on the sessions of a deployment."""

    def __init__(self, state: State, moderators: Moderators, terms: Terms) -> None:
        self._state = state
        self._moderators = moderators
        self._terms = terms

    def known(self, digest: str, now_ms: int) -> Known | None:
        """Return the visitor with the session of this digest; None if it is over, or never was."""
        ref = self._state.users.by_session.get(digest)
        row = self._state.users.get(ref) if ref is not None else None
        session = row.session(digest) if row is not None else None
        if row is None or session is None or row.quarantine("sign_in", now_ms) is not None:
            return None
        is_moderator = self._moderators.has(row.id)
        terms = self._terms.moderators if is_moderator else self._terms.users
        return Known(row, session, is_moderator, terms) if _is_alive(session, terms, now_ms) else None

    def open_of(self, row: UserRow, now_ms: int) -> list[UserSession]:
        """Return the user's sessions that are not over, the newest first."""
        terms = self._terms.moderators if self._moderators.has(row.id) else self._terms.users
        return [session for session in reversed(row.sessions) if _is_alive(session, terms, now_ms)]

    def sign_in(
        self, user_id: str, profile: UserProfile, digest: str, label: str, now_ms: int, *, ends: str | None
    ) -> list[Event]:
        """Begin a session.

        Args:
            digest: of the new session's value.
            ends: the digest of the value that the browser had before. It ends, even if it was another user's.

        Raises Refusal.
        """
        refuse_quarantined(self._state, user_id, "sign_in", now_ms)
        ref = user_ref(user_id)
        row = self._state.users.get(ref)
        before = row.sessions if row is not None else ()
        over = {session.digest for session in before if not self._is_kept(session, now_ms)}
        over |= {session.digest for session in before[: -(MOST_SESSIONS - 1)]}
        events = list[Event]()
        owner = self._state.users.by_session.get(ends) if ends is not None else None
        if ends is not None and owner == ref:
            over.add(ends)
        elif ends is not None and owner is not None:
            events.append(SessionsEnded(owner, (ends,), now_ms, by=user_actor(user_id)))
        session = UserSession(digest, label, now_ms, now_ms)
        events.append(UserSignedIn(ref, profile, session, tuple(sorted(over)), by=user_actor(user_id)))
        return events

    def sweep(self, refs: Iterable[str], now_ms: int) -> list[Event]:
        """End the expired sessions of the users. Forget the endings of sessions that would be too old by now,
        so that no row keeps them for ever."""
        events = list[Event]()
        # One is opened before it is ended. So it is too old, at the latest, this time after its ending.
        longest_ms = max(self._terms.users.longest_ms, self._terms.moderators.longest_ms)
        before_ms = now_ms - longest_ms if self._state.fleet.label else now_ms
        for ref in refs:
            row = self._state.users.get(ref)
            if row is None:
                continue
            over = tuple(session.digest for session in row.sessions if not self._is_kept(session, now_ms))
            if over:
                events.append(SessionsEnded(ref, over, now_ms, by=GATEWAY))
            if row.ended and row.ended[0].ms < before_ms:
                events.append(EndingsForgotten(ref, before_ms))
        return events

    def _is_kept(self, session: UserSession, now_ms: int) -> bool:
        """Return true if the session may be valid again: a moderator's is, once the role is taken away."""
        return _is_alive(session, self._terms.users, now_ms)


def seen(known: Known, now_ms: int) -> list[Event]:
    """Return the event of a session's use, if it is time to write it."""
    every_ms = min(SEEN_EVERY_MS, known.terms.idle_ms // SEEN_PARTS)
    if now_ms - known.session.seen_ms < every_ms:
        return []
    return [SessionSeen(known.user.ref, known.session.digest, now_ms)]


def end_sessions(
    state: State, user_id: str, digests: Collection[str] | None, now_ms: int, *, by: Actor
) -> list[Event]:
    """End some sessions of a user, or all of them (None). Raises Refusal for a session of somebody else."""
    ref = user_ref(user_id)
    row = state.users.get(ref)
    mine = {session.digest for session in row.sessions} if row is not None else set[str]()
    if digests is not None and not mine.issuperset(digests):
        raise Refusal("no_such_session")
    ended = sorted(mine if digests is None else digests)
    return [SessionsEnded(ref, tuple(ended), now_ms, by=by)] if ended else []


def session_id(session: UserSession) -> str:
    """Return the id under which people see a session."""
    return session.digest[:SHOWN_DIGITS]


def digests_of(row: UserRow | None, wanted_id: str) -> list[str]:
    """Return the digests of the user's sessions with this id. Raises Refusal if there is none."""
    sessions = row.sessions if row is not None else ()
    found = [session.digest for session in sessions if session_id(session) == wanted_id]
    if not found:
        raise Refusal("no_such_session")
    return found


def _is_alive(session: UserSession, terms: SessionTerms, now_ms: int) -> bool:
    return now_ms - session.seen_ms < terms.idle_ms and now_ms - session.opened_ms < terms.longest_ms


def end_everyone(state: State, refs: Iterable[str], now_ms: int, *, by: Actor) -> list[SessionsEnded]:
    """End the sessions of these users that have begun by now."""
    events = list[SessionsEnded]()
    for ref in refs:
        row = state.users.get(ref)
        sessions = row.sessions if row is not None else ()
        ended = sorted(session.digest for session in sessions if session.opened_ms <= now_ms)
        if ended:
            events.append(SessionsEnded(ref, tuple(ended), now_ms, by=by))
    return events
