"""Settings: where they come from, that all mistakes are told at once, and that no secret is ever shown."""

import socket
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, SecretStr

from settings import SECRETS, Settings, SettingsError, load_settings
from tests.gateway import ROOT

TOKEN = "a-token-that-is-secret"
DIGEST_SECRET = "a-digest-secret-of-the-right-length"
SEALING_KEY = "A" * 43 + "="
OTHER_SEALING_KEY = "B" * 42 + "A="
PROXY = "socks5://user:a-password-that-is-secret@proxy.example:1080"
AUTHORIZATION = "an-authorization-that-is-secret"
GIVEN_SECRETS = {
    "operator.token": TOKEN,
    "keys.digest_secret": DIGEST_SECRET,
    "guild_counts.authorization": AUTHORIZATION,
    "sealing.keys": SEALING_KEY,
    "webhooks.proxy": PROXY,
}


def from_file(folder: Path, text: str, environment: Mapping[str, str] | None = None) -> Settings:
    config = folder / "config.yaml"
    config.write_text(text)
    return load_settings(config, environment or {}, {})


def from_environment(values: Mapping[str, str]) -> Settings:
    """`values` are named like "server.port", or "operator.token_file"."""
    environment = {f"VOTEGATE_{name.upper().replace('.', '__')}": value for name, value in values.items()}
    return load_settings(None, environment, {})


def mistakes(
    config: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> list[str]:
    with pytest.raises(SettingsError) as raised:
        load_settings(config, environment or {}, flags or {})
    return str(raised.value).splitlines()


def mistakes_in(folder: Path, yaml_text: str) -> list[str]:
    config = folder / "config.yaml"
    config.write_text(yaml_text)
    return mistakes(config)


def leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(name, value) of every setting."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


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
        name: str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
        for name, value in defaults.items()
    }


def test_config_yaml_is_read_as_the_defaults() -> None:
    assert load_settings(ROOT / "config.yaml", {}, {}) == Settings()


def test_the_secrets_are_exactly_the_settings_that_are_kept_out_of_sight() -> None:
    with_secrets = from_environment(GIVEN_SECRETS)
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
        "guild_counts.url": "http://counts.example/{id}",
        "webhooks.name_servers": "192.0.2.1, [::1]:5353",
        "webhooks.chat_hosts": "chat.example, other.example:8443",
    }

    settings = from_environment({**{name: str(value) for name, value in shown}, **given, **GIVEN_SECRETS})

    assert settings.server.trusted_proxies == (ip_network("10.0.0.0/8"), ip_network("::1"), "unix")
    assert settings.webhooks.name_servers == ("192.0.2.1", "[::1]:5353")
    assert settings.webhooks.chat_hosts == ("chat.example", "other.example:8443")
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
    (tmp_path / "secret").write_text(f"  {in_file}\n")
    file = f"{name}_file"

    alone = from_environment({file: str(tmp_path / "secret")})
    beside_it = from_environment({file: str(tmp_path / "secret"), name: plain})

    assert dict(leaves(alone))[name] == SecretStr(in_file)
    assert dict(leaves(beside_it))[name] == SecretStr(plain)


def test_a_secret_file_that_cannot_be_read_is_a_mistake(tmp_path: Path) -> None:
    (mistake,) = mistakes(environment={"VOTEGATE_OPERATOR__TOKEN_FILE": str(tmp_path / "nowhere")})
    assert mistake.startswith("VOTEGATE_OPERATOR__TOKEN_FILE: cannot be read: ")


def test_only_secrets_come_from_files(tmp_path: Path) -> None:
    (mistake,) = mistakes(environment={"VOTEGATE_SERVER__PORT_FILE": str(tmp_path)})
    assert mistake == "server.port_file: there is no such setting"


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("server.port", -1),
        ("server.port", 65_536),
        ("server.trusted_proxies", "10.0.0.0/33"),
        ("server.trusted_proxies", "10.0.0.1/8"),
        ("server.trusted_proxies", "unix:"),
        ("server.trusted_proxies", [10]),
        ("server.wire", "uvicorn"),
        ("server.unix_socket", ""),
        ("server.unix_socket", "/"),
        ("server.unix_socket", "a\0b"),
        ("server.unix_socket", "/run/" + "x" * 103),
        ("server.unix_socket", "/run/" + "ü" * 52),
        ("server.max_headers", 0),
        ("server.header_seconds", 0),
        ("server.write_seconds", 0),
        ("server.pipelined", 0),
        ("server.access_log", "xml"),
        ("server.access_log", True),
        ("server.access_log_sample", 0),
        ("server.max_body_bytes", 1_023),
        ("server.idle_seconds", 0),
        ("server.drain_seconds", "nan"),
        ("server.body_seconds", "inf"),
        ("operator.token", "too short"),
        ("keys.digest_secret", "x" * 31),
        ("keys.digest_secret", "x" * 65),
        ("keys.digest_secret", "ü" * 40),
        ("server.address", ""),
        ("keys.per_listing", 0),
        ("limits.voters.window_seconds", 0),
        ("votes.cooldown_seconds", -1),
        ("stats.max_difference", 49),
        ("guild_counts.source", "guess"),
        ("guild_counts.cache_seconds", -1),
        ("journal.fsync", "never"),
        ("journal.segment_bytes", 65_535),
        ("log.level", "LOUD"),
        ("snapshot.interval_seconds", 0),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: object) -> None:
    (mistake,) = mistakes(flags={name: value})
    assert mistake.startswith(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("operator.token", "ü" * 20),
        ("operator.token", " surrounded by spaces "),
        ("operator.token", "on two lines\nas no header can be"),
        ("guild_counts.authorization", "on two lines\nas no header can be"),
    ],
)
def test_a_secret_that_no_header_can_carry_is_refused(name: str, value: str) -> None:
    (mistake,) = mistakes(flags={name: value})
    assert mistake.startswith(f"{name}: ")
    assert value not in mistake


