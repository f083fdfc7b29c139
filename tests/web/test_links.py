"""web/other_sites.py: addresses in pages lead to https, to a mail address or to a path of ours."""

from urllib.parse import unquote, urljoin, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from web.other_sites import LONGEST_WAY_BACK, NOWHERE, link, way_back

ORIGIN = "https://bots.example"


@pytest.mark.parametrize(
    "address",
    [
        *("/", "/debug", "/debug/find?q=a%20b", "https://example.com/a"),
        "mailto:hello@harbour.example",
        *("http://127.0.0.1:8090/a.png", "http://localhost/a", "http://[::1]:80/a"),
    ],
)
def test_https_our_own_paths_a_mail_address_and_this_machine_are_let_through(address: str) -> None:
    assert link(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "mailto:hello@harbour.example?body=click",
        "mailto:a b@harbour.example",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "/\\evil.example",
        "http://example.com",
        "http://localhost.example/a",
        "http://127.0.0.1:80@evil.example/",
        "http://127.0.0.1.evil.example/",
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


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/me", "/me/", "/bots/1/vote", "/bots?sort=votes&q=a%20b", "/bots?to=//x", "/a.b/~c;d=1,2"),
        "/" + "x" * (LONGEST_WAY_BACK - 1),
    ],
)
def test_a_person_comes_back_to_any_page_of_ours(path: str) -> None:
    assert way_back(path, "/") == path


HOSTILE = [
    *(
        "",
        "me",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
    ),
    *(
        "/%2Fevil.example",
        "/%2f%2fevil.example",
        "/%5Cevil.example",
        "/me//evil.example",
        "/me/\\evil.example",
    ),
    *("https://evil.example", "https:evil.example", "javascript:alert(1)", "//bots.example@evil.example/"),
    *(
        "/.//evil.example",
        "/..//evil.example",
        "/me/..",
        "/me/.",
        "/%2e%2e//evil.example",
        "/a/%2E%2e/b",
        "/./me",
    ),
    *("/signin", "/signin?to=/signin", "/signin/callback?code=x", "/signout", "/%73ignin", "/sign%69n"),
    *(
        "/a/../signout",
        "/a/%2e%2e/signout",
        "/me\r\nSet-Cookie: a=b",
        "/me\n",
        "\n/me",
        " /me",
        "/me ",
        "/m e",
    ),
    *("/me\x00", "/mé", "/\u2044evil", "/\uff0fevil.example", "/me#//evil.example", "/%", "/%zz", "/a%2"),
    "/" + "x" * LONGEST_WAY_BACK,
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_what_is_no_page_of_ours_leads_to_the_first_page(text: str) -> None:
    assert way_back(text, "/") == "/"


PIECES = st.sampled_from(
    [
        *(
            "/",
            "//",
            "\\",
            ".",
            "..",
            "%2e",
            "%2F",
            "%5c",
            "%00",
            "%",
            "?",
            "#",
            "@",
            ":",
            "\t",
            "\r\n",
            " ",
            "\x00",
        ),
        *(
            "evil.example",
            "https:",
            "javascript:",
            "bots.example",
            "signin",
            "signout",
            "debug",
            "me",
            "é",
            "／",
            "。",
        ),
    ]
)


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join), st.sampled_from(["/", "/debug"]))
@example("/me", "/")
def test_a_browser_that_follows_a_way_back_stays_here_and_signs_nobody_in_or_out(
    text: str, home: str
) -> None:
    for wanted in (text, f"/{text}", f"{home}/{text}"):
        back = way_back(wanted, home)
        # A browser drops these characters, and takes a backslash for a slash (URL Standard, 4.4).
        seen = back.translate(str.maketrans("\\", "/", "\t\r\n"))
        reached = urlsplit(urljoin(f"{ORIGIN}/somewhere/else", seen))
        assert f"{reached.scheme}://{reached.netloc}" == ORIGIN
        assert (seen, back.isascii()) == (back, True)
        assert reached.path.startswith(home)
        assert not unquote(reached.path).startswith(f"{home.rstrip('/')}/sign")
        assert not unquote(reached.path).startswith("//")
        assert back in {wanted, wanted.removesuffix("?"), home}
        assert len(back) <= LONGEST_WAY_BACK
