"""grammars/service_urls.py: the meaning of URLs that operators choose; a refusal quotes no credential."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.service_urls import (
    RedisTarget,
    is_loopback,
    read_platform_url,
    read_proxy_url,
    read_public_url,
    read_redis_url,
)
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://proxy.example", "proxy.example", 3128),
        ("https://proxy.example/", "proxy.example", 443),
        ("socks5://[::1]", "::1", 1080),
        ("http://10.0.0.1:8080", "10.0.0.1", 8080),
    ],
)
def test_a_proxy_is_a_url(url: str, host: str, port: int) -> None:
    proxy = read_proxy_url(url)
    assert (proxy.host, proxy.port, proxy.user, proxy.password) == (host, port, "", "")


@pytest.mark.parametrize(
    "url",
    [
        "proxy.example:3128",
        "ftp://proxy.example",
        "socks4://proxy.example",
        "http://",
        "http://the-secret@",
        "http://the-secret@[::1",
        "http://the-secret@proxy.example:0x50",
        "http://the-secret@proxy.example/path",
        "http://the-secret@proxy.example?query",
        "http://the%3Asecret:word@proxy.example",
        f"http://user:{'x' * 256}@proxy.example",
        "http://user:the-secret@proxy.example:99999",
    ],
)
def test_a_url_that_is_no_proxy_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"^must (be http://|have a user name)") as refused:
        read_proxy_url(url)
    assert "secret" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_credentials_are_percent_decoded_and_out_of_sight() -> None:
    proxy = read_proxy_url("http://a%40b:the%3Asecret@Proxy.Example:3128")
    assert (proxy.host, proxy.user, proxy.password) == ("proxy.example", "a@b", "the:secret")
    assert "secret" not in repr(proxy)


@pytest.mark.parametrize(
    ("url", "is_tls", "has_password"),
    [
        ("redis://redis.example", False, False),
        ("redis://:word@redis.example:6379/0", False, True),
        ("redis://user@redis.example", False, False),
        ("rediss://user:@[::1]:6380", True, True),
    ],
)
def test_a_redis_is_a_url(url: str, is_tls: bool, has_password: bool) -> None:
    assert read_redis_url(url) == RedisTarget(is_tls, has_password)


@pytest.mark.parametrize(
    "url",
    [
        "the-secret.example:6379",
        "http://the-secret@redis.example",
        "redis://user:the-secret@redis.example:65536",
        "redis://user:the-secret@redis.example:0",
        "redis://user:the-secret@redis.example/zero",
        "redis://user:the-secret@redis.example?db=1",
        "redis://user:the-secret@[::1::]",
    ],
)
def test_a_url_that_is_no_redis_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"^(must be redis://|At most)") as refused:
        read_redis_url(url)
    assert "secret" not in str(refused.value)


LOOPBACK = ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "localhost", "LOCALHOST", "bots.localhost"]
ELSEWHERE = [
    "0.0.0.0",
    "::",
    "10.0.0.1",
    "128.0.0.1",
    "::2",
    "bots.example",
    "localhost.example",
    "127.0.0.1.example",
]


@pytest.mark.parametrize(
    ("host", "is_so"), [(host, True) for host in LOOPBACK] + [(host, False) for host in ELSEWHERE]
)
def test_loopback_is_this_machine_alone(host: str, is_so: bool) -> None:
    assert is_loopback(host) is is_so


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://discord.com/api/v10", "https://discord.com/api/v10"),
        ("https://cdn.discordapp.com/", "https://cdn.discordapp.com"),
        ("HTTPS://Discord.com:443/api/v10/", "https://discord.com/api/v10"),
        ("http://127.0.0.1:8090/api/v10", "http://127.0.0.1:8090/api/v10"),
        ("http://localhost:8090", "http://localhost:8090"),
        ("http://[::1]:8090/", "http://[::1]:8090"),
    ],
)
def test_a_platform_is_a_url_to_which_a_path_can_be_added(url: str, read: str) -> None:
    assert read_platform_url(url) == read


@pytest.mark.parametrize(
    "url",
    [
        "discord.com",
        "ftp://discord.com",
        "https://",
        "https://user@discord.com",
        "https://discord.com/api?v=10",
        "https://discord.com/#api",
        "https://discord.com/;script-src",
        "https://discord.com/a b",
        "http://discord.com/api/v10",
        "http://10.0.0.1:8090",
        "http://0.0.0.0:8090",
        "http://127.1:8090",
    ],
)
def test_a_url_that_is_no_platform_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"^must "):
        read_platform_url(url)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://bots.example", "https://bots.example"),
        ("https://Bots.Example/", "https://bots.example"),
        ("https://bots.example:443", "https://bots.example"),
        ("https://bots.example:8443", "https://bots.example:8443"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://bots.example:80", "http://bots.example"),
        ("https://[2001:DB8::0:1]", "https://[2001:db8::1]"),
    ],
)
def test_the_public_url_is_an_origin_as_browsers_write_it(url: str, origin: str) -> None:
    assert read_public_url(url) == origin


@pytest.mark.parametrize(
    "url",
    [
        "bots.example",
        "https://bots.example/votes",
        "https://bots.example/?a",
        "https://bots.example#top",
        "https://user@bots.example",
        "wss://bots.example",
        "https://bücher.example",
    ],
)
def test_a_public_url_with_more_than_an_origin_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"^must "):
        read_public_url(url)


ANY_TEXT = st.one_of(st.text(), st.from_regex(r"https?://[\[\]a-z0-9.:@/?#%-]{0,30}", fullmatch=True))


@examples(500)
@given(ANY_TEXT)
def test_whatever_is_read_is_read_as_the_same_again_and_leads_nowhere_else(text: str) -> None:
    for read in (read_platform_url, read_public_url):
        try:
            url = read(text)
        except ValueError:
            continue
        parts = urlsplit(url)
        assert read(url) == url
        assert parts.hostname
        assert not url.endswith("/")
        assert (parts.query, parts.fragment, parts.username) == ("", "", None)
        assert read is read_public_url or parts.scheme == "https" or is_loopback(parts.hostname)
