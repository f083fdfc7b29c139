"""Sessions of the operator.

Invariant: a session ends when its time is over, at the sign-out, and when its token is no longer accepted.

The browser holds 256 random bits. Memory holds a digest of them, and one of the token that opened the
session. All sessions end with the process, or with the supervisor of several workers.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from core.clock import NS_PER_SECOND, Clock

MOST_SESSIONS = 64
VALUE_CHARACTERS = 43
"""256 bits in base64."""


class Session:
    """A browser that is signed in. Times are monotonic nanoseconds."""

    def __init__(self, now_ns: int, token_digest: bytes) -> None:
        self.token_digest = token_digest
        self.opened_ns = now_ns
        self.seen_ns = now_ns
        self.is_ended = False


class Board(Protocol):
    """Tells other processes of sessions, and of their ends."""

    def opened(self, digest: bytes, token_digest: bytes, opened_ns: int, /) -> None: ...
    def ended(self, digest: bytes, /) -> None: ...
    def find(self, digest: bytes, /) -> tuple[bytes, int] | None:
        """Return the digest of the token and the beginning; None for a session that is unknown or over."""


class OperatorSessions:
    """All sessions, in the order of their last use.

    Args:
        board: the sessions of other workers of this machine, if there are any.
        accepts: returns true if the token with a digest is accepted now.
        new_value: makes a value of 256 random bits.
    """

    def __init__(
        self,
        clock: Clock,
        idle_seconds: float,
        most_seconds: float,
        accepts: Callable[[bytes], bool],
        new_value: Callable[[], str],
        board: Board | None = None,
    ) -> None:
        self._clock = clock
        self._board = board
        self._idle_ns = round(idle_seconds * NS_PER_SECOND)
        self._most_ns = round(most_seconds * NS_PER_SECOND)
        self._accepts = accepts
        self._new_value = new_value
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, token_digest: bytes) -> str:
        """Open a session by a token. Return its value, which is not kept.

        If there are too many, the session that is unused for longest ends.
        """
        value = self._new_value()
        key, now_ns = _digest(value), self._clock.monotonic_ns()
        self._sessions[key] = Session(now_ns, token_digest)
        if self._board is not None:
            self._board.opened(key, token_digest, now_ns)
        if len(self._sessions) > MOST_SESSIONS:
            _, oldest = self._sessions.popitem(last=False)
            oldest.is_ended = True
        return value

    def of(self, value: str | None) -> Session | None:
        """Return the session, and count it as used now."""
        if value is None or len(value) != VALUE_CHARACTERS:
            return None
        key = _digest(value)
        session = self._sessions.get(key)
        if self._board is not None:
            session = self._told(self._board, key, session)
        if session is None:
            return None
        if not self.is_alive(session):
            del self._sessions[key]
            return None
        session.seen_ns = self._clock.monotonic_ns()
        self._sessions.move_to_end(key)
        return session

    def _told(self, board: Board, key: bytes, session: Session | None) -> Session | None:
        """Return the session as the other workers know it: one may have opened it, or ended it."""
        found = board.find(key)
        if found is None:
            if session is not None:
                session.is_ended = True
            return session
        if session is None:
            token_digest, opened_ns = found
            session = self._sessions[key] = Session(self._clock.monotonic_ns(), token_digest)
            session.opened_ns = opened_ns
        return session

    def is_alive(self, session: Session) -> bool:
        now_ns = self._clock.monotonic_ns()
        in_time = now_ns - session.seen_ns < self._idle_ns and now_ns - session.opened_ns < self._most_ns
        return in_time and not session.is_ended and self._accepts(session.token_digest)

    def end(self, value: str | None) -> None:
        if value is None:
            return
        session = self._sessions.pop(_digest(value), None)
        if session is not None:
            session.is_ended = True
        if self._board is not None:
            self._board.ended(_digest(value))


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode()).digest()
