"""web/notice_cookie.py: a notice is said once, by the page to which an action led, and by no address."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.request import Request
from languages.texts import Text
from operators.operator_site import PAGES
from pages.table import PEOPLE_PAGES
from tests.support.fake_clock import FakeClock
from tests.support.people_gateway import serving
from tests.support.people_scene import NOTICE
from tests.support.platform_stand_in import ADA, CLEO
from web.cookies import NOTICE_SECONDS, OPERATOR_NOTICE, Cookie, people_cookies
from web.notice_cookie import LONGEST, Notices
from web.pages import Notice
from web.people.people_audience import NOTICES
from web.sealed_values import MOST_CHARACTERS

COOKIE = people_cookies(1, are_secure=True).notice
SAVED = Notice(Text("It is saved."))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def notices(clock: FakeClock) -> Notices:
    return notices_of(clock)


def notices_of(clock: FakeClock, cookie: Cookie = COOKIE, secret: bytes = b"of the deployment") -> Notices:
    return Notices(cookie, secret, clock, os.urandom)


def asking(brought: str, path: str = "/me", method: str = "GET") -> Request:
    """The request of a browser that was given a cookie."""
    cookie = brought.partition(";")[0]
    return Request(method, path, (), {}, {"Cookie": cookie}, "127.0.0.1", b"", 0)


def test_the_page_to_which_an_action_led_says_the_notice(notices: Notices) -> None:
    for notice in (SAVED, Notice("The probe failed: <b>.", is_problem=True)):
        assert notices.of(asking(notices.given(notice, "/me"))) == notice


def test_no_other_page_and_no_answer_to_a_form_says_it(notices: Notices) -> None:
    brought = notices.given(SAVED, "/me?after=1#conditions")
    assert notices.of(asking(brought)) == SAVED
    for path, method in (("/", "GET"), ("/me/data", "GET"), ("/me", "POST"), ("/me", "HEAD")):
        assert notices.of(asking(brought, path, method)) is None


def test_after_a_minute_no_page_says_it(notices: Notices, clock: FakeClock) -> None:
    brought = notices.given(SAVED, "/me")
    assert f"Max-Age={NOTICE_SECONDS}" in brought
    clock.advance(NOTICE_SECONDS - 1)
    assert notices.of(asking(brought)) == SAVED
    clock.advance(1)
    assert notices.of(asking(brought)) is None


def test_another_node_whose_clock_is_behind_says_it(notices: Notices) -> None:
    behind = FakeClock()
    behind.advance(-5)
    assert notices_of(behind).of(asking(notices.given(SAVED, "/me"))) == SAVED


def test_what_was_sealed_elsewhere_or_for_other_pages_is_no_notice(
    notices: Notices, clock: FakeClock
) -> None:
    _, _, value = notices_of(clock, OPERATOR_NOTICE).given(SAVED, "/me").partition("=")
    foreign = notices_of(clock, secret=b"of another").given(SAVED, "/me")
    for sent in (f"{COOKIE.name}={value}", foreign, f"{COOKIE.name}=saved", f"{COOKIE.name}="):
        assert notices.of(asking(sent)) is None


@given(st.text())
def test_what_nobody_sealed_is_no_notice(value: str) -> None:
    assert notices_of(FakeClock()).of(asking(f"{COOKIE.name}={value}")) is None


def test_the_longest_notice_has_room_in_a_cookie(notices: Notices) -> None:
    brought = notices.given(Notice("\u20ac" * 2 * LONGEST), "/debug/listings/servers/" + "9" * 20)
    assert len(brought) <= MOST_CHARACTERS + len(COOKIE.attributes)
    said = notices.of(asking(brought, "/debug/listings/servers/" + "9" * 20))
    assert said == Notice("\u20ac" * LONGEST)


def test_no_text_of_a_notice_has_values() -> None:
    for notice in NOTICES.values():
        assert isinstance(notice.text, Text)
        assert not notice.text.values


def test_no_address_of_any_page_makes_a_notice_and_an_action_makes_one_that_is_said_once(
    tmp_path: Path,
) -> None:
    with serving(tmp_path / "data") as gateway:
        ada, cleo, operator = gateway.person(ADA), gateway.person(CLEO), gateway.person(None)
        operator.sign_in()
        visitors = {"moderator": cleo, "operator": operator}
        rows = [row for row in (*PEOPLE_PAGES, *PAGES) if row.method == "GET" and "{" not in row.path]
        rows = [row for row in rows if not row.path.endswith("/live")]  # a stream
        for row in rows:
            for name in ("removed", "signed-out", "1"):
                answer = visitors.get(row.access, ada).get(f"{row.path}?notice={name}")
                assert 'class="notice' not in answer.text, row.path
        said = ada.acted("/me/naming", {"name": "on"})
        assert '<p class="notice">Owners, moderators and operators may see your name now.</p>' in said
        assert NOTICE not in ada.cookies
        assert 'class="notice' not in ada.page("/me/votes")


def test_a_fragment_leaves_the_notice_to_the_page(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        ada = gateway.person(ADA)
        assert ada.post("/me/naming", {"name": "on"}).headers["Location"] == "/me/votes"
        ada.get("/me/votes", **{"HX-Request": "true"})
        assert 'class="notice' not in ada.page("/me")
        assert "may see your name now." in ada.page("/me/votes")


def test_the_notice_of_a_sign_out_is_said_to_nobody_who_is_signed_in(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        ada = gateway.person(ADA)
        assert ada.post("/signout").headers["Location"] == "/"
        assert "You are signed out." in ada.page("/")
        assert ada.sign_in_as(ADA).status_code == 303
        assert "You are signed out." not in ada.page("/")
