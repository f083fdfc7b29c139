"""replication/copies.py: a copy is written and searched while the loop does other work."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from core.listing_table import SLICE
from replication.capture import Capture
from replication.copies import Donor, Forgetting, Offer
from replication.facts import CountsFact, ErasedFact
from replication.merge import FactSource
from tests.support.coroutines import run
from tests.support.memory_nodes import DIGESTS, Node
from tests.support.sample_rows import listed

LISTINGS = 10 * SLICE


def node_with_listings() -> Node:
    node = Node()
    for number in range(LISTINGS):
        node.ledger.commit(listed(f"bots/{10**17 + number}"))
    return node


async def most_in_a_turn(calls: list[str], work: Awaitable[object]) -> int:
    """Return the most calls that were noted in one turn of the loop while the work was done."""
    working, most = asyncio.ensure_future(work), 0
    while not working.done():
        before = len(calls)
        await asyncio.sleep(0)
        most = max(most, len(calls) - before)
    await working
    return most


def noting(calls: list[str], call: Callable[[str], Any]) -> Callable[[str], Any]:
    def noted(ref: str) -> Any:
        calls.append(ref)
        return call(ref)

    return noted


def test_a_donor_passes_listings_without_facts_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    node, calls = node_with_listings(), list[str]()
    capture = Capture(node.state, DIGESTS.user)
    monkeypatch.setattr(capture, "counts", noting(calls, capture.counts))
    link: Any = SimpleNamespace(key=lambda *names: "/".join(names))
    donor = Donor(link, SimpleNamespace(name="a"), node.ledger, capture, node.clock)  # type: ignore[arg-type]
    put = list[Any]()

    async def keep(_: str, pieces: Sequence[Any]) -> None:
        put.extend(pieces)

    monkeypatch.setattr(donor, "_put", keep)
    offer = Offer("b", "copy", node.ledger.head, {"a.1": node.ledger.head})
    assert run(most_in_a_turn(calls, donor.give(offer))) <= SLICE
    assert len(calls) == LISTINGS
    assert [piece.number for piece in put] == [*range(len(put))]
    facts = [fact for piece in put for fact in piece.facts]
    assert len(facts) == LISTINGS
    assert not any(isinstance(fact, CountsFact) for fact in facts)
    assert put[-1].cursors == offer.cursors


def test_a_search_for_erased_users_passes_listings_without_votes_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node, calls = node_with_listings(), list[str]()
    deliveries: Any = node.state.deliveries
    monkeypatch.setattr(deliveries, "of", noting(calls, deliveries.of))
    forgetting = Forgetting(node.ledger, node.applying, DIGESTS.user)
    erased = [ErasedFact(DIGESTS.user("7"), 1)]
    assert run(most_in_a_turn(calls, forgetting.forget(erased, FactSource("b.1")))) <= SLICE
    assert len(calls) == LISTINGS
