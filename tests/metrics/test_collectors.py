"""The metrics of a gateway: the number of their series, and the cost of a scrape."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metrics import collectors
from metrics.collectors import Collectors
from metrics.exposition import exposition
from metrics.families import Family
from tests.support.gateways import ThreadGateway, running
from tests.support.scraped import Scraped


def node(behind: int, silent_ms: int | None = 5) -> dict[str, Any]:
    return {"node": "n-1", "state": "there", "silent_ms": silent_ms, "read_to": 0, "behind": behind}


def of_fleet(nodes: dict[str, Any]) -> Scraped:
    """Return the metrics of a fleet with these other nodes."""
    vitals = {
        "holds_name": True,
        "claims_votes": False,
        "may_send_webhooks": True,
        "failing": {"publishing": "it is full"},
        "unsent": 7,
        "concerns": ["one"],
        "nodes": nodes,
    }
    return Scraped(exposition(list(collectors._of_fleet(vitals))).text.decode())


def test_a_fleet_has_series_for_each_node() -> None:
    told = of_fleet({"oslo": node(3), "rome": node(0, silent_ms=None)})
    assert told.value("replication_behind_positions", node="oslo") == 3
    assert told.value("replication_silent_seconds", node="oslo") == 0.005
    assert ("votegate_replication_silent_seconds", frozenset({("node", "rome")})) not in told.series
    assert told.value("replication_unsent_positions") == 7
    assert told.value("replication_holds_name") == told.value("replication_may_send_webhooks") == 1
    assert (told.value("replication_claims_votes"), told.value("replication_concerns")) == (0, 1)
    failing = [told.value("replication_failing", loop=loop) for loop in collectors.LOOPS]
    assert failing == [0, 1, 0, 0]


def test_many_nodes_have_few_series_and_the_slowest_node_is_among_them() -> None:
    nodes = {f"node-{number:04}": node(number, silent_ms=number) for number in range(1_000)}
    told = of_fleet(nodes)
    assert len(told.families["votegate_replication_behind_positions"].samples) == collectors.NODES + 1
    assert told.value("replication_behind_positions", node=collectors.OTHER_NODES) == 999
    assert told.value("replication_silent_seconds", node=collectors.OTHER_NODES) == 0.999


def test_a_hostile_name_of_a_node_is_one_label() -> None:
    name = 'x"} 1\nvotegate_fake 2\\'
    assert of_fleet({name: node(1)}).value("replication_behind_positions", node=name) == 1


@pytest.fixture
def collecting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[ThreadGateway, list[Collectors]]]:
    made: list[Collectors] = []

    class Watched(Collectors):
        def __init__(self, sources: collectors.Sources) -> None:
            super().__init__(sources)
            made.append(self)

    monkeypatch.setattr("gateway.observing.Collectors", Watched)
    with running(tmp_path / "data") as gateway:
        yield gateway, made


def test_a_scrape_does_as_much_for_few_listings_as_for_many(
    collecting: tuple[ThreadGateway, list[Collectors]],
) -> None:
    gateway, (collect,) = collecting

    def steps() -> int:
        """Return the number of calls of functions, of Python and of C, that a collection makes: the least of
        five.

        The first one after an import makes more, because Python then checks abstract classes again.
        """
        return min(calls_of_one() for _ in range(5))

    def calls_of_one() -> int:
        calls = 0

        def count(_: object, event: str, __: object) -> None:
            nonlocal calls
            calls += event in {"call", "c_call"}

        def collection() -> list[Family]:
            sys.setprofile(count)
            try:
                return collect()
            finally:
                sys.setprofile(None)

        gateway.on_loop(collection)
        return calls

    def list_bots(numbers: range) -> None:
        for number in numbers:
            key = gateway.list_bot(str(10**17 + number))
            gateway.voters(key, bot=str(10**17 + number))
            gateway.cast(path=f"/manage/bots/{10**17 + number}")

    list_bots(range(2))
    few = steps()
    list_bots(range(2, 40))
    assert few > 100
    assert steps() <= few + 20, "a scrape walks through a table that grows with the state"
