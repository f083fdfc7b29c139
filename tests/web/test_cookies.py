"""web/cookies.py: the cookies of browsers, sealed values, and the page that shows a notice."""

import base64
import os
import string
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from handlers.request import Request
from languages.texts import Text
from operators.operator_site import PAGES
from pages.shared_texts import NOTICES
from pages.table import PEOPLE_PAGES
from storage.sealing import Seal
from tests.support.fake_clock import FakeClock
from tests.support.people_gateway import serving
from tests.support.people_scene import NOTICE
from tests.support.platform_stand_in import ADA, CLEO
from web.cookies import (
    LONGEST,
    MOST_CHARACTERS,
    NONCE_BYTES,
    NOTICE_SECONDS,
    OPERATOR,
    OPERATOR_NOTICE,
    Cookie,
    Notices,
    ValueSeal,
    keeps_cookies,
    people_cookies,
)
from web.pages import Notice

NAME = OPERATOR.name
PEOPLE = people_cookies(100, are_secure=True)
ON_PLAIN_HTTP = people_cookies(100, are_secure=False)


@pytest.mark.parametrize("cookie", [OPERATOR, *PEOPLE[:3]], ids=lambda each: each.name)
def test_no_script_no_other_host_and_no_plain_connection_gets_a_cookie(cookie: Cookie) -> None:
    assert cookie.name.startswith("__Host-votegate-")
    given = cookie.opened("value").split("; ")
    assert given[:5] == [f"{cookie.name}=value", "Path=/", "Secure", "HttpOnly", "SameSite=Lax"]


def test_the_operators_cookie_ends_with_the_browser_and_those_of_people_when_they_are_of_no_more_use() -> (
    None
):
    assert "Max-Age" not in OPERATOR.opened("value")
    assert PEOPLE.session.opened("value").endswith("; Max-Age=100")
    assert PEOPLE.sign_in.opened("value").endswith("; Max-Age=600")
    assert PEOPLE.language.opened("de").endswith("; Max-Age=31536000")


@pytest.mark.parametrize("cookie", ON_PLAIN_HTTP[:3], ids=lambda each: each.name)
def test_on_plain_http_a_cookie_has_another_name_and_browsers_keep_it(cookie: Cookie) -> None:
    assert cookie.name.startswith("votegate-")
    assert cookie.attributes == "Path=/; HttpOnly; SameSite=Lax"


def test_every_cookie_has_a_name_of_its_own() -> None:
    cookies = [OPERATOR, *PEOPLE[:3], *ON_PLAIN_HTTP[:3]]
    assert len({each.name for each in cookies}) == len(cookies)


def test_a_cleared_cookie_is_gone_at_once() -> None:
    assert OPERATOR.cleared() == f"{NAME}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"
    assert PEOPLE.session.cleared().endswith("; Max-Age=0")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (f"{NAME}=v", "v"),
        (f"a=b; {NAME}=v; c=d", "v"),
        (f"{NAME}=first; {NAME}=second", "first"),
        (f"x{NAME}=v", None),
        (f"{PEOPLE.session.name}=v", None),
        (NAME, ""),
        ("", None),
    ],
)
def test_the_value_is_found_among_other_cookies(header: str, value: str | None) -> None:
    assert OPERATOR.value({"Cookie": header}) == value


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({"Host": "127.0.0.1:8080"}, True),
        ({"Host": "localhost:8080"}, True),
        ({"Host": "localhost"}, True),
        ({"Host": "[::1]:8080"}, True),
        ({"Host": "gate.localhost:8080"}, True),
        ({"Host": "10.0.0.1:8080"}, False),
        ({"Host": "gate.example"}, False),
        ({"Host": "localhost.example"}, False),
        ({}, False),
        ({"Host": "gate.example", "Sec-Fetch-Site": "none"}, True),
        ({"Host": "gate.example", "X-Forwarded-Proto": "https"}, True),
        ({"Host": "gate.example", "X-Forwarded-Proto": "http"}, False),
    ],
)
def test_a_browser_keeps_the_cookie_over_https_and_on_this_machine(
    headers: dict[str, str], kept: bool
) -> None:
    assert keeps_cookies(headers) == kept


