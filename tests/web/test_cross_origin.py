"""Forms of other sites are refused, by what the browser says of where they come from."""

import pytest

from web.cross_origin import is_from_here


@pytest.mark.parametrize("has_cookie", [True, False])
@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://gate.example"}, False),
        ({"Origin": "https://gate.example"}, True),
        ({"Origin": "https://GATE.example"}, True),
        ({"Origin": "https://gate.example:444"}, False),
        ({"Origin": "https://gate.example.evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "//gate.example"}, False),
        ({"Origin": "http://["}, False),
        ({"Origin": ""}, False),
    ],
)
def test_a_request_is_ours_if_the_browser_says_so(
    headers: dict[str, str], allowed: bool, has_cookie: bool
) -> None:
    assert is_from_here({"Host": "gate.example", **headers}, has_cookie=has_cookie) == allowed


@pytest.mark.parametrize(("has_cookie", "allowed"), [(True, False), (False, True)])
def test_whoever_is_known_by_a_cookie_must_say_where_the_request_comes_from(
    has_cookie: bool, allowed: bool
) -> None:
    assert is_from_here({"Host": "gate.example"}, has_cookie=has_cookie) == allowed


def test_without_a_host_no_origin_is_ours() -> None:
    assert not is_from_here({"Origin": ""}, has_cookie=False)
