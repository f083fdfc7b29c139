"""A node that tells, and nothing else of it: its journal, queue and publisher, over a real Redis."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.clock import FakeClock
from core.events import NodeNamed
from core.ledger import Ledger
from replication.facts.capture import Capture
from replication.facts.kinds import VoteFact
from replication.streams.provisional import Tentative
from replication.streams.publisher import Publisher
from replication.streams.queue import Queue
from replication.transport.envelopes import Entry, Envelopes, id_of
from replication.transport.link import Link, RedisPlace
from replication.transport.pacing import Pacing
from tests.support.journals import KEYS, on, recording
from tests.support.memory_nodes import MARKS
from tests.support.sample_rows import listed, voted
from votes.table import VoteTable

NAME = "a"
PREFIX = "votegate"


@dataclass
class Publishing:
    ledger: Ledger
    queue: Queue
    publisher: Publisher
    link: Link
    envelopes: Envelopes
    clock: FakeClock
    known: tuple[int, int] | None = None
    """Up to where the slowest and the furthest of the others know what was told."""
    newest_epoch: int = 0
    """The latest under this name that the others know of."""
    has_listened: bool = True
    """They have had the time to say so."""

    async def vote(self, *users: int) -> None:
        """One record for each."""
        for user in users:
            self.ledger.commit([voted(user)])
        await self.ledger.durable(self.ledger.head)

    async def tell_each(self, *users: int) -> None:
        """One entry for each."""
        for user in users:
            await self.vote(user)
            await self.tell_all()

    async def tell_all(self) -> None:
        await self.publisher.step()
        while self.publisher.unsent:
            await self.publisher.step()

    async def stream(self) -> list[tuple[int, Entry]]:
        """(position, entry) for all that the stream holds."""
        stream = self.link.stream(NAME)
        found = await self.link.read({stream: "0-0"}, 1_000)
        return [
            (id_of(id_).position, self.envelopes.open(envelope, f"{stream}/{id_}", Entry))
            for id_, envelope in found.get(stream, ())
        ]


@asynccontextmanager
async def publishing(
    folder: Path, url: str, most: int = 1_000, pace_seconds: float = 0
) -> AsyncIterator[Publishing]:
    """A node with a bot that is in its stream already. `most` records are queued at most."""
    link, envelopes, clock = Link(RedisPlace(url, PREFIX)), Envelopes(KEYS), FakeClock()
    async with recording(folder) as (ledger, journal), aclosing(link.redis):
        ledger.commit([NodeNamed(f"{NAME}.1")])
        queue = Queue(Capture(ledger.state, MARKS.user), ledger.head, most)
        tentative = Tentative(ledger, VoteTable)
        ledger.subscribe(queue.on_record)
        ledger.subscribe(tentative.on_record)
        publisher = Publisher(
            link,
            envelopes,
            NAME,
            ledger,
            queue,
            on(folder),
            clock,
            Pacing(clock, pace_seconds),
            lambda: journal.durable_position,
            lambda: node.known,
            tentative,
            lambda: node.newest_epoch,
            lambda: node.has_listened,
        )
        node = Publishing(ledger, queue, publisher, link, envelopes, clock)
        await ledger.durable(ledger.commit(listed()))
        await node.tell_all()
        try:
            yield node
        finally:
            publisher.close()


def users_in(stream: list[tuple[int, Entry]]) -> list[str]:
    """Whose votes the entries tell of."""
    return [fact.user for _, entry in stream for fact in entry.facts if isinstance(fact, VoteFact)]
