"""The values that a setting may have, and the settings that go together."""

import socket
from pathlib import Path

import pytest

from settings.model import Settings, SettingsError, load_settings
from tests.support.given_settings import from_environment, from_file, leaves, mistakes


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data_dir", ""),
        ("data_dir", "a\0b"),
        ("server.port", -1),
        ("server.port", 65_536),
        ("server.trusted_proxies", "10.0.0.0/33"),
        ("server.trusted_proxies", "10.0.0.1/8"),
        ("server.trusted_proxies", "unix:"),
        ("server.trusted_proxies", [10]),
        ("server.unix_socket", ""),
        ("server.unix_socket", "/"),
        ("server.unix_socket", "a\0b"),
        ("server.unix_socket", "/run/" + "x" * 103),
        ("server.unix_socket", "/run/" + "ü" * 52),
        ("server.max_headers", 0),
        ("server.header_seconds", 0),
        ("server.write_seconds", 0),
        ("server.access_log", "xml"),
        ("server.access_log", "json"),
        ("log.form", "yaml"),
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
        ("guild_counts.kept_seconds", 0),
        ("journal.fsync", "never"),
        ("journal.segment_bytes", 65_535),
        ("log.level", "LOUD"),
        ("snapshot.interval_seconds", 0),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: object) -> None:
    (mistake,) = mistakes(flags={name: value})
    assert mistake.startswith(name)


def test_a_yes_is_no_number() -> None:
    numbers = [name for name, value in leaves(Settings()) if type(value) in {int, float}]
    for name in numbers:
        assert mistakes(flags={name: True}) == [f"{name}: must be a number"]
    assert len(numbers) > 40


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("webhooks.chat_hosts", "Discord.com", "must be a host, or host:port, in lower case"),
        ("redis.node", "-oslo", "must be 1 to 32 characters of a-z, 0-9 and -, and not begin with -"),
        ("redis.prefix", "vote gate", "must be 1 to 64 characters of A-Z, a-z, 0-9, _, {, }, : and -"),
    ],
)
def test_a_text_of_the_wrong_shape_is_told_in_words(name: str, value: str, reason: str) -> None:
    (mistake,) = mistakes(flags={name: value})
    assert mistake.startswith(name)
    assert mistake.endswith(f": {reason}")


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


def test_the_length_of_a_secret_is_told_in_characters() -> None:
    found = mistakes(flags={"operator.token": "x" * 15, "keys.digest_secret": "x" * 65})
    assert found == [
        "operator.token: must have at least 16 characters",
        "keys.digest_secret: must have 32 to 64 characters",
    ]
    load_settings(None, {}, {"operator.token": "x" * 16, "keys.digest_secret": "x" * 64})


@pytest.mark.parametrize("value", [50, 51, 1_000])
def test_the_allowed_difference_is_at_least_50(value: int) -> None:
    assert load_settings(None, {}, {"stats.max_difference": value}).stats.max_difference == value


@pytest.mark.parametrize(("word", "is_on"), [("on", True), ("off", False)])
def test_the_access_log_is_on_or_off(tmp_path: Path, word: str, is_on: bool) -> None:
    assert from_file(tmp_path, f"server: {{access_log: {word}}}").server.access_log is is_on
    assert from_environment({"server.access_log": word}).server.access_log is is_on


@pytest.mark.parametrize("rest", ["", "server: {port: http}\n", "colour: red\n"])
def test_the_form_of_the_log_is_known_even_if_other_settings_are_wrong(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"{rest}log: {{form: json}}\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(path, {"VOTEGATE_SERVER__PORT": "none"}, {})
    assert caught.value.log_form == "json"


def test_the_form_of_the_log_is_known_even_if_the_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "none.yaml", {"VOTEGATE_LOG__FORM": "json"}, {})
    assert caught.value.log_form == "json"
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "none.yaml", {"VOTEGATE_LOG__FORM": "jsn"}, {})
    assert caught.value.log_form == "text"


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
        f"server.tls: server.tls.{missing} is missing; set both the certificate and its key, or neither"
    )


def test_a_certificate_and_its_key_are_enough() -> None:
    tls = {"server.tls.certificate": "certificate.pem", "server.tls.key": "key.pem"}
    assert load_settings(None, {}, tls).server.tls.key == Path("key.pem")


@pytest.mark.parametrize("url", [None, "", "ftp://a/{id}", "/{id}"])
def test_the_http_source_needs_an_http_url(url: str | None) -> None:
    (mistake,) = mistakes(flags={"guild_counts.source": "http", "guild_counts.url": url})
    assert mistake == "guild_counts: source http needs guild_counts.url, an http or https URL"


def test_the_url_of_the_http_source_needs_a_place_for_the_id() -> None:
    (mistake,) = mistakes(flags={"guild_counts.source": "http", "guild_counts.url": "http://a/"})
    assert mistake == "guild_counts: guild_counts.url must contain {id}, where the bot's id goes"


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "localhost", "10.1.2.3", "192.168.0.9", "100.64.0.7", "fd00::1", "fe80::1"],
)
def test_the_metrics_may_be_served_where_no_stranger_comes(address: str) -> None:
    assert load_settings(None, {}, {"metrics.address": address}).metrics.address == address


@pytest.mark.parametrize(
    "address", ["0.0.0.0", "::", "8.8.8.8", "2a00:1450::1", "::ffff:8.8.8.8", "224.0.0.1"]
)
def test_without_a_token_the_metrics_are_served_nowhere_else(address: str) -> None:
    (mistake,) = mistakes(flags={"metrics.address": address})
    assert mistake.startswith("metrics.address: must be an address of loopback or a private network")


@pytest.mark.parametrize("address", ["", "metrics.example", "10.0.0.0/8"])
def test_the_metrics_need_an_address_and_no_name(address: str) -> None:
    assert [mistake.partition(":")[0] for mistake in mistakes(flags={"metrics.address": address})] == [
        "metrics.address"
    ]
