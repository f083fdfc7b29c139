"""Unique values in a fleet: how two claims at the same moment are settled, and when a value is free again."""

from typing import Any

import pytest

from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import ThreadFleet, ThreadNode
from tests.support.gateways import OTHER_USER, OWNER, USER, eventually
from tests.support.made_listings import THEME

PROFILE = {"owner_id": USER, "name": "Ada", "handle": "ada"}
RIVAL = {"owner_id": OTHER_USER, "name": "Ada, too", "handle": "Ada"}
Claims = tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]
CLAIMS: list[Claims] = [
    ("themes", THEME, {**THEME, "owner_id": OTHER_USER, "name": "Dusk"}, {"primary": "#000000"}),
    ("profiles", PROFILE, RIVAL, {"handle": "lovelace"}),
]
"""For each kind with unique values: two forms that take the same, and what the later one takes instead."""
each_kind = pytest.mark.parametrize(
    ("kind", "form", "rival", "other"), CLAIMS, ids=[each[0] for each in CLAIMS]
)


def submitted(node: ThreadNode, kind: str, form: dict[str, Any]) -> str:
    """Submit a listing and return its path."""
    return f"/manage/{kind}/{node.done('POST', f'/manage/{kind}', form)['id']}"


def deeds(node: ThreadNode, here: str) -> list[str]:
    return [act["deed"] for act in node.done("GET", f"{here}/history")["history"]]


@each_kind
def test_of_two_claims_at_the_same_moment_the_earlier_listing_keeps_the_values_and_the_loser_is_told(
    fleet: ThreadFleet,
    proxy: CuttingProxy,
    kind: str,
    form: dict[str, Any],
    rival: dict[str, Any],
    other: dict[str, Any],
) -> None:
    a, b = fleet.nodes
    proxy.cut()
    first = submitted(a, kind, form)
    fleet.advance(1)
    second = submitted(b, kind, rival)
    proxy.restore()
    fleet.converge()
    eventually(lambda: all("values_lost" in deeds(node, second) for node in fleet.nodes))
    fleet.converge()
    for node in fleet.nodes:
        assert "values_lost" not in deeds(node, first)
        assert node.done("GET", second)["name"] == rival["name"], "both stay"
        refused = node.operate("PUT", second, {**rival, "name": "Twilight"})
        assert refused.status_code == 400, "the later one needs other values"
        assert set(refused.json()["fields"]) <= {"primary", "secondary", "handle"}
        assert node.done("PUT", first, {**form, "name": "Sundown"})
        fleet.converge()
    fleet.advance(1)
    a.done("PUT", second, {**rival, **other})
    fleet.converge()
    told = [deed for deed in deeds(b, second) if deed == "values_lost"]
    assert len(told) <= 2, "each node tells it once at most"
    assert b.operate("PUT", second, {**rival, **other, "name": "Twilight"}).status_code == 200


@each_kind
@pytest.mark.parametrize("way", ["renamed", "removed", "denied"])
def test_a_listing_that_is_changed_removed_or_denied_frees_its_values_on_all_nodes(
    fleet: ThreadFleet,
    kind: str,
    form: dict[str, Any],
    rival: dict[str, Any],
    other: dict[str, Any],
    way: str,
) -> None:
    a, b = fleet.nodes
    here = submitted(a, kind, form)
    fleet.converge()
    assert b.operate("POST", f"/manage/{kind}", rival).status_code == 400
    fleet.advance(1)
    match way:
        case "renamed":
            a.done("PUT", here, {**form, **other})
        case "removed":
            a.done("DELETE", here)
        case _:
            act = "deny" if a.done("GET", here)["state"] == "in_review" else "withdraw"
            a.done("POST", f"{here}/{act}", {"reason": "It belongs to somebody else."})
    fleet.converge()
    taken = submitted(b, kind, rival)
    fleet.converge()
    for node in fleet.nodes:
        assert node.operate("POST", f"/manage/{kind}", {**form, "owner_id": OWNER}).status_code == 400
        assert "values_lost" not in deeds(node, taken)
