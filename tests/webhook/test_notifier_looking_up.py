"""webhook/notifier.py: names that no name server answers delay no webhook that needs no look-up."""

import asyncio
from dataclasses import replace

import pytest

from core.rows import Attempt
from tests.support.coroutines import run, turns, until
from tests.support.sample_rows import BOT_REF, NOW_MS, listed
from tests.support.sender_stage import POLICY, URL, Stage
from webhook.notifier import SLOW_MS

LATE = [f"bots/{10**17 + number}" for number in range(6)]
"""Endpoints whose names are looked up until the test finds them."""


def url_of(ref: str) -> str:
    return URL if ref == BOT_REF else f"http://{ref.replace('/', '-')}.example/"


class Looking(Stage):
    """Attempts that run at once. Beside LATE there is an endpoint, BOT_REF, whose name needs no look-up.
    Receivers answer when the test says so."""

    def __init__(self, in_flight: int = 4, look_ups: int = len(LATE)) -> None:
        policy = replace(POLICY, in_flight=in_flight, in_flight_per_endpoint=1, look_ups=look_ups)
        super().__init__(policy=policy)
        for ref in [BOT_REF, *LATE]:
            self.commit(*listed(ref, url=url_of(ref)))
        self.client.names = {url_of(ref): asyncio.Event() for ref in LATE}
        self.client.may_answer.clear()
        self.attempts: list[asyncio.Task[None]] = []

    async def vote(self, *refs: str) -> None:
        for ref in refs:
            self.queue(f"vote {len(self.journal.records)}", ref=ref)
        await self.go()

    async def find(self, *refs: str) -> None:
        """Answer the look-ups of these endpoints, now and later."""
        for ref in refs:
            self.client.names[url_of(ref)].set()
        await self.go()

    async def answer(self) -> None:
        """Let the receivers answer the requests that they have got so far."""
        self.client.may_answer.set()
        self.client.may_answer.clear()
        await self.go()

    async def go(self) -> None:
        """Let everything run that can."""
        await turns()
        self.journal.durable_position = self.ledger.head
        while self.step():
            self.attempts += [asyncio.create_task(attempt) for attempt in self.spawned]
            self.spawned.clear()
            await turns()

    async def end(self) -> None:
        """Check that every webhook arrives, and that no slot stays taken."""
        await self.find(*LATE)
        self.client.may_answer.set()
        await self.go()
        await asyncio.gather(*self.attempts)
        assert not self.ledger.state.deliveries.pending
        self.assert_all_is_free()
        self.fold()

    def assert_all_is_free(self) -> None:
        slots, look_ups = self.outbox.slots, self.outbox.look_ups
        assert self.outbox.in_flight == slots._taken == slots._slow_taken == 0
        assert look_ups._taken == look_ups._slow_taken == 0

    @property
    def sent(self) -> list[str]:
        """The endpoints that got webhooks, in order."""
        refs = {url_of(ref): ref for ref in [BOT_REF, *LATE]}
        return [refs[sent.url] for sent in self.client.sent]


@pytest.mark.parametrize("in_flight", [1, 2, 4])
def test_look_ups_take_no_place_of_the_attempts_under_way(in_flight: int) -> None:
    async def main() -> None:
        stage = Looking(in_flight)
        await stage.vote(*LATE, BOT_REF)
        assert stage.sent == [BOT_REF]
        assert stage.outbox.in_flight == len(LATE) + 1
        await stage.end()

    run(main())


def test_a_place_that_is_given_up_for_a_look_up_goes_at_once_to_who_waits_for_one() -> None:
    async def main() -> None:
        stage = Looking(in_flight=1)
        stage.queue("first", ref=LATE[0])
        stage.queue("second")
        running = asyncio.create_task(stage.sender.run())
        for _ in range(2):
            await until(lambda: stage.spawned)
            stage.attempts.append(asyncio.create_task(stage.spawned.pop()))
        await turns()
        assert stage.sent == [BOT_REF]
        stage.sender.stop()
        await running
        await stage.end()

    run(main())


def test_look_ups_take_no_place_of_the_half_for_slow_endpoints_either() -> None:
    async def main() -> None:
        stage = Looking(in_flight=2, look_ups=2 * len(LATE))
        stage.client.takes_ms = SLOW_MS
        await stage.find(*LATE)
        await stage.vote(*LATE, BOT_REF)
        for _ in LATE:
            await stage.answer()
        assert len(stage.sent) == len(LATE) + 1, "and all of them are slow from now on"
        for event in stage.client.names.values():
            event.clear()
        stage.client.sent.clear()
        await stage.vote(*LATE, BOT_REF)
        assert stage.sent == [BOT_REF]
        await stage.end()

    run(main())


