"""The adapters for asyncio and the one for frameworks that block, without a framework's process."""

import asyncio
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.gateways import WAIT_SECONDS
from votegate_client import Answer, Receiver, Vote
from votegate_client.adapters.aiohttp import serve
from votegate_client.adapters.asgi import WebhookApp
from votegate_client.adapters.blocking import BlockingReceiver
from votegate_client.testing import sign

ROOT = Path(__file__).parents[2]
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
VOTE = {"bot": "111111111111111111", "user": "333333333333333333", "test": False}
Message = MutableMapping[str, Any]


async def told(app: WebhookApp, scope: dict[str, Any], *messages: Message) -> list[Message]:
    """Call an ASGI app with messages, and return what it sends."""
    sent: list[Message] = []
    waiting = iter(messages)

    async def receive() -> Message:
        return next(waiting)

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def posted() -> tuple[dict[str, Any], bytes]:
    headers, body = sign(VOTE, SECRET)
    lines = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": "POST", "path": "/votes", "headers": lines}, body


def slow_receiver(going_on: asyncio.Event, rewarded: list[Vote]) -> Receiver:
    """Return a receiver whose handler waits."""
    receiver = Receiver(secret=SECRET)

    @receiver.on_vote
    async def reward(vote: Vote) -> None:
        await going_on.wait()
        rewarded.append(vote)

    return receiver


def test_an_asgi_app_reads_a_body_in_pieces_and_ends_once_its_handlers_have() -> None:
    async def main() -> None:
        going_on, rewarded = asyncio.Event(), list[Vote]()
        app = WebhookApp(slow_receiver(going_on, rewarded))
        scope, body = posted()
        pieces = [
            {"type": "http.request", "body": piece, "more_body": True} for piece in (body[:9], body[9:])
        ]
        start, _ = await told(app, scope, *pieces, {"type": "http.request"})
        assert start["status"] == 204
        asyncio.get_running_loop().call_soon(going_on.set)
        events = await told(
            app, {"type": "lifespan"}, {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}
        )
        assert [each["type"] for each in events] == [
            "lifespan.startup.complete",
            "lifespan.shutdown.complete",
        ]
        assert len(rewarded) == 1

    asyncio.run(main())


def test_an_asgi_app_answers_nobody_who_has_gone_away() -> None:
    scope, body = posted()
    begun = {"type": "http.request", "body": body[:9], "more_body": True}
    app = WebhookApp(Receiver(secret=SECRET))
    assert asyncio.run(told(app, scope, begun, {"type": "http.disconnect"})) == []


def test_an_asgi_app_closes_a_websocket() -> None:
    app = WebhookApp(Receiver(secret=SECRET))
    assert asyncio.run(told(app, {"type": "websocket"})) == [{"type": "websocket.close"}]


def test_a_server_beside_a_bot_receives_votes_and_ends_once_its_handlers_have() -> None:
    async def main() -> None:
        going_on, rewarded = asyncio.Event(), list[Vote]()
        runner = await serve(slow_receiver(going_on, rewarded), port=0, path="/webhooks/votes")
        host, port = runner.addresses[0]
        headers, body = sign(VOTE, SECRET)
        async with aiohttp.ClientSession(f"http://{host}:{port}") as session:
            async with session.post("/webhooks/votes", data=body, headers=headers) as answer:
                assert answer.status == 204
            async with session.post("/votes", data=body, headers=headers) as answer:
                assert answer.status == 404
        asyncio.get_running_loop().call_soon(going_on.set)
        await runner.cleanup()
        assert len(rewarded) == 1

    asyncio.run(main())


def test_a_blocking_framework_can_run_handlers_in_the_loop_of_a_bot() -> None:
    async def main() -> None:
        loops: list[asyncio.AbstractEventLoop] = []
        receiver = Receiver(secret=SECRET)

        @receiver.on_vote
        async def reward(_: Vote) -> None:
            loops.append(asyncio.get_running_loop())

        of_bot = asyncio.get_running_loop()
        blocking = BlockingReceiver(receiver, of_bot)
        answer = await asyncio.to_thread(blocking.receive, *sign(VOTE, SECRET))
        await receiver.finish()
        assert answer == Answer(204)
        assert loops == [of_bot]

    asyncio.run(main())


def test_a_loop_that_does_not_answer_is_answered_503(monkeypatch: pytest.MonkeyPatch) -> None:
    async def rest() -> None:
        await asyncio.sleep(0)
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})

    monkeypatch.setattr("votegate_client.adapters.blocking.ANSWER_SECONDS", 0.01)
    standing = asyncio.new_event_loop()
    try:
        assert BlockingReceiver(Receiver(secret=SECRET), standing).receive(*sign(VOTE, SECRET)).status == 503
        standing.run_until_complete(rest())
    finally:
        standing.close()


def test_a_process_that_blocks_ends_once_its_handlers_have() -> None:
    program = f"""
import asyncio
from votegate_client import Receiver
from votegate_client.adapters.blocking import BlockingReceiver
from votegate_client.testing import sign

receiver = Receiver(secret={SECRET!r})

@receiver.on_vote
async def reward(vote):
    print("begun", flush=True)
    await asyncio.sleep(0.2)
    print("rewarded", flush=True)

print(BlockingReceiver(receiver).receive(*sign({VOTE!r}, {SECRET!r})).status, flush=True)
"""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={"PYTHONPATH": str(ROOT / "clients/python")},
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert sorted(run.stdout.split()) == ["204", "begun", "rewarded"]
    assert run.stderr == ""
