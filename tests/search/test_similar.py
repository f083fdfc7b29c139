"""search/similar.py: listings that share tags and words, from memory while they are fresh."""

import asyncio
from collections.abc import Awaitable, Callable
from unittest import mock

import pytest
from msgspec.structs import replace

from core.clock import month_of
from core.events import Event, ListingSaved
from core.failures import SearchUnavailable
from search import similar
from search.catalogue import Catalogue
from search.index import SearchIndex
from search.similar import KEPT_SECONDS, SimilarListings
from tests.support.coroutines import run, until
from tests.support.fake_clock import FakeClock
from tests.support.memory_ledger import state_after
from tests.support.sample_rows import BOT_PROFILE, NOW_MS, OWNER

ASKER = "127.0.0.1"
MONTH = month_of(NOW_MS)


def ref(number: int) -> str:
    return f"bots/{10**17 + number}"


def saved(number: int, text: str, *tags: str) -> Event:
    profile = replace(
        BOT_PROFILE, name=f"Name{number}", short_description=text, tags=tags, categories=("Music",)
    )
    return ListingSaved(ref(number), OWNER, profile, "approved", NOW_MS)


EVENTS = (
    saved(1, "Plays the songs of everybody", "queue", "playlist"),
    saved(2, "Radio from many stations", "playlist", "queue"),
    saved(3, "Songs on a map", "maps"),
    saved(4, "Nothing of that"),
)
Ask = Callable[[int], Awaitable[list[str]]]


def asking(steps: Callable[[Ask, Catalogue, SearchIndex, FakeClock], Awaitable[None]]) -> None:
    """Run steps with a function that asks for the listings like one of them."""

    async def follow() -> None:
        state = state_after(EVENTS)
        catalogue, index, clock = Catalogue(state), SearchIndex(state), FakeClock()
        for _ in catalogue.survey():
            pass
        found = SimilarListings(index, catalogue, clock)

        async def ask(number: int) -> list[str]:
            return [*await found.of(state.listings[ref(number)], 3, MONTH, ASKER)]

        running = asyncio.create_task(index.run())
        await until(lambda: index.is_complete)
        try:
            await steps(ask, catalogue, index, clock)
        finally:
            running.cancel()
            await asyncio.wait([running])

    run(follow())


def test_tags_are_more_than_words_and_words_more_than_a_category() -> None:
    async def steps(ask: Ask, *_: object) -> None:
        assert await ask(1) == [ref(2), ref(3), ref(4)]

    asking(steps)


def test_the_index_is_asked_again_after_a_while() -> None:
    async def steps(ask: Ask, _: Catalogue, index: SearchIndex, clock: FakeClock) -> None:
        first = await ask(1)
        with mock.patch.object(index, "similar", side_effect=SearchUnavailable) as asked:
            assert await ask(1) == first
            assert await ask(4) == [], "nothing is shown while the index cannot answer"
            clock.advance(KEPT_SECONDS)
            assert await ask(1) == first, "the old answer is better than none"
            assert asked.call_count == 2

    asking(steps)


def test_a_listing_that_is_gone_is_left_out_at_once() -> None:
    async def steps(ask: Ask, catalogue: Catalogue, *_: object) -> None:
        assert ref(2) in await ask(1)
        catalogue._entries.pop(ref(2))
        assert ref(2) not in await ask(1)

    asking(steps)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar, "MOST_KEPT", 1)

    async def steps(ask: Ask, _: Catalogue, index: SearchIndex, __: FakeClock) -> None:
        with mock.patch.object(index, "similar", wraps=index.similar) as asked:
            for number in (1, 1, 2, 1):
                await ask(number)
            assert asked.call_count == 3

    asking(steps)
