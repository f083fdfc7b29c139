"""The sitemap, the feeds, the pictures of links, and the descriptions for search engines."""

import io
import json
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from PIL import Image

from core.actors import GATEWAY
from tests.support.gateways import SERVER_SUBMISSION
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.public_scene import BOTS, HARD, HARD_BOTS, SERVERS, list_hard_names, list_many
from tests.support.slots_set import eligibility_checked

MAPS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
BOT = BOTS[0]
IN_REVIEW = {
    "id": "690000000000000000",
    "owner_id": "123456789012345678",
    "name": "Nobody sees this",
    "short_description": "It waits for a moderator",
    "description": "It waits for a moderator, and nobody else sees it before.",
    "categories": ["Music"],
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("found") / "data") as gateway:
        list_many(gateway)
        list_hard_names(gateway)
        gateway.done("POST", "/manage/bots", IN_REVIEW)
        hide(gateway, f"servers/{SERVERS[1]}")
        gateway.clock.advance(120)
        yield gateway


@pytest.fixture
def stranger(gateway: PeopleGateway) -> Person:
    return gateway.person(None)


def hide(gateway: PeopleGateway, ref: str) -> None:
    now_ms = gateway.clock.now_ms()
    event = eligibility_checked(ref, (), now_ms, now_ms, now_ms, by=GATEWAY)
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([event]))


def paths_in(gateway: PeopleGateway, visitor: Person, path: str, tag: str) -> list[str]:
    answer = visitor.get(path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/xml; charset=utf-8")
    url = gateway.base_url
    found = [each.text or "" for each in ElementTree.fromstring(answer.content).iter(f"{MAPS}loc")]
    assert all(each.startswith(f"{url}/") for each in found), tag
    return [each.removeprefix(url) for each in found]


def test_the_sitemap_leads_to_every_public_listing_and_to_no_other(
    gateway: PeopleGateway, stranger: Person
) -> None:
    parts = paths_in(gateway, stranger, "/sitemap.xml", "sitemap")
    listed = {path for part in parts for path in paths_in(gateway, stranger, part, "url")}
    public = {f"/bots/{each}" for each in (*BOTS, *HARD_BOTS)}
    public |= {f"/servers/{each}" for each in (SERVERS[0], HARD_BOTS[0])}
    assert listed >= {"/", "/bots", "/servers", "/bots?category=Music"} | public
    assert {each for each in listed if re.search(r"/\d+$", each)} == public
    assert all(stranger.get(each).status_code == 200 for each in sorted(listed - public))
    robots = stranger.get("/robots.txt").text
    assert f"Sitemap: {gateway.base_url}/sitemap.xml" in robots.splitlines()


@pytest.mark.parametrize("part", ["0.xml", "2.xml", "-1.xml", "x", "1", "01.xml", "١.xml", "9" * 20 + ".xml"])
def test_a_part_of_the_sitemap_that_is_not_there_is_not_found(stranger: Person, part: str) -> None:
    expected = 200 if part == "1" else 404
    assert stranger.get(f"/sitemap/bots/{part}").status_code == expected


def test_a_feed_has_the_newest_listings_first_with_any_name(gateway: PeopleGateway, stranger: Person) -> None:
    answer = stranger.get("/bots.rss")
    assert answer.headers["Content-Type"] == "application/rss+xml; charset=utf-8"
    channel = ElementTree.fromstring(answer.content)[0]
    titles = [each.findtext("title") for each in channel.iter("item")]
    newest = sorted(range(len(BOTS)), reverse=True)
    assert {*titles[: len(HARD)]} == {*HARD}
    assert titles[len(HARD) :] == [f"Bot {number:02}" for number in newest][: 50 - len(HARD)]
    link = channel.find("item/link")
    assert link is not None
    assert stranger.get(str(link.text).removeprefix(gateway.base_url)).ok
    again = stranger.get("/bots.rss", **{"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    assert '<link rel="alternate" type="application/rss+xml"' in stranger.page("/bots")
    assert "Server 1" not in stranger.get("/servers.rss").text


@pytest.mark.parametrize("path", [f"/bots/{each}" for each in HARD_BOTS] + [f"/servers/{SERVERS[0]}"])
def test_a_link_to_a_listing_has_a_picture(stranger: Person, path: str) -> None:
    answer = stranger.get(f"{path}/preview.png")
    assert answer.headers["Content-Type"] == "image/png"
    picture = Image.open(io.BytesIO(answer.content))
    picture.load()
    assert (picture.format, picture.size) == ("PNG", (1200, 630))
    page = stranger.page(path)
    assert '<meta property="og:image" content="http://127.0.0.1:' in page
    assert f'{path}/preview.png">' in page
    assert '<meta name="twitter:card" content="summary_large_image">' in page


def test_a_text_of_several_lines_has_a_picture(gateway: PeopleGateway, stranger: Person) -> None:
    here = f"/servers/{SERVER_SUBMISSION['id']}"
    lines = "We play.\n\nWe sing.\r\nWe\u2029dance, every day."
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "description": lines})
    gateway.done("POST", f"/manage{here}/approve", {})
    answer = stranger.get(f"{here}/preview.png")
    gateway.done("DELETE", f"/manage{here}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")


def test_two_names_have_two_pictures(stranger: Person) -> None:
    shown = {stranger.get(f"/bots/{each}/preview.png").content for each in BOTS[:5]}
    assert len(shown) == 5


@pytest.mark.parametrize("path", [f"/bots/{IN_REVIEW['id']}", f"/servers/{SERVERS[1]}", "/bots/1"])
def test_a_listing_that_nobody_sees_has_no_picture(stranger: Person, path: str) -> None:
    assert stranger.get(f"{path}/preview.png").status_code == 404


def things_of(page: str) -> list[dict[str, object]]:
    found = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)
    return [json.loads(each) for each in found]


@pytest.mark.parametrize("name", HARD)
def test_a_page_tells_search_engines_which_listing_it_shows(stranger: Person, name: str) -> None:
    here = f"/bots/{HARD_BOTS[HARD.index(name)]}"
    about, way = things_of(stranger.page(here))
    assert (about["@type"], about["name"]) == ("SoftwareApplication", name)
    assert str(about["url"]).endswith(here)
    steps = way["itemListElement"]
    assert isinstance(steps, list)
    assert [each["name"] for each in steps] == ["Bots", name]


def test_the_first_page_tells_search_engines_how_to_search(gateway: PeopleGateway, stranger: Person) -> None:
    (site,) = things_of(stranger.page("/"))
    assert (site["@type"], site["name"]) == ("WebSite", "Votegate")
    search = site["potentialAction"]
    assert isinstance(search, dict)
    url = str(search["target"]["urlTemplate"]).replace("{search_term_string}", "Bot")
    assert stranger.get(url.removeprefix(gateway.base_url)).status_code == 200


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/bots/", "/bots"),
        ("/bots/?sort=name&q=a%20b", "/bots?sort=name&q=a+b"),
        (f"/bots/{BOT}/", f"/bots/{BOT}"),
        (f"/bots/{BOT}//", f"/bots/{BOT}"),
    ],
)
def test_a_slash_at_the_end_leads_to_the_page_without_it(stranger: Person, path: str, to: str) -> None:
    answer = stranger.get(path)
    assert (answer.status_code, answer.headers["Location"]) == (308, to)


@pytest.mark.parametrize("path", ["//evil.example/", "//", "/\\evil.example/", "/%5Cevil.example/"])
def test_a_slash_at_the_end_leads_to_no_other_host(stranger: Person, path: str) -> None:
    answer = stranger.get(path)
    location = answer.headers.get("Location", "/")
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))
