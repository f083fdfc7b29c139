"""The receiver beyond the stories: its handlers, a store that fails, a request that is cancelled."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from votegate_client import Answer, Event, MemoryStore, Receiver, Test, Vote
from votegate_client.testing import FakeClock, sign

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
VOTE = {"bot": "111111111111111111", "user": "333333333333333333", "test": False}


async def received(receiver: Receiver, event: dict[str, Any], event_id: str = "event-1") -> Answer:
    headers, body = sign(event, SECRET, event_id=event_id)
    return await receiver.receive(headers, body)


def finished(receiver: Receiver, *events: dict[str, Any]) -> list[int]:
    """Receive events one after the other, wait for the handlers, and return the statuses."""

    async def receiving() -> list[int]:
        statuses = [(await received(receiver, each, f"event-{at}")).status for at, each in enumerate(events)]
        await receiver.finish()
        return statuses

    return asyncio.run(receiving())


def test_handlers_get_typed_values() -> None:
    receiver = Receiver(secret=SECRET)
    got: list[object] = []
    for register in (receiver.on_vote, receiver.on_test, receiver.on_event):
        register(got.append)
    denied = {"type": "review.denied", "bot": "1", "at": 1750000000000, "reason": "It is down."}
    finished(receiver, VOTE, {"user": "3", "test": True}, denied)
    assert sorted(got, key=str) == [
        Event(
            "event-2",
            "review.denied",
            denied,
            at=datetime.fromisoformat("2025-06-15T15:06:40+00:00"),
            bot="1",
            reason="It is down.",
        ),
        Test("event-1", "3"),
        Vote("event-0", "333333333333333333", bot="111111111111111111"),
    ]


@pytest.mark.parametrize("at", [True, "soon", 1e400, 10**30, -(10**30)])
def test_an_event_with_an_odd_time_is_still_an_event(at: object) -> None:
    receiver = Receiver(secret=SECRET)
    got: list[Event] = []
    receiver.on_event(got.append)
    assert finished(receiver, {"type": "listing.noted", "at": at, "user": {"id": 3}}) == [204]
    assert [(each.at, each.user) for each in got] == [(None, None)]


def test_every_handler_of_a_vote_is_called() -> None:
    receiver = Receiver(secret=SECRET)
    first: list[Vote] = []
    second: list[Vote] = []
    receiver.on_vote(first.append)
    receiver.on_vote(second.append)
    finished(receiver, VOTE)
    assert len(first) == len(second) == 1


def test_an_async_handler_runs_in_the_loop_and_another_one_in_a_thread() -> None:
    receiver = Receiver(secret=SECRET)
    threads: dict[str, threading.Thread] = {}

    @receiver.on_vote
    async def in_loop(_: Vote) -> None:
        threads["async def"] = threading.current_thread()

    @receiver.on_vote
    def in_thread(_: Vote) -> None:
        threads["def"] = threading.current_thread()

    finished(receiver, VOTE)
    assert threads["async def"] is threading.main_thread()
    assert threads["def"] is not threading.main_thread()


def test_the_answer_does_not_wait_for_the_handler() -> None:
    async def receiving() -> None:
        receiver = Receiver(secret=SECRET)
        answered, ended = asyncio.Event(), asyncio.Event()

        @receiver.on_vote
        async def reward(_: Vote) -> None:
            await answered.wait()
            ended.set()

        assert (await received(receiver, VOTE)).status == 204
        assert not ended.is_set()
        answered.set()
        await receiver.finish()
        assert ended.is_set()

    asyncio.run(receiving())


def test_handlers_that_block_do_not_keep_a_store_waiting() -> None:
    """More handlers than a pool has threads wait for the last answer."""
    store = Claims()
    receiver = Receiver(secret=SECRET, store=store)
    answered = threading.Event()
    in_time: list[bool] = []
    receiver.on_vote(lambda _: in_time.append(answered.wait(30)))

    async def receiving() -> None:
        for number in range(40):
            assert (await received(receiver, VOTE, f"event-{number}")).status == 204
        answered.set()
        await receiver.finish()

    asyncio.run(receiving())
    assert in_time == [True] * 40


class Claims:
    """A store of a bot's own, with a plain function."""

    def __init__(self) -> None:
        self.claimed: set[str] = set()

    def claim(self, event_id: str, /) -> bool:
        is_new = event_id not in self.claimed
        self.claimed.add(event_id)
        return is_new


def test_a_request_that_is_cancelled_loses_no_vote() -> None:
    """Quart, for one, cancels a request when its sender goes away."""

    class SlowStore(MemoryStore):
        async def claim(self, event_id: str, /) -> bool:
            claiming.set()
            await going_on.wait()
            return await super().claim(event_id)

    async def receiving() -> list[Vote]:
        receiver = Receiver(secret=SECRET, store=SlowStore())
        rewarded: list[Vote] = []
        receiver.on_vote(rewarded.append)
        request = asyncio.create_task(received(receiver, VOTE))
        await claiming.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        going_on.set()
        await receiver.finish()
        return rewarded

    claiming, going_on = asyncio.Event(), asyncio.Event()
    assert len(asyncio.run(receiving())) == 1


