"""Likes in a fleet: nodes that have heard the same agree."""

import pytest

from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import ThreadFleet, ThreadNode
from tests.support.gateways import OTHER_USER, USER
from tests.support.made_listings import approved_theme


@pytest.fixture
def here(fleet: ThreadFleet) -> str:
    """Return the path of a theme that both nodes know."""
    here = approved_theme(fleet.nodes[0])
    fleet.converge()
    return here


def counted(node: ThreadNode, here: str) -> tuple[int, int, int]:
    """Return the likes of all days, of all months, and in all, which are the same for a new theme."""
    numbers = node.done("GET", f"{here}/numbers")
    of_days, of_months = (sum(each["votes"] for each in numbers[name]) for name in ("days", "months"))
    return of_days, of_months, int(numbers["total"])


def expect(fleet: ThreadFleet, here: str, likes: int) -> None:
    assert [counted(node, here) for node in fleet.nodes] == [(likes,) * 3] * 2


def test_a_like_is_given_at_one_node_and_taken_back_at_another(fleet: ThreadFleet, here: str) -> None:
    a, b = fleet.nodes
    for giver, taker in ((a, b), (b, a), (a, a), (b, a)):
        giver.done("PUT", f"{here}/likes/{USER}")
        fleet.converge()
        expect(fleet, here, 1)
        fleet.advance(1)
        taker.done("DELETE", f"{here}/likes/{USER}")
        fleet.converge()
        expect(fleet, here, 0)
        fleet.advance(1)


def test_a_like_that_was_given_at_two_nodes_at_once_counts_once(
    fleet: ThreadFleet, proxy: CuttingProxy, here: str
) -> None:
    a, b = fleet.nodes
    proxy.cut()
    a.done("PUT", f"{here}/likes/{USER}")
    b.done("PUT", f"{here}/likes/{USER}")
    b.done("PUT", f"{here}/likes/{OTHER_USER}")
    proxy.restore()
    fleet.converge()
    expect(fleet, here, 2)
    fleet.advance(1)
    a.done("DELETE", f"{here}/likes/{USER}")
    fleet.converge()
    expect(fleet, here, 1)


def test_a_like_is_taken_back_at_a_node_that_has_not_heard_of_it(
    fleet: ThreadFleet, proxy: CuttingProxy, here: str
) -> None:
    a, b = fleet.nodes
    proxy.cut()
    a.done("PUT", f"{here}/likes/{USER}")
    fleet.advance(1)
    b.done("DELETE", f"{here}/likes/{USER}")
    proxy.restore()
    fleet.converge()
    expect(fleet, here, 0)
    fleet.advance(1)
    b.done("PUT", f"{here}/likes/{USER}")
    fleet.converge()
    expect(fleet, here, 1)


def test_a_like_that_was_taken_back_at_two_nodes_at_once_counts_once_when_it_is_given_again(
    fleet: ThreadFleet, proxy: CuttingProxy, here: str
) -> None:
    a, b = fleet.nodes
    a.done("PUT", f"{here}/likes/{USER}")
    fleet.converge()
    fleet.advance(1)
    proxy.cut()
    a.done("DELETE", f"{here}/likes/{USER}")
    b.done("DELETE", f"{here}/likes/{USER}")
    proxy.restore()
    fleet.converge()
    expect(fleet, here, 0)
    fleet.advance(1)
    b.done("PUT", f"{here}/likes/{USER}")
    fleet.converge()
    expect(fleet, here, 1)
    for node in fleet.nodes:
        node.restart()
    fleet.converge()
    expect(fleet, here, 1)


def test_a_node_that_comes_later_counts_the_likes_of_all_days(fleet: ThreadFleet, here: str) -> None:
    a, b = fleet.nodes
    a.done("PUT", f"{here}/likes/{USER}")
    b.done("PUT", f"{here}/likes/{OTHER_USER}")
    fleet.converge()
    b.done("DELETE", f"{here}/likes/{USER}")
    fleet.converge()
    c = fleet.node("c")
    fleet.converge()
    assert counted(c, here) == (1, 1, 1)
