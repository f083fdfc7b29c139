"""A real gateway produces the stories that name a scene, with the Python client and receiver."""

import asyncio
from collections.abc import Iterator

import pytest
from aiohttp import web

import votegate_client
from tests.clients.client_runner import check_result, result
from tests.clients.real_gateway import Scenes, scenes, with_ids
from tests.clients.receiver_runner import check_called, handled
from tests.clients.stories import DEFAULTS, Story, named, of_python
from tests.clients.story_clock import StoryClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.raw_receivers import unused_webhook_port
from votegate_client.adapters.aiohttp import webhook_handler


def real(side: str) -> list[str]:
    return [story["name"] for story in of_python(side) if "gateway" in story]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenes]:
    with scenes(tmp_path_factory.mktemp("real") / "data") as stage:
        yield stage


@pytest.mark.parametrize("name", real("client"))
def test_a_real_gateway_tells_the_story_to_the_client(name: str, stage: Scenes) -> None:
    asyncio.run(_with_the_client(named(name), stage))


async def _with_the_client(told: Story, stage: Scenes) -> None:
    ready = stage.begin(told)
    story = with_ids(told, ready)
    base = {"key": ready.fields["key"], "bot_id": ready.fields["bot_id"], "base_url": "{address}"}
    options = {**base, **story.get("options", {})}
    options["base_url"] = options["base_url"].replace("{address}", ready.fields["address"])
    longest = DEFAULTS["client"]["longest_wait"]
    clock = StoryClock(ready.fields["now"])
    async with votegate_client.Client(
        **options, longest_wait=longest, timeout=WAIT_SECONDS, clock=clock
    ) as client:
        for call in story["do"]:
            check_result(call, await result(client, call), client, is_real=True)


@pytest.mark.parametrize("name", real("receiver"))
def test_a_real_gateway_tells_the_story_to_the_receiver(name: str, stage: Scenes) -> None:
    asyncio.run(_with_the_receiver(named(name), stage))


async def _with_the_receiver(told: Story, stage: Scenes) -> None:
    """Serve a receiver, let the gateway send the story's webhooks, and compare what handlers got."""
    loop = asyncio.get_running_loop()
    made: asyncio.Future[votegate_client.Receiver] = loop.create_future()
    answers: asyncio.Queue[int] = asyncio.Queue()

    async def handle(request: web.Request) -> web.StreamResponse:
        answer = await webhook_handler(await made)(request)
        answers.put_nowait(answer.status)
        return answer

    app = web.Application()
    app.router.add_post("/votes", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    port = unused_webhook_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        ready = await asyncio.to_thread(stage.begin, told, f"http://127.0.0.1:{port}/votes")
        story = with_ids(told, ready)
        # A story with a token alone has no secret.
        secrets = ready.fields["secrets"] if "secrets" in story["options"] else None
        receiver = votegate_client.Receiver(
            secret=secrets, token=story["options"].get("token"), clock=StoryClock(ready.fields["now"])
        )
        called = handled(receiver)
        made.set_result(receiver)
        sending = asyncio.create_task(asyncio.to_thread(ready.act))
        for delivery in story["deliveries"]:
            assert await asyncio.wait_for(answers.get(), WAIT_SECONDS) == delivery["answer"]
            await receiver.finish()
            check_called(delivery["handler"], called, is_real=True)
            called.clear()
        await sending
    finally:
        await runner.cleanup()
