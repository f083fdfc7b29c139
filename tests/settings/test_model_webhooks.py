"""The settings of webhooks: their bounds, and how the gateway uses them."""

from contextlib import closing
from ipaddress import ip_network
from typing import Any

import pytest

from gateway.delivery import outbox_policy, request_builder, retry_policy, target_guard, webhook_policy
from grammars.http_urls import UrlRefused
from listings.webhooks import WebhookPolicy
from outbound.local_addresses import LocalAddresses
from settings.model import SettingsError, WebhooksSettings, load_settings
from webhook.attempts import RetryPolicy
from webhook.outbox import OutboxPolicy

BOUNDS: dict[str, tuple[list[Any], list[Any]]] = {
    "timeout_seconds": ([0.1, 300], [0, -1, 301, "nan"]),
    "retries": ([0, 20], [-1, 21, 0.5]),
    "retry_delay_seconds": ([0, 86_400], [-1, 86_401, "inf"]),
    "suspend_after": ([1, 1_000], [0, 1_001]),
    "suspension_seconds": ([1, 86_400], [0, 0.5, 86_401]),
    "longest_suspension_seconds": ([1, 604_800], [0, 0.5, 604_801]),
    "kept_seconds": ([1, 31_536_000], [0, 31_536_001]),
    "pending_per_endpoint": ([1, 1_000_000_000], [0, 0.5]),
    "pending_in_all": ([1, 1_000_000_000], [0, 0.5]),
    "catch_up_per_second": ([0.01, 1_000], [0, 0.009, 1_001]),
    "in_flight": ([1, 100_000], [0]),
    "in_flight_per_endpoint": ([1, 100], [0]),
    "look_ups": ([1, 20_000], [0, 20_001]),
    "deliveries_kept": ([100, 10_000], [99, 10_001]),
    "allow_private_targets": ([True, False], ["maybe", 5]),
    "allow_http": ([True, False], ["maybe", 5]),
}
LISTS: dict[str, tuple[list[tuple[Any, ...]], list[Any]]] = {
    "name_servers": (
        [(), ("192.0.2.1",), ("192.0.2.1:53", "::1", "[::1]:5353")],
        [
            "resolver.example",
            "192.0.2",
            "192.0.2.1:",
            "192.0.2.1:0",
            "192.0.2.1:65536",
            "[::1]:x",
            [53],
            [""],
        ],
    ),
    "refused_networks": (
        [(), (ip_network("203.0.113.0/24"), ip_network("2001:db8::1"))],
        ["receiver.example", "203.0.113.1/24", "203.0.113", [5], [""]],
    ),
    "refused_ports": ([(), (1, 65_535)], ["smtp", "0", "65536", "25-30", [""]]),
    "chat_hosts": (
        [(), ("discord.com", "127.0.0.1:8080")],
        ["Discord.com", "https://discord.com", "discord.com/", "discord.com:0", "a b", [5], [""]],
    ),
}
PROXIES = [
    "http://proxy.example:3128",
    "https://user:password@proxy.example:443/",
    "socks5://192.0.2.1:1080",
    "http://[::1]:3128",
]
NO_PROXIES = [
    "",
    "proxy.example:3128",
    "ftp://proxy.example:21",
    "socks4://proxy.example:1080",
    "http://proxy.example:0",
    "http://proxy.example:65536",
    "http://:3128",
    "http://proxy.example:3128/path",
    "http://proxy.example:3128?query",
    "http://user:pass@word@proxy.example:3128",
    "http://proxy.example:3128\nAnother: header",
]


def webhooks(**values: object) -> WebhooksSettings:
    return load_settings(None, {}, {f"webhooks.{name}": value for name, value in values.items()}).webhooks


def mistake(name: str, value: object) -> str:
    """Return the only mistake in the settings."""
    with pytest.raises(SettingsError) as raised:
        webhooks(**{name: value})
    (line,) = str(raised.value).splitlines()
    return line


def policy_of(settings: WebhooksSettings) -> WebhookPolicy:
    with closing(LocalAddresses()) as machine:
        return webhook_policy(settings, request_builder(settings, target_guard(settings, machine)), bytes)


def cases(table: dict[str, tuple[list[Any], list[Any]]], which: int) -> list[tuple[str, Any]]:
    return [(name, value) for name, row in table.items() for value in row[which]]


def test_every_setting_of_webhooks_has_its_bounds_tested() -> None:
    assert {*BOUNDS, *LISTS, "proxy"} == set(WebhooksSettings.model_fields)


