"""The session's cookie: its attributes, and where a browser keeps it."""

import pytest

from web.cookies import OPERATOR, keeps_cookies

NAME = OPERATOR.name


def test_no_script_no_other_host_and_no_plain_connection_gets_the_cookie() -> None:
    assert OPERATOR.opened("value") == f"{NAME}=value; Path=/; Secure; HttpOnly; SameSite=Lax"
    assert NAME.startswith("__Host-")


def test_a_cleared_cookie_is_gone_at_once() -> None:
    assert OPERATOR.cleared() == f"{NAME}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (f"{NAME}=v", "v"),
        (f"a=b; {NAME}=v; c=d", "v"),
        (f"{NAME}=first; {NAME}=second", "first"),
        (f"x{NAME}=v", None),
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
