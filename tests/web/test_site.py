"""Every page passes the same checks of visitor and origin, and has the same headers."""

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
import requests

from operators.operator_site import PAGES
from tests.support.gateways import BOT, ThreadGateway, running
from tests.support.page_visitor import PageVisitor
from web.other_sites import PAGE_HEADERS
from web.pages import PageRow
from web.static_files import read_static_files

OF_AN_ID = {"kind": "bots", "id": BOT, "delivery_id": "0" * 24}
CLOSED = [row for row in PAGES if row.access == "operator"]


def path_of(row: PageRow) -> str:
    return row.path.format(**OF_AN_ID)


def named(row: PageRow) -> str:
    return f"{row.method} {row.path}"


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    with running(tmp_path_factory.mktemp("site") / "data") as gateway:
        yield gateway


@pytest.fixture
def stranger(gate: ThreadGateway) -> PageVisitor:
    return PageVisitor(gate)


@pytest.fixture
def visitor(gate: ThreadGateway) -> PageVisitor:
    visitor = PageVisitor(gate)
    visitor.sign_in()
    return visitor


@pytest.mark.parametrize("row", CLOSED, ids=named)
def test_a_page_without_a_session_leads_to_the_sign_in(stranger: PageVisitor, row: PageRow) -> None:
    response = stranger.request(row.method, path_of(row))
    assert response.status_code == 303
    assert response.headers["Location"].startswith("/debug/sign-in")
    assert response.content == b""


@pytest.mark.parametrize("row", CLOSED, ids=named)
def test_a_fragment_without_a_session_is_401(stranger: PageVisitor, row: PageRow) -> None:
    response = stranger.request(
        row.method, path_of(row), {"HX-Request": "true", "HX-Request-Type": "partial"}
    )
    assert response.status_code == 401
    assert "Sign in" in response.text
    assert "<html" not in response.text


@pytest.mark.parametrize("row", [row for row in PAGES if row.method == "POST"], ids=named)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_form_of_another_site_is_refused(visitor: PageVisitor, row: PageRow, site: str) -> None:
    response = visitor.request(row.method, path_of(row), {"Sec-Fetch-Site": site})
    assert response.status_code == 403
    assert "not sent from a page of this site" in response.text


@pytest.mark.parametrize("row", [row for row in PAGES if row.method == "POST"], ids=named)
def test_a_form_that_says_nothing_of_where_it_comes_from_is_refused_with_a_cookie(
    gate: ThreadGateway, visitor: PageVisitor, row: PageRow
) -> None:
    headers = {"Cookie": f"__Host-votegate-operator={visitor.cookie}"}
    assert gate.request(row.method, path_of(row), headers=headers).status_code == 403


@pytest.mark.parametrize("row", PAGES, ids=named)
def test_the_policy_is_on_every_answer_and_no_cache_keeps_one(visitor: PageVisitor, row: PageRow) -> None:
    for headers in ({}, {"Sec-Fetch-Site": "cross-site"}):
        response = visitor.request(
            "GET" if row.method == "GET" else "POST", path_of(row), headers, stream=True
        )
        for name, value in PAGE_HEADERS.items():
            assert response.headers[name] == value
        assert response.headers["Cache-Control"] == "no-store"
        response.close()


@pytest.mark.parametrize("row", PAGES, ids=named)
def test_a_page_that_is_not_for_everybody_is_in_no_search_engine(stranger: PageVisitor, row: PageRow) -> None:
    answer = stranger.request(row.method, path_of(row))
    assert answer.headers.get("X-Robots-Tag") == (None if row.access == "anyone" else "noindex")