@pytest.mark.parametrize(("name", "value"), cases(BOUNDS, 0))
def test_the_bounds_of_a_setting_are_inside(name: str, value: object) -> None:
    assert getattr(webhooks(**{name: value}), name) == value


@pytest.mark.parametrize(("name", "value"), cases(LISTS, 0))
def test_a_list_may_be_a_list_or_one_text_with_commas(name: str, value: tuple[object, ...]) -> None:
    texts = [str(each) for each in value]
    assert getattr(webhooks(**{name: texts}), name) == value
    assert getattr(webhooks(**{name: ", ".join(texts)}), name) == value


@pytest.mark.parametrize(("name", "value"), cases(BOUNDS, 1) + cases(LISTS, 1))
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: object) -> None:
    assert mistake(name, value).startswith(f"webhooks.{name}")


@pytest.mark.parametrize("url", PROXIES)
def test_a_proxy_is_kept_out_of_sight(url: str) -> None:
    settings = webhooks(proxy=url)
    assert settings.proxy is not None
    assert settings.proxy.get_secret_value() == url
    assert url not in repr(settings) + settings.model_dump_json()


@pytest.mark.parametrize("url", NO_PROXIES)
def test_what_is_no_proxy_is_refused_without_its_words(url: str) -> None:
    line = mistake("proxy", url)
    assert line == (
        "webhooks.proxy: must be http://, https:// or socks5://, optionally user:password@, then host:port"
    )


def test_the_defaults_are_those_of_the_contract() -> None:
    settings = load_settings(None, {}, {})
    assert settings.webhooks.timeout_seconds == 5
    assert not settings.webhooks.allow_private_targets
    assert not settings.webhooks.allow_http
    policy = retry_policy(settings.webhooks)
    assert policy == RetryPolicy(
        retries=3,
        retry_delay_ms=5_000,
        suspend_after=10,
        suspension_ms=60_000,
        longest_suspension_ms=3_600_000,
        kept_ms=14 * 86_400_000,
    )
    assert outbox_policy(settings.webhooks) == OutboxPolicy(
        in_flight=1_000, in_flight_per_endpoint=1, catch_up_gap_ms=20, look_ups=1_000
    )
    assert policy_of(settings.webhooks).pending_per_endpoint == 10_000


def test_every_setting_has_its_effect() -> None:
    given = {
        "retries": 1,
        "retry_delay_seconds": 0.5,
        "suspend_after": 2,
        "suspension_seconds": 3,
        "longest_suspension_seconds": 4,
        "kept_seconds": 5,
        "pending_per_endpoint": 6,
        "pending_in_all": 9,
        "catch_up_per_second": 0.1,
        "in_flight": 7,
        "in_flight_per_endpoint": 8,
        "look_ups": 9,
        "chat_hosts": "chat.example",
        "allow_private_targets": True,
        "allow_http": True,
        "refused_networks": "198.51.100.0/24",
        "refused_ports": [8_443],
    }
    settings = load_settings(None, {}, {f"webhooks.{name}": value for name, value in given.items()})
    assert retry_policy(settings.webhooks) == RetryPolicy(1, 500, 2, 3_000, 4_000, 5_000)
    assert outbox_policy(settings.webhooks) == OutboxPolicy(7, 8, catch_up_gap_ms=10_000, look_ups=9)
    policy = policy_of(settings.webhooks)
    assert (policy.pending_per_endpoint, policy.pending_in_all) == (6, 9)
    assert policy.is_chat("https://chat.example/api/webhooks/123/token")
    assert not policy.is_chat("http://10.0.0.1:25/")
    for url in ("http://198.51.100.7/", "http://10.0.0.1:8443/"):
        with pytest.raises(UrlRefused):
            policy.is_chat(url)
    assert policy.new_secret().startswith("whsec_")


def test_a_pace_however_quick_leaves_a_moment_between_two() -> None:
    settings = load_settings(None, {}, {"webhooks.catch_up_per_second": 1_000})
    assert outbox_policy(settings.webhooks).catch_up_gap_ms == 1


@pytest.mark.parametrize(
    "port",
    [
        *(3306, 33060, 5432, 26257, 50000, 6379, 8086, 8123, 9200, 27017),  # databases
        *(2379, 2375, 6443, 10250, 8500, 8200, 4646),  # control planes
    ],
)
def test_ports_of_databases_and_control_planes_are_refused_by_default(port: int) -> None:
    assert port in WebhooksSettings().refused_ports


@pytest.mark.parametrize("port", [3000, 4000, 5000, 7000, 8000, 8080, 8443, 9000])
def test_ports_that_people_choose_for_web_servers_are_open(port: int) -> None:
    assert port not in WebhooksSettings().refused_ports
