"""The page made of the OpenAPI document: whole, and in need of nothing else."""

import json
from html.parser import HTMLParser

from openapi.page import page
from tests.support.gateways import ThreadGateway
from tests.support.openapi_lookup import DOCUMENT, OPERATIONS


class Page(HTMLParser):
    """Open and closed elements match; what they say, name and point at is kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.open += [tag] if tag != "meta" else []
        for name, value in attrs:
            self.ids += [value or ""] if name == "id" else []
            self.links |= {value or ""} if name in {"href", "src", "action"} else set()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_needs_nothing_else(gateway: ThreadGateway) -> None:
    response = gateway.request("GET", "/docs")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    shown = Page(response.text)
    assert not shown.open
    assert len(set(shown.ids)) == len(shown.ids)
    assert shown.links - {"openapi.json"} <= {f"#{name}" for name in shown.ids}
    assert not shown.seen & {"script", "link", "img", "iframe", "form"}
    for (method, path), operation in OPERATIONS.items():
        assert f"{method} {path}" in shown.text
        assert operation["summary"] in shown.text
        assert operation["operationId"] in shown.ids


def test_the_page_leads_to_the_site_if_there_is_one() -> None:
    assert "/" not in Page(page(DOCUMENT)).links
    with_site = Page(page(DOCUMENT, has_site=True))
    assert "/" in with_site.links


def test_text_is_never_markup_on_the_page() -> None:
    evil = "<script>alert(1)</script>&\"'"
    text = (
        json.dumps(DOCUMENT).replace("Votegate sends", json.dumps(evil)[1:-1]).replace("Example bot", "<b>&")
    )
    shown = Page(page(json.loads(text)))
    assert "script" not in shown.seen
    assert "b" not in shown.seen
    assert evil in shown.text


def test_the_page_refuses_in_json(gateway: ThreadGateway) -> None:
    response = gateway.request("POST", "/docs")
    assert (response.status_code, response.json()["error"]) == (405, "Method not allowed. Use GET.")