def test_look_ups_have_a_bound_of_their_own_and_beyond_it_take_places_of_the_attempts_under_way() -> None:
    async def main() -> None:
        stage = Looking(in_flight=2, look_ups=3)
        await stage.vote(*LATE, BOT_REF)
        assert (stage.outbox.in_flight, stage.sent) == (2 + 3, [])
        await stage.find(*LATE[3:])
        assert stage.sent == LATE[3:5]
        await stage.answer()
        assert stage.sent == [*LATE[3:], BOT_REF]
        await stage.end()

    run(main())


def test_who_comes_back_from_a_look_up_gets_a_place_before_those_who_have_not_begun() -> None:
    async def main() -> None:
        stage = Looking(in_flight=1)
        await stage.vote(LATE[0], LATE[1], BOT_REF)
        await stage.find(LATE[1])
        await stage.find(LATE[0])
        await stage.vote(BOT_REF, BOT_REF)
        expected = [BOT_REF, LATE[1], LATE[0], BOT_REF, BOT_REF]
        for number in range(1, 6):
            assert stage.sent == expected[:number], "one is under way at a time"
            await stage.answer()
        await stage.end()

    run(main())


def test_an_endpoint_whose_name_is_looked_up_gets_one_attempt_at_a_time_in_the_order_of_votes() -> None:
    async def main() -> None:
        stage = Looking()
        for user in "123":
            stage.queue(f"of {user}", user=user, ref=LATE[0])
        await stage.go()
        assert (stage.outbox.in_flight, stage.sent) == (1, [])
        await stage.find(LATE[0])
        for number in range(1, 4):
            assert [sent.body["user"] for sent in stage.client.sent] == list("123")[:number]
            await stage.answer()
        await stage.end()

    run(main())


def test_what_an_attempt_waits_for_a_place_is_no_part_of_its_duration() -> None:
    async def main() -> None:
        stage = Looking(in_flight=1)
        await stage.vote(LATE[0], BOT_REF)
        stage.clock.advance_ms(3)
        await stage.find(LATE[0])
        stage.clock.advance_ms(10 * SLOW_MS)
        await stage.answer()
        assert stage.sent == [BOT_REF, LATE[0]]
        stage.clock.advance_ms(4)
        await stage.answer()
        (delivery,) = stage.ledger.state.deliveries.newest_first(LATE[0])
        assert delivery.attempts == (Attempt(NOW_MS + 10 * SLOW_MS, 7, 204, None, ""),)
        await stage.vote(LATE[0])
        assert stage.outbox.slots._slow_taken == 0, "nor does it make the endpoint a slow one"
        await stage.end()

    run(main())


def test_a_look_up_that_fails_ends_its_attempt_without_a_place() -> None:
    async def main() -> None:
        stage = Looking(in_flight=1)
        await stage.vote(LATE[0], BOT_REF)
        stage.client.absent.add(url_of(LATE[0]))
        await stage.find(LATE[0])
        (failed,) = stage.ledger.state.deliveries.newest_first(LATE[0])
        assert [attempt.error for attempt in failed.attempts] == ["dns"]
        assert stage.outbox.in_flight == 1, "the other one's"
        stage.client.absent.clear()
        stage.clock.advance(5)
        await stage.end()

    run(main())


@pytest.mark.parametrize("found", [False, True])
def test_attempts_that_are_abandoned_over_a_look_up_or_behind_it_stay_pending(found: bool) -> None:
    async def main() -> None:
        stage = Looking(in_flight=1)
        await stage.vote(LATE[0], BOT_REF)
        if found:
            await stage.find(LATE[0])
        stage.sender.abandon()
        await asyncio.wait(stage.attempts)
        assert len(stage.ledger.state.deliveries.pending) == 2
        assert stage.sent == [BOT_REF]
        stage.assert_all_is_free()

    run(main())


def test_while_the_proxy_is_down_a_look_up_is_the_one_that_is_let_through() -> None:
    async def main() -> None:
        stage = Looking()
        stage.outbox.stop(NOW_MS + 1_000)
        await stage.vote(*LATE[:3], BOT_REF)
        stage.clock.advance(1)
        await stage.go()
        assert (stage.outbox.in_flight, stage.sent) == (1, [])
        stage.outbox.resume()
        await stage.go()
        assert (stage.outbox.in_flight, stage.sent) == (4, [BOT_REF])
        await stage.end()

    run(main())
