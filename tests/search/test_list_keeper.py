"""search/list_keeper.py: a reader waits only if there is no order to show."""

import asyncio

import pytest

from core.vote_counts import VoteCountsView, VotesOfListing
from handlers.slices import in_slices
from languages.refusals import Invalid
from search.catalogue import Catalogue, IndexKey
from search.list_keeper import REST, ListKeeper
from search.list_orders import FRESH_SECONDS, STALE_SECONDS, ListOrder, ListOrders
from tests.support.coroutines import run, turns
from tests.support.fake_clock import FakeClock
from tests.support.memory_ledger import state_after
from tests.support.sample_rows import BOT_REF, OTHER_REF, listed, voted

ORDER, BY_NAME = ListOrder(IndexKey("bots/"), "votes"), ListOrder(IndexKey("bots/"), "name")
OF_MONTH = ListOrder(IndexKey("bots/"), "month")


class SlowVotes:
    """Votes: each look at them takes a long time of the clock."""

    def __init__(self, counts: VoteCountsView, clock: FakeClock) -> None:
        self._counts, self._clock = counts, clock
        self.looks = 0

    def of(self, ref: str) -> VotesOfListing:
        self.looks += 1
        self._clock.advance(FRESH_SECONDS)
        return self._counts.of(ref)


def test_one_order_is_made_for_all_who_wait_and_anew_once_it_is_due() -> None:
    clock, state = FakeClock(), state_after([*listed(), *listed(OTHER_REF)])
    catalogue = Catalogue(state)
    for _ in catalogue.survey():
        pass
    orders = ListOrders(catalogue, state.vote_counts, 1)
    catalogue.watchers.append(orders.moved)
    state.before_change.append(orders.changing)
    keeper = ListKeeper(orders, clock, in_slices)

    async def refs() -> list[str]:
        found, _ = await keeper.page(ORDER, None, 9)
        return [*found.rows]

    async def main() -> None:
        keeping = asyncio.create_task(keeper.run())
        assert [*await asyncio.gather(refs(), refs())] == [[BOT_REF, OTHER_REF]] * 2
        assert orders.places == 2
        event = voted(1, ref=OTHER_REF)
        state.apply(event)
        catalogue.on_record(1, [event])
        assert await refs() == [BOT_REF, OTHER_REF]
        clock.advance(FRESH_SECONDS)
        assert await refs() == [BOT_REF, OTHER_REF]  # the last one is shown while the next is made
        async with asyncio.timeout(60):
            while await refs() == [BOT_REF, OTHER_REF]:  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0)
        assert await refs() == [OTHER_REF, BOT_REF]
        for user in (2, 3):
            event = voted(user)
            state.apply(event)
            catalogue.on_record(1, [event])
        clock.advance(STALE_SECONDS)
        assert await refs() == [BOT_REF, OTHER_REF]  # that one was too old to be shown
        with pytest.raises(Invalid):
            await keeper.page(ORDER, "x", 9)
        keeping.cancel()

    asyncio.run(main())


def test_what_nobody_waits_for_rests_and_whoever_waits_is_served_at_once() -> None:
    clock, state = FakeClock(), state_after(listed())
    catalogue, votes = Catalogue(state), SlowVotes(state.vote_counts, clock)
    for _ in catalogue.survey():
        pass
    keeper = ListKeeper(ListOrders(catalogue, votes, 1), clock, in_slices)

    async def main() -> None:
        keeping = asyncio.create_task(keeper.run())
        assert await keeper.page(ORDER, None, 9) == (([BOT_REF], None), 1)
        looks = votes.looks
        assert keeper.rank(OF_MONTH, 0) is None  # nobody waits for it, so it comes after the rest
        await turns()
        assert votes.looks == looks
        pages = await asyncio.gather(keeper.page(BY_NAME, None, 9), keeper.page(BY_NAME, None, 9))
        assert [[*found.rows] for found, _ in pages] == [[BOT_REF]] * 2
        clock.advance(2 * REST * FRESH_SECONDS)
        async with asyncio.timeout(60):
            while keeper.rank(OF_MONTH, 0) is None:  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0)
        assert keeper.rank(OF_MONTH, 0) == (1, 1)
        keeping.cancel()

    run(main())
