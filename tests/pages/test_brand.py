"""A platform with a name, a colour and a logo of its own: nothing that people see names the program."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from PIL import Image

from grammars.accents import colour_of
from grammars.colours import read_colour, written
from tests.support.gateways import BOT, ROOT, eventually
from tests.support.page_visitor import PageVisitor, check_html, words
from tests.support.people_filled import filled_site, pages
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO
from tests.support.webhook_receiver import Receiver, receiving

NAME, PROGRAM = "Bot Harbour", "Votegate"
LOGO = ROOT / "examples/brands/bot-harbour.svg"
HARBOUR: dict[str, object] = {
    "site.name": NAME,
    "site.tagline": "Every bot that your server needs",
    "site.logo": str(LOGO),
    "site.accent": "#0b7a75",
    "site.contact": "hello@harbour.example",
    "site.links": [{"text": "Status", "url": "https://status.harbour.example"}],
    "site.terms": str(ROOT / "examples/terms.md"),
    "site.privacy": "https://harbour.example/privacy",
    "site.powered_by": False,
}
DOCUMENTS = (
    *("/docs", "/docs/bots", "/docs/management", "/openapi.json", "/manifest.webmanifest", "/robots.txt"),
    *("/sitemap.xml", "/bots.rss"),
    *(f"/bots/{BOT}.json", f"/bots/{BOT}/badge.svg", "/index.json", "/terms", "/nowhere", "/nowhere.json"),
)
DEBUG = (
    *("", "/sign-in", "/webhooks", "/errors", "/limiter", "/journal", "/data", "/find?q=jukebox"),
    *(f"/listings/bots/{BOT}", f"/users/{ADA}", "/nowhere"),
)


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[PeopleGateway]:
    with filled_site(tmp_path_factory.mktemp("harbour") / "data", receiver, **HARBOUR) as gateway:
        yield gateway


def naming(answer: requests.Response, name: str = PROGRAM) -> list[str]:
    """Return the places of an answer that name the program. Names in programs are no names for people: a
    user agent, and a class of the client."""
    text = answer.text.replace("Votegate/", "").replace("VotegateError", "")
    shown = [*re.finditer(name, text)]
    return [text[max(found.start() - 60, 0) : found.end() + 20] for found in shown]


def test_no_page_of_people_names_the_program(harbour: PeopleGateway) -> None:
    visitors = {user: harbour.person(user) for user in {user for user, _ in pages()}}
    found = {}
    for user, path in (*pages(), (ADA, "/bots/new?id=nonsense"), (BEN, "/review"), (None, "/nowhere")):
        answer = visitors[user].get(path, Accept="text/html")
        found[path] = naming(answer)
        if answer.headers["content-type"].startswith("text/html"):
            check_html(answer.text)
            assert f"· {NAME}</title>" in answer.text, path
    assert {path: places for path, places in found.items() if places} == {}


def test_no_document_names_the_program(harbour: PeopleGateway) -> None:
    visitor = harbour.person(None)
    found = {path: naming(visitor.get(path)) for path in DOCUMENTS}
    assert {path: places for path, places in found.items() if places} == {}
    described = visitor.get("/openapi.json").json()
    assert described["info"]["title"] == NAME
    assert described["info"]["contact"] == {"name": NAME, "email": "hello@harbour.example"}
    assert described["info"]["description"].startswith(f"This is the API of {NAME}, ")


def test_no_page_of_the_operator_names_the_program(harbour: PeopleGateway) -> None:
    operator = PageVisitor(harbour)
    operator.sign_in()
    found = {path: naming(operator.get(f"/debug{path}")) for path in DEBUG}
    assert {path: places for path, places in found.items() if places} == {}
    assert f"· {NAME}</title>" in operator.get("/debug").text


def test_no_message_names_the_program(harbour: PeopleGateway, receiver: Receiver) -> None:
    eventually(lambda: harbour.stand_in.messages(ADA) != [])
    messages = [*harbour.stand_in.messages(ADA), *harbour.stand_in.messages(BEN)]
    bodies = [each.body.decode() for each in receiver.received]
    assert bodies
    assert [text for text in (*messages, *bodies) if PROGRAM in text] == []


def test_the_frame_shows_logo_contact_links_and_texts(harbour: PeopleGateway) -> None:
    text = harbour.person(None).page("/")
    logo = re.search(r'<img class="mark" src="(/static/[0-9a-f]{16}/logo.svg)" alt="">', text)
    assert logo is not None
    assert f'<link rel="icon" href="{logo[1]}">' in text
    footer = text[text.index("<footer") :]
    links = dict(re.findall(r'<li><a href="([^"]+)"[^>]*>([^<]+)</a>', footer))
    assert links == {
        "/docs": "Docs",
        "/terms": "Terms",
        "https://harbour.example/privacy": "Privacy",
        "mailto:hello@harbour.example": "Contact",
        "https://status.harbour.example": "Status",
    }


def test_the_first_page_says_what_the_platform_is_for(harbour: PeopleGateway) -> None:
    text = harbour.person(None).page("/")
    assert f"<title>{HARBOUR['site.tagline']} · {NAME}</title>" in text
    assert f'<h1 dir="auto">{HARBOUR["site.tagline"]}</h1>' in text


def test_the_accent_is_one_rule_in_a_stylesheet_of_its_own(harbour: PeopleGateway) -> None:
    visitor = harbour.person(None)
    address = re.findall(r'<link rel="stylesheet" href="([^"]+)">', visitor.page("/"))[-1]
    answer = visitor.get(address)
    assert answer.text == ":root { --accent: #0b7a75; }\n"
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert f'<link rel="stylesheet" href="{address}">' in visitor.get("/docs").text
    elsewhere = {"Sec-Fetch-Site": "none", "Accept-Encoding": "gzip"}
    assert f"{answer.text}</style>" in visitor.get("/", **elsewhere).text


def test_a_badge_has_the_colour_of_the_platform(harbour: PeopleGateway) -> None:
    colour = written(colour_of("fill", "light", read_colour("#0b7a75")))
    assert f'fill="{colour}"' in harbour.person(None).get(f"/bots/{BOT}/badge.svg").text


def test_the_logo_is_served_as_it_is_and_can_do_nothing(harbour: PeopleGateway) -> None:
    visitor = harbour.person(None)
    address = re.findall(r'src="(/static/[^"]+logo.svg)"', visitor.page("/"))[0]
    answer = visitor.get(address)
    assert answer.content == LOGO.read_bytes()
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "immutable" in answer.headers["cache-control"]
    policy = answer.headers["content-security-policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@pytest.mark.parametrize(
    ("path", "kind", "side"),
    [
        ("/apple-touch-icon.png", "image/png", 180),
        ("/icon-192.png", "image/png", 192),
        ("/icon-512.png", "image/png", 512),
        ("/favicon.ico", "image/x-icon", 48),
    ],
)
def test_the_icons_are_drawn_from_the_logo(harbour: PeopleGateway, path: str, kind: str, side: int) -> None:
    visitor = harbour.person(None)
    answer = visitor.get(path)
    assert answer.headers["content-type"] == kind
    picture = Image.open(io.BytesIO(answer.content))
    assert picture.size == (side, side)
    middle = picture.convert("RGBA").getpixel((side // 8 if "touch" not in path else side // 5, side // 2))
    assert middle == pytest.approx((11, 110, 110, 255), abs=3)  # the ground of the logo
    assert visitor.get(path, **{"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_the_manifest_has_name_colours_and_icons_that_exist(harbour: PeopleGateway) -> None:
    visitor = harbour.person(None)
    assert '<link rel="manifest" href="/manifest.webmanifest">' in visitor.page("/")
    answer = visitor.get("/manifest.webmanifest")
    assert answer.headers["content-type"] == "application/manifest+json"
    manifest = json.loads(answer.content)
    assert (manifest["name"], manifest["start_url"]) == (NAME, "/")
    assert manifest["description"] == HARBOUR["site.tagline"]
    assert re.fullmatch("#[0-9a-f]{6}", manifest["theme_color"])
    assert [each["sizes"] for each in manifest["icons"]] == ["192x192", "512x512"]
    for icon in manifest["icons"]:
        assert visitor.get(icon["src"]).headers["content-type"] == icon["type"]


def test_the_tagline_is_the_heading_of_the_first_page(harbour: PeopleGateway) -> None:
    shown = harbour.person(None).page("/")
    assert f'<h1 dir="auto">{HARBOUR["site.tagline"]}</h1>' in shown


def test_terms_are_a_page_and_a_text_elsewhere_is_a_link_alone(harbour: PeopleGateway) -> None:
    visitor = harbour.person(None)
    shown = visitor.page("/terms")
    assert "<h1>Terms</h1>" in shown
    assert "Bot Harbour lists bots and servers" in words(shown)
    assert "<!--" not in shown
    assert visitor.get("/privacy").status_code == 404


# -- the defaults, and languages -----------------------------------------------------------------------


def test_without_a_section_everything_is_named_as_before_and_no_text_is_linked(
    tmp_path: Path,
) -> None:
    with serving(tmp_path / "data") as gateway:
        visitor = gateway.person(None)
        text = visitor.page("/")
        assert f"· {PROGRAM}</title>" in text
        assert "Powered by" not in text
        assert 'class="mark"' in text
        assert "accent.css" not in text
        assert visitor.get("/terms").status_code == 404
        assert visitor.get("/openapi.json").json()["info"]["title"] == PROGRAM
        assert Image.open(io.BytesIO(visitor.get("/apple-touch-icon.png").content)).size == (180, 180)


def footers(gateway: PeopleGateway) -> list[str]:
    paths = ("/", "/bots", "/signin", "/nowhere", f"/bots/{BOT}")
    return [gateway.person(None).get(path, Accept="text/html").text for path in paths]


def test_a_name_of_its_own_is_powered_by_the_program_in_the_footer_and_nowhere_else(tmp_path: Path) -> None:
    with serving(tmp_path / "data", **{"site.name": NAME}) as gateway:
        for text in footers(gateway):
            assert text.count(PROGRAM) == 1
            assert f'<li class="small">Powered by {PROGRAM}</li>' in text[text.index("<footer") :]


@pytest.fixture(scope="module")
def funkturm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    settings: dict[str, Any] = {"site.name": "Der Funkturm", "site.languages": ["de", "fr"]}
    with serving(tmp_path_factory.mktemp("funkturm") / "data", **settings) as gateway:
        yield gateway


@pytest.mark.parametrize(
    ("accepted", "spoken"), [("fr, de;q=0.5", "fr"), ("en, fr;q=0.5", "fr"), ("en", "de"), ("", "de")]
)
def test_only_the_offered_languages_are_spoken_and_the_first_is_for_everybody_else(
    funkturm: PeopleGateway, accepted: str, spoken: str
) -> None:
    for page in ("/", "/bots"):  # a list knows the languages of listings, too
        text = funkturm.person(None).get(page, **{"Accept-Language": accepted}).text
        assert f'<html lang="{spoken}"' in text
        assert re.findall(r'<option value="([^"]+)"', text[text.index("<footer") :]) == ["de", "fr"]


def test_a_language_that_is_not_offered_cannot_be_chosen(funkturm: PeopleGateway) -> None:
    visitor = funkturm.person(None)
    refused = visitor.post("/preferences", {"language": "en", "look": "auto", "to": "/"})
    assert refused.status_code == 400
    visitor.keep("__Host-votegate-language", "en")
    assert '<html lang="de"' in visitor.get("/").text
    assert visitor.post("/preferences", {"language": "fr", "look": "auto", "to": "/"}).status_code == 303


def test_the_language_of_an_account_counts_only_if_it_is_offered(funkturm: PeopleGateway) -> None:
    assert '<html lang="de"' in funkturm.person(CLEO).get("/me", **{"Accept-Language": "en"}).text
