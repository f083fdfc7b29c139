"""The pages made of the OpenAPI document: whole, light, and readable without script."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from handlers.routes import DOCUMENTS, MANAGEMENT, REFERENCE
from openapi.page import PAGES, PageFrame
from openapi.samples import LANGUAGES, sample_of
from tests.support.gateways import ThreadGateway, running
from tests.support.kept_answers import Asker, HeardAnswer
from tests.support.openapi_lookup import DOCUMENT, OPERATIONS
from web.other_sites import PAGE_HEADERS
from web.static_files import FOLDER

MOST_BYTES = 50_000
"""The most that the page of the API for bots weighs, without its style, script and icons."""
ALONE = {"meta", "link", "img", "input"}
FRAME = PageFrame("Votegate", script="/docs.js", icons="/icons.svg")
BOTH = pytest.mark.parametrize("path", PAGES)


class Page(HTMLParser):
    """Open and closed elements match; what they say, name and point at is kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.names: set[tuple[str, str]] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.open += [tag] if tag not in ALONE else []
        for name, value in attrs:
            self.ids += [value or ""] if name == "id" else []
            self.links |= {value or ""} if (tag, name) == ("a", "href") else set()
            self.loads |= {value or ""} if tag != "a" and name in {"href", "src", "action"} else set()
            self.names |= {(tag, value or "")} if name == "name" else set()
            assert name != "style"
            assert not name.startswith("on")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@BOTH
def test_a_page_is_whole_under_the_policy_of_the_site(path: str, gateway: ThreadGateway) -> None:
    response = gateway.request("GET", path)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"] == PAGE_HEADERS["content-security-policy"]
    assert "public" in response.headers["cache-control"]
    shown = Page(response.text)
    assert not shown.open
    assert len(set(shown.ids)) == len(shown.ids)
    of_page = {link for link in shown.links if link.startswith("#")}
    assert of_page <= {f"#{name}" for name in shown.ids}
    assert shown.links - of_page <= {"/", "/openapi.json", *(each.path for each in DOCUMENTS)}
    assert not shown.seen & {"style", "iframe"}
    for address in {load.partition("#")[0] for load in shown.loads}:
        assert gateway.request("GET", address).status_code == 200, address


def test_the_page_of_the_api_for_bots_has_the_operations_of_bot_developers_alone() -> None:
    bots, management = (Page(PAGES[path](DOCUMENT, FRAME)) for path in (REFERENCE, MANAGEMENT))
    for (method, path), operation in OPERATIONS.items():
        shown, other = (bots, management) if operation["tags"] == ["Public"] else (management, bots)
        assert f"{method} {path}" in shown.text
        assert operation["summary"] in shown.text
        assert operation["operationId"] in shown.ids
        assert operation["operationId"] not in other.ids
    assert {"webhook", "other-webhooks"} <= {*bots.ids}
    first = min(
        bots.ids.index(operation["operationId"])
        for operation in OPERATIONS.values()
        if operation["tags"] == ["Public"]
    )
    assert first < bots.ids.index("webhook") < bots.ids.index("schemas")


def test_the_page_of_the_api_for_bots_is_light() -> None:
    assert len(PAGES[REFERENCE](DOCUMENT, FRAME).encode()) < MOST_BYTES


def test_each_operation_has_a_sample_in_each_language() -> None:
    text = "".join(Page(PAGES[path](DOCUMENT, FRAME)).text for path in PAGES)
    for (method, path), operation in OPERATIONS.items():
        sample = sample_of(DOCUMENT, method, path, operation)
        for _, write in LANGUAGES.values():
            assert write(sample) in text


def test_each_field_of_the_two_public_operations_is_explained_beside_it() -> None:
    text = PAGES[REFERENCE](DOCUMENT, FRAME)
    calls = text[text.index('id="updateStats"') : text.index('id="webhook"')]
    for name in ("server_count", "command_count", "voted", "vote", "lastVote", "Authorization"):
        assert f"<dt><code>{name}</code>" in calls, name
    for error in ("Invalid API key.", "Bot not found.", "Could not fetch server count."):
        assert error in calls


def test_the_pages_lead_to_the_site_if_there_is_one() -> None:
    assert "/" not in Page(PAGES[REFERENCE](DOCUMENT, FRAME)).links
    with_site = Page(PAGES[REFERENCE](DOCUMENT, PageFrame("Votegate", home="/")))
    assert "/" in with_site.links


