"""handlers/vote_feed.py over a log in memory: the lines of events, and the end of a stream."""

import asyncio
import json
from typing import Any

import pytest

from core.events import Event, ListingRemoved, UserErased, VoteCast, VotesMerged, VotesRemoved
from core.failures import PlaceLost
from core.ledger import FoundPage, FoundRecord
from core.state import State
from handlers.reply import Reply
from handlers.request import Request
from handlers.vote_feed import MOST_READERS, Cursor, VoteFeed
from languages.refusals import Refusal
from tests.support.coroutines import run, turns
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, USER, listed, voted

PROOF = 7
FIRST = 500_000_000_000_000_000
HOURS = 3_600.0


class MemoryLog:
    """The records of a journal in a list. Readers wait while `is_open` is unset."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.records: list[FoundRecord] = []
        self.failure: Exception | None = None
        self.is_open = asyncio.Event()
        self.is_open.set()

    def commit(self, *events: Event) -> None:
        for event in events:
            self.state.apply(event)
        self.records.append(FoundRecord(len(self.records) + 1, PROOF, events))

    @property
    def end(self) -> tuple[int, int]:
        return len(self.records), PROOF

    async def behind(self, position: int, proof: int, most: int, *, again: bool = False) -> FoundPage:
        await self.is_open.wait()
        if self.failure is not None:
            raise self.failure
        if proof != PROOF:
            raise PlaceLost
        found = self.records[position - again :][:most]
        at = found[-1].position if found else position
        return FoundPage(found, at, PROOF, is_last=at == len(self.records))


class Place:
    """A feed over its log, which begins with a bot that is listed."""

    def __init__(self, heartbeat_seconds: float = HOURS, most_streams: int = 2) -> None:
        self.state = empty_state()
        self.log = MemoryLog(self.state)
        self.log.commit(*listed())
        self.feed = VoteFeed(self.state, self.log, self._durable, most_streams, heartbeat_seconds)

    async def _durable(self) -> None:
        pass

    async def sent(self, cursor: Cursor, limit: int) -> tuple[list[Any], Cursor]:
        """The lines behind a cursor, read in pages of `limit` lines, and the cursor behind them."""
        sent: list[Any] = []
        while True:
            found = await self.feed.lines(cursor, limit)
            sent += [(each.line.type, each.line.user or each.line.id, each.line.vote) for each in found.sent]
            cursor = found.cursor
            if not found.more:
                return sent, cursor

    async def stream(self, after: str = "now") -> Any:
        accept = {"Accept": "text/event-stream"}
        asked = Request("GET", "/manage/votes", (), {"after": after}, accept, "192.0.2.1", b"", 0)
        reply = await self.feed.page(asked)
        assert isinstance(reply, Reply)
        assert reply.stream is not None
        return reply.stream


def behind(position: int) -> Cursor:
    return Cursor(position, 0, PROOF, None)


# -- Lines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_the_votes_of_one_record_are_told_once_each_however_small_the_pages(limit: int) -> None:
    async def main() -> None:
        place = Place()
        place.log.commit(*(voted(FIRST + number) for number in range(7)))
        sent, cursor = await place.sent(behind(1), limit)
        assert sent == [("vote", str(FIRST + number), 1) for number in range(7)]
        assert cursor == behind(2)

    run(main())


def test_a_vote_that_is_gone_is_no_line_and_moves_no_other() -> None:
    async def main() -> None:
        place = Place()
        place.log.commit(*(voted(FIRST + number) for number in range(5)))
        first = await place.feed.lines(behind(1), 2)
        place.log.commit(UserErased(str(FIRST), (BOT_REF,)), UserErased(str(FIRST + 2), (BOT_REF,)))
        sent, _ = await place.sent(first.cursor, 2)
        assert sent == [
            *(("vote", str(FIRST + number), 1) for number in (3, 4)),
            *(("erased", str(FIRST + number), None) for number in (0, 2)),
        ]

    run(main())


def test_votes_that_were_merged_from_a_copy_are_standings_once_a_user() -> None:
    async def main() -> None:
        place, other = Place(), empty_state()
        for event in (*listed(), voted(FIRST, 3), voted(FIRST + 1, 1)):
            other.apply(event)
        leaf = other.votes.next_leaf(BOT_REF, -1)
        assert leaf is not None
        parts = ((FIRST, "b.1", 3, NOW_MS), (FIRST, "c.1", 2, NOW_MS))
        place.log.commit(VotesMerged(BOT_REF, ("b.1",), leaf, parts))
        sent, _ = await place.sent(behind(1), 1)
        assert sent == [("standing", str(FIRST), 5), ("standing", str(FIRST + 1), 1)]

    run(main())


def test_a_vote_of_another_node_tells_the_count_over_all_nodes() -> None:
    async def main() -> None:
        place = Place()
        place.log.commit(voted(int(USER), 2))
        place.log.commit(VoteCast(BOT_REF, USER, 1, NOW_MS + 1, "b.1", total=3))
        assert (await place.sent(behind(1), 10))[0] == [("vote", USER, 2), ("vote", USER, 3)]

    run(main())


def test_a_vote_removal_is_a_line_for_each_user_and_their_votes_before_it_are_none() -> None:
    async def main() -> None:
        place = Place()
        users = [str(FIRST + number) for number in range(3)]
        place.log.commit(*(voted(int(user), 4) for user in users))
        place.log.commit(VotesRemoved(BOT_REF, tuple(users[:2]), "bought", NOW_MS))
        place.log.commit(voted(FIRST, 1, NOW_MS + 1))
        assert (await place.sent(behind(2), 1))[0] == [
            *(("struck", user, None) for user in users[:2]),
            ("vote", users[0], 1),
        ]
        assert [user for its_type, user, _ in (await place.sent(behind(1), 9))[0] if its_type == "vote"] == [
            *(users[0], users[2]),
            users[0],
        ]

    run(main())


def test_a_removed_listing_is_a_line_and_events_without_votes_are_none() -> None:
    async def main() -> None:
        place = Place()
        place.log.commit(*listed(OTHER_REF))
        place.log.commit(ListingRemoved(OTHER_REF))
        sent, cursor = await place.sent(behind(0), 10)
        assert sent == [("removed", OTHER_REF.partition("/")[2], None)]
        assert cursor == behind(3)

    run(main())


def test_a_journal_that_cannot_be_read_is_not_ready() -> None:
    async def main() -> None:
        place = Place()
        place.log.failure = OSError(5, "Input/output error")
        with pytest.raises(Refusal, match="the journal cannot be read"):
            await place.feed.lines(behind(0), 10)

    run(main())


def test_pages_at_once_are_bounded() -> None:
    async def main() -> None:
        place = Place()
        place.log.is_open.clear()
        reading = [asyncio.create_task(place.feed.lines(behind(0), 1)) for _ in range(MOST_READERS)]
        await turns()
        with pytest.raises(Refusal, match="too many pages"):
            await place.feed.lines(behind(0), 1)
        place.log.is_open.set()
        await asyncio.gather(*reading)
        assert (await place.feed.lines(behind(0), 1)).sent == []

    run(main())


# -- Streams ----------------------------------------------------------------------------------------------


def test_a_stream_without_news_says_that_it_is_there_and_where() -> None:
    async def main() -> None:
        place = Place(heartbeat_seconds=0.001)
        stream = await place.stream()
        here = b": here\nid: 1-0-%08x\n\n" % PROOF
        assert [await anext(stream) for _ in range(3)] == [here] * 3
        await stream.aclose()

    run(main())


def test_a_stream_reads_no_further_page_before_its_reader_took_one() -> None:
    async def main() -> None:
        place = Place()
        stream = await place.stream()
        await anext(stream)
        asked = len(place.log.records)
        for number in range(300):
            place.log.commit(voted(FIRST + number))
        place.feed.wake()
        await turns()
        pieces = [await anext(stream), await anext(stream)]
        assert [piece.count(b"data: ") for piece in pieces] == [250, 50]
        its_id, content = pieces[-1].rstrip().splitlines()[-2:]
        assert its_id == b"id: %d-0-%08x" % (asked + 300, PROOF)
        assert json.loads(content.removeprefix(b"data: "))["user"] == str(FIRST + 299)
        await stream.aclose()

    run(main())


def test_a_stream_whose_place_is_lost_says_so_and_ends() -> None:
    async def main() -> None:
        place = Place()
        stream = await place.stream()
        await anext(stream)
        place.log.failure = PlaceLost()
        place.log.commit(voted(FIRST))
        place.feed.wake()
        piece = await anext(stream)
        assert piece.startswith(b"event: lost\ndata: ")
        assert json.loads(piece.partition(b"data: ")[2])["status"] == 410
        assert [piece async for piece in stream] == []

    run(main())


def test_a_stream_that_is_left_makes_room_for_another() -> None:
    async def main() -> None:
        place = Place(most_streams=1)
        stream = await place.stream()
        await anext(stream)
        with pytest.raises(Refusal, match="too many streams"):
            await place.stream()
        await stream.aclose()
        again = await place.stream()
        await anext(again)
        await again.aclose()

    run(main())


def test_streams_end_when_the_gateway_stops() -> None:
    async def main() -> None:
        place, stop = Place(), asyncio.Event()
        stream = await place.stream()
        await anext(stream)
        running = asyncio.create_task(place.feed.run(stop))
        stop.set()
        assert [piece async for piece in stream] == []
        await running
        with pytest.raises(Refusal, match="stopping"):
            await place.stream()

    run(main())
