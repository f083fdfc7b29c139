"""An exchange gives up its slot while it looks up a name, and the wait to get it back counts nowhere."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from outbound.client import HttpClient
from outbound.result import AtFault, HttpResult
from outbound.slots import Slot, Slots
from tests.support.coroutines import until
from tests.support.name_server import NameServer, naming
from tests.support.raw_receivers import (
    BODY,
    Allowing,
    Peer,
    Run,
    answering,
    on_both_loops,
    receiving,
    sending,
)

pytestmark = on_both_loops

NAME = "receiver.example"
OK = (200, None)


class Post:
    """One attempt with the only slot, to a name that is unknown until the name server answers."""

    def __init__(self, sender: HttpClient, names: NameServer, peer: Peer) -> None:
        self.sender, self.names, self.peer = sender, names, peer
        self.slots, self.look_ups = Slots(1), Slots(1)
        self.slots.take(slow=False)
        self.left: list[bool] = []
        self.slot = Slot(self.slots, self.look_ups, slow=False, left=lambda: self.left.append(True))

    def begin(self, host: str = NAME) -> "asyncio.Task[HttpResult]":
        return asyncio.create_task(self.sender.post(self.peer.at(host), {}, BODY, self.slot))

    async def asked(self) -> None:
        await until(lambda: len(self.names.unanswered) == 2)

    async def find(self, *addresses: str) -> None:
        """Let the name server answer: the attempt comes back, or fails."""
        self.names.says = lambda _, __: list(addresses)
        self.names.speak()
        await until(self.look_ups.is_free)

    def deadline(self) -> float | None:
        (deadline,) = self.sender._deadlines
        return deadline.when()


@asynccontextmanager
async def attempting(guard: Allowing | None = None) -> AsyncIterator[Post]:
    async with (
        naming(None) as names,
        receiving(answering()) as peer,
        sending(name_servers=[names.address], guard=guard) as sender,
    ):
        yield Post(sender, names, peer)


def test_while_a_name_is_looked_up_its_attempt_has_no_slot_and_then_it_has_one_again(run: Run) -> None:
    async def main() -> HttpResult:
        async with attempting() as post:
            posting = post.begin()
            await post.asked()
            assert (post.slot.held, post.slots.is_free(), post.look_ups.is_free()) == (False, True, False)
            await post.find("127.0.0.1")
            answer = await posting
            assert (post.slot.held, post.slot.waited_ns >= 0) == (True, True)
            return answer

    assert run(main())[:2] == OK


def test_an_attempt_that_comes_back_to_no_slot_waits_and_its_time_stands_still(run: Run) -> None:
    async def main() -> HttpResult:
        async with attempting() as post:
            posting = post.begin()
            await post.asked()
            post.slots.take(slow=False)
            assert post.deadline() is not None
            await post.find("127.0.0.1")
            await until(lambda: post.deadline() is None)
            assert (post.slot.held, post.peer.connections) == (False, 0)
            post.slots.give(slow=False)
            assert post.slot.held
            answer = await posting
            assert post.slot.waited_ns > 0
            return answer

    assert run(main())[:2] == OK


def test_an_address_in_the_url_and_an_open_connection_need_no_look_up(run: Run) -> None:
    async def main() -> HttpResult:
        async with attempting() as post:
            first = await post.begin("127.0.0.1")
            await post.begin("127.0.0.1")
            assert (post.left, post.names.questions, post.peer.connections) == ([], [], 1)
            return first

    assert run(main())[:2] == OK


def test_a_name_that_is_not_found_ends_without_a_slot(run: Run) -> None:
    async def main() -> HttpResult:
        async with attempting() as post:
            posting = post.begin()
            await post.asked()
            post.slots.take(slow=False)
            await post.find()
            answer = await posting
            assert not post.slot.held
            return answer

    assert run(main()) == HttpResult(None, "dns")


def test_a_name_that_leads_where_it_may_not_is_blocked(run: Run) -> None:
    async def main() -> HttpResult:
        async with attempting(Allowing()) as post:
            posting = post.begin()
            await post.asked()
            await post.find("127.0.0.1")
            return await posting

    assert run(main()) == HttpResult(None, "blocked")


def test_the_end_of_the_sender_ends_an_attempt_that_waits_for_a_slot(run: Run) -> None:
    async def main() -> HttpResult:
        async with attempting() as post:
            posting = post.begin()
            await post.asked()
            post.slots.take(slow=False)
            await post.find("127.0.0.1")
            await until(lambda: post.deadline() is None)
            await post.sender.close()
            answer = await posting
            post.slots.give(slow=False)
            assert (post.slot.held, post.slots.is_free()) == (False, True)
            return answer

    assert run(main()) == HttpResult(None, "internal", AtFault.UNKNOWN)
