"""Live updates by server-sent events (HTML Standard, 9.2).

Invariant: one loop makes each event once for all viewers, and makes none without viewers.

A viewer keeps the newest event alone, so a slow one skips some and costs no memory. A stream ends when its
session ends, and when the gateway stops.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

from handlers.reply import EVENT_STREAM, Reply
from languages.refusals import Refusal
from operators.operator_sessions import OperatorSessions, Session
from web.other_sites import PAGE_HEADERS

MOST_VIEWERS = 32
SECONDS = 2.0
SIGNED_OUT = b"event: signed-out\ndata: .\n\n"


class Viewer:
    """An open stream."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.newest = b": hello\n\n"  # the first bytes tell the browser that the stream is open
        self.is_over = False
        self.ready = asyncio.Event()
        self.ready.set()

    def show(self, event: bytes) -> None:
        self.newest = event
        self.ready.set()

    def end(self, event: bytes = b"") -> None:
        self.is_over = True
        self.show(event)


class Live:
    """All viewers, and the loop that feeds them.

    Args:
        make: makes the next event.
        seconds: the pause between two events.
    """

    def __init__(
        self, make: Callable[[], Awaitable[bytes]], sessions: OperatorSessions, seconds: float = SECONDS
    ) -> None:
        self._make = make
        self._sessions = sessions
        self._seconds = seconds
        self._viewers: set[Viewer] = set()
        self._somebody = asyncio.Event()
        self._is_stopping = False

    def __len__(self) -> int:
        return len(self._viewers)

    def stream(self, session: Session) -> Reply:
        """Return the stream of a new viewer. Raises Refusal for one too many."""
        if len(self._viewers) >= MOST_VIEWERS or self._is_stopping:
            raise Refusal("not_ready", reason="too many pages are watching already")
        return Reply(
            200, b"", {**PAGE_HEADERS, "x-accel-buffering": "no"}, None, EVENT_STREAM, self._events(session)
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Feed the viewers until `stop` is set, then end their streams."""
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                somebody = asyncio.create_task(self._somebody.wait())
                await asyncio.wait({somebody, stopping}, return_when=asyncio.FIRST_COMPLETED)
                somebody.cancel()
                await self.step()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._seconds):
                        await asyncio.shield(stopping)
        finally:
            stopping.cancel()
        self._is_stopping = True
        for viewer in self._viewers:
            viewer.end()

    async def step(self) -> None:
        """End the streams of ended sessions, and send one event to the others."""
        for viewer in list(self._viewers):
            if not self._sessions.is_alive(viewer.session):
                viewer.end(SIGNED_OUT)
        if any(not viewer.is_over for viewer in self._viewers):
            made = await self._make()
            for viewer in self._viewers:
                if not viewer.is_over:
                    viewer.show(made)

    async def _events(self, session: Session) -> AsyncGenerator[bytes, None]:
        viewer = Viewer(session)
        self._viewers.add(viewer)
        self._somebody.set()
        try:
            while viewer.ready.is_set() or not viewer.is_over:
                await viewer.ready.wait()
                viewer.ready.clear()
                if viewer.newest:
                    yield viewer.newest
        finally:
            self._viewers.discard(viewer)
            if not self._viewers:
                self._somebody.clear()


def ended() -> Reply:
    """Return the stream of a viewer without a session: a page that asks again learns that it is over."""
    return Reply(200, SIGNED_OUT, PAGE_HEADERS, None, EVENT_STREAM)


def event(text: str, name: str | None = None) -> bytes:
    """Return the bytes of an event; one without a name is swapped into the page by htmx."""
    lines = [f"event: {name}"] if name is not None else []
    lines += [f"data: {line}" for line in text.splitlines()]
    return ("\n".join(lines) + "\n\n").encode()