SECRET, NONCE, PURPOSE = b"a secret of the deployment", bytes(NONCE_BYTES), b"the purpose"
NOW_MS = 1_790_000_000_000
SEAL = ValueSeal(bytes, SECRET, PURPOSE, 60, bytes)
KEPT = b"bytes that browsers keep"
PLAIN = msgspec.msgpack.encode((NOW_MS, KEPT))
VALUE = SEAL.sealed(KEPT, NOW_MS)
assert len(VALUE) % 4, "the last character has bits that stand for nothing"


@given(st.binary(), st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES))
def test_what_was_sealed_is_opened_by_another_node(value: bytes, nonce: bytes) -> None:
    sealed = ValueSeal(bytes, SECRET, PURPOSE, 60, lambda _: nonce).sealed(value, NOW_MS)
    assert SEAL.opened(sealed, NOW_MS) == value


@pytest.mark.parametrize(("seconds", "is_fresh"), [(59, True), (60, False), (-59, True), (-60, False)])
def test_a_value_opens_while_it_is_fresh_by_the_clock_of_either_node(seconds: int, is_fresh: bool) -> None:
    assert SEAL.opened(VALUE, NOW_MS + seconds * 1_000) == (KEPT if is_fresh else None)


def test_a_value_that_no_browser_keeps_is_nothing() -> None:
    assert SEAL.opened(SEAL.sealed(bytes(MOST_CHARACTERS), NOW_MS), NOW_MS) is None


@given(st.integers(0, len(VALUE) - 1), st.characters())
def test_a_value_with_another_character_is_none(place: int, character: str) -> None:
    changed = VALUE[:place] + character + VALUE[place + 1 :]
    assert SEAL.opened(changed, NOW_MS) == (KEPT if changed == VALUE else None)


def test_there_is_one_way_to_write_a_value() -> None:
    written = [VALUE[:-1] + last for last in string.ascii_letters + string.digits + "-_"]
    assert [each for each in written if SEAL.opened(each, NOW_MS) is not None] == [VALUE]


@given(st.integers(0, len(VALUE) - 1), st.integers(0, len(VALUE)))
def test_a_part_of_a_value_is_none(start: int, end: int) -> None:
    part = VALUE[start:end]
    assert SEAL.opened(part, NOW_MS) == (KEPT if part == VALUE else None)


@given(st.text(min_size=1, max_size=5))
def test_a_value_with_more_behind_it_is_none(more: str) -> None:
    assert SEAL.opened(VALUE + more, NOW_MS) is None


@given(st.none() | st.text() | st.binary().map(lambda each: base64.urlsafe_b64encode(each).decode()))
def test_what_nobody_sealed_is_none(value: str | None) -> None:
    assert SEAL.opened(value, NOW_MS) is None


def test_what_the_secret_sealed_for_another_purpose_is_none() -> None:
    other_key = AESGCM(_key(b"another purpose")).encrypt(NONCE, PLAIN, PURPOSE)
    other_place = AESGCM(_key(PURPOSE)).encrypt(NONCE, PLAIN, b"another place")
    of_a_file = Seal(SECRET.ljust(32), b"", b"").seal(PLAIN, PURPOSE)
    for sealed in (NONCE + other_key, NONCE + other_place, of_a_file):
        assert SEAL.opened(_text(sealed), NOW_MS) is None
    right = AESGCM(_key(PURPOSE)).encrypt(NONCE, PLAIN, PURPOSE)
    assert SEAL.opened(_text(NONCE + right), NOW_MS) == KEPT


def _key(purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, None, purpose).derive(SECRET)


def _text(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


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
        assert "Owners, moderators and operators may see your name now.</span></p>" in said
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
