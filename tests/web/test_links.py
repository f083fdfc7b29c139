"""Addresses in pages lead to https or to a path of ours."""

import pytest

from web.links import NOWHERE, link, way_back


@pytest.mark.parametrize("address", ["/", "/debug", "/debug/find?q=a%20b", "https://example.com/a"])
def test_https_and_our_own_paths_are_let_through(address: str) -> None:
    assert link(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "/\\evil.example",
        "http://example.com",
        "",
        "debug",
        "/a b",
        "/a\n",
        "\thttps://example.com",
        "/\t/evil.example",
    ],
)
def test_anything_else_leads_nowhere(address: str) -> None:
    assert link(address) == NOWHERE


@pytest.mark.parametrize("path", ["/debug", "/debug/journal?before=12", "/debug/listings/bots/1"])
def test_a_visitor_comes_back_to_the_page_that_was_wanted(path: str) -> None:
    assert way_back(path, "/debug") == path


@pytest.mark.parametrize(
    "path",
    [
        "https://evil.example",
        "//evil.example/debug",
        "/debug//evil.example",
        "/debugging",
        "/manage/bots",
        "/debug/sign-out",
        "/debug/sign-in?to=/debug/sign-in",
        "/debug\r\nx: y",
        "",
        "/debug/\\evil",
    ],
)
def test_a_way_back_never_leaves_the_pages(path: str) -> None:
    assert way_back(path, "/debug") == "/debug"
