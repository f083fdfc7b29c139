"""The settings of a fleet: every mistake is named, and no secret is shown."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from settings.model import RedisSettings, load_settings
from tests.support.given_settings import from_environment, from_file, leaves, mistakes, mistakes_in

URL = "redis://redis.example:6379/0"
TLS_URL = "rediss://redis.example"
URLS = [
    "redis://redis.example",
    "redis://127.0.0.1:6379/0",
    "redis://edge@redis.example:6379",
    "redis://edge:p%40ss@redis.example:6379/15",
    "redis://:p%2Fss@redis.example",
    "rediss://[::1]:6380/1",
]
NO_URLS = [
    "",
    "redis.example:6379",
    "http://redis.example",
    "unix:///run/redis.sock",
    "redis://",
    "redis://redis.example?protocol=3",
    "redis://redis.example/0?ssl_cert_reqs=none",
    "redis://redis.example/zero",
    "redis://redis.example:0",
    "redis://redis.example:65536",
    "redis://redis example",
    "redis://edge:p@ss@redis.example",
    "redis://[1:2:3]",
]
BOUNDS: dict[str, tuple[list[Any], list[Any]]] = {
    "node": (["a", "edge-1", "0" * 32], ["", "-a", "A", "a.b", "a b", "a_b", "ä", "0" * 33]),
    "prefix": (["votegate", "{fleet}:1", "V_g-2"], ["", "a b", "a*", "a/b", "x" * 65]),
    "beat_seconds": ([0.05, 60], [0.04, 61, "nan"]),
    "lease_seconds": ([0.1, 86_400], [0, 86_401]),
    "claim_timeout_seconds": ([0.001, 5], [0, -1, 6, "inf"]),
    "usage_seconds": ([0.01, 60], [0, 61]),
    "pace_seconds": ([0, 1], [-0.01, 1.1, "nan"]),
    "stream_bytes": ([65_536, 1 << 40], [65_535, (1 << 40) + 1, 0.5]),
}


def redis_of(**values: object) -> RedisSettings:
    return load_settings(None, {}, {f"redis.{name}": value for name, value in values.items()}).redis


def mistakes_of(**values: object) -> list[str]:
    return mistakes(flags={f"redis.{name}": value for name, value in values.items()})


@pytest.mark.parametrize("url", URLS)
def test_a_url_that_redis_understands_is_taken_as_it_is(url: str) -> None:
    assert redis_of(url=url, node="a").url == SecretStr(url)


@pytest.mark.parametrize("url", NO_URLS)
def test_a_url_that_is_no_plain_address_of_a_redis_is_named(url: str) -> None:
    (mistake,) = mistakes_of(url=url, node="a")
    assert mistake.startswith("redis.url: ")


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, (good, _) in BOUNDS.items() for value in good]
)
def test_a_value_within_the_bounds_is_taken(name: str, value: object) -> None:
    assert getattr(redis_of(**{"url": URL, "node": "a", name: value}), name) == value


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, (_, bad) in BOUNDS.items() for value in bad]
)
def test_a_value_beyond_the_bounds_is_named(name: str, value: object) -> None:
    (mistake,) = mistakes_of(**{"url": URL, "node": "a", name: value})
    assert mistake.startswith(f"redis.{name}: ")


def test_a_gateway_without_a_url_needs_nothing_else() -> None:
    assert redis_of(node="a", prefix="other").url is None


def test_a_fleet_needs_a_name_for_each_gateway() -> None:
    (mistake,) = mistakes_of(url=URL)
    assert "redis.node is missing" in mistake


def test_an_authority_is_for_tls_only(tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    authority.touch()
    assert redis_of(url=TLS_URL, node="a", ca=authority).ca == authority
    (mistake,) = mistakes_of(url=URL, node="a", ca=authority)
    assert "redis.ca is only for a redis.url that begins with rediss://" in mistake


@pytest.mark.parametrize("name", ["nowhere.pem", "."])
def test_an_authority_that_is_no_file_is_named(tmp_path: Path, name: str) -> None:
    (mistake,) = mistakes_of(url=TLS_URL, node="a", ca=tmp_path / name)
    assert f"redis.ca: {tmp_path / name} is not a file" in mistake


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    found = mistakes_in(
        tmp_path, "redis: {url: 'redis://r.example?db=1', node: A, beat_seconds: 0, nodes: [a, b]}"
    )
    assert {mistake.partition(": ")[0] for mistake in found} == {
        "redis.url",
        "redis.node",
        "redis.beat_seconds",
        "redis.nodes",
    }


@pytest.mark.parametrize("name", ["url", "password"])
def test_a_secret_may_come_from_a_file(tmp_path: Path, name: str) -> None:
    value = "rediss://edge:SECRET@redis.example" if name == "url" else "SECRET"
    (tmp_path / "secret").write_text(f"{value}\n")
    settings = from_environment({f"redis.{name}_file": str(tmp_path / "secret"), "redis.node": "a"})
    assert dict(leaves(settings))[f"redis.{name}"] == SecretStr(value)


@pytest.mark.parametrize(
    "text",
    [
        "redis: {url: 'redis://edge:SECRET@redis.example', node: a}",
        "redis: {url: 'redis://edge@redis.example', password: SECRET, node: a}",
    ],
)
def test_secrets_are_in_no_text_made_of_the_settings(tmp_path: Path, text: str) -> None:
    settings = from_file(tmp_path, text)
    for shown in (repr(settings), str(settings.redis), settings.model_dump_json()):
        assert "SECRET" not in shown


def test_there_is_one_password() -> None:
    given = {"url": "redis://edge:a-password@redis.example", "node": "a", "password": "another"}
    assert mistakes_of(**given) == ["redis: redis.password is only for a redis.url without a password"]


@pytest.mark.parametrize(
    "text",
    [
        "redis: {url: 'redis://edge:SECRET@redis.example?db=1', node: a}",
        "redis: {url: 'redis://edge:SECRET@redis.example'}",
        "redis: {url: ['redis://edge:SECRET@redis.example'], node: a}",
        "redis: {url: 'redis://edge:SECRET@redis.example', node: a, ca: /nowhere}",
        "redis: {url: 'redis://redis.example', node: a, password: {SECRET: SECRET}}",
    ],
)
def test_a_mistake_never_quotes_a_secret(tmp_path: Path, text: str) -> None:
    assert "SECRET" not in "\n".join(mistakes_in(tmp_path, text))
