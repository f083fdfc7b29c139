"""The publishing part of a node: its journal, queue and publisher, over a real Redis."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.events import NodeNamed
from core.ledger import Ledger
from replication.capture import Capture
from replication.epochs import Identity
from replication.facts import VoteFact
from replication.members import KnownElsewhere, ReadUpTo
from replication.publisher import Entry, Outgoing, Publisher
from replication.redis_link import BEGINNING, Link
from tests.support.fake_clock import FakeClock
from tests.support.journals import on, recording
from tests.support.memory_nodes import DIGESTS
from tests.support.reading_node import link_to
from tests.support.sample_rows import listed, voted

NAME = "a"


@dataclass
class Others:
    """The other nodes, as far as this one has read of them."""

    read: ReadUpTo | None = None
    newest_epoch: int = 0
    is_complete: bool = True

    def known_elsewhere(self) -> KnownElsewhere:
        return KnownElsewhere(self.read, self.newest_epoch, self.is_complete)


@dataclass
class Publishing:
    ledger: Ledger
    outgoing: Outgoing
    publisher: Publisher
    link: Link
    clock: FakeClock
    others: Others

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
        stream = self.link.key("stream", NAME)
        found = await self.link.read({stream: BEGINNING}, 1_000)
        return [
            (id_.position, self.link.open(envelope, f"{stream}/{id_}", Entry))
            for id_, envelope in found.get(stream, ())
        ]


@asynccontextmanager
async def publishing(folder: Path, url: str, most: int = 1_000) -> AsyncIterator[Publishing]:
    """A node with a bot that is in its stream already. `most` records are queued at most."""
    link, clock, others = link_to(url), FakeClock(), Others()
    async with recording(folder) as (ledger, journal), aclosing(link.redis):
        ledger.commit([NodeNamed(f"{NAME}.1")])
        outgoing = Outgoing(ledger, journal, on(folder), Capture(ledger.state, DIGESTS.user), most)
        identity = Identity(NAME, ledger, clock)
        ledger.subscribe(outgoing.on_record)
        ledger.subscribe(identity.on_record)
        publisher = Publisher(
            link,
            NAME,
            ledger,
            outgoing,
            identity,
            others.known_elsewhere,
        )
        node = Publishing(ledger, outgoing, publisher, link, clock, others)
        await ledger.durable(ledger.commit(listed()))
        await node.tell_all()
        try:
            yield node
        finally:
            publisher.close()


def users_in(stream: list[tuple[int, Entry]]) -> list[str]:
    """Return the users of the votes in the entries."""
    return [fact.user for _, entry in stream for fact in entry.facts if isinstance(fact, VoteFact)]
