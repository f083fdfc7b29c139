"""web/other_sites.py: forms of other sites are refused, by the headers of the browser."""

import pytest

from web.other_sites import is_from_here, origin_of_site, origins_of_host

SITE = origin_of_site("https://Gate.example")
HERE = {"Host": "gate.example"}


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
        ({"Origin": "https://gate.example:443"}, True),
        ({"Origin": "https://gate.example:444"}, False),
        ({"Origin": "https://gate.example:80"}, False),
        ({"Origin": "http://gate.example"}, False),
        ({"Origin": "http://gate.example:443"}, False),
        ({"Origin": "https://gate.example.evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "//gate.example"}, False),
        ({"Origin": "http://["}, False),
        ({"Origin": "https://gate.example:x"}, False),
        ({"Origin": "ftp://gate.example"}, False),
        ({"Origin": ""}, False),
    ],
)
def test_a_request_is_ours_if_the_browser_says_so(
    headers: dict[str, str], allowed: bool, has_cookie: bool
) -> None:
    for own in (SITE, origins_of_host):
        assert is_from_here({**HERE, **headers}, own, has_cookie=has_cookie) == allowed


@pytest.mark.parametrize("host", ["gate.internal:8080", "evil.example", "", None])
def test_the_origin_of_a_form_is_compared_with_public_url_and_not_with_host(host: str | None) -> None:
    sent = {"Host": host} if host is not None else {}
    assert is_from_here({**sent, "Origin": "https://gate.example"}, SITE, has_cookie=True)
    assert not is_from_here({**sent, "Origin": f"https://{host}"}, SITE, has_cookie=True)


def test_a_port_of_public_url_is_a_part_of_its_origin() -> None:
    own = origin_of_site("http://127.0.0.1:8080")
    for origin, allowed in (("http://127.0.0.1:8080", True), ("http://127.0.0.1", False)):
        assert is_from_here({"Origin": origin}, own, has_cookie=True) == allowed


@pytest.mark.parametrize(
    ("host", "origin", "allowed"),
    [
        ("gate.internal:8443", "https://gate.internal:8443", True),
        ("gate.internal:8443", "https://gate.internal", False),
        ("gate.internal", "http://gate.internal", False),
        ("localhost:8080", "http://localhost:8080", True),
        ("localhost:8080", "https://localhost:8080", True),
        ("localhost:8080", "http://localhost:8081", False),
        ("127.0.0.1:8080", "http://localhost:8080", False),
        ("localhost.evil.example", "http://localhost.evil.example", False),
        ("[::1]:8080", "http://[::1]:8080", True),
    ],
)
def test_operators_have_their_pages_at_any_host_over_https_or_on_this_machine(
    host: str, origin: str, allowed: bool
) -> None:
    assert is_from_here({"Host": host, "Origin": origin}, origins_of_host, has_cookie=True) == allowed


@pytest.mark.parametrize(("has_cookie", "allowed"), [(True, False), (False, True)])
def test_whoever_is_known_by_a_cookie_must_say_where_the_request_comes_from(
    has_cookie: bool, allowed: bool
) -> None:
    assert is_from_here(HERE, SITE, has_cookie=has_cookie) == allowed


def test_without_a_host_no_origin_is_ours() -> None:
    for origin in ("", "https://gate.example", "https://"):
        assert not is_from_here({"Origin": origin}, origins_of_host, has_cookie=False)