def test_a_store_that_fails_is_answered_503_and_the_next_try_is_rewarded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class FullDisk(Claims):
        is_full = True

        def claim(self, event_id: str, /) -> bool:
            if self.is_full:
                raise OSError(f"no space left for {event_id}")
            return super().claim(event_id)

    store = FullDisk()
    receiver = Receiver(secret=SECRET, store=store)
    rewarded: list[Vote] = []
    receiver.on_vote(rewarded.append)
    assert finished(receiver, VOTE) == [503]
    assert rewarded == []
    store.is_full = False
    assert finished(receiver, VOTE) == [204]
    assert len(rewarded) == 1
    assert "OSError" in caplog.text
    assert "event-0" not in caplog.text


def fail(vote: Vote) -> None:
    raise LookupError(f"no account of {vote.user} beside {SECRET}")


async def fail_async(vote: Vote) -> None:
    fail(vote)


def fail_at_an_end(_: object) -> bool:
    return bool(next(iter(())))


def test_neither_a_handler_nor_a_store_that_raises_stop_iteration_holds_up_the_receiver(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class EmptyStore(Claims):
        def claim(self, event_id: str, /) -> bool:
            return fail_at_an_end(event_id)

    async def receiving(receiver: Receiver) -> int:
        receiver.on_vote(fail_at_an_end)
        answer = await asyncio.wait_for(received(receiver, VOTE), 5)
        await asyncio.wait_for(receiver.finish(), 5)
        return answer.status

    assert asyncio.run(receiving(Receiver(secret=SECRET))) == 204
    assert asyncio.run(receiving(Receiver(secret=SECRET, store=EmptyStore()))) == 503
    assert caplog.text.count("in fail_at_an_end") == 2


@pytest.mark.parametrize("handler", [fail, fail_async])
def test_an_error_of_a_handler_is_logged_without_body_and_secret(
    handler: Callable[[Vote], Awaitable[None] | None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver = Receiver(secret=SECRET)
    receiver.on_vote(handler)
    assert finished(receiver, VOTE) == [204]
    assert "LookupError" in caplog.text
    assert "in fail" in caplog.text
    assert str(VOTE["user"]) not in caplog.text
    assert SECRET not in caplog.text


def test_a_vote_without_a_handler_is_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert finished(Receiver(secret=SECRET), VOTE) == [204]
    assert "@receiver.on_vote" in caplog.text


def test_a_refusal_is_said_in_the_log_and_in_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    receiver = Receiver(secret=SECRET, clock=FakeClock(1_750_000_000))
    headers, body = sign(VOTE, SECRET, at=1_750_000_301)
    answer = asyncio.run(receiver.receive(headers, body))
    assert answer.status == 401
    assert "clock" in answer.text
    assert answer.text in caplog.text
    asyncio.run(receiver.receive(headers, body))
    assert len(caplog.messages) == 1  # strangers may send any number of requests


def test_header_names_are_found_in_any_case() -> None:
    headers, body = sign(VOTE, SECRET)
    upper = {name.title(): value for name, value in headers.items()}
    assert asyncio.run(Receiver(secret=SECRET).receive(upper, body)).status == 204


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"secret": None},
        {"secret": ""},
        {"secret": []},
        {"secret": "my-webhook-token"},
        {"secret": "whsec_"},
        {"secret": "whsec_not base64"},
        {"secret": SECRET[:26]},
        {"secret": "whsec_é"},
        {"secret": [SECRET, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]},
        {"token": ""},
        {"secret": SECRET, "token": ""},
    ],
)
def test_a_receiver_without_a_check_that_works_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"secret|token") as refused:
        Receiver(**settings)
    assert "AAEC" not in str(refused.value)


@pytest.mark.parametrize("headers", [{"authorization": "new"}, {"authorization": "old"}])
def test_tokens_can_be_several_during_a_rotation(headers: dict[str, str]) -> None:
    receiver = Receiver(token=["new", "old"])
    sent = {"webhook-id": "event-1", **headers}
    assert asyncio.run(receiver.receive(sent, sign(VOTE, SECRET).body)).status == 204


def test_neither_secret_nor_token_is_in_the_representation() -> None:
    assert SECRET not in repr(Receiver(secret=SECRET, token="the-token"))
    assert "the-token" not in repr(Receiver(secret=SECRET, token="the-token"))


@pytest.mark.parametrize("event_id", ["\udcff", "\ud800id"])
def test_an_id_that_no_store_could_keep_is_refused(event_id: str) -> None:
    receiver = Receiver(token="the token")
    headers = {"authorization": "the token", "webhook-id": event_id}
    body = b'{"bot":"111111111111111111","user":"333333333333333333","test":false}'
    answer = asyncio.run(receiver.receive(headers, body))
    assert answer == Answer(400, "The header webhook-id is not text in UTF-8.")