def test_no_field_of_try_it_has_a_name_that_a_browser_could_put_into_an_address() -> None:
    text = PAGES[REFERENCE](DOCUMENT, FRAME)
    assert text.count("<form ") == 2
    assert Page(text).names == {("meta", "viewport"), ("meta", "color-scheme"), ("input", "language")}
    for form in re.findall(r"<form .*?</form>", text):
        assert " name=" not in form


def test_the_script_of_the_pages_has_at_most_10_kb() -> None:
    loaded = re.findall(r'<script src="([^"]+)"', PAGES[REFERENCE](DOCUMENT, FRAME))
    assert loaded == ["/docs.js"]
    assert (FOLDER / "docs.js").stat().st_size <= 10_000


@BOTH
def test_text_is_never_markup_on_the_page(path: str) -> None:
    evil = "<script>alert(1)</script>&\"'"
    text = (
        json.dumps(DOCUMENT)
        .replace("Votegate sends", json.dumps(evil)[1:-1])
        .replace("Example bot", "<b>&")
        .replace("A moderator", json.dumps(evil)[1:-1])
        .replace("The process", json.dumps(evil)[1:-1])
    )
    shown = Page(PAGES[path](json.loads(text), PageFrame("<i>")))
    assert not shown.seen & {"script", "i"}
    assert evil in shown.text


@pytest.mark.parametrize(
    ("key", "is_sent"),
    [("vg_3q2-7wEj", True), ("Bearer vg_3q2", False), ("vg_ключ", False), ("vg_\u2013", False)],
)
def test_a_key_that_no_header_can_carry_is_not_sent(key: str, *, is_sent: bool) -> None:
    page = PAGES[REFERENCE](DOCUMENT, FRAME)
    patterns = set(re.findall(r'<input[^>]* pattern="([^"]+)"[^>]* data-key', page))
    assert [re.fullmatch(pattern, key) is not None for pattern in patterns] == [is_sent]


def test_a_page_without_a_site_has_its_style_and_no_script(tmp_path: Path) -> None:
    with running(tmp_path / "data", **{"debug.pages": False}) as gateway:
        for path in PAGES:
            response = gateway.request("GET", path)
            assert response.headers["content-security-policy"].startswith(
                "default-src 'none'; style-src 'sha256-"
            )
            shown = Page(response.text)
            assert not shown.loads
            assert not shown.seen & {"script", "link", "img", "form"}


@pytest.mark.parametrize("path", [each.path for each in DOCUMENTS])
def test_a_page_may_be_asked_for_with_a_slash(path: str, gateway: ThreadGateway) -> None:
    assert gateway.request("GET", f"{path}/").text == gateway.request("GET", path).text
    assert gateway.request("GET", f"{path}//").status_code == 404


@pytest.mark.parametrize("path", [each.path for each in DOCUMENTS])
@pytest.mark.parametrize("packing", ["gzip", "identity"])
def test_a_page_follows_the_look_of_the_site_and_is_kept(
    path: str, packing: str, gateway: ThreadGateway
) -> None:
    asker = Asker(gateway)

    def get(*cookies: str) -> HeardAnswer:
        given = {"Host": "localhost", "Accept-Encoding": packing, "Cookie": "; ".join(cookies)}
        return asker.get(path, given)

    plain = get("_ga=1").content
    assert b'<html lang="en"><head>' in plain
    for look in ("dark", "light"):
        chosen = f"__Host-votegate-look={look}"
        made = get("__Host-votegate-session=mine", "_ga=1", chosen)
        assert f'<html lang="en" data-look="{look}"><head>' in made.content.decode()
        assert f'<meta name="color-scheme" content="{look}">' in made.content.decode()
        assert made.answer.named("vary") == "Accept-Encoding, Cookie"
        assert (made.answer.named("content-encoding") == "gzip") == (packing == "gzip")
        again = get("_ga=2", chosen)
        assert again.is_direct
        assert again.answer.body == made.answer.body
    assert get("__Host-votegate-look=blue").content == plain
    asker.close()


def test_the_page_refuses_in_json(gateway: ThreadGateway) -> None:
    response = gateway.request("POST", "/docs")
    assert (response.status_code, response.json()["error"]) == (405, "Method not allowed. Use GET.")