def test_the_policy_allows_what_comes_from_here_alone() -> None:
    policy = PAGE_HEADERS["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("frame-ancestors") == "'none'"
    assert rules.pop("require-trusted-types-for") == "'script'"
    assert rules.pop("trusted-types") == "votegate"
    assert set(rules.values()) == {"'self'"}


def test_an_unknown_page_is_a_page_for_browsers_and_json_for_others(
    gate: ThreadGateway, visitor: PageVisitor
) -> None:
    shown = visitor.get("/debug/nothing/here")
    assert (shown.status_code, "There is nothing here" in shown.text) == (404, True)
    assert gate.operate("GET", "/debug/nothing/here").json()["error"] == "Not found."


def test_a_wrong_method_is_a_page(visitor: PageVisitor) -> None:
    response = visitor.post("/debug")
    assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    assert "The page cannot do that" in response.text


def test_a_bug_is_a_page_with_the_number_of_its_request(
    visitor: PageVisitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("operators.all_workers.overview", lambda *_: 1 / 0)
    response = visitor.get("/debug")
    assert response.status_code == 500
    assert response.headers["X-Request-Id"] in response.text
    assert len(caplog.records) == 1


@pytest.mark.parametrize("body", [b"token=%FF", b"\xff", b"a=1&" * 300])
def test_a_form_that_no_browser_sends_is_refused(stranger: PageVisitor, body: bytes) -> None:
    response = stranger.request("POST", "/debug/sign-in", data=body)
    assert (response.status_code, "could not be read" in response.text) == (400, True)


def test_a_form_that_is_too_large_is_refused(stranger: PageVisitor) -> None:
    assert stranger.post("/debug/sign-in", {"token": "x" * 70_000}).status_code == 413


def test_head_is_answered_as_get_without_a_body(visitor: PageVisitor) -> None:
    response = visitor.request("HEAD", "/debug")
    assert (response.status_code, response.content) == (200, b"")


def test_a_page_of_a_stranger_is_packed(stranger: PageVisitor) -> None:
    plain = stranger.get("/debug/sign-in", **{"Accept-Encoding": "identity"})
    packed = stranger.get("/debug/sign-in", **{"Accept-Encoding": "br, gzip"})
    assert (plain.headers.get("Content-Encoding"), packed.headers["Content-Encoding"]) == (None, "gzip")
    assert packed.text == plain.text  # the client unpacks it
    assert "Accept-Encoding" in plain.headers["Vary"]


@pytest.mark.parametrize("site", ["same-origin", "none", "same-site", "cross-site", "", "anything"])
def test_a_page_with_a_session_that_another_site_asks_for_gives_no_secret_away_by_its_size(
    visitor: PageVisitor, site: str
) -> None:
    plain = visitor.get("/debug", **{"Accept-Encoding": "identity"})
    answer = visitor.get("/debug", **{"Accept-Encoding": "gzip", "Sec-Fetch-Site": site})
    assert ("Content-Encoding" in answer.headers) == (site in {"same-origin", "none"})
    assert len(plain.content) > 1_024
    assert "Content-Encoding" not in plain.headers


def test_the_answer_to_a_form_with_a_session_is_never_packed(visitor: PageVisitor) -> None:
    answer = visitor.post("/debug/sign-in", {"token": "wrong"}, **{"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize(
    ("said", "is_packed"),
    [
        *((said, True) for said in ("gzip", "GZIP", "br;q=1.0, gzip;q=0.8", "deflate,gzip ; q=0.001")),
        *((said, False) for said in ("", "gzip;q=0", "br, gzip; Q=0.000, *", "xgzip", "gzip-9")),
    ],
)
def test_only_a_client_that_takes_gzip_gets_it(stranger: PageVisitor, said: str, is_packed: bool) -> None:
    address = read_static_files().address("site.css")
    for path, site in (("/debug/sign-in", "same-origin"), ("/debug/sign-in", "none"), (address, "none")):
        answer = stranger.get(path, **{"Accept-Encoding": said, "Sec-Fetch-Site": site})
        assert ("Content-Encoding" in answer.headers) == is_packed


def carried(page: requests.Response) -> list[str]:
    """The styles within a page. The policy allows them alone."""
    styles = re.findall("<style>(.*?)</style>", page.text, re.DOTALL)
    digests = [b64encode(sha256(style.encode()).digest()).decode() for style in styles]
    policy = page.headers["Content-Security-Policy"]
    assert "style-src " + " ".join(["'self'", *(f"'sha256-{each}'" for each in digests)]) + ";" in policy
    return styles


@pytest.mark.parametrize("site", ["none", "cross-site"])
def test_a_page_for_a_stranger_from_elsewhere_carries_the_styles(stranger: PageVisitor, site: str) -> None:
    page = stranger.get("/debug/sign-in", **{"Accept-Encoding": "gzip", "Sec-Fetch-Site": site})
    [style] = carried(page)
    assert style == read_static_files().text("site.css")
    within = stranger.get("/debug/sign-in", **{"Accept-Encoding": "gzip", "Sec-Fetch-Site": "same-origin"})
    head, body = page.text.replace(f"<style>{style}</style>", "").split('<link rel="stylesheet"')
    first, rest = within.text.split('<link rel="stylesheet"')
    assert "</main>" in head, "the link at the end is for the next page"
    assert (head + body.partition(">")[2]).split() == (first + rest.partition(">")[2]).split()


def test_no_other_page_carries_the_styles(stranger: PageVisitor, visitor: PageVisitor) -> None:
    elsewhere = {"Sec-Fetch-Site": "none"}
    for page in (
        stranger.get("/debug/sign-in", **{"Accept-Encoding": "gzip"}),
        stranger.get("/debug/sign-in", **{"Accept-Encoding": "identity", **elsewhere}),
        visitor.get("/debug", **{"Accept-Encoding": "gzip", **elsewhere}),
        stranger.get("/debug/sign-in", **{"Accept-Encoding": "gzip", "HX-Request": "true", **elsewhere}),
    ):
        assert carried(page) == []


def test_without_pages_there_is_nothing_at_all(tmp_path: Path) -> None:
    with running(tmp_path / "data", **{"debug.pages": False}) as gateway:
        for path in ("/debug", "/debug/sign-in", "/debug/nothing", "/static/x/site.css"):
            assert gateway.request("GET", path).status_code == 404
        assert gateway.operate("GET", "/debug/overview.json").status_code == 200
