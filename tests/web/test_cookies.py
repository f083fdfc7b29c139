"""Cookies: their names, their attributes, and where a browser keeps them."""

import pytest

from web.cookies import OPERATOR, Cookie, keeps_cookies, people_cookies

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
