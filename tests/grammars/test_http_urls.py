"""grammars/http_urls.py: the reading of a URL and its pattern take the same texts."""

import re
from ipaddress import IPv4Address, IPv6Address
from itertools import product
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import AnyHttpUrl, TypeAdapter, ValidationError

from grammars.http_urls import HTTP_URL, MAX_URL_CHARACTERS, Target, UrlRefused, read_url
from tests.support.examples import examples

LABEL = "a" * 63
NAME = ".".join([LABEL, LABEL, LABEL, "a" * 61])  # 253 characters

BROWSER = TypeAdapter(AnyHttpUrl)  # reads as browsers do: https://url.spec.whatwg.org


def reason_against(url: str) -> str | None:
    """Return why a URL is refused, or None."""
    try:
        read_url(url)
    except UrlRefused as refusal:
        return str(refusal)
    return None


def agrees(url: str) -> bool:
    """Return true if the pattern takes the URL when `read_url` does, and refuses it when that does."""
    fits = len(url) <= MAX_URL_CHARACTERS  # the length is `maxLength`, beside the pattern
    return bool(fits and re.fullmatch(HTTP_URL, url)) == (reason_against(url) is None)


def dotted(address: IPv6Address) -> str:
    """Write an IPv6 address with its last two groups as an IPv4 address."""
    return f"{address.exploded[:30]}{IPv4Address(int(address) & 0xFFFF_FFFF)}"


def mostly(right: list[str], wrong: list[str]) -> st.SearchStrategy[str]:
    return st.integers(0, 15).flatmap(lambda one: st.sampled_from(right if one else wrong))


# Every part of a URL, mostly right, so that what is wrong elsewhere is seen.
schemes = mostly(["http://", "https://", "HTTPS://", "hTTp://"], ["http:/", "http:", "ftp://", "//", ""])
users = mostly([""], ["user@", "user:word@", "@"])
labels = mostly(
    ["h", "H", "xn--a", "a_b", "_", "a-b", "0xg", LABEL], ["-a", "a-", "", "%61", "é", "１", LABEL + "a"]
)
numbers = mostly(
    ["0", "1", "9", "10", "127", "199", "249", "255"], ["00", "01", "256", "0x", "0X7f", "1000", "1e1"]
)
groups = mostly(["", "0", "1", "db8", "FFFF", "01"], ["00001", "g", "1.2.3.4", "1.2.3", "::", "%1"])
names = st.lists(labels | numbers, min_size=1, max_size=5).map(".".join)
quads = st.lists(numbers, min_size=3, max_size=5).map(".".join)
tails = st.sampled_from(["", ":1.2.3.4", ":255.255.255.255", ":1.2.3", ":1.2.3.04", ":1.2.3.256", "::"])
ipv6 = st.builds(str.__add__, st.lists(groups, min_size=1, max_size=9).map(":".join), tails)
hosts = (
    names
    | quads
    | ipv6.map("[{}]".format)
    | mostly([NAME, "[::1]"], ["", "[", "[]", "[v1.a]", "::1", NAME + "a"])
)
ports = mostly(
    ["", ":1", ":79", ":80", ":443", ":1023", ":1024", ":9999", ":65535"],
    [":", ":0", ":080", ":65536", ":100000", ":1:2", ":+1", ":x"],
)
paths = mostly(
    ["", "/", "/a?b#c", "?a", "#", "/@", "/%0a", "/[^`{|}]"], ["/a b", "\\", "/é", "/\n", "\n", "@"]
)
urls = st.tuples(schemes, users, hosts, ports, paths).map("".join)
scribbles = st.text(st.sampled_from("htps:/[]@%?#.-_\\ 0179xzFf\n")).map("http://".__add__)
texts = urls | scribbles | st.text()


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://h", Target("http", "h", 80, "/")),
        (
            "HTTPS://Receiver.Example:8443/Votes?A=b@c#d",
            Target("https", "receiver.example", 8443, "/Votes?A=b@c"),
        ),
        (
            "https://receiver.example?x=//user@host",
            Target("https", "receiver.example", 443, "/?x=//user@host"),
        ),
        ("https://receiver.example#/path", Target("https", "receiver.example", 443, "/")),
        (
            "https://receiver.example/a/../%2e%2E//b;c",
            Target("https", "receiver.example", 443, "/a/../%2e%2E//b;c"),
        ),
        ("http://192.0.2.1:1/", Target("http", "192.0.2.1", 1, "/")),
        ("http://0.0.0.0:65535/", Target("http", "0.0.0.0", 65_535, "/")),
        ("http://[2001:DB8:0:0::0001]/", Target("http", "2001:db8::1", 80, "/")),
        ("http://[::]:443/", Target("http", "::", 443, "/")),
        ("http://[2001:db8::192.0.2.1]/", Target("http", "2001:db8::c000:201", 80, "/")),
        ("http://[1:2:3:4:5:6:7::]/", Target("http", "1:2:3:4:5:6:7:0", 80, "/")),
        (
            "http://_dmarc.a_b.xn--bcher-kva.example/",
            Target("http", "_dmarc.a_b.xn--bcher-kva.example", 80, "/"),
        ),
        ("http://1.2.3.4.example/", Target("http", "1.2.3.4.example", 80, "/")),
        ("http://0xg/", Target("http", "0xg", 80, "/")),
        (f"http://{NAME}/", Target("http", NAME, 80, "/")),
        ("http://h/" + "x" * 2_039, Target("http", "h", 80, "/" + "x" * 2_039)),
    ],
)
def test_a_url_leads_to_one_place(url: str, target: Target) -> None:
    assert read_url(url) == target
    assert agrees(url)


