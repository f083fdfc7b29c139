"""Rendered texts are kept while there is room, rendered once for all requests, and one at a time."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from markupsafe import Markup

from web.markdown import Markdown


class Renderer:
    """Replaces prose: it waits for the test before it renders, and records its texts."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.threads: set[int] = set()
        self.let = threading.Semaphore(0)

    def __call__(self, text: str, most_characters: int = 0) -> str:
        assert most_characters > 0
        self.threads.add(threading.get_ident())
        self.begun.append(text)
        assert self.let.acquire(timeout=60)
        if text == "bad":
            raise ZeroDivisionError
        return f"<p>{text}</p>"

    def let_all(self) -> None:
        self.let.release(1_000)

    async def until(self, *begun: str) -> None:
        for _ in range(60_000):
            if self.begun == [*begun]:
                return
            await asyncio.sleep(0.001)
        pytest.fail(f"begun: {self.begun}")


@pytest.fixture
def renderer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Renderer]:
    renderer = Renderer()
    monkeypatch.setattr("web.markdown.prose", renderer)
    yield renderer
    renderer.let_all()


async def asked(markdown: Markdown, *texts: str) -> list[asyncio.Task[Markup]]:
    """Tasks that wait for the texts."""
    tasks = [asyncio.create_task(markdown.html(text)) for text in texts]
    await asyncio.sleep(0)
    return tasks


def test_a_template_shows_it_as_it_is() -> None:
    html = asyncio.run(Markdown().html("a **b** <i>"))
    assert html.__html__() == "<p>a <strong>b</strong> </p>\n"


def test_a_text_is_rendered_off_the_loop_and_once(renderer: Renderer) -> None:
    async def main() -> None:
        markdown = Markdown()
        renderer.let_all()
        assert await markdown.html("a") == await markdown.html("a") == "<p>a</p>"
        assert renderer.begun == ["a"]
        assert threading.get_ident() not in renderer.threads

    asyncio.run(main())


def test_all_who_ask_at_once_get_the_same_rendering(renderer: Renderer) -> None:
    async def main() -> None:
        tasks = await asked(Markdown(), *["a"] * 5)
        await renderer.until("a")
        renderer.let_all()
        first, *others = await asyncio.gather(*tasks)
        assert all(other is first for other in others)
        assert renderer.begun == ["a"]

    asyncio.run(main())


def test_texts_are_rendered_one_after_the_other(renderer: Renderer) -> None:
    async def main() -> None:
        tasks = await asked(Markdown(), "a", "b", "c")
        for begun in (["a"], ["a", "b"], ["a", "b", "c"]):
            await renderer.until(*begun)
            for _ in range(20):
                await asyncio.sleep(0.001)
            assert renderer.begun == begun
            renderer.let.release()
        assert await asyncio.gather(*tasks) == ["<p>a</p>", "<p>b</p>", "<p>c</p>"]

    asyncio.run(main())


def test_who_stops_waiting_stops_nobody_else(renderer: Renderer) -> None:
    async def main() -> None:
        markdown = Markdown()
        tasks = await asked(markdown, "a", "a", "b")
        await renderer.until("a")
        tasks[0].cancel()
        tasks[2].cancel()
        renderer.let_all()
        assert await tasks[1] == "<p>a</p>"
        assert await markdown.html("b") == "<p>b</p>"
        assert renderer.begun == ["a", "b"]

    asyncio.run(main())


def test_a_rendering_that_fails_is_said_to_all_and_tried_again(renderer: Renderer) -> None:
    async def main() -> None:
        markdown = Markdown()
        renderer.let_all()
        for _ in range(2):
            said = await asyncio.gather(*await asked(markdown, "bad", "bad"), return_exceptions=True)
            assert [type(error) for error in said] == [ZeroDivisionError] * 2
        assert renderer.begun == ["bad", "bad"]
        assert await markdown.html("good") == "<p>good</p>"

    asyncio.run(main())


def test_what_is_kept_is_bounded_and_the_least_recently_asked_for_leaves(renderer: Renderer) -> None:
    async def main() -> None:
        markdown = Markdown(most_bytes=4_000)
        renderer.let_all()
        for text in "abc":
            await markdown.html(text * 900)
        await markdown.html("a" * 900)
        await markdown.html("d" * 900)
        assert markdown.rendered.kept_size <= 4_000
        renderer.begun.clear()
        for text in "cadb":
            await markdown.html(text * 900)
        assert [text[0] for text in renderer.begun] == ["b"]

    asyncio.run(main())


def test_a_text_that_is_larger_than_the_room_is_not_kept(renderer: Renderer) -> None:
    async def main() -> None:
        markdown = Markdown(most_bytes=1_000)
        renderer.let_all()
        assert len(await markdown.html("a" * 2_000)) > 2_000
        assert markdown.rendered.kept_size == 0

    asyncio.run(main())


def test_texts_that_no_file_could_hold_are_told_apart(renderer: Renderer) -> None:
    async def main() -> None:
        markdown = Markdown()
        renderer.let_all()
        await asyncio.gather(*await asked(markdown, "\ud800", "?", ""))
        assert sorted(renderer.begun) == ["", "?", "\ud800"]

    asyncio.run(main())
