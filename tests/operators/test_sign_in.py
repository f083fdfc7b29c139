"""The operator's sign-in: one token, a cookie that scripts cannot read, and an end."""

import pytest
from pydantic import SecretStr

from tests.support.gateways import OPERATOR_TOKEN, ThreadGateway
from tests.support.page_visitor import COOKIE, PageVisitor

TWELVE_HOURS = 43_200
WEEK = 604_800


@pytest.fixture
def visitor(gateway: ThreadGateway) -> PageVisitor:
    return PageVisitor(gateway)


def test_the_first_page_leads_to_the_sign_in_and_back(visitor: PageVisitor) -> None:
    assert visitor.get("/debug").headers["Location"] == "/debug/sign-in"
    form = visitor.page("/debug/sign-in")
    assert 'type="password"' in form
    assert 'autocomplete="current-password"' in form
    signed_in = visitor.sign_in()
    assert (signed_in.status_code, signed_in.headers["Location"]) == (303, "/debug")
    assert "<h1>Overview</h1>" in visitor.page("/debug")
    assert visitor.get("/debug/sign-in").headers["Location"] == "/debug"


def test_a_visitor_comes_back_to_the_page_that_was_wanted(visitor: PageVisitor) -> None:
    form = visitor.page("/debug/sign-in?to=/debug/errors")
    assert 'name="to" value="/debug/errors"' in form
    answer = visitor.post("/debug/sign-in", {"token": OPERATOR_TOKEN, "to": "/debug/errors"})
    assert answer.headers["Location"] == "/debug/errors"


def test_a_way_back_to_another_host_is_not_taken(visitor: PageVisitor) -> None:
    answer = visitor.post("/debug/sign-in", {"token": OPERATOR_TOKEN, "to": "//evil.example/debug"})
    assert answer.headers["Location"] == "/debug"


def test_the_cookie_is_for_this_host_and_no_script(visitor: PageVisitor) -> None:
    cookie = visitor.sign_in().headers["Set-Cookie"]
    value, *attributes = cookie.split("; ")
    assert len(value.removeprefix(f"{COOKIE}=")) == 43
    assert attributes == ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"]


@pytest.mark.parametrize("token", ["wrong", "w", OPERATOR_TOKEN[:-1], OPERATOR_TOKEN + "x", "tökén"])
def test_a_wrong_token_shows_the_form_again_and_opens_nothing(visitor: PageVisitor, token: str) -> None:
    answer = visitor.sign_in(token)
    assert answer.status_code == 401
    assert 'aria-invalid="true"' in answer.text
    assert token not in answer.text.replace("wrong", "") or len(token) < 3
    assert (visitor.cookie, answer.headers.get("Set-Cookie")) == (None, None)


