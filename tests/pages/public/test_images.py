"""Images in descriptions: visitors get them from us, drawn again; other sites learn nothing of visitors."""

import gzip
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from tests.support.certificate_authority import trusted
from tests.support.described_images import BOT_PAGE, describe, page, shown_images
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT, WAIT_SECONDS, eventually
from tests.support.media_files import opened, picture
from tests.support.page_visitor import PageVisitor
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import CLEO
from tests.support.webhook_receiver import Answer, Receiver, drop, receiving, status

PNG = picture(size=(300, 200))
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
ALT = '<a href="{url}" rel="nofollow ugc noopener">picture 0</a>'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A site of others. It is trusted like any on the internet."""
    with pytest.MonkeyPatch.context() as patch:
        authority = trusted(tmp_path_factory.mktemp("authority"), patch)
        with receiving(authority.server("127.0.0.1", "images.example")) as receiver:
            yield receiver


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory, site: Receiver) -> Iterator[PeopleGateway]:  # noqa: ARG001 (its authority)
    settings = {"images.per_description": 3, "images.bytes": 200_000, "images.timeout_seconds": 30}
    with serving(tmp_path_factory.mktemp("images") / "data", **settings) as gateway:
        gateway.list_bot()
        yield gateway


@pytest.fixture
def gateway(module_gateway: PeopleGateway, site: Receiver) -> PeopleGateway:
    site.received.clear()
    site.answers.clear()
    site.default = status(200, PNG, Content_Type="image/png")
    module_gateway.advance(60)  # a listing's fetches in a minute are bounded
    return module_gateway


def got(gateway: PeopleGateway, path: str) -> requests.Response:
    return PageVisitor(gateway).get(path)


def asked(site: Receiver) -> list[str]:
    return [each.path for each in site.received]


def test_an_image_comes_from_us_drawn_again_without_its_metadata(
    gateway: PeopleGateway, site: Receiver
) -> None:
    site.default = status(200, PNG + b"<script>alert(1)</script>" + b"\0" * 10, Content_Type="text/html")
    describe(gateway, f"{site.url}/again.png?a=1&b=2")
    (path,) = shown_images(gateway)
    answer = got(gateway, path)
    assert answer.status_code == 200
    assert (answer.headers["Content-Type"], opened(answer.content).size) == ("image/png", (300, 200))
    assert b"script" not in answer.content
    assert asked(site) == ["/again.png?a=1&b=2"]


def test_no_browser_takes_it_for_a_page_and_caches_keep_it_long(
    gateway: PeopleGateway, site: Receiver
) -> None:
    describe(gateway, f"{site.url}/headers.png")
    answer = got(gateway, *shown_images(gateway))
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.headers["Cache-Control"] == "public, max-age=604800"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Set-Cookie" not in answer.headers
    again = PageVisitor(gateway).get(*shown_images(gateway), **{"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_other_site_learns_nothing_of_the_visitor(gateway: PeopleGateway, site: Receiver) -> None:
    describe(gateway, f"{site.url}/private.png")
    headers = {
        "Referer": "https://secret.example/",
        "X-Forwarded-For": "203.0.113.9",
        "Accept-Language": "fi",
    }
    assert gateway.person().get(*shown_images(gateway), **headers).status_code == 200
    (request,) = site.received
    assert request.headers.keys() == {"host", "user-agent", "accept", "accept-encoding", "connection"}


def test_the_content_policy_of_a_page_with_images_allows_no_other_site(
    gateway: PeopleGateway, site: Receiver
) -> None:
    describe(gateway, f"{site.url}/policy.png")
    shown = page(gateway)
    assert f"{site.url}/policy.png" in shown.text  # in the link to the original
    assert site.url not in shown.headers["Content-Security-Policy"]
    assert f'src="{site.url}' not in shown.text


def test_an_image_loads_when_it_is_near_and_its_size_is_known_after_its_first_fetch(
    gateway: PeopleGateway, site: Receiver
) -> None:
    describe(gateway, f"{site.url}/sizes.png")
    (path,) = shown_images(gateway)
    assert f'<img src="{path}" alt="picture 0" loading="lazy">' in page(gateway).text
    assert got(gateway, path).status_code == 200
    assert f'<img src="{path}" alt="picture 0" loading="lazy" width="300" height="200">' in page(gateway).text


def test_fifty_visitors_at_once_make_one_fetch(gateway: PeopleGateway, site: Receiver) -> None:
    release = threading.Event()

    def late(handler: object) -> None:
        release.wait(WAIT_SECONDS)
        status(200, PNG)(handler)  # type: ignore[arg-type]

    site.default = late
    describe(gateway, f"{site.url}/crowd.png")
    (path,) = shown_images(gateway)
    with ThreadPoolExecutor(50) as crowd:
        answers = [crowd.submit(got, gateway, path) for _ in range(50)]
        eventually(lambda: asked(site) == ["/crowd.png"])
        release.set()
        assert {answer.result().status_code for answer in answers} == {200}
    assert asked(site) == ["/crowd.png"]


def test_a_description_shows_at_most_so_many_images_and_links_to_the_others(
    gateway: PeopleGateway, site: Receiver
) -> None:
    describe(gateway, *(f"{site.url}/{number}.png" for number in range(5)))
    assert len(shown_images(gateway)) == 3
    assert f'<a href="{site.url}/4.png" rel="nofollow ugc noopener">picture 4</a>' in page(gateway).text


def test_one_image_many_times_counts_each_time(gateway: PeopleGateway, site: Receiver) -> None:
    describe(gateway, *[f"{site.url}/same.png"] * 5)
    assert len(shown_images(gateway)) == 3


@pytest.mark.parametrize("url", ["http://images.example/a.png", "data:image/png;base64,iVBORw0KGgo="])
def test_an_http_image_and_a_data_url_are_no_images(gateway: PeopleGateway, url: str) -> None:
    describe(gateway, url)
    assert shown_images(gateway) == []
    assert "data:image" not in page(gateway).text


BAD: dict[str, Answer] = {
    "an SVG": status(200, SVG, Content_Type="image/svg+xml"),
    "an SVG that says it is a PNG": status(200, SVG, Content_Type="image/png"),
    "a page": status(200, b"<html><script>alert(1)</script>", Content_Type="image/png"),
    "a page behind the head of a GIF": status(
        200, b"GIF89a/*<script>alert(1)</script>*/", Content_Type="image/gif"
    ),
    "a cut file": status(200, PNG[:-40]),
    "a bomb of sides": status(
        200, picture(size=(8, 8)).replace(b"\0\0\0\x08\0\0\0\x08", b"\0\1\0\0\0\1\0\0", 1)
    ),
    "too many frames": status(200, picture("GIF", frames=201, size=(420, 4))),
    "too many bytes": status(200, PNG + b"\0" * 200_000),
    "compressed": status(200, gzip.compress(PNG), Content_Encoding="gzip"),
    "nothing": status(200),
    "an error": status(500, PNG),
    "not there": status(404, PNG),
    "a closed connection": drop,
    "a redirect to http": status(302, Location="http://127.0.0.1:1/"),
    "a redirect to nowhere": status(302),
    "a redirect to a file": status(302, Location="file:///etc/passwd"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_image_that_cannot_be_shown_is_its_text_in_a_link_and_is_not_fetched_again_for_a_while(
    gateway: PeopleGateway, site: Receiver, name: str
) -> None:
    url = f"{site.url}/bad/{name.replace(' ', '-')}"
    site.default = BAD[name]
    describe(gateway, url)
    (path,) = shown_images(gateway)
    assert got(gateway, path).status_code == 404
    first = len(site.received)
    assert got(gateway, path).status_code == 404
    assert ALT.format(url=url) in page(gateway).text
    assert len(site.received) == first
    site.default = status(200, PNG)
    gateway.advance(3_601)
    assert shown_images(gateway) == [path]
    assert got(gateway, path).status_code == 200


def test_a_redirect_is_followed_three_times(gateway: PeopleGateway, site: Receiver) -> None:
    describe(gateway, f"{site.url}/moved.png")
    (path,) = shown_images(gateway)
    site.answers = [status(code, Location=f"/to-{code}.png") for code in (301, 302, 307)]
    assert got(gateway, path).status_code == 200
    assert asked(site) == ["/moved.png", "/to-301.png", "/to-302.png", "/to-307.png"]


def test_a_ring_of_redirects_ends(gateway: PeopleGateway, site: Receiver) -> None:
    site.default = status(302, Location="/ring.png")
    describe(gateway, f"{site.url}/ring.png")
    assert got(gateway, *shown_images(gateway)).status_code == 404
    assert len(site.received) == 4


def test_nothing_is_fetched_but_what_the_current_description_names(
    gateway: PeopleGateway, site: Receiver
) -> None:
    describe(gateway, f"{site.url}/before.png")
    (before,) = shown_images(gateway)
    describe(gateway, f"{site.url}/after.png")
    for path in (before, f"{BOT_PAGE}/images/{'0' * 32}", f"{BOT_PAGE}/images/https:%2f%2f127.0.0.1%2f"):
        assert got(gateway, path).status_code == 404
    assert asked(site) == []


def test_a_listing_that_is_not_public_has_no_images(gateway: PeopleGateway, site: Receiver) -> None:
    bot = str(int(BOT) + 7)
    text = f"A bot with a picture in its description: ![picture 0]({site.url}/review.png)"
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot, "description": text})
    assert got(gateway, f"/bots/{bot}").status_code == 404
    assert "/images/" not in gateway.person(CLEO).get(f"/bots/{bot}").text
    gateway.done("POST", f"/manage/bots/{bot}/approve", {})
    (path,) = shown_images(gateway, f"/bots/{bot}")
    gateway.done("POST", f"/manage/bots/{bot}/withdraw", {"reason": "It is not safe to use."})
    for person in (gateway.person(None), gateway.person(CLEO)):
        assert person.get(path).status_code == 404
    assert "/images/" not in gateway.person(CLEO).get(f"/bots/{bot}").text
    assert asked(site) == []


def test_a_listing_makes_so_many_fetches_in_a_minute(gateway: PeopleGateway, site: Receiver) -> None:
    answers = []
    for number in range(7):
        describe(gateway, f"{site.url}/rate-{number}.png")
        answers.append(got(gateway, *shown_images(gateway)).status_code)
    assert answers == [200] * 6 + [429]
    assert len(site.received) == 6


def test_an_image_is_kept_for_its_time_and_then_fetched_again(gateway: PeopleGateway, site: Receiver) -> None:
    describe(gateway, f"{site.url}/kept.png")
    (path,) = shown_images(gateway)
    for _ in range(3):
        assert got(gateway, path).status_code == 200
    assert asked(site) == ["/kept.png"]
    gateway.advance(604_801)
    assert got(gateway, path).status_code == 200
    assert asked(site) == ["/kept.png"] * 2


def test_after_a_restart_an_image_is_fetched_again(tmp_path: Path, site: Receiver) -> None:
    site.default = status(200, PNG)
    with serving(tmp_path / "data") as gateway:
        gateway.list_bot()
        describe(gateway, f"{site.url}/restart.png")
        (path,) = shown_images(gateway)
        assert got(gateway, path).status_code == 200
        gateway.restart()
        assert shown_images(gateway) == [path]
        assert got(gateway, path).status_code == 200


def test_a_server_that_hangs_or_drips_is_given_up(tmp_path: Path, site: Receiver) -> None:
    def drip(handler: object) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")  # type: ignore[attr-defined]
        while not site.released.wait(0.02):
            handler.wfile.write(b"x")  # type: ignore[attr-defined]

    with serving(tmp_path / "data", **{"images.timeout_seconds": 0.2}) as gateway:
        gateway.list_bot()
        for number, answer in enumerate((site.hang, drip)):
            site.default = answer
            describe(gateway, f"{site.url}/hung-{number}.png")
            assert got(gateway, *shown_images(gateway)).status_code == 404


def test_the_slow_images_of_a_listing_do_not_hold_up_those_of_another(tmp_path: Path, site: Receiver) -> None:
    release = threading.Event()

    def slow(handler: object) -> None:
        if handler.path.startswith("/slow"):  # type: ignore[attr-defined]
            release.wait(WAIT_SECONDS)
        status(200, PNG)(handler)  # type: ignore[arg-type]

    site.default = slow
    with serving(tmp_path / "data", **{"images.at_once": 4, "images.timeout_seconds": 60}) as gateway:
        for bot in (BOT, OTHER_BOT):
            gateway.list_bot(bot)
        describe(gateway, *(f"{site.url}/slow-{number}.png" for number in range(6)))
        describe(gateway, f"{site.url}/quick.png", bot=OTHER_BOT)
        with ThreadPoolExecutor(6) as crowd:
            answers = [crowd.submit(got, gateway, path) for path in shown_images(gateway)]
            eventually(lambda: any(path.startswith("/slow") for path in asked(site)))
            try:
                (quick,) = shown_images(gateway, f"/bots/{OTHER_BOT}")
                assert got(gateway, quick).status_code == 200
                assert not any(answer.done() for answer in answers)
            finally:
                release.set()
        assert {answer.result().status_code for answer in answers} == {200}


def test_the_memory_of_all_images_is_bounded(tmp_path: Path, site: Receiver) -> None:
    site.default, site.received = status(200, PNG), []
    with serving(tmp_path / "data", **{"images.cache_bytes": 3_000}) as gateway:
        gateway.list_bot()
        describe(gateway, *(f"{site.url}/small-{number}.png" for number in range(6)))
        for path in shown_images(gateway):
            assert got(gateway, path).status_code == 200
        assert got(gateway, shown_images(gateway)[0]).status_code == 200
        assert asked(site) == [f"/small-{number}.png" for number in (0, 1, 2, 3, 4, 5, 0)]


def test_the_setting_turns_images_into_links(tmp_path: Path, site: Receiver) -> None:
    with serving(tmp_path / "data", **{"images.enabled": False}) as gateway:
        gateway.list_bot()
        describe(gateway, f"{site.url}/off.png")
        assert shown_images(gateway) == []
        assert re.search(ALT.format(url=re.escape(f"{site.url}/off.png")), page(gateway).text)
        assert got(gateway, f"{BOT_PAGE}/images/{'0' * 32}").status_code == 404
