"""guild_counts/counts.py: no push waits for the counts of the chat platform."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from chatplatform.platform_client import PlatformAway
from core.events import Event, ListingMerged, ListingRemoved, ListingReviewed, ListingSaved, StatsUpdated
from core.rows import StatsWindow
from guild_counts import counts as counts_module
from guild_counts.counts import PlatformCounts
from tests.support.coroutines import run, turns, until
from tests.support.fake_clock import FakeClock
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_REF, OWNER, SERVER_REF, listed
from tests.support.slots_set import actual_count_set

CACHE_SECONDS, KEPT_SECONDS = 60, 3_600
BOT, OTHER_BOT = (ref.partition("/")[2] for ref in (BOT_REF, OTHER_REF))
AWAY = PlatformAway("timeout")
SET_IT = f"Set it: votegate admin counts {BOT} <number>"


class Place:
    """A source of counts beside a platform that tells `answers`, or raises them."""

    def __init__(self, *events: Event) -> None:
        self.state, self.clock = empty_state(), FakeClock()
        self.answers: dict[str, int | PlatformAway | None] = defaultdict(lambda: None)
        self.asked: list[str] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        for event in events:
            self.state.apply(event)
        self.counts = PlatformCounts(
            self.state, self.clock, CACHE_SECONDS, KEPT_SECONDS, pace_seconds=0, first_pause_seconds=0
        )

    async def ask(self, bot: str) -> int | None:
        self.asked.append(bot)
        await self.is_open.wait()
        answer = self.answers[bot]
        if isinstance(answer, PlatformAway):
            raise answer
        return answer

    def commit(self, *events: Event) -> None:
        for event in events:
            self.state.apply(event)
        self.counts.on_record(1, events)

    async def actual(self, ref: str = BOT_REF) -> int | None:
        """Return the count that a push finds at once, and then ask the questions that it has raised."""
        found = await self.counts.actual(ref)
        await turns()
        return found


def story(*events: Event) -> Callable[[Callable[[Place], Awaitable[None]]], None]:
    """Runs what a test tells, beside the source at work."""

    def telling(tell: Callable[[Place], Awaitable[None]]) -> None:
        async def main() -> None:
            place = Place(*events)
            async with working(place):
                await tell(place)

        run(main())

    return telling


@asynccontextmanager
async def working(place: Place) -> AsyncIterator[None]:
    task = asyncio.create_task(place.counts.run(place.ask))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()


def pushed(ref: str, servers: int) -> StatsUpdated:
    return StatsUpdated(ref, servers, None, StatsWindow(NOW_MS, 1), NOW_MS)


def test_a_push_waits_for_nothing_and_the_next_one_finds_what_was_told() -> None:
    @story(*listed())
    async def told(place: Place) -> None:
        place.answers[BOT] = 1_200
        place.is_open.clear()
        assert await place.actual() is None
        assert await place.actual() is None
        assert place.asked == [BOT]
        place.is_open.set()
        await turns()
        assert await place.actual() == 1_200
        assert place.asked == [BOT]


def test_an_old_count_is_taken_while_it_is_asked_for_again_up_to_its_age() -> None:
    @story(*listed())
    async def told(place: Place) -> None:
        place.answers[BOT] = 1_200
        await place.actual()
        place.answers[BOT] = 1_300
        place.clock.advance(CACHE_SECONDS - 1)
        assert await place.actual() == 1_200
        assert place.asked == [BOT]
        place.clock.advance(1)
        assert await place.actual() == 1_200
        assert place.asked == [BOT] * 2
        assert await place.actual() == 1_300
        place.answers[BOT] = AWAY
        place.clock.advance(KEPT_SECONDS - 1)
        assert await place.actual() == 1_300
        place.clock.advance(1)
        assert await place.actual() is None


def test_where_the_platform_tells_none_the_operator_s_count_is_taken() -> None:
    @story(*listed(), actual_count_set(BOT_REF, 77))
    async def told(place: Place) -> None:
        assert await place.actual() == 77
        assert await place.actual() == 77
        place.answers[BOT] = 1_200
        place.clock.advance(CACHE_SECONDS)
        await place.actual()
        assert await place.actual() == 1_200
        place.answers[BOT] = None
        place.clock.advance(CACHE_SECONDS)
        await place.actual()
        assert await place.actual() == 77


def test_a_bot_is_asked_for_when_it_is_approved_here_or_elsewhere() -> None:
    @story()
    async def told(place: Place) -> None:
        place.answers[BOT] = place.answers[OTHER_BOT] = 5
        place.commit(ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS))
        await turns()
        assert place.asked == []
        place.commit(ListingReviewed(BOT_REF, "approved", None, NOW_MS))
        await turns()
        assert place.asked == [BOT]
        other = Place(*listed(OTHER_REF)).state.listings[OTHER_REF]
        place.commit(ListingMerged(other))
        place.commit(ListingMerged(other))
        await turns()
        place.commit(ListingMerged(other))
        await turns()
        assert place.asked == [BOT, OTHER_BOT]
        assert (await place.actual(), await place.actual(OTHER_REF)) == (5, 5)


def test_a_denied_bot_and_a_server_are_not_asked_for() -> None:
    @story()
    async def told(place: Place) -> None:
        place.commit(ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS))
        place.commit(ListingReviewed(BOT_REF, "denied", "spam", NOW_MS))
        place.commit(*listed(SERVER_REF))
        await turns()
        assert place.asked == []


def test_behind_a_start_the_bots_that_push_are_asked_for() -> None:
    refs = [f"bots/{10**17 + number}" for number in range(500)]

    @story(*(event for ref in refs for event in listed(ref)), *(pushed(ref, 3) for ref in refs[::2]))
    async def told(place: Place) -> None:
        await until(lambda: len(place.asked) == 250)
        await turns()
        assert sorted(place.asked) == [ref.partition("/")[2] for ref in refs[::2]]


def test_a_bot_that_is_pushed_for_goes_before_those_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts_module, "WORKERS", 1)
    refs = [f"bots/{10**17 + number}" for number in range(50)]

    @story(*(event for ref in refs for event in (*listed(ref), pushed(ref, 3))), *listed())
    async def told(place: Place) -> None:
        place.is_open.clear()
        await until(lambda: place.asked)
        await place.actual()
        place.is_open.set()
        await until(lambda: len(place.asked) == 51)
        assert place.asked[1] == BOT


def test_many_bots_of_another_node_are_bounded_and_one_that_is_pushed_for_goes_first() -> None:
    refs = [f"bots/{10**17 + number}" for number in range(200)]
    rows = Place(*(event for ref in refs for event in listed(ref))).state.listings

    @story(*listed())
    async def told(place: Place) -> None:
        place.is_open.clear()
        place.commit(*(ListingMerged(rows[ref]) for ref in refs))
        await turns()
        place.commit(*(ListingMerged(rows[ref]) for ref in refs[::-1]))
        await place.actual()
        place.is_open.set()
        await turns()
        assert place.asked[counts_module.WORKERS] == BOT
        assert len(place.asked) <= 2 * counts_module.SURVEYED + counts_module.WORKERS + 1
        assert len(set(place.asked)) == len(place.asked)


def test_a_platform_that_is_away_is_asked_again_and_at_last_by_the_next_push() -> None:
    @story(*listed())
    async def told(place: Place) -> None:
        place.answers[BOT] = AWAY
        await place.actual()
        await until(lambda: len(place.asked) == counts_module.TRIES)
        await turns()
        assert len(place.asked) == counts_module.TRIES
        place.answers[BOT] = 9
        assert await place.actual() is None
        assert await place.actual() == 9


def test_the_log_says_once_that_the_platform_is_away_and_once_that_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    @story(*listed(), *listed(OTHER_REF))
    async def told(place: Place) -> None:
        for away in (AWAY, PlatformAway("limited", 3_600.0)):
            place.answers[BOT] = away
            for _ in range(2):
                await place.actual()
                await until(lambda: len(place.asked) % counts_module.TRIES == 0)
                if away.retry_seconds:
                    break
        assert [record.getMessage() for record in caplog.records] == [
            "the chat platform answers no questions for server counts: timeout"
        ]
        place.answers[OTHER_BOT] = 1
        await place.actual(OTHER_REF)
        assert [record.getMessage() for record in caplog.records][1:] == [
            "the chat platform answers questions for server counts again"
        ]


@pytest.mark.parametrize(
    ("failures", "said", "seconds"),
    [(1, None, 1.0), (2, None, 2.0), (5, None, 16.0), (50, None, 60.0), (1, 9.5, 9.5), (1, 3_600.0, 60.0)],
)
def test_the_pause_grows_and_is_as_long_as_the_platform_says_within_a_minute(
    failures: int, said: float | None, seconds: float
) -> None:
    async def ask(_: str) -> int | None:
        raise PlatformAway("limited", said)

    async def main() -> None:
        place = Place(*listed())
        counts = PlatformCounts(place.state, place.clock, CACHE_SECONDS, KEPT_SECONDS)
        pauses = [await counts._step(BOT_REF, 0, ask) for _ in range(failures)]
        assert pauses[-1] == seconds

    run(main())


def test_a_removed_bot_is_forgotten_also_while_it_is_asked_for() -> None:
    @story(*listed(), *listed(OTHER_REF))
    async def told(place: Place) -> None:
        place.answers[BOT] = place.answers[OTHER_BOT] = 1_200
        await place.actual()
        place.is_open.clear()
        await place.actual(OTHER_REF)
        place.commit(ListingRemoved(BOT_REF), ListingRemoved(OTHER_REF))
        place.is_open.set()
        await turns()
        place.commit(*listed(), *listed(OTHER_REF))
        assert await place.counts.actual(BOT_REF) is None
        assert await place.counts.actual(OTHER_REF) is None


def test_wanted_bots_and_kept_answers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts_module, "MOST_WANTED", 10)
    monkeypatch.setattr(counts_module, "MOST_TOLD", 10)
    refs = [f"bots/{10**17 + number}" for number in range(30)]

    @story(*(event for ref in refs for event in listed(ref)))
    async def told(place: Place) -> None:
        place.answers.update({ref.partition("/")[2]: 1 for ref in refs})
        place.is_open.clear()
        for ref in refs:
            await place.counts.actual(ref)
        place.is_open.set()
        await until(lambda: len(place.asked) == 10)
        await turns()
        for ref in refs[:20]:
            await place.actual(ref)
        known = [ref for ref in refs if await place.counts.actual(ref) is not None]
        assert len(known) == 10


def test_a_missing_count_is_explained_with_a_remedy() -> None:
    @story(*listed())
    async def told(place: Place) -> None:
        place.is_open.clear()
        await place.actual()
        not_yet = place.counts.missing(BOT_REF)
        assert not_yet is not None
        assert "has not told it yet" in not_yet
        place.is_open.set()
        await turns()
        none = place.counts.missing(BOT_REF)
        assert none is not None
        assert "in its directory alone" in none
        assert all(SET_IT in each for each in (not_yet, none))
        place.state.apply(actual_count_set(BOT_REF, 7))
        assert place.counts.missing(BOT_REF) is None


def test_the_wait_for_a_first_answer_is_told_until_it_is_there() -> None:
    @story(*listed(), *listed(OTHER_REF))
    async def told(place: Place) -> None:
        place.is_open.clear()
        await place.actual()
        assert place.counts.retry_seconds(BOT_REF) == counts_module.ANSWER_SECONDS
        place.is_open.set()
        await turns()
        assert place.counts.retry_seconds(BOT_REF) is None, "the platform tells no count of it"
        place.answers[OTHER_BOT] = 9
        await place.actual(OTHER_REF)
        place.clock.advance(KEPT_SECONDS)
        place.is_open.clear()
        assert await place.actual(OTHER_REF) is None, "it is too old"
        assert place.counts.retry_seconds(OTHER_REF) == counts_module.ANSWER_SECONDS


def test_the_wait_for_a_first_answer_grows_with_a_queue_and_while_the_platform_is_away() -> None:
    async def ask(_: str) -> int | None:
        raise PlatformAway("limited", 30.0)

    async def main() -> None:
        refs = [f"bots/{10**17 + number}" for number in range(400)]
        place = Place(*(event for ref in refs for event in listed(ref)))
        counts = PlatformCounts(place.state, place.clock, CACHE_SECONDS, KEPT_SECONDS)
        await counts._step(refs[0], counts_module.TRIES, ask)
        assert counts.retry_seconds(refs[0]) == 30
        for ref in refs:
            await counts.actual(ref)
        assert counts.retry_seconds(refs[0]) == 400 / counts_module.WORKERS * counts_module.PACE_SECONDS

    run(main())


def test_nothing_is_missing_where_the_platform_tells_a_count() -> None:
    @story(*listed())
    async def told(place: Place) -> None:
        place.answers[BOT] = 0
        await place.actual()
        assert place.counts.missing(BOT_REF) is None
        assert await place.actual() == 0
