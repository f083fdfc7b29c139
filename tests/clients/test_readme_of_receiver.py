"""clients/python/README.md: the blocks about receiving and testing run, one after the other."""

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

README = Path(__file__).parents[2] / "clients/python/README.md"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def blocks(heading: str) -> list[str]:
    """Return the Python blocks of a section."""
    [section] = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", README.read_text(), re.MULTILINE | re.DOTALL)
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


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
            code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            done = eval(code, names)
            if inspect.isawaitable(done):
                await done
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
