"""Settings come from several sources. All mistakes are reported at once, and no secret is ever shown."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, SecretStr

from settings.model import SECRETS, Settings, load_settings
from tests.support.gateways import ROOT
from tests.support.given_settings import (
    DIGEST_SECRET,
    GIVEN_SECRETS,
    NEEDED_BESIDE,
    OTHER_SEALING_KEY,
    PROXY,
    REDIS,
    SEALING_KEY,
    SITE,
    TOKEN,
    from_environment,
    from_file,
    leaves,
    mistakes,
    mistakes_in,
)


def yaml_leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from yaml_leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def test_config_yaml_shows_every_setting_with_its_default_and_no_other() -> None:
    shown = dict(yaml_leaves(yaml.safe_load((ROOT / "config.yaml").read_text())))
    defaults = dict(leaves(Settings()))
    assert shown == {
        name: str(value) if isinstance(value, Path) else _as_yaml(value) for name, value in defaults.items()
    }


def _as_yaml(value: Any) -> Any:
    if isinstance(value, tuple):
        return [each.model_dump() if isinstance(each, BaseModel) else each for each in value]
    return value


def test_config_yaml_is_read_as_the_defaults() -> None:
    assert load_settings(ROOT / "config.yaml", {}, {}) == Settings()


def test_the_secrets_are_exactly_the_settings_that_are_kept_out_of_sight() -> None:
    with_secrets = from_environment({**GIVEN_SECRETS, **NEEDED_BESIDE["redis.url"], **SITE})
    assert {name for name, value in leaves(with_secrets) if isinstance(value, SecretStr)} == SECRETS


def test_a_flag_goes_before_the_environment_before_the_file_before_the_default(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    environment: dict[str, str] = {}
    flags: dict[str, object] = {"server.port": None}

    def port() -> int:
        return load_settings(config, environment, flags).server.port

    config.write_text("{}")
    assert port() == 8080
    config.write_text("server: {port: 1001}")
    assert port() == 1001
    environment["VOTEGATE_SERVER__PORT"] = "1002"
    assert port() == 1002
    flags["server.port"] = 1003
    assert port() == 1003


def test_every_setting_can_be_given_by_the_environment() -> None:
    shown = yaml_leaves(yaml.safe_load((ROOT / "config.yaml").read_text()))
    given = {
        "server.unix_socket": "/run/votegate.sock",
        "server.tls.certificate": "/etc/certificate.pem",
        "server.tls.key": "/etc/key.pem",
        "server.trusted_proxies": "10.0.0.0/8, ::1, unix",
        "guild_counts.source": "none",
        "guild_counts.url": "http://counts.example/{id}",
        "webhooks.refused_networks": "203.0.113.0/24, 2001:db8::1",
        "webhooks.refused_ports": "25, 6379",
        "webhooks.name_servers": "192.0.2.1, [::1]:5353",
        "webhooks.chat_hosts": "chat.example, other.example:8443",
        "redis.node": "paris",
        "metrics.address": "10.0.0.7",
        "redis.ca": str(ROOT / "config.yaml"),
        "web.public_url": "https://bots.example",
        "web.moderators": "200000000000000003, 200000000000000004",
        "kinds.enabled": "servers, bots",
        "review.denied_tags": "Free Nitro, spam",
        "site.name": "Bot Harbour",
        "site.tagline": "Bots for every harbour",
        "site.logo": str(ROOT / "web/static/icon.svg"),
        "site.accent": "#0b7a5b",
        "site.contact": "hello@harbour.example",
        "site.links": '[{"text": "Blog", "url": "https://blog.example"}]',
        "site.terms": str(ROOT / "examples/terms.md"),
        "site.privacy": "https://harbour.example/privacy",
        "site.languages": "de, fr",
        "site.powered_by": "false",
        "review.reasons": '[{"key": "spam", "title": "It is spam", "text": "It sends adverts."}]',
        "chat_platform.client_id": "900000000000000001",
        "web.keep_email": "true",
        "mail.host": "mail.example",
        "mail.username": "votegate",
        "mail.from_address": "news@bots.example",
    }

    settings = from_environment({**{name: str(value) for name, value in shown}, **given, **GIVEN_SECRETS})

    assert settings.server.trusted_proxies == (ip_network("10.0.0.0/8"), ip_network("::1"), "unix")
    assert settings.webhooks.refused_networks == (ip_network("203.0.113.0/24"), ip_network("2001:db8::1"))
    assert settings.webhooks.refused_ports == (25, 6379)
    assert settings.webhooks.name_servers == ("192.0.2.1", "[::1]:5353")
    assert settings.webhooks.chat_hosts == ("chat.example", "other.example:8443")
    assert settings.web.moderators == ("200000000000000003", "200000000000000004")
    assert settings.review.denied_tags == ("free-nitro", "spam")
    assert [reason.key for reason in settings.review.reasons] == ["spam"]
    assert settings.site.languages == ("de", "fr")
    assert [(each.text, each.url) for each in settings.site.links] == [("Blog", "https://blog.example")]
    assert settings.operator.token == SecretStr(TOKEN)
    defaults = dict(leaves(Settings()))
    assert {name for name, value in leaves(settings) if value != defaults[name]} == {*given, *SECRETS}


def test_other_variables_of_the_environment_are_nobody_s_business() -> None:
    assert load_settings(None, {"PATH": "/bin", "SERVER__PORT": "1", "xVOTEGATE_PORT": "1"}, {}) == Settings()


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_secret_may_come_from_a_file(tmp_path: Path, name: str) -> None:
    in_file, plain = DIGEST_SECRET, "given-beside-the-file-and-long-enough"
    if name == "sealing.keys":
        in_file, plain = SEALING_KEY, f"{OTHER_SEALING_KEY} {SEALING_KEY}"
    elif name == "webhooks.proxy":
        in_file, plain = PROXY, "http://proxy.example:3128"
    elif name == "redis.url":
        in_file, plain = REDIS, "redis://redis.example"
    (tmp_path / "secret").write_text(f"  {in_file}\n")
    given = {f"{name}_file": str(tmp_path / "secret"), **NEEDED_BESIDE.get(name, {})}

    alone = from_environment(given)
    beside_it = from_environment({**given, name: plain})

    assert dict(leaves(alone))[name] == SecretStr(in_file)
    assert dict(leaves(beside_it))[name] == SecretStr(plain)


def test_a_secret_file_that_cannot_be_read_is_a_mistake(tmp_path: Path) -> None:
    (mistake,) = mistakes(environment={"VOTEGATE_OPERATOR__TOKEN_FILE": str(tmp_path / "nowhere")})
    assert mistake.startswith("VOTEGATE_OPERATOR__TOKEN_FILE: cannot be read: ")


def test_a_secret_in_the_place_of_its_file_is_not_shown() -> None:
    found = mistakes(environment={"VOTEGATE_OPERATOR__TOKEN_FILE": TOKEN})
    assert found == ["VOTEGATE_OPERATOR__TOKEN_FILE: cannot be read: No such file or directory"]


def test_only_secrets_come_from_files(tmp_path: Path) -> None:
    (mistake,) = mistakes(environment={"VOTEGATE_SERVER__PORT_FILE": str(tmp_path)})
    assert mistake == "VOTEGATE_SERVER__PORT_FILE: there is no such setting"


def test_every_mistake_is_told_at_once_by_name(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("server: {port: http, colour: red}\nlimits: {stats: {requests: 0}}\nfuture: {}\n")
    environment = {
        "VOTEGATE_STATS__MAX_DIFFERENCE": "49",
        "VOTEGATE_KEYS__DIGEST_SECRET_FILE": str(tmp_path / "nowhere"),
        "VOTEGATE_JOURNAL__FSYNC": "never",
        "VOTEGATE_DATA_DIR__NAME": "x",
    }

    found = mistakes(config, environment, {"server.address": 5})

    assert {mistake.partition(": ")[0] for mistake in found} == {
        "server.port",
        "server.colour",
        "server.address",
        "limits.stats.requests",
        "future",
        "stats.max_difference",
        "VOTEGATE_KEYS__DIGEST_SECRET_FILE",
        "journal.fsync",
        "data_dir",
    }
    assert "future: there is no such setting" in found
    assert "server.colour: there is no such setting" in found
    assert "stats.max_difference: input should be greater than or equal to 50" in found


@pytest.mark.parametrize("text", ["", "# nothing but a comment", "server:\n", "limits:\n  stats:\n", "{}"])
def test_what_is_left_empty_is_the_default(tmp_path: Path, text: str) -> None:
    assert from_file(tmp_path, text) == Settings()


def test_a_section_left_empty_in_the_file_can_be_filled_by_the_environment(tmp_path: Path) -> None:
    settings = from_file(tmp_path, "server:\n", {"VOTEGATE_SERVER__PORT": "1001"})
    assert settings.server.port == 1001


def test_a_limit_given_in_part_keeps_the_default_of_the_rest(tmp_path: Path) -> None:
    environment = {"VOTEGATE_LIMITS__STATS__WINDOW_SECONDS": "60"}
    limits = from_file(tmp_path, "limits: {voters: {requests: 5}}", environment).limits
    assert (limits.voters.requests, limits.voters.window_seconds) == (5, 300)
    assert (limits.stats.requests, limits.stats.window_seconds) == (2, 60)


def test_secrets_are_in_no_text_made_of_the_settings() -> None:
    settings = from_environment({**GIVEN_SECRETS, **NEEDED_BESIDE["redis.url"], **SITE})
    for text in (repr(settings), str(settings), f"{settings.operator}", settings.model_dump_json()):
        assert not [secret for secret in GIVEN_SECRETS.values() if secret in text]


@pytest.mark.parametrize(
    "text",
    [
        "operator: {token: SECRET}",
        "keys: {digest_secret: SECRET}",
        "operator: {token: [SECRET-and-more-than-that]}",
        "operator: {token: {SECRET: SECRET}}",
        "guild_counts: {authorization: [SECRET]}",
        "webhooks: {proxy: 'ftp://user:SECRET@proxy.example:21'}",
        "operator: SECRET-and-more-than-that",
        "operator: [SECRET]",
    ],
)
def test_a_mistake_never_quotes_a_secret(tmp_path: Path, text: str) -> None:
    assert "SECRET" not in "\n".join(mistakes_in(tmp_path, text))
