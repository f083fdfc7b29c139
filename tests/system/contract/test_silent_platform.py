"""A chat platform that takes connections and gives no whole answer: pages come, and votes are checked."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
import requests

from pages.rounds import CHECK_AGE_MS
from tests.support.cutting_proxy import CuttingProxy, held_port
from tests.support.gateways import SERVER_SUBMISSION, eventually
from tests.support.listed_servers import NEW, TYPED, reader, shown, unlist
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person, site_settings
from tests.support.platform_stand_in import ADA, BEN, BOT_TOKEN, GOOD_SERVER, decided_at, standing_in

HERE, MANAGED = f"/servers/{GOOD_SERVER}", f"/manage/servers/{GOOD_SERVER}"
BODY = {**SERVER_SUBMISSION, "id": GOOD_SERVER, "owner_id": ADA, "invite": "server-1"}
EDIT = {name: value for name, value in BODY.items() if name not in {"id", "invite"}}
PROFILE = f"{HERE}/manage/profile"
VERSION = re.compile('name="version" value="([^"]+)"')
WAYS = ("hang", "drip", "cut")


class Place(NamedTuple):
    """A gateway, the proxy to its chat platform, and a key of its bot."""

    gateway: PeopleGateway
    proxy: CuttingProxy
    key: str

    def spoil(self, way: str) -> None:
        if way == "hang":
            self.proxy.hang()
        elif way == "drip":
            self.proxy.drip(0.2)
        else:
            self.proxy.cut(accepts=True)

    def beside_checks(self, ask: Callable[[], requests.Response]) -> requests.Response:
        """Ask for a page. Check votes until it comes, and at least once."""
        with ThreadPoolExecutor(1) as thread:
            asked = thread.submit(ask)
            while True:
                is_there = asked.done()
                assert self.gateway.voters(self.key).status_code == 200
                if is_there:
                    return asked.result()


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    held = held_port()
    public_url = f"http://127.0.0.1:{held.getsockname()[1]}"
    with (
        pytest.MonkeyPatch.context() as patched,
        standing_in(f"{public_url}/signin/callback") as stand_in,
        CuttingProxy(urlsplit(stand_in.url).port or 0) as proxy,
    ):
        patched.setattr("pages.rounds.CHECK_EVERY_SECONDS", 0.05)
        patched.setattr("pages.rounds.AWAY_SECONDS", 0.05)
        own = {
            **site_settings(public_url, stand_in),
            "server.port": held.getsockname()[1],
            "chat_platform.bot_token": BOT_TOKEN,
            "chat_platform.api_url": f"http://127.0.0.1:{proxy.port}/api/v10",
            "chat_platform.timeout_seconds": 2,
            "limits.voters.requests": 1_000_000,
        }
        gateway = PeopleGateway(tmp_path_factory.mktemp("silent") / "data", **own)
        gateway.stand_in = stand_in
        try:
            gateway.start()
            yield Place(gateway, proxy, gateway.list_bot())
        finally:
            gateway.stop()
            held.close()


@pytest.fixture
def place(platform: Place) -> Iterator[Place]:
    unlist(platform.gateway, GOOD_SERVER)
    yield platform
    platform.proxy.restore()


@pytest.mark.parametrize("way", WAYS)
def test_a_server_with_an_invite_is_submitted(place: Place, way: str) -> None:
    person = reader(place.gateway)
    place.spoil(way)
    answer = place.beside_checks(lambda: person.post(NEW, {**TYPED, "invite": "server-1"}))
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{HERE}/manage")
    known = shown(place.gateway)
    assert (known["invite"], known["invite_check"]) == ("server-1", None)


@pytest.mark.parametrize("way", WAYS)
def test_the_daily_check_of_an_invite_keeps_the_last_answer(place: Place, way: str) -> None:
    place.gateway.done("POST", "/manage/servers", BODY)
    known = shown(place.gateway)["invite_check"]
    connections = place.proxy.connections
    place.spoil(way)
    place.gateway.clock.advance(CHECK_AGE_MS / 1_000)
    eventually(lambda: place.proxy.connections > connections)
    assert place.beside_checks(lambda: place.gateway.request("GET", "/servers")).status_code == 200
    assert shown(place.gateway)["invite_check"] == known
    place.proxy.restore()
    eventually(lambda: shown(place.gateway)["invite_check"]["checked_at"] == place.gateway.clock.now_ms())


@pytest.mark.parametrize("way", WAYS)
def test_a_report_of_a_broken_invite_is_taken(place: Place, way: str) -> None:
    place.gateway.done("POST", "/manage/servers", BODY)
    place.gateway.done("POST", f"{MANAGED}/approve", {})
    ben = place.gateway.person(BEN)
    place.spoil(way)
    answer = place.beside_checks(lambda: ben.post(f"{HERE}/report", {"reason": "broken_invite"}))
    assert answer.status_code == 303
    assert len(place.gateway.done("GET", f"{MANAGED}/reports")["reports"]) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_sign_in_ends_with_a_page_that_says_so(place: Place, way: str) -> None:
    person = Person(place.gateway)
    back = decided_at(person.started(), ADA)
    place.spoil(way)
    answer = place.beside_checks(lambda: person.come_back(back))
    assert (answer.status_code, "The sign-in has to wait" in words(answer.text)) == (503, True)
    place.proxy.restore()
    assert person.sign_in_as(ADA).status_code == 303


def test_a_version_that_is_saved_while_the_platform_is_asked_is_not_overwritten_unseen(place: Place) -> None:
    gateway, proxy = place.gateway, place.proxy
    gateway.done("POST", "/manage/servers", {**EDIT, "id": GOOD_SERVER})
    ada = gateway.person(ADA)
    (version,) = VERSION.findall(ada.page(PROFILE))
    form = {**TYPED, "invite": "server-1", "version": version}
    proxy.cut()  # no connection is left over
    proxy.restore()
    proxy.hang()
    connections = proxy.connections
    with ThreadPoolExecutor(1) as thread:
        saving = thread.submit(ada.post, PROFILE, form)
        eventually(lambda: proxy.connections > connections)
        gateway.done("PUT", MANAGED, {**EDIT, "name": "Of somebody else"})
        proxy.restore()
        answer = saving.result()
    assert (answer.status_code, "Another version was saved meanwhile" in words(answer.text)) == (409, True)
    assert shown(gateway)["name"] == "Of somebody else"
    (version,) = VERSION.findall(answer.text)
    assert ada.post(PROFILE, {**form, "version": version}).status_code == 303
    assert (shown(gateway)["name"], shown(gateway)["invite"]) == (TYPED["name"], "server-1")
