"""A fleet under load and faults, for as long as a test may take; `make soak` takes longer."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.gateways import BOT_SUBMISSION, USER, ThreadGateway
from tests.system.faults.crash import drawn_seed
from tests.system.fleet.soak import soak
from tests.system.fleet.soak_record import Ballot, Edit, IssuedKey, Node, World, check

SECONDS = 3


def test_a_fleet_agrees_on_all_that_it_said_whatever_broke_meanwhile(tmp_path: Path) -> None:
    given = os.environ.get("VOTEGATE_SEED")
    seed = drawn_seed() if given is None else int(given)
    print(f"VOTEGATE_SEED={seed}")  # noqa: T201 (pytest shows it when the test fails)
    tally = soak(tmp_path, SECONDS, seed)
    print(tally.lines())  # noqa: T201 (pytest shows it when the test fails)
    assert tally.holds
    assert tally.faults
    assert tally.findings.acknowledged


@pytest.fixture
def world(gateway: ThreadGateway) -> World:
    """The record of one node, which has everything that it has acknowledged."""
    world = World([Node("a", gateway)], "")
    for bot in world.stable:
        key = gateway.list_bot(bot.id)
        bot.keys.append(IssuedKey("", key))
        bot.edits.append(Edit(BOT_SUBMISSION["description"], 1.0, 1.0))
        bot.ballots[USER] = Ballot(1, 0, gateway.cast(path=f"/manage/bots/{bot.id}")["lastVote"])
    return world


def missing_vote(world: World) -> None:
    world.stable[0].ballots[USER].sure += 1


def vote_that_nobody_cast(world: World) -> None:
    world.stable[0].ballots[USER].sure -= 1


def vote_at_another_time(world: World) -> None:
    world.stable[0].ballots[USER].last_ms += 1


def open_key_that_was_deleted(world: World) -> None:
    world.stable[0].keys[0].opens = False


def closed_key_that_was_issued(world: World) -> None:
    world.stable[0].keys[0].secret += "x"


def edit_that_is_not_there(world: World) -> None:
    world.stable[0].edits.append(Edit("another", 2.0, 2.0))


def votes_of_a_listing_that_is_gone(world: World) -> None:
    world.removed[0].ballots[USER] = Ballot(1, 0, 1)


def test_the_check_finds_nothing_where_all_is_as_it_must_be(world: World) -> None:
    check(world, world.nodes[0])
    assert not world.findings.violations


@pytest.mark.parametrize(
    "flaw",
    [
        missing_vote,
        vote_that_nobody_cast,
        vote_at_another_time,
        open_key_that_was_deleted,
        closed_key_that_was_issued,
        edit_that_is_not_there,
        votes_of_a_listing_that_is_gone,
    ],
)
def test_the_check_tells_of(flaw: Callable[[World], None], world: World) -> None:
    flaw(world)
    check(world, world.nodes[0])
    assert len(world.findings.violations) == 1


@pytest.mark.parametrize("flaw", [missing_vote, votes_of_a_listing_that_is_gone])
def test_votes_that_are_not_there_are_counted_as_lost(flaw: Callable[[World], None], world: World) -> None:
    flaw(world)
    check(world, world.nodes[0])
    assert world.findings.lost == 1


def test_an_answer_that_did_not_come_speaks_neither_for_a_vote_nor_against_it(world: World) -> None:
    cast, not_cast = world.stable[:2]
    cast.ballots[USER].sure, cast.ballots[USER].maybe = 0, 1
    not_cast.ballots[USER].maybe = 1
    check(world, world.nodes[0])
    assert not world.findings.violations
