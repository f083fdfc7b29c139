"""People's pages: their visitors, their head, and their content policy."""

import re

import pytest

from pages.account.sign_in import SIGN_IN_PAGES
from pages.page_rows import rows_of
from pages.shared_texts import ERROR_TEXTS
from pages.visitors import origin
from tests.support.page_visitor import PageVisitor, words
from tests.support.people_scene import SESSION, SOME_PAGES, PeopleSite, PeopleVisitor
from tests.support.platform_stand_in import ADA, CLEO, DAN
from web.other_sites import PAGE_HEADERS
from web.pages import PageRow

ROWS = (*rows_of(SIGN_IN_PAGES), *SOME_PAGES)
CLOSED = [row for row in ROWS if row.access != "anyone"]


def named(row: PageRow) -> str:
    return f"{row.method} {row.path}"


# -- Who sees what ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", CLOSED, ids=named)
def test_a_stranger_is_led_to_the_sign_in_and_back(visitor: PeopleVisitor, row: PageRow) -> None:
    answer = visitor.request(row.method, row.path)
    assert (answer.status_code, answer.content) == (303, b"")
    to = f"?to={row.path}" if row.method == "GET" else ""
    assert answer.headers["Location"] == f"/signin{to}"


@pytest.mark.parametrize("row", CLOSED, ids=named)
def test_a_stranger_gets_no_part_of_a_page(visitor: PeopleVisitor, row: PageRow) -> None:
    answer = visitor.request(row.method, row.path, {"HX-Request": "true", "HX-Request-Type": "partial"})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"]
    assert 'href="/signin">Sign in</a>' in answer.text
    assert "<html" not in answer.text


@pytest.mark.parametrize(("user", "status"), [(ADA, 403), (CLEO, 200)])
def test_a_page_of_moderators_is_for_them_alone(visitor: PeopleVisitor, user: str, status: int) -> None:
    visitor.sign_in_as(user)
    answer = visitor.get("/review")
    assert answer.status_code == status
    assert ("You may not see this page." in answer.text) == (status == 403)


def test_everybody_sees_what_is_for_anyone(visitor: PeopleVisitor) -> None:
    assert "This is /" in visitor.page("/")
    visitor.sign_in_as()
    assert "This is /" in visitor.page("/")


@pytest.mark.parametrize("value", ["", "a", "a" * 43, "ä", '"'])
def test_a_value_that_is_of_no_session_is_a_stranger(visitor: PeopleVisitor, value: str) -> None:
    visitor.cookies[SESSION] = value.encode().decode("latin-1")
    assert visitor.get("/me").status_code == 303


def test_a_change_is_made_by_the_user_who_is_signed_in(visitor: PeopleVisitor) -> None:
    visitor.sign_in_as()
    assert visitor.post("/me").headers["Location"] == f"/?by=users/{ADA}"


def test_the_operators_cookie_is_worth_nothing_here(visitor: PageVisitor) -> None:
    visitor.cookie = "a" * 43
    assert visitor.get("/me").status_code == 303


# -- Forms of others --------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in ROWS if row.method == "POST"], ids=named)
@pytest.mark.parametrize("site_of_form", ["cross-site", "same-site"])
def test_a_form_of_another_site_is_refused(visitor: PeopleVisitor, row: PageRow, site_of_form: str) -> None:
    visitor.sign_in_as()
    answer = visitor.request(row.method, row.path, {"Sec-Fetch-Site": site_of_form})
    assert (answer.status_code, "This was refused" in answer.text) == (403, True)


@pytest.mark.parametrize("row", [row for row in ROWS if row.method == "POST"], ids=named)
def test_a_form_with_a_session_must_say_where_it_comes_from(
    site: PeopleSite, visitor: PeopleVisitor, row: PageRow
) -> None:
    visitor.sign_in_as()
    headers = {"Cookie": f"{SESSION}={visitor.cookies[SESSION]}"}
    assert site.request(row.method, row.path, headers=headers, allow_redirects=False).status_code == 403


# -- What stands above a page -----------------------------------------------------------------------------


