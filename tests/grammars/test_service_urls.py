"""URLs of a proxy and of a Redis: what they mean, and what is refused without quoting a credential."""

import pytest

from grammars.service_urls import RedisTarget, read_proxy_url, read_redis_url


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
