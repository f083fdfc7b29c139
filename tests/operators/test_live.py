"""Live updates: one event for all viewers, and streams that end."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from languages.refusals import Refusal
from operators.live import MOST_VIEWERS, SIGNED_OUT, Live, event
from operators.operator_sessions import OperatorSessions, Session
from tests.support.fake_clock import FakeClock


class Stage:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.made = 0
        self.sessions = OperatorSessions(self.clock, 100, 1_000, lambda _: True, lambda: "v" * 43)
        self.live = Live(self.make, self.sessions, seconds=0.001)

    async def make(self) -> bytes:
        self.made += 1
        return event(f"number {self.made}")

    def session(self) -> Session:
        session = self.sessions.of(self.sessions.open(b""))
        assert session is not None
        return session

    async def watched(self, session: Session) -> AsyncGenerator[bytes, None]:
        """A stream whose first bytes have come."""
        stream = self.live.stream(session).stream
        assert stream is not None
        assert (await anext(stream)).startswith(b":")
        return stream


def test_all_viewers_get_the_same_event_which_is_made_once() -> None:
    async def main() -> None:
        stage = Stage()
        streams = [await stage.watched(stage.session()) for _ in range(3)]
        await stage.live.step()
        assert [await anext(stream) for stream in streams] == [event("number 1")] * 3
        assert stage.made == 1

    asyncio.run(main())


def test_nothing_is_made_without_viewers() -> None:
    async def main() -> None:
        stage = Stage()
        await stage.live.step()
        stream = await stage.watched(stage.session())
        await stream.aclose()
        await stage.live.step()
        assert (stage.made, len(stage.live)) == (0, 0)

    asyncio.run(main())


def test_a_slow_viewer_gets_the_newest_event_alone() -> None:
    async def main() -> None:
        stage = Stage()
        stream = await stage.watched(stage.session())
        for _ in range(5):
            await stage.live.step()
        assert await anext(stream) == event("number 5")

    asyncio.run(main())


@pytest.mark.parametrize("how", ["sign-out", "idle"])
def test_a_stream_ends_with_its_session(how: str) -> None:
    async def main() -> None:
        stage = Stage()
        stream = await stage.watched(stage.session())
        if how == "sign-out":
            stage.sessions.end("v" * 43)
        else:
            stage.clock.advance(100)
        await stage.live.step()
        assert [each async for each in stream] == [SIGNED_OUT]
        assert (stage.made, len(stage.live)) == (0, 0)

    asyncio.run(main())


def test_all_streams_end_when_the_gateway_stops() -> None:
    async def main() -> None:
        stage, stop = Stage(), asyncio.Event()
        running = asyncio.create_task(stage.live.run(stop))
        stream = await stage.watched(stage.session())
        assert await anext(stream) == event("number 1")
        stop.set()
        async for _ in stream:
            pass
        await running
        with pytest.raises(Refusal, match="not_ready"):
            stage.live.stream(stage.session())

    asyncio.run(main())


def test_the_viewers_are_bounded() -> None:
    async def main() -> None:
        stage = Stage()
        streams = [await stage.watched(stage.session()) for _ in range(MOST_VIEWERS)]
        with pytest.raises(Refusal, match="not_ready"):
            stage.live.stream(stage.session())
        await streams[0].aclose()
        await stage.watched(stage.session())

    asyncio.run(main())


def test_an_event_that_cannot_be_made_ends_no_stream_and_the_next_one_is_shown() -> None:
    async def main() -> None:
        stage = Stage()
        failures = iter([ZeroDivisionError])

        async def failing_once() -> bytes:
            for failure in failures:
                raise failure
            return b"made"

        stage.live = Live(failing_once, stage.sessions, seconds=0.001)
        stream = await stage.watched(stage.session())
        with pytest.raises(ZeroDivisionError):
            await stage.live.run(asyncio.Event())
        running = asyncio.create_task(stage.live.run(asyncio.Event()))  # as an observer runs again
        assert await anext(stream) == b"made"
        running.cancel()

    asyncio.run(main())


def test_an_event_has_a_line_of_data_for_each_line_of_text() -> None:
    assert event("<p>\none</p>", "part") == b"event: part\ndata: <p>\ndata: one</p>\n\n"