def test_a_stranger_may_sign_in_from_every_page_and_comes_back_to_it(visitor: PeopleVisitor) -> None:
    assert 'href="/signin">Sign in</a>' in visitor.page("/")
    missing = visitor.get("/bots/%3Cb%3E%20x").text
    assert 'href="/signin?to=/bots/%253Cb%253E%2520x"' in missing
    assert "My listings" not in missing
    with_query = visitor.get("/bots?search=a%26b").text
    assert 'href="/signin?to=/bots%3Fsearch%3Da%2526b"' in with_query
    assert ">Sign in</a>" not in visitor.page("/signin")


def test_a_user_has_a_name_a_picture_listings_and_a_way_out(site: PeopleSite, visitor: PeopleVisitor) -> None:
    visitor.sign_in_as(ADA)
    page = visitor.page("/")
    assert "Ada, who owns bots" in page
    assert f' src="{site.stand_in.url}/avatars/{ADA}/' in page
    assert re.search(r'<a href="/me">(<svg.*?</svg>)?My listings</a>', page)
    assert '<form action="/signout" method="post">' in page
    assert "/signin" not in page
    assert "/review" not in page


def test_a_user_without_a_picture_has_one_of_the_platforms_own(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    visitor.sign_in_as(DAN)
    assert f' src="{site.stand_in.url}/embed/avatars/' in visitor.page("/")


def test_a_moderator_has_a_way_to_the_review(visitor: PeopleVisitor) -> None:
    visitor.sign_in_as(CLEO)
    assert re.search(
        r'<a href="/review" aria-current="page">(<svg.*?</svg>)?Review</a>', visitor.page("/review")
    )


# -- Errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_path_that_does_not_exist_is_a_page_for_browsers_and_json_for_others(
    site: PeopleSite, visitor: PeopleVisitor, method: str
) -> None:
    assert site.request(method, "/nothing/here", headers={"Accept": "*/*"}).status_code == 404
    shown = visitor.request(method, "/nothing/here")
    assert (shown.status_code, "There is nothing here" in shown.text) == (404, True)
    assert '<a class="button" href="/">Go to the start page</a>' in shown.text
    assert "/debug" not in shown.text
    assert site.request("GET", "/nothing/here").json()["error"] == "Not found."


def test_an_error_names_no_page_and_no_file_of_the_operator() -> None:
    for text in (*ERROR_TEXTS.by_status.values(), ERROR_TEXTS.of(599), ERROR_TEXTS.of(418)):
        for word in ("operator", "debug", "/readyz", "log ", "Find"):
            assert word not in f"{text.title} {text.what_to_do} "


def test_a_bug_is_a_page_with_the_number_of_its_request(
    visitor: PeopleVisitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    visitor.page("/")
    monkeypatch.setattr("pages.account.sign_in._outcome", lambda *_: 1 / 0)
    answer = visitor.get("/signin/callback?code=secret-code")
    assert answer.status_code == 500
    assert words(answer.text).count(answer.headers["X-Request-Id"]) == 1
    assert len(caplog.records) == 1
    assert "secret-code" not in caplog.text


# -- The policy -------------------------------------------------------------------------------------------


def test_the_policy_allows_pictures_of_the_platform_and_the_way_to_it_and_no_more(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    answers = [visitor.get(path) for path in ("/", "/me", "/signin", "/signin/callback", "/nothing")]
    for answer in [*answers, visitor.post("/signin"), visitor.post("/signout")]:
        rules = dict(rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; "))
        assert rules.pop("img-src") == f"'self' {site.stand_in.url}"
        assert rules.pop("form-action") == f"'self' {origin(site.stand_in.authorize_url)}"
        own = dict(rule.split(" ", 1) for rule in PAGE_HEADERS["content-security-policy"].split("; "))
        assert rules == {name: own[name] for name in rules}
        assert rules.keys() | {"img-src", "form-action"} == own.keys()
        assert answer.headers["Cache-Control"] == "no-store"


def test_an_origin_is_no_path() -> None:
    assert origin("https://discord.com/oauth2/authorize") == "https://discord.com"
    assert origin("http://127.0.0.1:8090/oauth2/authorize?x=y") == "http://127.0.0.1:8090"
