"""Every setting, validated before anything starts. Law: a setting that exists has an effect.

A value comes from a flag, else the environment (`VOTEGATE_<SECTION>__<NAME>`; for secrets also `..._FILE`,
a file that holds the value), else the YAML file, else the default below. `config.yaml` shows them all with
their units. Secrets are `SecretStr`, so that no log, page or traceback can show one.
"""

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    SecretStr,
    ValidationError,
    model_validator,
)

PREFIX = "VOTEGATE_"
FILE_SUFFIX = "_FILE"
SECRETS = {"operator.token", "keys.digest_secret", "guild_counts.authorization", "sealing.keys"}

Seconds = Annotated[float, Field(gt=0, le=31_536_000)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
WindowSeconds = Annotated[int, Field(ge=1, le=2_592_000)]


def _split(value: object) -> object:
    """A list may be one string with commas, as the environment has it."""
    return [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value


Network = Annotated[IPv4Network | IPv6Network, PlainValidator(ip_network)]
Networks = Annotated[tuple[Network, ...], BeforeValidator(_split)]


def _header_value(secret: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?", secret.get_secret_value()):
        raise ValueError("must be visible ASCII, because it is sent as a header")
    return secret


def _ascii(secret: SecretStr) -> SecretStr:
    if not secret.get_secret_value().isascii():
        raise ValueError("must be ASCII, so that its length is its length in bytes")
    return secret


def _sealing_keys(secret: SecretStr) -> SecretStr:
    for word in secret.get_secret_value().split() or [""]:
        if not re.fullmatch(r"[A-Za-z0-9+/_-]{43}=", word):
            raise ValueError("must be keys of 32 bytes in base64, newest first, parted by spaces")
    return secret


class SettingsError(Exception):
    """Every mistake in the settings, by name, one a line."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Server(_Section):
    address: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    trusted_proxies: Networks = ()
    max_body_bytes: Annotated[int, Field(ge=1_024, le=1_048_576)] = 65_536
    max_header_bytes: Annotated[int, Field(ge=1_024, le=1_048_576)] = 16_384
    connections: Count = 8_192
    idle_seconds: Seconds = 75
    body_seconds: Seconds = 20
    grace_seconds: Annotated[float, Field(ge=0, le=3_600)] = 0
    drain_seconds: Seconds = 10
    access_log: bool = True


class OperatorSettings(_Section):
    token: Annotated[SecretStr, Field(min_length=16), AfterValidator(_header_value)] | None = None


class Keys(_Section):
    per_listing: Count = 25
    digest_secret: (
        Annotated[SecretStr, Field(min_length=32, max_length=64), AfterValidator(_ascii)] | None
    ) = None


class StatsLimit(_Section):
    requests: Count = 2
    window_seconds: WindowSeconds = 7_200


class VotersLimit(_Section):
    requests: Count = 100
    window_seconds: WindowSeconds = 300


class FailuresLimit(_Section):
    requests: Count = 300
    window_seconds: WindowSeconds = 300


class Limits(_Section):
    stats: StatsLimit = StatsLimit()
    voters: VotersLimit = VotersLimit()
    failures: FailuresLimit = FailuresLimit()
    addresses_kept: Count = 100_000


class Votes(_Section):
    window_seconds: Seconds = 86_400
    cooldown_seconds: Seconds = 86_400


class Stats(_Section):
    max_difference: Annotated[int, Field(ge=50, le=10_000_000)] = 50


class GuildCounts(_Section):
    source: Literal["operator", "http", "none"] = "operator"
    url: str | None = None
    authorization: Annotated[SecretStr, AfterValidator(_header_value)] | None = None
    timeout_seconds: Seconds = 3
    cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 60

    @model_validator(mode="after")
    def _http_needs_a_url(self) -> "GuildCounts":
        if self.source == "http":
            if not self.url or not self.url.startswith(("http://", "https://")):
                raise ValueError("source http needs guild_counts.url, an http or https URL")
            if "{id}" not in self.url:
                raise ValueError("guild_counts.url must contain {id}, where the bot's id goes")
        return self


class Webhooks(_Section):
    timeout_seconds: Seconds = 5
    retries: Annotated[int, Field(ge=0, le=20)] = 3
    retry_delay_seconds: Annotated[float, Field(ge=0, le=86_400)] = 5
    in_flight: Count = 1_000
    in_flight_per_endpoint: Count = 16
    deliveries_kept: Annotated[int, Field(ge=100, le=10_000)] = 100
    allow_private_targets: bool = True

    @model_validator(mode="after")
    def _no_guard_yet(self) -> "Webhooks":
        if not self.allow_private_targets:
            raise ValueError(
                "allow_private_targets: this version cannot keep webhooks from private addresses, so it does "
                "not accept false; let your network refuse them"
            )
        return self


class Snapshot(_Section):
    interval_seconds: Seconds = 300


class JournalSettings(_Section):
    fsync: Literal["always", "interval"] = "always"
    fsync_interval_seconds: Seconds = 1
    segment_bytes: Annotated[int, Field(ge=65_536, le=1 << 32)] = 64 << 20
    pending_bytes: Annotated[int, Field(ge=65_536, le=1 << 30)] = 64 << 20  # sealed in one piece


class Sealing(_Section):
    keys: Annotated[SecretStr, AfterValidator(_sealing_keys)] | None = None


class Log(_Section):
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"


class Settings(_Section):
    data_dir: Path = Path("data")
    server: Server = Server()
    operator: OperatorSettings = OperatorSettings()
    keys: Keys = Keys()
    limits: Limits = Limits()
    votes: Votes = Votes()
    stats: Stats = Stats()
    guild_counts: GuildCounts = GuildCounts()
    webhooks: Webhooks = Webhooks()
    snapshot: Snapshot = Snapshot()
    journal: JournalSettings = JournalSettings()
    sealing: Sealing = Sealing()
    log: Log = Log()


def load_settings(
    config: Path | None, environment: Mapping[str, str], flags: Mapping[str, object | None]
) -> Settings:
    """The settings from all sources. `flags` are named like "server.port"; None is a flag not given.

    Raises SettingsError with every mistake found, not the first alone.
    """
    merged = _read_yaml(config) if config is not None else {}
    problems: list[str] = []
    for name, value in _from_environment(environment, problems):
        _put(merged, name, value, problems)
    for name, flag in flags.items():
        if flag is not None:
            _put(merged, name, flag, problems)
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False, include_context=False):
            name = ".".join(str(step) for step in problem["loc"])
            problems.append(f"{name}: {_reason(problem['type'], problem['msg'])}")
    if problems:
        raise SettingsError("\n".join(problems))
    return settings


def _reason(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "there is no such setting"
    message = message.removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    except (RecursionError, ValueError):
        raise SettingsError(f"{path}: is nested too deeply, or holds a number too long") from None
    except yaml.YAMLError as error:
        # A parser's message quotes the line, which may hold a secret: its place says enough.
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise SettingsError(f"{path}: is not valid YAML{where}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: must be a mapping of sections")
    return _without_nulls(content)


def _without_nulls(tree: dict[str, Any]) -> dict[str, Any]:
    """A null, or an empty section, is the default."""
    return {
        name: _without_nulls(value) if isinstance(value, dict) else value
        for name, value in tree.items()
        if value is not None
    }


def _from_environment(environment: Mapping[str, str], problems: list[str]) -> Iterator[tuple[str, str]]:
    """(setting, value) pairs. A `_FILE` variable gives way to the plain one beside it."""
    plain, from_files = {}, {}
    for variable, value in environment.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower().replace("__", ".")
        secret = name.removesuffix(FILE_SUFFIX.lower())
        if secret != name and secret in SECRETS:
            try:
                from_files[secret] = Path(value).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                problems.append(f"{variable}: cannot be read: {error}")
        else:
            plain[name] = value
    yield from (from_files | plain).items()


def _put(tree: dict[str, Any], name: str, value: object, problems: list[str]) -> None:
    *sections, last = name.split(".")
    for section in sections:
        below = tree.setdefault(section, {})
        if not isinstance(below, dict):
            problems.append(f"{section}: must be a section")
            return
        tree = below
    tree[last] = value
