"""clients/python/README.md: its blocks run, one after the other."""

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from votegate_client.testing import FakeGateway, Push

README = Path(__file__).parents[2] / "clients/python/README.md"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def blocks(heading: str) -> list[str]:
    """Return the Python blocks of a section."""
    [section] = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", README.read_text(), re.MULTILINE | re.DOTALL)
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


async def run_block(block: str, names: dict[str, Any]) -> None:
    code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    done = eval(code, names)
    if inspect.isawaitable(done):
        await done


class Bot:
    """A bot in three servers, as the libraries of bots make one."""

    guilds = range(3)
    shard_count = None

    def event(self, handler: Any) -> Any:
        self.on_ready = handler
        return handler

    async def wait_until_ready(self) -> None:
        pass

    def is_closed(self) -> bool:
        return False


def test_the_bot_of_the_readme_pushes_its_servers_and_asks_for_votes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [posting, pushing] = blocks("Push your counts")
    [asking] = blocks("Ask for a vote")
    bot = Bot()
    names: dict[str, Any] = {"bot": bot, "user_id": 333333333333333333}

    async def main(gateway: FakeGateway) -> None:
        await run_block(posting, names)
        await bot.on_ready()
        while not gateway.pushes:  # noqa: ASYNC110 -- a thread fills them
            await asyncio.sleep(0.01)
        await names["poster"].stop()
        await run_block(pushing, names)
        await run_block(asking, names)
        await names["votegate"].close()

    with FakeGateway() as gateway:
        gateway.vote("333333333333333333")
        for name, value in {"API_KEY": gateway.key, "BOT_ID": gateway.bot_id, "API": gateway.url}.items():
            monkeypatch.setenv(name, value)
        asyncio.run(main(gateway))
        assert gateway.pushes == [Push(3, None), Push(1210, 42)]
    thanks, status = capsys.readouterr().out.splitlines()
    assert thanks == "Thank you!"
    assert status.startswith("True 1 20")


def test_the_receiver_of_the_readme_rewards_the_vote_that_the_readme_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    names: dict[str, Any] = {"__name__": "readme", "secret": SECRET}
    [receiving] = blocks("Receive votes")
    [serving] = blocks("Web frameworks")
    [signing] = blocks("Your tests")
    serving = serving.replace("await serve(receiver, port=9000)", "runner = await serve(receiver, port=0)")

    async def main() -> None:
        for block in (receiving, serving, signing):
            await run_block(block, names)
        host, port = names["runner"].addresses[0]
        url, headers = f"http://{host}:{port}/votes", names["headers"]
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=names["body"], headers=headers) as answer,
        ):
            assert answer.status == 204
        await names["runner"].cleanup()
        names["receiver"]._store.close()

    asyncio.run(main())
    assert capsys.readouterr().out == "333333333333333333 has voted\n"
