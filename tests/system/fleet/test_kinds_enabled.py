"""kinds.enabled: a kind that is off has no route, page or text, and its listings are kept all the same.

Rome offers bots and servers. Oslo offers every kind, and has no pages.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.cutting_proxy import held_port
from tests.support.fleet_processes import Edge, FleetOfEdges, fleet_of
from tests.support.gateways import BOT, BOT_SUBMISSION, eventually
from tests.support.people_gateway import Person, site_settings
from tests.support.platform_stand_in import ADA, CLEO, standing_in
from tests.support.redis_server import RedisServer

PROFILE = {"owner_id": ADA, "name": "Ada Lindqvist", "handle": "ada_l", "bio": "I make bots."}


class Nodes(NamedTuple):
    fleet: FleetOfEdges
    rome: Edge
    oslo: Edge

    def person(self, user: str | None) -> Person:
        visitor = Person(self.rome)
        if user is not None:
            assert visitor.sign_in_as(user).status_code == 303
        return visitor

    def restart_rome(self, **environment: str) -> None:
        self.rome.stop()
        self.rome.environment.update(environment)
        self.rome.start()


@pytest.fixture
def nodes(tmp_path: Path, redis_server: RedisServer) -> Iterator[Nodes]:
    with fleet_of(tmp_path, redis_server.url) as fleet, closing(held_port()) as held:
        port = held.getsockname()[1]
        home = f"http://127.0.0.1:{port}"
        with standing_in(f"{home}/signin/callback") as stand_in:
            site = {"server.port": port, "kinds.enabled": "bots,servers", **site_settings(home, stand_in)}
            named = {f"VOTEGATE_{key.upper().replace('.', '__')}": str(value) for key, value in site.items()}
            rome = fleet.edge("rome", **named)
            oslo = fleet.edge("oslo")
            yield Nodes(fleet, rome, oslo)


def statuses(edge: Edge, *paths: str) -> set[int]:
    return {edge.operate("GET", path).status_code for path in paths}


def listed(node: Any) -> Iterator[str]:
    """Yield the choices and the names of fields in a document."""
    if isinstance(node, list):
        for each in node:
            yield from listed(each)
    elif isinstance(node, dict):
        yield from map(str, node.get("enum", ()) if isinstance(node.get("enum"), list) else ())
        yield from node.get("properties", ()) if isinstance(node.get("properties"), dict) else ()
        for each in node.values():
            yield from listed(each)


def test_nodes_with_other_kinds_understand_each_other(nodes: Nodes) -> None:
    rome, oslo = nodes.rome, nodes.oslo
    oslo.done("POST", "/manage/profiles", PROFILE)
    oslo.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    oslo.done("POST", f"/manage/bots/{BOT}/approve", {})
    first = nodes.fleet.converge(rome, oslo)
    assert statuses(rome, "/manage/profiles", f"/manage/profiles/{ADA}") == {404}

    oslo.done("PUT", f"/manage/profiles/{ADA}", {**PROFILE, "bio": "I rest."})
    eventually(lambda: rome.fleet_digest == oslo.fleet_digest != first)
    assert rome.done("POST", "/debug/verify")["equal"] is True
    nodes.restart_rome()
    nodes.fleet.converge(rome, oslo)
    assert rome.done("POST", "/debug/snapshot")["success"] is True
    exported = nodes.person(ADA).get("/me/data.json").json()
    assert exported["listings"] == [f"bots/{BOT}", f"profiles/{ADA}"]
    assert exported["about_you"][0]["bio"] == "I rest."

    nodes.restart_rome(VOTEGATE_KINDS__ENABLED="bots,servers,profiles")
    assert rome.done("GET", f"/manage/profiles/{ADA}")["bio"] == "I rest."
    assert "I rest." in nodes.person(None).page("/profiles/ada_l")
    nodes.restart_rome(VOTEGATE_KINDS__ENABLED="bots,servers")
    rome.done("DELETE", f"/manage/users/{ADA}")
    eventually(lambda: statuses(oslo, f"/manage/profiles/{ADA}") == {404})


def test_a_kind_that_is_off_has_no_route_no_page_and_no_text(nodes: Nodes) -> None:
    rome, oslo = nodes.rome, nodes.oslo
    oslo.done("POST", "/manage/profiles", PROFILE)
    oslo.done("POST", "/manage/profiles", {**PROFILE, "owner_id": CLEO, "handle": "cleo"})
    oslo.done("POST", f"/manage/profiles/{ADA}/reports", {"user": CLEO, "reason": "breaks_rules"})
    oslo.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    oslo.done("POST", f"/manage/bots/{BOT}/approve", {})
    nodes.fleet.converge(rome, oslo)

    gone = (".json", ".rss", "/new", "/ada_l", "/random", f"/{ADA}", f"/{ADA}.json", f"/{ADA}/manage")
    ours = ("/sitemap/profiles/1.xml", f"/debug/listings/profiles/{ADA}.json", f"/review/profiles/{ADA}")
    assert statuses(rome, "/profiles", *(f"/profiles{each}" for each in gone), *ours) == {404}
    assert rome.operate("POST", "/manage/profiles", PROFILE).status_code == 404
    assert statuses(oslo, f"/debug/listings/profiles/{ADA}.json", "/manage/profiles") == {200}

    ada, cleo, stranger = nodes.person(ADA), nodes.person(CLEO), nodes.person(None)
    pages = [
        *(stranger.get(each) for each in ("/", "/bots", "/robots.txt", "/sitemap.xml", "/sitemap/pages.xml")),
        *(ada.get(each) for each in ("/me", "/me/notices", "/bots/new", f"/bots/{BOT}", "/nothing")),
        *(cleo.get(each) for each in ("/review", "/review?show=reported")),
    ]
    for page in pages:
        assert "/profiles" not in page.text, page.url
        assert "Ada Lindqvist" not in page.text.replace("Signed in as Ada Lindqvist", ""), page.url
    assert not any("profiles" in name for name in stranger.get("/index.json").json())
    assert rome.done("GET", "/manage/reports")["listings"] == []

    inside = {"find": "/debug/find.json?q=Ada+Lindqvist", "counts": "/debug/overview.json"}
    assert rome.done("GET", inside["find"])["listings"] == []
    assert {hit["kind"] for hit in oslo.done("GET", inside["find"])["listings"]} == {"profiles"}
    assert "profiles" in oslo.done("GET", inside["counts"])["counts"]
    assert "profiles" not in rome.done("GET", inside["counts"])["counts"]
    assert 'kind="profiles"' in oslo.operate("GET", "/metrics").text
    assert 'kind="profiles"' not in rome.operate("GET", "/metrics").text


def test_the_description_of_the_api_has_nothing_of_a_kind_that_is_off(
    nodes: Nodes,
) -> None:
    def described(edge: Edge) -> Any:
        return edge.request("GET", "/openapi.json").json()

    own, full = described(nodes.rome), described(nodes.oslo)
    for each in ("paths", "components"):
        assert "Profile" in json.dumps(full[each])
    assert not any("profiles" in path for path in own["paths"])
    names = [name for group in own["components"].values() for name in group]
    assert not any(name.startswith(("Profile", "profile", "Theme", "theme")) for name in names)
    assert own["paths"].items() <= full["paths"].items()
    assert not any(value in ("profiles", "themes") for value in listed(own)), "no choice of it is left"
    assert any(value in ("profiles", "themes") for value in listed(full))
    for group, components in own["components"].items():
        assert components.keys() <= full["components"][group].keys()