@pytest.mark.parametrize("value", [50, 51, 1_000])
def test_the_allowed_difference_is_at_least_50(value: int) -> None:
    assert load_settings(None, {}, {"stats.max_difference": value}).stats.max_difference == value


@pytest.mark.parametrize("word", ["text", "json", "off"])
def test_the_access_log_is_one_of_three_words_and_yaml_s_off_is_one_of_them(
    tmp_path: Path, word: str
) -> None:
    assert from_file(tmp_path, f"server: {{access_log: {word}}}").server.access_log == word
    assert from_environment({"server.access_log": word}).server.access_log == word


def test_the_path_of_a_unix_socket_may_be_as_long_as_the_system_takes_it(tmp_path: Path) -> None:
    path = "/run/" + "x" * 102
    assert load_settings(None, {}, {"server.unix_socket": path}).server.unix_socket == Path(path)
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(FileNotFoundError):
        probe.connect(str(tmp_path / "none").ljust(len(path), "x"))
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(OSError, match="too long"):
        probe.connect(path + "x")


@pytest.mark.parametrize(("given", "missing"), [("certificate", "key"), ("key", "certificate")])
def test_a_certificate_and_its_key_come_together(given: str, missing: str) -> None:
    (mistake,) = mistakes(flags={f"server.tls.{given}": "file.pem"})
    assert mistake == (
        f"server.tls: server.tls.{missing} is missing; a certificate and its key come together"
    )


def test_only_the_fast_wire_speaks_tls() -> None:
    tls = {"server.tls.certificate": "certificate.pem", "server.tls.key": "key.pem"}
    assert load_settings(None, {}, tls).server.tls.key == Path("key.pem")
    (mistake,) = mistakes(flags={**tls, "server.wire": "tornado"})
    assert mistake == "server: server.tls needs server.wire httptools; with tornado put a proxy in front"


@pytest.mark.parametrize("url", [None, "", "ftp://a/{id}", "/{id}"])
def test_the_http_source_needs_an_http_url(url: str | None) -> None:
    (mistake,) = mistakes(flags={"guild_counts.source": "http", "guild_counts.url": url})
    assert mistake == "guild_counts: source http needs guild_counts.url, an http or https URL"


def test_the_url_of_the_http_source_needs_a_place_for_the_id() -> None:
    (mistake,) = mistakes(flags={"guild_counts.source": "http", "guild_counts.url": "http://a/"})
    assert mistake == "guild_counts: guild_counts.url must contain {id}, where the bot's id goes"


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


@pytest.mark.parametrize("text", ["- server", "just text", "5"])
def test_a_file_without_sections_is_refused(tmp_path: Path, text: str) -> None:
    (mistake,) = mistakes_in(tmp_path, text)
    assert mistake == f"{tmp_path / 'config.yaml'}: must be a mapping of sections"


def test_a_value_in_the_place_of_a_section_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("server: 5")
    assert {mistake.partition(":")[0] for mistake in mistakes(config)} == {"server"}
    assert "server: must be a section" in mistakes(config, {"VOTEGATE_SERVER__PORT": "1001"})


@pytest.mark.parametrize("text", ["1: 2", "server: {1: 2}", "server: {null: 2}", "? [a]\n: 2"])
def test_names_that_are_no_text_are_refused(tmp_path: Path, text: str) -> None:
    assert mistakes_in(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        f"operator:\n  token: '{TOKEN}\nserver: {{}}\n",
        f"operator: {{token: {TOKEN}\nserver: ]",
        f"operator:\n  token: *{TOKEN}\n",
        f"operator:\n  token: !{TOKEN} x\n",
        f"operator:\n\ttoken: {TOKEN}\n",
    ],
)
def test_a_file_that_is_no_yaml_is_refused_with_its_line_but_not_with_its_words(
    tmp_path: Path, text: str
) -> None:
    (mistake,) = mistakes_in(tmp_path, text)
    assert mistake.startswith(f"{tmp_path / 'config.yaml'}: is not valid YAML (line ")
    assert TOKEN not in mistake


@pytest.mark.parametrize("text", ["[" * 5_000, "server: {port: " + "9" * 5_000 + "}"], ids=["nested", "long"])
def test_a_file_that_is_beyond_reading_is_refused(tmp_path: Path, text: str) -> None:
    (mistake,) = mistakes_in(tmp_path, text)
    assert mistake == f"{tmp_path / 'config.yaml'}: is nested too deeply, or holds a number too long"


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_bytes(b"server: {address: \xff}")
    (mistake,) = mistakes(config)
    assert mistake.startswith(f"{config}: ")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (mistake,) = mistakes(tmp_path / "nowhere.yaml")
    assert mistake.startswith(f"{tmp_path / 'nowhere.yaml'}: cannot be read: ")


def test_secrets_are_in_no_text_made_of_the_settings() -> None:
    settings = from_environment(GIVEN_SECRETS)
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
