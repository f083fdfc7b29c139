"""Nodes of a fleet without Redis: a test passes the facts of one to another."""

from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from core.events import Event, NodeNamed
from core.fleet_table import label_of
from core.ledger import Ledger
from core.rows import Listing
from core.state import State
from core.vote_table import leaves_of
from replication.applying import Applying
from replication.capture import Capture
from replication.facts import Fact, HybridClock, KeyedDigests, ListingFact, VotesFact, VotesRemovedFact
from replication.merge import FactSource, Merge
from tests.support.committed_rows import a_listing
from tests.support.fake_clock import FakeClock
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.sample_rows import BOT_REF, HOUR_MS, NOW_MS
from votes.queries import Searches

DIGESTS = KeyedDigests(b"the secret of the fleet")
T = TypeVar("T")


class Told(NamedTuple):
    """The facts for other nodes of the record at `position`."""

    author: str
    position: int
    facts: Sequence[Fact]


class Node:
    """A state, its ledger over a journal in memory, and what captures and merges facts."""

    def __init__(self, name: str = "a", *, now_ms: int = NOW_MS, alone: bool = False) -> None:
        """A node that is alone is in no fleet before it joins one."""
        self.name = name
        self.clock = FakeClock(now_ms)
        self.journal = MemoryJournal()
        self.told: list[Told] = []
        self.records: list[Sequence[Event]] = []  # since it started
        self._begin(empty_state())
        if not alone:
            self.join()

    def join(self, epoch: int = 1) -> None:
        self.ledger.commit([NodeNamed(label_of(self.name, epoch))])
        self._begin(self.state)

    def restart(self) -> None:
        """All that is not in the journal is lost."""
        self._begin(fold(self.journal.records))

    def _begin(self, state: State) -> None:
        self.state = state
        stamper = HybridClock(state.fleet, self.clock) if state.fleet.label else None
        self.ledger = Ledger(state, self.journal, len(self.journal.records), stamper)
        self.capture = Capture(state, DIGESTS.user)
        self.merge = Merge(state, DIGESTS.user)
        self.searches = Searches(state)
        self.ledger.subscribe(self.searches.on_record)
        self.applying = Applying(self.ledger, self.merge, self.searches.of)
        self.records = []
        self.ledger.subscribe(self._on_record)

    def _on_record(self, position: int, events: Sequence[Event]) -> None:
        self.records.append(events)
        facts = self.capture.facts(events)
        if facts and self.label:
            self.told.append(Told(self.label, position, facts))

    @property
    def label(self) -> str:
        return self.state.fleet.label

    def commit(self, *events: Event) -> list[Fact]:
        """Commit the events, and return the facts that their record tells others."""
        self.ledger.commit(events)
        return self.capture.facts(self.records[-1])

    def hear(self, *others: "Node") -> None:
        """Merges all that the others have told so far, in order."""
        for other in others:
            for told in other.told:
                self.merge_facts(told.facts, told.author)

    def merge_facts(self, facts: Iterable[Fact], author: str = "other.1") -> list[Event]:
        """The events of the records by which the facts were merged."""
        before = len(self.records)
        finished(self.applying.facts(facts, FactSource(author)))
        return [event for record in self.records[before:] for event in record[1:]]

    def everything(self) -> list[Fact]:
        """Return the facts about listings, users and votes in a copy of the node."""
        removed = [
            VotesRemovedFact(ref, (user,), ms)
            for ref, users in self.state.fleet.removed_votes.items()
            for user, ms in users.items()
        ]
        listings = [self.capture.listing(ref) for ref in self.state.listings.refs]
        people = [self.capture.user(ref) for ref in self.state.users.refs]
        refs = [*self.state.listings.unlisted, *self.state.listings.refs]
        rows = (*listings, *people, *map(self.capture.counts, refs))
        return [*removed, *(fact for fact in rows if fact is not None), *self._votes()]

    def _votes(self) -> Iterable[VotesFact]:
        votes, fleet = self.state.votes, self.state.fleet
        for ref in (*self.state.listings.unlisted, *self.state.listings.refs):
            for leaf in leaves_of(votes, ref):
                labels = tuple(fleet.numbers)
                alone, several = votes.by_node(ref, leaf)
                parts = tuple(
                    (user, labels[node], count, (votes.get(ref, user) or (0, 0))[1])
                    for user in several
                    for node, count in votes.parts(ref, user).items()
                )
                yield VotesFact(ref, fleet.removed.get(ref, 0), labels, alone, parts)

    def listing(self, ref: str = BOT_REF) -> Listing:
        return self.state.listings[ref]

    def votes(self, ref: str, user: str) -> tuple[int, int] | None:
        return self.state.votes.get(ref, int(user))


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that waits for nothing but its next turn."""
    while True:
        try:
            work.send(None)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]  # StopIteration's value is of no type


def a_node() -> Node:
    """One with a bot."""
    node = Node("a")
    a_listing(node.ledger)
    return node


def one_ahead_of(other: Node) -> Node:
    """Return a node that has read everything of the other one, and whose clock is an hour ahead."""
    node = Node("b", now_ms=NOW_MS + HOUR_MS)
    node.hear(other)
    return node


def meet(*nodes: Node) -> None:
    """Let all nodes read each other."""
    for node in nodes:
        node.hear(*(other for other in nodes if other is not node))
    assert_alike(*nodes)


def listing_fact(facts: Iterable[Fact]) -> ListingFact:
    """Return the only fact about a listing."""
    (found,) = (fact for fact in facts if isinstance(fact, ListingFact))
    return found


def assert_alike(*nodes: Node) -> None:
    """Check that all nodes have the same shared content, and that each journal folds to it."""
    assert len({node.state.shared_digest() for node in nodes}) == 1
    for node in nodes:
        assert_folds(node)


def assert_folds(node: Node) -> None:
    state = fold(node.journal.records)
    assert state.digest() == node.state.digest()
    assert state.shared_digest() == node.state.shared_digest()
    assert state.fleet.row == node.state.fleet.row
