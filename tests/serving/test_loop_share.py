"""serving/loop_share.py: the steps of requests have a bounded time in a turn of the loop."""

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from core.clock import NS_PER_MS
from handlers.reply import Reply
from handlers.request import Request
from handlers.route import Resource
from serving.application import ApplicationPolicy, RunningRequests, make_application
from serving.loop_share import TURN_NS, WOKEN, LoopShare
from serving.traffic import Traffic
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.raw_http_client import request
from tests.support.server_in_loop import ROOM
from tests.support.wire_stories import DirectNumber, refuse
from wire.http_server import WireServer
from wire.listening import listen

TURN_MS = TURN_NS // NS_PER_MS


class Share:
    """A share, and requests whose steps take as long as the test says."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.share = LoopShare(self.clock.monotonic_ns)
        self.steps: list[tuple[str, int]] = []
        """The request of each step, and the turn of the loop in which it began."""
        self._turn = 0

    def count_turns(self) -> None:
        self._turn += 1
        asyncio.get_running_loop().call_soon(self.count_turns)

    async def work(self, name: str, took_us: list[int]) -> str:
        for number, us in enumerate(took_us):
            if number:
                await asyncio.sleep(0)
            self.steps.append((name, self._turn))
            self.clock.advance(us / 1e6)
        return name

    def begin(self, name: str, took_us: list[int]) -> "asyncio.Task[str]":
        return asyncio.ensure_future(self.share.steps(name, self.work(name, took_us)))

    @property
    def in_turns(self) -> list[int]:
        """Return the number of steps in each turn that has any."""
        return list(Counter(turn for _, turn in self.steps).values())


def run(story: Coroutine[Any, Any, None]) -> None:
    uvloop.run(asyncio.wait_for(story, WAIT_SECONDS))


def told(story: Callable[[Share], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        share = Share()
        share.count_turns()
        await story(share)

    run(main())


def test_steps_begin_at_once_while_there_is_time() -> None:
    async def story(share: Share) -> None:
        tasks = [share.begin(str(number), [1]) for number in range(20)]
        assert await asyncio.gather(*tasks) == [str(number) for number in range(20)]
        assert share.in_turns == [20]

    told(story)


@pytest.mark.parametrize(("took_us", "most"), [(600, 2), (1_000, 1), (50_000, 1), (300, 4), (1, 20)])
def test_a_turn_takes_the_steps_for_which_it_has_time_and_one_at_least(took_us: int, most: int) -> None:
    async def story(share: Share) -> None:
        tasks = [share.begin(str(number), [took_us] * 3) for number in range(20)]
        await asyncio.gather(*tasks)
        assert len(share.steps) == 60
        assert max(share.in_turns) == most

    told(story)


def test_all_that_wait_share_the_time_and_the_first_to_come_is_the_first() -> None:
    async def story(share: Share) -> None:
        names = [str(number) for number in range(3 * WOKEN)]
        await asyncio.gather(*(share.begin(name, [2_000] * 3) for name in names))
        assert [name for name, _ in share.steps] == names * 3

    told(story)


def test_a_failure_and_a_cancellation_come_to_the_work_itself() -> None:
    async def story(share: Share) -> None:
        met = []

        async def fails() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                met.append("cancelled")
                raise ValueError("a failure") from None

        waiting = asyncio.ensure_future(share.share.steps("fails", fails()))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(ValueError, match="a failure"):
            await waiting
        share.begin("long", [5_000])
        queued = share.begin("queued", [1])
        for _ in range(2):
            await asyncio.sleep(0)
        queued.cancel()
        with pytest.raises(asyncio.CancelledError):
            await queued
        assert await share.begin("next", [1]) == "next"
        assert met == ["cancelled"]

    told(story)


def test_a_request_whose_client_has_left_does_not_wait() -> None:
    async def story(share: Share) -> None:
        tasks = [share.begin(str(number), [5_000]) for number in range(10)]
        await asyncio.sleep(0)
        share.share.give_up("7")
        share.share.give_up("nobody")
        await asyncio.gather(*tasks)
        assert [name for name, _ in share.steps][:2] == ["0", "7"]

    told(story)


class Pages:
    """A server whose pages take five times as long as the time of a turn."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.record: list[str] = []
        self.is_asked = asyncio.Event()
        policy = ApplicationPolicy(
            *(1_024, (), RunningRequests(), LoopShare(self.clock.monotonic_ns)),
            *(self.clock, Traffic(["page"]), None),
        )
        page = Resource("/page", {"GET": self._page}, names={"GET": "page"})
        self.server = WireServer(make_application([page], policy), ROOM, refuse, DirectNumber())
        self.server.add_sockets(sockets := listen("127.0.0.1", 0))
        self.address = sockets[0].getsockname()

    def _page(self, _: Request) -> Reply:
        self.record.append("page")
        self.is_asked.set()
        self.clock.advance(5 * TURN_MS / 1_000)
        return Reply(200, b"{}")

    @contextlib.contextmanager
    def client(self) -> Any:
        with socket.create_connection(self.address) as client:
            client.setblocking(False)
            yield client

    async def close(self) -> None:
        self.server.stop()
        await self.server.close_all_connections()


def test_a_vote_check_waits_for_few_pages_however_many_are_asked_for() -> None:
    async def story() -> None:
        pages, loop = Pages(), asyncio.get_running_loop()
        with contextlib.ExitStack() as stack:
            for _ in range(50):
                stack.enter_context(pages.client()).send(request("GET", "/page") * 4)
            checking = stack.enter_context(pages.client())
            while pages.record.count("page") < 200:
                checking.send(b"GET /direct/1 HTTP/1.1\r\nHost: g\r\n\r\n")
                assert (await loop.sock_recv(checking, 1_000)).startswith(b"HTTP/1.1 200 ")
                pages.record.append("check")
        between = [len(each.split()) for each in " ".join(pages.record).split("check")]
        assert max(between) <= 10, "the turns of the loop between a question and the next"
        await pages.close()

    run(story())


def test_pages_of_clients_that_have_left_are_not_made() -> None:
    async def story() -> None:
        pages = Pages()
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(pages.client()) for _ in range(50)]
            for client in clients:
                client.send(request("GET", "/page"))
            await pages.is_asked.wait()
            for client in clients:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        for _ in range(200):  # turns of the loop: enough for all pages
            await asyncio.sleep(0)
        assert len(pages.record) < 25
        await pages.close()

    run(story())
