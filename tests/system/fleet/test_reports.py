"""Reports in a fleet: a moderator of one node settles the reports that this node knew, and no others."""

from typing import Any

import pytest

from tests.support.contract import BOT_PATH
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import ThreadFleet, ThreadNode
from tests.support.gateways import BOT, USER, eventually
from tests.support.people import signed_in
from tests.support.sample_rows import OTHER_USER

THIRD_USER = "500000000000000003"


@pytest.fixture
def fleet(fleet: ThreadFleet) -> ThreadFleet:
    """Two nodes that know a bot. The clock of the second one is ten seconds behind."""
    a, b = fleet.nodes
    a.list_bot()
    fleet.converge()
    a.advance(70)
    b.advance(60)
    return fleet


def report(node: ThreadNode, user: str, text: str = "") -> None:
    node.done("POST", f"{BOT_PATH}/reports", {"user": user, "reason": "does_not_work", "text": text})


def reports(node: ThreadNode) -> Any:
    return node.done("GET", f"{BOT_PATH}/reports")["reports"]


def reporters(node: ThreadNode) -> set[str]:
    return {each["by"].removeprefix("users/") for each in reports(node)}


def test_a_report_of_another_node_that_had_not_arrived_stays_open(
    fleet: ThreadFleet, proxy: CuttingProxy
) -> None:
    a, b = fleet.nodes
    report(a, USER)
    fleet.converge()
    proxy.cut()
    report(b, OTHER_USER, "It asks for passwords.")
    a.advance(1)
    report(a, THIRD_USER)
    assert reporters(a) == {USER, THIRD_USER}
    a.done("POST", f"{BOT_PATH}/reports/settle", {})
    assert reporters(a) == set()
    proxy.restore()
    eventually(lambda: reporters(a) == {OTHER_USER})
    fleet.converge()
    assert reports(a) == reports(b)
    assert [each["text"] for each in reports(a)] == ["It asks for passwords."]


def test_reports_that_both_nodes_know_are_settled_at_both(fleet: ThreadFleet, proxy: CuttingProxy) -> None:
    a, b = fleet.nodes
    report(a, USER)
    report(b, OTHER_USER)
    fleet.converge()
    proxy.cut()
    report(b, USER, "It still does not work.")  # a newer one than the one that a moderator sees at node a
    a.done("POST", f"{BOT_PATH}/reports/settle", {"seen": [each["id"] for each in reports(a)]})
    proxy.restore()
    fleet.converge()
    assert [each["text"] for each in reports(a)] == ["It still does not work."]
    b.done("POST", f"{BOT_PATH}/reports/settle", {})
    fleet.converge()
    assert reports(a) == reports(b) == []
    assert a.done("GET", "/manage/reports")["listings"] == []


def sign_in(node: ThreadNode, user: str) -> None:
    """Give the user a row: only users with one get notices."""
    node.on_loop(
        lambda: node.gateway.ledger.commit([signed_in(user, f"session of {user}", node.clock.now_ms())])
    )


def told(node: ThreadNode, user: str = USER) -> list[str]:
    """Return the listings in the user's notices of settled reports."""
    found = node.done("GET", f"/manage/users/{user}/notices")["notices"]
    return [each["listing"] for each in found if each["deed"] == "report_settled"]


def test_who_reports_gets_one_notice_if_two_moderators_settle_at_two_nodes(
    fleet: ThreadFleet, proxy: CuttingProxy
) -> None:
    a, b = fleet.nodes
    sign_in(a, USER)
    report(a, USER)
    fleet.converge()
    proxy.cut()
    for node in (a, b):
        node.done("POST", f"{BOT_PATH}/reports/settle", {})
    proxy.restore()
    fleet.converge()
    assert [told(node) for node in fleet.nodes] == [[f"bots/{BOT}"]] * 2


@pytest.mark.parametrize("settles", [0, 1])
def test_a_report_that_is_settled_while_its_user_is_erased_elsewhere_leaves_no_name(
    fleet: ThreadFleet, proxy: CuttingProxy, settles: int
) -> None:
    sign_in(fleet.nodes[0], USER)
    report(fleet.nodes[0], USER)
    report(fleet.nodes[0], OTHER_USER)
    fleet.converge()
    proxy.cut()
    fleet.nodes[1 - settles].done("DELETE", f"/manage/users/{USER}")
    fleet.nodes[settles].done("POST", f"{BOT_PATH}/reports/settle", {})
    proxy.restore()
    fleet.converge()
    for node in fleet.nodes:
        state = node.gateway.ledger.state
        assert f"users/{USER}" not in state.users
        known = state.listings[f"bots/{BOT}"].reports
        assert f"users/{USER}" not in {each.by for each in (known.known if known else ())}
        assert reports(node) == []


def test_a_listing_that_is_removed_elsewhere_takes_the_notice_along(
    fleet: ThreadFleet, proxy: CuttingProxy
) -> None:
    a, b = fleet.nodes
    sign_in(a, USER)
    report(a, USER)
    fleet.converge()
    proxy.cut()
    a.advance(1)
    a.done("POST", f"{BOT_PATH}/reports/settle", {})
    assert told(a) == [f"bots/{BOT}"]
    b.advance(60)
    b.done("DELETE", BOT_PATH)
    proxy.restore()
    fleet.converge()
    assert [told(node) for node in fleet.nodes] == [[], []]
