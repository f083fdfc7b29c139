"""Signing in at the chat platform and coming back: who gets a session, and who does not."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from chatplatform.authorization import SCOPES, challenge
from chatplatform.platform_client import ChatPlatform, PlatformAway
from languages.refusals import Refusal
from tests.support.page_visitor import cookies_of, words
from tests.support.people_scene import (
    ATTEMPTS,
    FROM_PLATFORM,
    SESSION,
    SESSION_SECONDS,
    SIGN_IN,
    PeopleSite,
    PeopleVisitor,
    serving_people,
)
from tests.support.platform_stand_in import ADA, BEN, CLIENT_ID, decided_at
from web.cookies import SIGN_IN_SECONDS

TOKEN, ME = "/oauth2/token", "/users/@me"


def state_of(address: str) -> str:
    return parse_qs(urlsplit(address).query)["state"][0]


def signed_in(visitor: PeopleVisitor) -> bool:
    return visitor.get("/me").status_code == 200


# -- The way there ----------------------------------------------------------------------------------------


def test_the_page_says_what_is_asked_for_and_why(visitor: PeopleVisitor) -> None:
    page = words(visitor.page("/signin"))
    for each in (
        "your name and your picture",
        "e-mail address",
        "not use or keep",
        "list of your servers",
        "one cookie",
    ):
        assert each in page


def test_the_page_changes_nothing_and_asks_the_platform_nothing(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    before = site.stand_in.asked(TOKEN)
    assert cookies_of(visitor.get("/signin")) == []
    assert site.stand_in.asked(TOKEN) == before


def test_the_form_leads_to_the_platform_with_a_request_of_this_browser(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    there = urlsplit(visitor.started("/me"))
    assert f"{there.scheme}://{there.netloc}{there.path}" == site.stand_in.authorize_url
    asked = {name: values[0] for name, values in parse_qs(there.query).items()}
    under_way = site.seal.opened(visitor.cookies[SIGN_IN], site.clock.now_ms())
    assert under_way is not None
    assert asked == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "scope": " ".join(SCOPES),
        "redirect_uri": site.redirect_uri,
        "state": under_way.request.state,
        "prompt": "consent",
        "code_challenge": challenge(under_way.request.verifier),
        "code_challenge_method": "S256",
    }
    assert under_way.request.verifier not in there.query


def test_no_two_sign_ins_are_alike(visitor: PeopleVisitor) -> None:
    first, cookie = visitor.started(), visitor.cookies[SIGN_IN]
    assert state_of(visitor.started()) != state_of(first)
    assert visitor.cookies[SIGN_IN] != cookie


def test_the_cookie_of_the_request_is_for_this_host_no_script_and_ten_minutes(visitor: PeopleVisitor) -> None:
    (given,) = cookies_of(visitor.post("/signin"))
    name, attributes = given.split("=", 1)[0], given.split("; ")[1:]
    assert name == SIGN_IN
    assert attributes == ["Path=/", "Secure", "HttpOnly", "SameSite=Lax", f"Max-Age={SIGN_IN_SECONDS}"]


def test_whoever_is_signed_in_goes_on_at_once_and_may_sign_in_anew(visitor: PeopleVisitor) -> None:
    visitor.sign_in_as()
    assert visitor.get("/signin?to=/me").headers["Location"] == "/me"
    old = visitor.cookies[SESSION]
    visitor.sign_in_as()
    assert visitor.cookies[SESSION] != old


def test_whoever_is_signed_in_is_not_asked_again_by_the_platform_unless_that_has_failed(
    visitor: PeopleVisitor,
) -> None:
    visitor.sign_in_as()
    assert "prompt=none" in visitor.started()
    failed = visitor.come_back(f"/signin/callback?error=login_required&state={state_of(visitor.started())}")
    assert 'name="ask" value="again"' in failed.text
    answer = visitor.post("/signin", {"to": "/", "ask": "again"})
    assert "prompt=consent" in answer.headers["Location"]


# -- The way back -----------------------------------------------------------------------------------------


def test_a_user_who_comes_back_has_a_session_and_the_page_that_was_wanted(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    wanted = visitor.get("/me").headers["Location"]
    assert wanted == "/signin?to=/me"
    assert 'name="to" value="/me"' in visitor.page(wanted)
    answer = visitor.sign_in_as(ADA, to="/me")
    assert (answer.status_code, answer.headers["Location"], answer.content) == (303, "/me", b"")
    person = site.people.known(visitor.cookies[SESSION])
    assert person is not None
    assert (person.id, person.name) == (ADA, "Ada, who owns bots")
    assert person.name in visitor.page("/me")


def test_the_cookie_of_the_session_is_for_this_host_and_no_script(visitor: PeopleVisitor) -> None:
    given = cookies_of(visitor.sign_in_as())
    value, *attributes = next(each for each in given if each.startswith(SESSION)).split("; ")
    assert len(value.removeprefix(f"{SESSION}=")) == 43
    assert attributes == ["Path=/", "Secure", "HttpOnly", "SameSite=Lax", f"Max-Age={SESSION_SECONDS}"]


def test_a_sign_in_never_takes_a_session_that_was_there_before(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    visitor.keep(SESSION, "a" * 43)
    visitor.sign_in_as(ADA)
    first = visitor.cookies[SESSION]
    assert first != "a" * 43
    visitor.sign_in_as(BEN)
    assert visitor.cookies[SESSION] != first
    assert site.people.known(first) is None, "the old session of this browser goes on"


def test_the_servers_are_not_asked_for(site: PeopleSite, visitor: PeopleVisitor) -> None:
    visitor.sign_in_as()
    assert site.stand_in.asked("/users/@me/guilds") == 0


def test_a_session_is_named_after_its_browser(site: PeopleSite, visitor: PeopleVisitor) -> None:
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
    back = urlsplit(decided_at(visitor.started(), ADA))
    visitor.get(f"{back.path}?{back.query}", **{"User-Agent": agent})
    assert site.people.labels[-1] == "Firefox on Linux"


@pytest.mark.parametrize(
    "to", ["https://evil.example/", "//evil.example", "/\\evil.example", "/signin", "/signout"]
)
def test_a_way_back_to_another_host_or_to_the_sign_in_is_not_taken(visitor: PeopleVisitor, to: str) -> None:
    assert visitor.sign_in_as(to=to).headers["Location"] == "/"
    assert visitor.get(f"/signin?{urlencode({'to': to})}").headers["Location"] == "/"


def test_the_way_back_is_not_in_the_address_of_the_callback(visitor: PeopleVisitor) -> None:
    back = decided_at(visitor.started("/me"), ADA)
    assert set(parse_qs(urlsplit(back).query)) == {"code", "state"}
    answer = visitor.come_back(f"{back}&to=/review&return_to=//evil.example")
    assert answer.headers["Location"] == "/me"


# -- What does not count ----------------------------------------------------------------------------------


def refused(visitor: PeopleVisitor, address: str, status: int, text: str) -> str:
    """The page of a sign-in that must fail."""
    answer = visitor.come_back(address)
    assert (answer.status_code, text in words(answer.text)) == (status, True), answer.text
    assert [each.split(";")[0] for each in cookies_of(answer)] == [f"{SIGN_IN}="], (
        "the request can be used again"
    )
    assert SIGN_IN not in visitor.cookies
    assert not signed_in(visitor)
    return answer.text


def test_a_user_who_cancels_is_told_so_and_may_try_again(visitor: PeopleVisitor) -> None:
    back = decided_at(visitor.started("/me"), ADA, "cancel")
    page = refused(visitor, back, 200, "was cancelled at 127.0.0.1")
    assert '<form action="/signin" method="post">' in page
    assert 'name="to" value="/me"' in page


def test_a_callback_without_the_cookie_of_its_request_counts_for_nothing(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    before = site.stand_in.asked(TOKEN)
    back = decided_at(site.visitor().started(), ADA)
    refused(visitor, back, 400, "in another browser")
    assert site.stand_in.asked(TOKEN) == before, "the platform was asked"


def test_a_callback_for_the_request_of_another_browser_counts_for_nothing(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    before = site.stand_in.asked(TOKEN)
    back = decided_at(site.visitor().started(), ADA)
    visitor.started()
    refused(visitor, back, 400, "cannot be used")
    assert site.stand_in.asked(TOKEN) == before


def test_a_callback_counts_once(site: PeopleSite, visitor: PeopleVisitor) -> None:
    back = decided_at(visitor.started(), ADA)
    kept = visitor.cookies[SIGN_IN]
    assert visitor.come_back(back).status_code == 303
    before = site.stand_in.asked(TOKEN)
    other = site.visitor()
    refused(other, back, 400, "cannot be used")
    other.keep(SIGN_IN, kept)
    refused(other, back, 400, "or was already used")
    assert site.stand_in.asked(TOKEN) == before, "the platform was asked"


def test_the_state_of_a_sign_in_counts_once_also_with_a_new_code(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    address = visitor.started()
    kept, first, second = visitor.cookies[SIGN_IN], decided_at(address, ADA), decided_at(address, BEN)
    assert visitor.come_back(first).status_code == 303
    other = site.visitor()
    other.keep(SIGN_IN, kept)
    refused(other, second, 400, "or was already used")


def test_a_sign_in_that_failed_has_used_its_state_up(site: PeopleSite, visitor: PeopleVisitor) -> None:
    address = visitor.started()
    kept = visitor.cookies[SIGN_IN]
    foreign = parse_qs(urlsplit(decided_at(site.visitor().started(), BEN)).query)["code"][0]
    query = urlencode({"code": foreign, "state": state_of(address)})
    refused(visitor, f"/signin/callback?{query}", 400, "refused it")
    visitor.keep(SIGN_IN, kept)
    refused(visitor, decided_at(address, ADA), 400, "or was already used")


@pytest.mark.parametrize("answer", ["error=access_denied", "error=server_error", "code=%20", ""])
def test_a_refusal_at_the_platform_uses_the_state_up(visitor: PeopleVisitor, answer: str) -> None:
    address = visitor.started()
    kept = visitor.cookies[SIGN_IN]
    visitor.come_back(f"/signin/callback?{answer}&state={state_of(address)}")
    visitor.keep(SIGN_IN, kept)
    refused(visitor, decided_at(address, ADA), 400, "or was already used")


def test_a_request_that_is_too_old_counts_for_nothing(site: PeopleSite, visitor: PeopleVisitor) -> None:
    back = decided_at(visitor.started(), ADA)
    site.clock.advance(SIGN_IN_SECONDS)
    refused(visitor, back, 400, "more than 10 minutes ago")


@pytest.mark.parametrize(
    "query", ["", "code=x", "state=x", "code=x&state=", "error=access_denied", "state=%FF&code=x"]
)
def test_a_callback_with_another_state_or_none_counts_for_nothing(visitor: PeopleVisitor, query: str) -> None:
    visitor.started()
    refused(visitor, f"/signin/callback?{query}", 400, "cannot be used")


def test_a_code_of_another_request_is_refused_by_its_verifier(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    foreign = parse_qs(urlsplit(decided_at(site.visitor().started(), BEN)).query)["code"][0]
    query = urlencode({"code": foreign, "state": state_of(visitor.started())})
    refused(visitor, f"/signin/callback?{query}", 400, "refused it")


def test_an_error_of_the_platform_is_told(visitor: PeopleVisitor) -> None:
    query = urlencode({"error": "server_error<b>", "state": state_of(visitor.started())})
    page = refused(visitor, f"/signin/callback?{query}", 400, "did not work")
    assert "server_error" not in page


@pytest.mark.parametrize("path", [TOKEN, ME])
@pytest.mark.parametrize("fault", ["500", "html", "cut"])
def test_a_platform_that_is_away_costs_nothing_but_another_try(
    site: PeopleSite, visitor: PeopleVisitor, path: str, fault: str
) -> None:
    site.stand_in.goes_wrong(path, fault)
    back = decided_at(visitor.started("/me"), ADA)
    page = refused(visitor, back, 503, "gives no answer that can be used")
    assert 'name="to" value="/me"' in page
    assert visitor.sign_in_as(to="/me").headers["Location"] == "/me"


def test_a_platform_that_says_when_it_may_be_asked_is_quoted(
    visitor: PeopleVisitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def token(*_: object) -> str:
        raise PlatformAway("limited", 7.2)

    monkeypatch.setattr(ChatPlatform, "token", token)
    answer = visitor.sign_in_as()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "8")
    assert "You can try again in 8 seconds." in words(answer.text)


@pytest.mark.parametrize(
    ("path", "status", "why"), [(TOKEN, 400, "did not say who you are"), (ME, 503, "gives no answer")]
)
def test_an_answer_that_is_something_else_signs_nobody_in(
    site: PeopleSite, visitor: PeopleVisitor, path: str, status: int, why: str
) -> None:
    site.stand_in.goes_wrong(path, "types")
    back = decided_at(visitor.started(), ADA)
    refused(visitor, back, status, why)


def test_while_nothing_can_be_saved_nobody_is_signed_in_or_out(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    site.people.takes_writes = False
    back = decided_at(visitor.started(), ADA)
    refused(visitor, back, 503, "cannot save anything")
    site.people.takes_writes = True
    visitor.sign_in_as()
    site.people.takes_writes = False
    answer = visitor.post("/signout")
    assert (answer.status_code, "cannot be done right now" in answer.text) == (503, True)
    assert signed_in(visitor)


def test_a_user_whom_the_rules_refuse_is_told_why(site: PeopleSite, visitor: PeopleVisitor) -> None:
    site.people.refusal = Refusal("not_suspended")
    back = decided_at(visitor.started(), ADA)
    page = refused(visitor, back, 409, "You cannot sign in")
    assert "The endpoint is not suspended." in words(page), "the text of the refusal"


def test_an_address_that_signs_in_too_often_has_to_wait(site: PeopleSite, visitor: PeopleVisitor) -> None:
    back = decided_at(visitor.started("/me"), ADA)
    cookie = visitor.cookies[SIGN_IN]
    for _ in range(ATTEMPTS.requests):
        visitor.keep(SIGN_IN, cookie)
        visitor.come_back("/signin/callback?state=guess")
    visitor.keep(SIGN_IN, cookie)
    page = refused(visitor, back, 429, "Too many sign-ins came from your address.")
    assert "You can try again in 5 min" in words(page)
    for _ in range(ATTEMPTS.requests - 1):
        visitor.started()
    form = visitor.post("/signin")
    assert (form.status_code, int(form.headers["Retry-After"])) == (429, ATTEMPTS.window_seconds)
    assert "One moment, please" in form.text
    site.clock.advance(ATTEMPTS.window_seconds)
    assert visitor.sign_in_as().status_code == 303


def test_pages_of_others_that_send_browsers_here_use_up_nobody_s_attempts(visitor: PeopleVisitor) -> None:
    for _ in range(2 * ATTEMPTS.requests):
        assert visitor.come_back("/signin/callback").status_code == 400
    assert visitor.sign_in_as().status_code == 303


# -- What is left behind ----------------------------------------------------------------------------------


def test_no_cache_no_log_and_no_other_host_learns_the_code(site: PeopleSite, visitor: PeopleVisitor) -> None:
    back = decided_at(visitor.started(), ADA)
    query = urlsplit(back).query
    answer = visitor.come_back(back)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.content == b"", "a page under this address could be looked at by whoever comes later"
    log = site.logged()
    assert " 303 GET /signin/callback " in log
    for secret in (query, *(each for values in parse_qs(query).values() for each in values)):
        assert secret not in log


def test_a_page_about_a_failure_shows_nothing_of_the_address(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    back = decided_at(site.visitor().started(), ADA)
    page = refused(visitor, back, 400, "cannot be used")
    for values in parse_qs(urlsplit(back).query).values():
        assert values[0] not in page


# -- The way out ------------------------------------------------------------------------------------------


def test_a_sign_out_ends_the_session_here_and_not_only_in_the_browser(visitor: PeopleVisitor) -> None:
    visitor.sign_in_as()
    kept = visitor.cookies[SESSION]
    answer = visitor.post("/signout")
    assert (answer.status_code, answer.headers["Clear-Site-Data"]) == (303, '"cache", "storage"')
    assert SESSION not in visitor.cookies
    assert "You are signed out." in visitor.page(answer.headers["Location"])
    visitor.keep(SESSION, kept)
    assert not signed_in(visitor)


def test_a_get_and_another_site_sign_nobody_out(visitor: PeopleVisitor) -> None:
    visitor.sign_in_as()
    assert visitor.get("/signout").status_code == 405
    assert visitor.request("POST", "/signout", FROM_PLATFORM).status_code == 403
    assert signed_in(visitor)


def test_another_site_begins_no_sign_in(visitor: PeopleVisitor) -> None:
    assert visitor.request("POST", "/signin", FROM_PLATFORM).status_code == 403
    assert visitor.cookies == {}


# -- Plain http -------------------------------------------------------------------------------------------

ELSEWHERE = {"Host": "bots.example", "Sec-Fetch-Site": None}


def test_where_a_browser_drops_the_cookie_the_page_says_where_to_go(
    site: PeopleSite, visitor: PeopleVisitor
) -> None:
    page = visitor.request("GET", "/signin", ELSEWHERE)  # type: ignore[arg-type]
    assert "This address cannot keep you signed in" in page.text
    assert f'href="{site.base_url}/signin"' in page.text
    assert 'action="/signin"' not in page.text
    answer = visitor.request("POST", "/signin", ELSEWHERE)  # type: ignore[arg-type]
    assert (answer.status_code, visitor.cookies) == (400, {})


def test_a_deployment_on_plain_http_signs_in_with_cookies_that_a_browser_keeps_there() -> None:
    with serving_people(are_secure=False) as site:
        visitor = site.visitor()
        assert 'action="/signin"' in visitor.request("GET", "/signin", ELSEWHERE).text  # type: ignore[arg-type]
        visitor.sign_in_as()
        assert list(visitor.cookies) == ["votegate-session"]
        assert signed_in(visitor)