@pytest.mark.parametrize(
    ("reason", "spellings"),
    [
        ("at most 2048 characters", ["http://h/" + "x" * 2_040]),
        (
            "plain ASCII",
            ["http://reciéver.example/", "http://１２７.0.0.1/", "http://127。0。0。1/", "http://h/é"],
        ),
        (
            "without spaces",
            ["http://h/a b", " http://h", "http://h\n", "http://h/\r\nhost: x", "http://h/\t"],
        ),
        ("control characters", ["\x00http://h/", "http://h/\x7f", "http://\x1bh/"]),
        ("backslashes", ["http://h\\@internal/", "http:\\\\h/", "http://h/\\"]),
        (
            "an http or https URL",
            ["", "h", "h/votes", "//h/votes", "http:h", "http:/h", "ftp://h/", "file:///h"],
        ),
        ("an http or https URL", ["javascript://h/%0aalert(1)", "httpss://h/", "https//h/", "http%3a//h/"]),
        ("URL with a host", ["http:///votes", "http://", "http://:80/", "http://?", "http://#@h"]),
        ("user name or password", ["http://user@h/", "http://user:word@h/", "http://@h/", "http://h:80@h2/"]),
        ("port from 1 to 65535", ["http://h:/", "http://h:0/", "http://h:080/", "http://h:65536/"]),
        ("port from 1 to 65535", ["http://[::1]:/", "http://h:http/", "http://h:+1/"]),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused_with_the_reason(reason: str, spellings: list[str]) -> None:
    for url in spellings:
        assert reason in (reason_against(url) or "it is taken"), url
        assert agrees(url), url


@pytest.mark.parametrize(
    ("reason", "spellings"),
    [
        ("brackets", "::1 2001:db8::1 [2001:db8::1 2001:db8::1] [::1]h h[::1] [[::1]] h:80:90"),
        ("zone", "[fe80::1%25eth0] [fe80::1%eth0] [::1%]"),
        (
            "valid IPv6 address",
            "[] [1:2:3:4:5:6:7] [1:2:3:4:5:6:7:8:9] [1::2::3] [::1:2:3:4:5:6:7:8] [:1::] [::g]",
        ),
        (
            "valid IPv6 address",
            "[192.0.2.1] [::1.2.3] [::1.2.3.04] [::1.2.3.256] [::1.2.3.4:5] [00001::] [v1.a]",
        ),
        ("dot at an end", f"h. .h a..b . 127.0.0.1. {NAME[:-1]}."),
        ("at most 63", f"{LABEL}a {LABEL}a.example example.{LABEL}a"),
        ("at most 253", f"{NAME}a a.{NAME}"),
        ("hyphen", "-h h- a.-b.c a-.b -"),
        ("letters, digits", "internal%2eh %31 h<script> h,h2 *.h h%00"),
        ("four numbers from 0 to 255", "1 0 2130706433 127.1 127.0.1 1.2.3.4.5 127.0.0.256 h.1"),
        (
            "four numbers from 0 to 255",
            "0x7f000001 0X7F.0.0.1 127.0.0.0x1 0x h.0x 0177.0.0.1 127.0.0.01 00.0.0.0",
        ),
    ],
)
def test_a_host_has_one_spelling_or_is_refused_with_the_reason(reason: str, spellings: str) -> None:
    for host in spellings.split(" "):
        assert reason in (reason_against(f"http://{host}/") or "it is taken"), host
        assert agrees(f"http://{host}/"), host


@examples(300)
@given(st.ip_addresses(v=6), st.booleans())
def test_every_spelling_of_an_ipv6_address_is_the_same_host(address: IPv6Address, upper: bool) -> None:
    for spelling in (address.compressed, address.exploded, dotted(address)):
        url = f"http://[{spelling.upper() if upper else spelling}]/"
        assert read_url(url).host == address.compressed
        assert re.fullmatch(HTTP_URL, url), url


@examples(1_000)
@given(texts)
@example("http://h/" + "x" * 2_039)
@example("http://h/" + "x" * 2_040)
def test_the_patterns_take_what_the_reading_takes_and_nothing_else(url: str) -> None:
    assert agrees(url)


@pytest.mark.parametrize("tail", ["", "1.2.3.4"])
def test_the_patterns_know_every_place_of_the_gap_in_an_ipv6_address(tail: str) -> None:
    for before, after in product(range(10), range(10)):
        head = ":".join("1" * before)
        for gap in ("::", ":", ":::"):
            rest = ":".join([*"1" * after, *[tail] * bool(tail)])
            assert agrees(f"http://[{head}{gap}{rest}]/"), (head, gap, rest)


@pytest.mark.parametrize(
    ("first", "last"), [(0, 1_100), (9_990, 10_010), (59_990, 66_000), (99_990, 100_010)]
)
def test_the_patterns_take_the_ports_that_they_say(first: int, last: int) -> None:
    for port in range(first, last):
        assert (reason_against(f"http://h:{port}") is None) == (1 <= port <= 65_535)
        assert agrees(f"http://h:{port}"), port


def test_the_patterns_take_the_numbers_of_an_ipv4_address_that_they_say() -> None:
    for number in range(1_010):
        assert (reason_against(f"http://1.{number}.2.3") is None) == (number <= 255)
        assert agrees(f"http://1.{number}.2.3"), number


@examples(1_000)
@given(urls | scribbles)
@example("http://[::ffff:192.0.2.1]:8080/")
@example("http://0x7f.1/")
def test_other_parsers_go_to_the_same_place(url: str) -> None:
    """Python's own, and a browser's where it goes anywhere at all."""
    if reason_against(url) is not None:
        return
    target, parts = read_url(url), urlsplit(url)
    assert (parts.scheme, parts.port or target.port) == (target.scheme, target.port)
    assert _unspelt(parts.hostname or "") == target.host
    try:
        browser = BROWSER.validate_python(url)
    except ValidationError:
        return
    assert (browser.scheme, browser.port) == (target.scheme, target.port)
    assert _unspelt((browser.host or "").strip("[]")) == target.host


def _unspelt(host: str) -> str:
    return str(IPv6Address(host)) if ":" in host else host


def test_the_host_header_names_the_port_unless_it_is_the_schemes() -> None:
    assert read_url("https://H:443/").authority == "h"
    assert read_url("https://h:80/").authority == "h:80"
    assert read_url("http://[::0001]/").authority == "[::1]"
    assert read_url("http://[::1]:8080/").authority == "[::1]:8080"


@examples(300)
@given(texts)
def test_a_reason_quotes_nothing_of_the_url(url: str) -> None:
    """Its path may be a secret, and a reason goes into answers and logs."""
    reason = reason_against(url + "/s3cret" * 2)
    assert reason is None or "s3cret" not in reason


@examples(500)
@given(urls)
def test_a_target_written_as_a_url_leads_back_to_itself(url: str) -> None:
    if reason_against(url) is None:
        target = read_url(url)
        assert read_url(f"{target.scheme}://{target.authority}{target.path}") == target
