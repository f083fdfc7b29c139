"""replication/readiness.py: when a node has what its fleet knows."""

from typing import cast

import pytest

from core.clock import NS_PER_SECOND
from core.fleet_table import FleetTable
from replication.members import RefusedNodes, Registry
from replication.readiness import NO_COPY, NOT_HEARD, Joining
from tests.support.fake_clock import FakeClock

PATIENCE_SECONDS, LOST_SECONDS = 10.0, 60.0


class Heard:
    """The part of a registry that tells who was heard."""

    name = "b"

    def __init__(self) -> None:
        self.refused = RefusedNodes("b")
        self.has_listened = self.is_hearing = True
        self.others = {"a": None}
        self.silent_seconds = 0.0

    def silent_ns(self, _: str) -> float:
        return self.silent_seconds * NS_PER_SECOND


class Scene:
    def __init__(self, *, has_listings: bool = False, node_ids: tuple[str, ...] = (), read: str = "") -> None:
        self.heard, self.clock, self.fleet = Heard(), FakeClock(), FleetTable()
        for node_id in node_ids:
            self.fleet.number(node_id)
        if read:
            self.fleet.heard(read, 1)
        self.joining = Joining(
            cast("Registry", self.heard),
            self.fleet,
            self.clock,
            has_listings=has_listings,
            patience_seconds=PATIENCE_SECONDS,
            lost_seconds=LOST_SECONDS,
        )

    def missing(self, *, is_caught_up: bool = False) -> str | None:
        if self.heard.is_hearing:
            self.joining.heartbeat(is_caught_up=is_caught_up)
        return self.joining.missing()


def test_a_new_node_is_not_ready_until_it_has_a_copy() -> None:
    scene = Scene()
    assert scene.missing() == NO_COPY
    scene.joining.took_copy()
    assert scene.missing() is None


def test_a_new_node_that_reads_everything_from_streams_needs_no_copy() -> None:
    assert Scene().missing(is_caught_up=True) is None


def test_a_new_node_waits_until_everybody_had_the_time_to_say_that_they_are_there() -> None:
    scene = Scene()
    scene.heard.has_listened = False
    assert scene.missing(is_caught_up=True) == NO_COPY


def test_a_new_node_that_does_not_understand_the_others_is_not_ready() -> None:
    scene = Scene()
    scene.heard.refused.refuse("a", "node a has another key-digest.secret")
    assert scene.missing(is_caught_up=True) == NO_COPY


def test_the_first_node_of_a_fleet_is_ready() -> None:
    scene = Scene()
    scene.heard.others = {}
    assert scene.missing() is None


def test_a_new_node_waits_no_longer_for_nodes_that_are_gone() -> None:
    scene = Scene()
    scene.heard.silent_seconds = LOST_SECONDS - 1
    assert scene.missing() == NO_COPY
    scene.heard.silent_seconds = LOST_SECONDS
    assert scene.missing() is None


def test_a_node_that_has_read_others_is_ready_without_redis() -> None:
    scene = Scene(read="a.1")
    scene.heard.is_hearing = False
    assert scene.missing() is None


@pytest.mark.parametrize(
    ("has_listings", "node_ids", "reason"),
    [
        (True, ("b.1", "b.2"), None),
        (True, ("b.1", "a.1"), NOT_HEARD),  # a copy was interrupted
        (False, ("b.1",), NOT_HEARD),
    ],
)
def test_without_redis_a_node_with_listings_of_its_own_becomes_ready_after_a_while(
    has_listings: bool, node_ids: tuple[str, ...], reason: str | None
) -> None:
    scene = Scene(has_listings=has_listings, node_ids=node_ids)
    scene.heard.is_hearing = False
    assert scene.missing() == NOT_HEARD
    scene.clock.advance(PATIENCE_SECONDS)
    assert scene.missing() == reason