def test_an_empty_form_is_shown_again_and_counts_as_no_failure(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    answer = visitor.sign_in("")
    assert (answer.status_code, "Enter the token." in answer.text) == (400, True)
    assert gateway.done("GET", "/debug/overview.json")["limiter"]["failing_addresses"] == 0


def test_a_sign_in_never_takes_a_session_that_was_there_before(visitor: PageVisitor) -> None:
    visitor.cookie = "a" * 43
    visitor.sign_in()
    first = visitor.cookie
    assert first != "a" * 43
    visitor.sign_in()
    assert visitor.cookie != first
    visitor.cookie = first
    assert visitor.get("/debug").status_code == 303


def test_a_session_that_is_not_used_ends(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    visitor.sign_in()
    gateway.advance(TWELVE_HOURS - 1)
    assert visitor.get("/debug").status_code == 200
    gateway.advance(TWELVE_HOURS)
    assert visitor.get("/debug").status_code == 303


def test_a_session_ends_after_a_week_however_much_it_is_used(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    visitor.sign_in()
    for _ in range(13):
        gateway.advance(TWELVE_HOURS - 1)
        assert visitor.get("/debug").status_code == 200
    gateway.advance(TWELVE_HOURS + 13 - 1)
    assert visitor.get("/debug").status_code == 303


def test_a_sign_out_ends_the_session_here_and_not_only_in_the_browser(visitor: PageVisitor) -> None:
    visitor.sign_in()
    kept = visitor.cookie
    answer = visitor.post("/debug/sign-out")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/debug/sign-in")
    assert answer.headers["Set-Cookie"].endswith("Max-Age=0")
    assert visitor.cookie is None
    visitor.cookie = kept
    assert visitor.get("/debug").status_code == 303


def test_a_get_signs_nobody_out(visitor: PageVisitor) -> None:
    visitor.sign_in()
    assert visitor.get("/debug/sign-out").status_code == 405
    assert visitor.get("/debug").status_code == 200


def test_a_restart_ends_every_session(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    visitor.sign_in()
    gateway.restart()
    assert visitor.get("/debug").status_code == 303


def test_a_new_token_ends_every_session_and_the_old_one_opens_none(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    visitor.sign_in()
    gateway.stop()
    operator = gateway.settings.operator.model_copy(update={"token": SecretStr("another-operator-token")})
    gateway.settings = gateway.settings.model_copy(update={"operator": operator})
    gateway.start()
    assert visitor.get("/debug").status_code == 303
    assert visitor.sign_in(OPERATOR_TOKEN).status_code == 401
    assert visitor.sign_in("another-operator-token").status_code == 303


def test_failed_sign_ins_are_counted_with_all_failures_of_their_address(
    gateway: ThreadGateway, visitor: PageVisitor, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(299):
        gateway.request("GET", "/debug/overview.json", headers={"Authorization": "Bearer guess"})
    assert visitor.sign_in("guess").status_code == 401
    refused = visitor.sign_in("another guess")
    assert refused.status_code == 429
    assert "Too many attempts failed" in refused.text
    assert int(refused.headers["Retry-After"]) > 0
    assert visitor.sign_in(OPERATOR_TOKEN).status_code == 303
    caplog.clear()  # the log names the address; other tests look at that


def test_over_plain_http_from_elsewhere_the_page_says_why_it_cannot_work(visitor: PageVisitor) -> None:
    elsewhere = {"Host": "10.1.2.3:8080", "Sec-Fetch-Site": None}
    page = visitor.request("GET", "/debug/sign-in", elsewhere)  # type: ignore[arg-type]
    assert "This address cannot keep you signed in" in page.text
    assert "10.1.2.3" in page.text
    assert 'name="token"' not in page.text
    answer = visitor.request("POST", "/debug/sign-in", elsewhere, data={"token": OPERATOR_TOKEN})  # type: ignore[arg-type]
    assert (answer.status_code, visitor.cookie) == (400, None)


def test_a_session_is_worth_nothing_to_the_api_but_for_the_json_of_pages(visitor: PageVisitor) -> None:
    visitor.sign_in()
    for method, path in (("GET", "/debug/concerns"), ("POST", "/debug/verify"), ("GET", "/manage/bots")):
        assert visitor.request(method, path).status_code == 401


def test_an_operator_chooses_a_look_and_comes_back(visitor: PageVisitor) -> None:
    stranger = visitor.post("/debug/look", {"look": "dark", "to": "/debug/errors"})
    assert stranger.headers["Location"].startswith("/debug/sign-in")
    visitor.sign_in()
    assert "data-look" not in visitor.page("/debug/errors")
    page = visitor.acted("/debug/look", {"look": "dark", "to": "/debug/errors"})
    assert "<h1>Errors</h1>" in page
    assert '<html lang="en" data-look="dark">' in page
    assert 'name="look" value="dark" checked' in page
    assert visitor.cookies["__Host-votegate-look"] == "dark"
    assert visitor.post("/debug/look", {"look": "pink"}).status_code == 400
    assert "data-look" not in visitor.acted("/debug/look", {"look": "auto", "to": "//evil.example"})
