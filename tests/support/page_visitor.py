"""A browser without script, as far as tests need one: it keeps cookies and checks its pages."""

import re
from html.parser import HTMLParser
from typing import Any

import requests

from tests.support.gateways import Client

COOKIE = "__Host-votegate-operator"
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "path", "source", "wbr"}
FROM_HERE = {"Sec-Fetch-Site": "same-origin"}


class PageVisitor:
    """Visits the pages of a gateway.

    http.cookiejar sends no Secure cookie over http, not even to this machine, as browsers do. So the visitor
    sends it.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.cookies: dict[str, str] = {}

    @property
    def cookie(self) -> str | None:
        """The cookie of the operator's session."""
        return self.cookies.get(COOKIE)

    @cookie.setter
    def cookie(self, value: str | None) -> None:
        self.keep(COOKIE, value or "")

    def keep(self, name: str, value: str) -> None:
        """Keep a cookie; an empty one is gone."""
        self.cookies[name] = value
        if not value:
            del self.cookies[name]

    def request(
        self, method: str, path: str, headers: dict[str, str] | None = None, **options: Any
    ) -> requests.Response:
        sent = {"Accept": "text/html", **FROM_HERE, **(headers or {})}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        response = self._client.request(method, path, headers=sent, allow_redirects=False, **options)
        for given in cookies_of(response):
            name, _, value = given.partition(";")[0].partition("=")
            self.keep(name, value)
        if response.headers.get("Content-Type", "").startswith("text/html") and response.content:
            check_html(response.text)
        return response

    def get(self, path: str, **headers: str) -> requests.Response:
        return self.request("GET", path, headers)

    def post(self, path: str, fields: dict[str, Any] | None = None, **headers: str) -> requests.Response:
        return self.request("POST", path, headers, data=fields or {})

    def sign_in(self, token: str | None = None) -> requests.Response:
        token = self._client.operator_token if token is None else token
        return self.post("/debug/sign-in", {"token": token})

    def page(self, path: str) -> str:
        """The text of a page that must be there."""
        response = self.get(path)
        assert response.status_code == 200, response.text
        return response.text

    def acted(self, path: str, fields: dict[str, Any] | None = None) -> str:
        """The page that follows an action that must succeed."""
        response = self.post(path, fields)
        assert response.status_code == 303, response.text
        return self.page(response.headers["Location"])


def cookies_of(response: requests.Response) -> list[str]:
    """Each `Set-Cookie` of a response."""
    given: list[str] = response.raw.headers.getlist("Set-Cookie")
    return given


class _Checker(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.named: list[str] = []
        self.headings = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f"an attribute of <{tag}> is there twice"
        assert not any(name.startswith("on") or name == "style" for name in given), (
            f"script or style in <{tag}>"
        )
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.named += [
            each for name in ("aria-describedby", "for") for each in (given.get(name) or "").split()
        ]
        self.headings += tag == "h1"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> is out of place"


def check_html(text: str) -> None:
    """Check that elements are closed in order, that ids are unique, and that references have a target."""
    checker = _Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids), "an id is there twice"
    assert set(checker.named) <= set(checker.ids), "an id that is referred to is not there"
    if text.startswith("<!doctype html>"):
        assert checker.headings == 1


def words(text: str) -> str:
    """The text of a page without its markup, with single spaces."""
    return " ".join(re.sub(r"<script[^>]*>.*?</script>|<[^>]+>", " ", text).split())
