"""Every setting, validated before anything starts. Invariant: a setting that exists has an effect.

A value comes from a flag, else the environment (`VOTEGATE_<SECTION>__<NAME>`; for secrets also `..._FILE`,
a file that holds the value), else the YAML file, else the default below: `settings/sources.py` merges them.
`config.yaml` shows all settings with their units. Secrets are `SecretStr`, so no log, page or traceback shows
one. Each section is a class of its own, so that a part of the program is handed the sections that it needs.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from grammars.http_urls import UrlRefused, read_url
from grammars.service_urls import is_loopback, read_redis_url
from kinds.kind import Kind, PartName
from kinds.registry import KINDS
from languages.language_names import LANGUAGES
from settings.site_values import (
    MOST_LINKS,
    Accent,
    Contact,
    LinkText,
    LogoFile,
    SiteLanguages,
    SiteName,
    Tagline,
    TextFile,
    WebUrl,
)
from settings.sources import SourceUnreadable, merged_sources
from settings.values import (
    DATABASE_PORTS,
    FROM_JSON,
    LONGEST_NODE_NAME,
    MAIL_PORTS,
    OTHER_PORTS,
    REMOTE_PORTS,
    ChatHosts,
    Count,
    DataDir,
    DigestSecret,
    HeaderSecret,
    InnerAddress,
    KeyPrefix,
    KindNames,
    ListingKind,
    MailAddress,
    MailHost,
    NameServers,
    Networks,
    NodeName,
    NsfwRule,
    OperatorToken,
    PlatformId,
    PlatformIds,
    PlatformUrl,
    Ports,
    Proxies,
    ProxyUrl,
    PublicUrl,
    ReasonKey,
    ReasonText,
    ReasonTitle,
    RedisUrl,
    SealingKeys,
    Seconds,
    SocketPath,
    Tags,
    WindowSeconds,
    Workers,
    secrets_of,
    unknown,
)

SIGN_IN_CALLBACK = "/signin/callback"
"""The path to which the chat platform sends browsers back."""
LogForm = Literal["text", "json"]


class SettingsError(Exception):
    """Every mistake in the settings, by name, one a line. `log_form` is the form in which to log them."""

    def __init__(self, mistakes: str, log_form: LogForm = "text") -> None:
        super().__init__(mistakes)
        self.log_form = log_form


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_number_is_a_boolean(cls, value: object, info: ValidationInfo) -> object:
        """Refuse a boolean for a number: YAML reads `yes` and `on` as true, which would be the number 1."""
        is_number = cls.model_fields[str(info.field_name)].annotation in {int, float}
        if is_number and isinstance(value, bool):
            raise ValueError("must be a number")
        return value


class TlsSettings(_Section):
    certificate: Path | None = None
    key: Path | None = None

    @model_validator(mode="after")
    def _both_or_neither(self) -> "TlsSettings":
        if (self.certificate is None) != (self.key is None):
            missing = "certificate" if self.certificate is None else "key"
            raise ValueError(
                f"server.tls.{missing} is missing; set both the certificate and its key, or neither"
            )
        return self


class ServerSettings(_Section):
    address: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    workers: Workers = 1
    unix_socket: SocketPath | None = None
    tls: TlsSettings = TlsSettings()
    trusted_proxies: Proxies = ()
    max_body_bytes: Annotated[int, Field(ge=1_024, le=1_048_576)] = 65_536
    max_header_bytes: Annotated[int, Field(ge=4_096, le=1_048_576)] = 16_384
    max_headers: Annotated[int, Field(ge=1, le=10_000)] = 100
    connections: Count = 8_192
    connections_per_address: Count = 1_024
    idle_seconds: Seconds = 75
    header_seconds: Seconds = 10
    body_seconds: Seconds = 20
    write_seconds: Seconds = 30
    grace_seconds: Annotated[float, Field(ge=0, le=3_600)] = 0
    drain_seconds: Seconds = 10
    access_log: bool = True
    access_log_sample: Count = 1
    kept_bytes: Annotated[int, Field(ge=0, le=1 << 40)] = 64 << 20


class FilesSettings(_Section):
    upload_bytes: Annotated[int, Field(ge=65_536, le=67_108_864)] = 8_388_608
    bytes_per_user: Annotated[int, Field(ge=1 << 20, le=1 << 40)] = 64 << 20
    bytes_in_all: Annotated[int, Field(ge=1 << 20, le=1 << 44)] = 10 << 30
    memory_bytes: Annotated[int, Field(ge=0, le=1 << 40)] = 64 << 20
    uploads_per_minute: Count = 120
    unnamed_seconds: Seconds = 3_600


class ImagesSettings(_Section):
    enabled: bool = True
    per_description: Annotated[int, Field(ge=1, le=100)] = 20
    bytes: Annotated[int, Field(ge=1_024, le=32 << 20)] = 4 << 20
    timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 5
    at_once: Annotated[int, Field(ge=1, le=64)] = 8
    cache_bytes: Annotated[int, Field(ge=0, le=1 << 40)] = 64 << 20
    kept_seconds: Seconds = 604_800
    retry_seconds: Seconds = 3_600


class OperatorSettings(_Section):
    token: OperatorToken | None = None
    previous_token: OperatorToken | None = None

    @field_validator("previous_token", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        """An empty file ends the use of a previous token."""
        return None if value == "" else value


class KeysSettings(_Section):
    per_listing: Count = 25
    digest_secret: DigestSecret | None = None


class StatsLimitSettings(_Section):
    requests: Count = 2
    window_seconds: WindowSeconds = 7_200


class VotersLimitSettings(_Section):
    requests: Count = 100
    window_seconds: WindowSeconds = 300


class FailuresLimitSettings(_Section):
    requests: Count = 300
    window_seconds: WindowSeconds = 300


class LimitsSettings(_Section):
    stats: StatsLimitSettings = StatsLimitSettings()
    voters: VotersLimitSettings = VotersLimitSettings()
    failures: FailuresLimitSettings = FailuresLimitSettings()
    addresses_kept: Count = 100_000


class VotesSettings(_Section):
    window_seconds: Seconds = 86_400
    cooldown_seconds: Seconds = 86_400
    feed_streams: Annotated[int, Field(ge=0, le=256)] = 16
    min_account_days: Annotated[int, Field(ge=0, le=3_650)] = 0
    per_minute_of_user: Count = 20
    per_minute_of_address: Count = 120
    challenge: bool = True
    accounts_per_address: Count = 10
    burst_per_minute: Count = 600

    @property
    def window_ms(self) -> int:
        return round(self.window_seconds * 1_000)

    @property
    def cooldown_ms(self) -> int:
        return round(self.cooldown_seconds * 1_000)


class StatsSettings(_Section):
    max_difference: Annotated[int, Field(ge=50, le=10_000_000)] = 50


CountsSource = Literal["operator", "http", "platform", "none"]


class GuildCountsSettings(_Section):
    source: CountsSource | None = None
    url: str | None = None
    authorization: HeaderSecret | None = None
    timeout_seconds: Seconds = 3
    cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 60
    kept_seconds: Seconds = 172_800

    @model_validator(mode="after")
    def _http_needs_a_url(self) -> "GuildCountsSettings":
        if self.source == "http":
            if not self.url or not self.url.startswith(("http://", "https://")):
                raise ValueError("source http needs guild_counts.url, an http or https URL")
            if "{id}" not in self.url:
                raise ValueError("guild_counts.url must contain {id}, where the bot's id goes")
            try:
                read_url(self.url.replace("{id}", "1"))
            except UrlRefused as refused:
                raise ValueError(f"guild_counts.url {refused}") from None
        return self


class WebhooksSettings(_Section):
    timeout_seconds: Annotated[float, Field(gt=0, le=300)] = 5
    retries: Annotated[int, Field(ge=0, le=20)] = 3
    retry_delay_seconds: Annotated[float, Field(ge=0, le=86_400)] = 5
    suspend_after: Annotated[int, Field(ge=1, le=1_000)] = 10
    suspension_seconds: Annotated[float, Field(ge=1, le=86_400)] = 60
    longest_suspension_seconds: Annotated[float, Field(ge=1, le=604_800)] = 3_600
    kept_seconds: Seconds = 1_209_600
    pending_per_endpoint: Count = 10_000
    pending_in_all: Count = 1_000_000
    catch_up_per_second: Annotated[float, Field(ge=0.01, le=1_000)] = 50
    in_flight: Count = 1_000
    in_flight_per_endpoint: Count = 1
    look_ups: Annotated[int, Field(ge=1, le=20_000)] = 1_000
    deliveries_kept: Annotated[int, Field(ge=100, le=10_000)] = 100
    allow_private_targets: bool = False
    allow_http: bool = False
    refused_networks: Networks = ()
    refused_ports: Ports = (*MAIL_PORTS, *DATABASE_PORTS, *REMOTE_PORTS, *OTHER_PORTS)
    name_servers: NameServers = ()
    proxy: ProxyUrl | None = None
    chat_hosts: ChatHosts = (
        "discord.com",
        "discordapp.com",
        "canary.discord.com",
        "ptb.discord.com",
        "canary.discordapp.com",
        "ptb.discordapp.com",
    )


class SnapshotSettings(_Section):
    interval_seconds: Seconds = 300


class JournalSettings(_Section):
    fsync: Literal["always", "interval"] = "always"
    fsync_interval_seconds: Seconds = 1
    segment_bytes: Annotated[int, Field(ge=65_536, le=1 << 32)] = 64 << 20
    pending_bytes: Annotated[int, Field(ge=65_536, le=1 << 30)] = 64 << 20  # sealed in one piece
    kept_bytes: Annotated[int, Field(ge=0, le=1 << 40)] = 0


class SealingSettings(_Section):
    keys: SealingKeys | None = None


class RedisSettings(_Section):
    url: RedisUrl | None = None
    node: NodeName | None = None
    password: SecretStr | None = None
    ca: Path | None = None
    prefix: KeyPrefix = "votegate"
    beat_seconds: Annotated[float, Field(ge=0.05, le=60)] = 1
    lease_seconds: Annotated[float, Field(ge=0.1, le=86_400)] = 60
    claim_timeout_seconds: Annotated[float, Field(gt=0, le=5)] = 0.1
    claim_longest_seconds: Annotated[float, Field(gt=0, le=30)] = 2
    cut_off: Literal["serve", "refuse"] = "serve"
    cut_off_seconds: Annotated[float, Field(ge=0.5, le=86_400)] = 30
    usage_seconds: Annotated[float, Field(ge=0.01, le=60)] = 0.25
    pace_seconds: Annotated[float, Field(ge=0, le=1)] = 0.015
    stream_bytes: Annotated[int, Field(ge=65_536, le=1 << 40)] = 256 << 20

    @model_validator(mode="after")
    def _fits_together(self) -> "RedisSettings":
        if self.url is None:
            return self
        if self.node is None:
            raise ValueError("redis.node is missing; give each gateway of a fleet its own name")
        target = read_redis_url(self.url.get_secret_value())
        if self.password is not None and target.has_password:
            raise ValueError("redis.password is only for a redis.url without a password")
        if self.ca is not None and not target.is_tls:
            raise ValueError("redis.ca is only for a redis.url that begins with rediss://")
        if self.ca is not None and not self.ca.is_file():
            raise ValueError(f"redis.ca: {self.ca} is not a file")
        if self.cut_off == "refuse" and self.cut_off_seconds < 5 * self.beat_seconds:
            raise ValueError("redis.cut_off_seconds must be at least 5 times redis.beat_seconds")
        return self


class DebugSettings(_Section):
    pages: bool = True
    session_idle_seconds: Seconds = 43_200
    session_seconds: Seconds = 604_800


class ChatPlatformSettings(_Section):
    authorize_url: PlatformUrl = "https://discord.com/oauth2/authorize"
    api_url: PlatformUrl = "https://discord.com/api/v10"
    cdn_url: PlatformUrl = "https://cdn.discordapp.com"
    invite_url: PlatformUrl = "https://discord.gg"
    template_url: PlatformUrl = "https://discord.new"
    client_id: PlatformId | None = None
    client_secret: HeaderSecret | None = None
    bot_token: HeaderSecret | None = None
    timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 5
    cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 600


class WebSettings(_Section):
    public_url: PublicUrl | None = None
    moderators: PlatformIds = ()
    session_idle_seconds: Seconds = 1_209_600
    session_seconds: Seconds = 7_776_000
    moderator_session_idle_seconds: Seconds = 43_200
    moderator_session_seconds: Seconds = 604_800
    acts_per_minute: Count = 60
    keep_email: bool = False
    insecure_cookies: bool = False

    @property
    def redirect_uri(self) -> str | None:
        """The URI to register at the chat platform, letter by letter; None without pages for people."""
        return self.public_url + SIGN_IN_CALLBACK if self.public_url is not None else None

    @model_validator(mode="after")
    def _cookies_need_https(self) -> "WebSettings":
        if self.public_url is None or self.public_url.startswith("https://"):
            return self
        if not is_loopback(read_url(self.public_url).host) and not self.insecure_cookies:
            raise ValueError(
                "web.public_url must begin with https://, or browsers drop the cookie of a sign-in; "
                "on a network that nobody else uses, set web.insecure_cookies: true"
            )
        return self


class LinkSettings(_Section):
    text: LinkText
    url: WebUrl


class SiteSettings(_Section):
    name: SiteName = "Votegate"
    tagline: Tagline | None = None
    logo: LogoFile | None = None
    accent: Accent | None = None
    contact: Contact | None = None
    links: Annotated[tuple[LinkSettings, ...], MOST_LINKS, FROM_JSON] = ()
    terms: TextFile | None = None
    privacy: TextFile | None = None
    languages: SiteLanguages = LANGUAGES
    powered_by: bool = True


class MailSettings(_Section):
    host: MailHost | None = None
    port: Annotated[int, Field(ge=1, le=65_535)] = 587
    tls: Literal["starttls", "tls", "none"] = "starttls"
    username: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    password: SecretStr | None = None
    from_address: MailAddress | None = None
    timeout_seconds: Annotated[float, Field(gt=0, le=300)] = 10

    @model_validator(mode="after")
    def _fits_together(self) -> "MailSettings":
        if self.host is None:
            return self
        if self.from_address is None:
            raise ValueError("mail.from_address is missing; mails come from it")
        if (self.username is None) != (self.password is None):
            missing = "username" if self.username is None else "password"
            raise ValueError(
                f"mail.{missing} is missing; set both mail.username and mail.password, or neither"
            )
        if self.tls == "none" and not is_loopback(self.host):
            raise ValueError(
                "mail.tls: none would show the mails to everybody on the way; "
                "use starttls or tls, or a server on loopback"
            )
        return self


class DenialReason(_Section):
    key: ReasonKey
    title: ReasonTitle
    text: ReasonText
    kind: ListingKind = "all"


_REASONS = (
    DenialReason(
        key="silent",
        title="It does not answer",
        text="It was offline, or did not answer its commands, when a moderator tried it.",
        kind="bots",
    ),
    DenialReason(
        key="not-inviteable",
        title="It cannot be added",
        text="Only its owner can add it to a server. Make it public, and turn its code grant off.",
        kind="bots",
    ),
    DenialReason(
        key="no-slash-commands",
        title="It has no slash commands",
        text="Its main functions must be there as slash commands that work on every server.",
        kind="bots",
    ),
    DenialReason(
        key="broken",
        title="Its main functions do not work",
        text="A moderator tried what its page promises, and it failed.",
        kind="bots",
    ),
    DenialReason(
        key="misleading",
        title="Its page is misleading",
        text="The page must say what it does, completely and truthfully.",
    ),
    DenialReason(
        key="copied",
        title="It is a copy",
        text="It is somebody else's work without changes that matter, or it is listed already.",
        kind="bots",
    ),
    DenialReason(
        key="offensive",
        title="It is offensive",
        text="Its name, picture, texts or answers offend people, or are not for everybody.",
    ),
    DenialReason(
        key="unsafe",
        title="It is not safe",
        text="It has a security hole, or asks for permissions that it does not need.",
        kind="bots",
    ),
    DenialReason(
        key="platform-terms",
        title="It breaks the rules of the chat platform",
        text="The platform's terms hold here, too, and so do its rules for those who make bots.",
    ),
    DenialReason(
        key="owner",
        title="Its owner is not confirmed",
        text="Prove on its page that it is yours, and send it again.",
        kind="bots",
    ),
)


class ReviewSettings(_Section):
    edits: Literal["after", "before"] = "after"
    denied_tags: Tags = ()
    reasons: Annotated[tuple[DenialReason, ...], Field(max_length=30), FROM_JSON] = _REASONS

    @field_validator("reasons")
    @classmethod
    def _keys_differ(cls, reasons: tuple[DenialReason, ...]) -> tuple[DenialReason, ...]:
        if len({reason.key for reason in reasons}) != len(reasons):
            raise ValueError("must not have two reasons of one key")
        return reasons


class KindsSettings(_Section):
    enabled: KindNames = tuple(kind.plural for kind in KINDS)

    @property
    def offered(self) -> tuple[Kind, ...]:
        """The kinds that the gateway offers, in their usual order."""
        return tuple(kind for kind in KINDS if kind.plural in self.enabled)


class RatingsSettings(_Section):
    enabled: bool = True


class ServersSettings(_Section):
    min_members: Annotated[int, Field(ge=0, le=1_000_000_000)] = 100
    min_age_days: Annotated[int, Field(ge=0, le=36_500)] = 14
    icon: bool = True
    two_factor: bool = True
    community: bool = True
    nsfw: NsfwRule = "visible"
    approve_eligible: bool = False
    grace_days: Annotated[float, Field(ge=0, le=365)] = 7


class MetricsSettings(_Section):
    address: InnerAddress | None = None
    port: Annotated[int, Field(ge=0, le=65_535)] = 9464


class LogSettings(_Section):
    form: LogForm = "text"
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"


class Settings(_Section):
    data_dir: DataDir = Path("data")
    server: ServerSettings = ServerSettings()
    files: FilesSettings = FilesSettings()
    images: ImagesSettings = ImagesSettings()
    operator: OperatorSettings = OperatorSettings()
    keys: KeysSettings = KeysSettings()
    limits: LimitsSettings = LimitsSettings()
    votes: VotesSettings = VotesSettings()
    stats: StatsSettings = StatsSettings()
    guild_counts: GuildCountsSettings = GuildCountsSettings()
    webhooks: WebhooksSettings = WebhooksSettings()
    snapshot: SnapshotSettings = SnapshotSettings()
    journal: JournalSettings = JournalSettings()
    sealing: SealingSettings = SealingSettings()
    redis: RedisSettings = RedisSettings()
    debug: DebugSettings = DebugSettings()
    web: WebSettings = WebSettings()
    site: SiteSettings = SiteSettings()
    review: ReviewSettings = ReviewSettings()
    kinds: KindsSettings = KindsSettings()
    ratings: RatingsSettings = RatingsSettings()
    servers: ServersSettings = ServersSettings()
    chat_platform: ChatPlatformSettings = ChatPlatformSettings()
    mail: MailSettings = MailSettings()
    metrics: MetricsSettings = MetricsSettings()
    log: LogSettings = LogSettings()

    @property
    def without(self) -> frozenset[PartName]:
        """The parts of kinds that the gateway does not offer."""
        return frozenset(() if self.ratings.enabled else ("ratings",))

    @property
    def counts_source(self) -> CountsSource:
        """The source of actual server counts: the one that is set, else the platform if a bot can ask it."""
        by_default: CountsSource = "platform" if self.chat_platform.bot_token is not None else "operator"
        return self.guild_counts.source or by_default


SECRETS = frozenset(secrets_of(Settings))
"""The settings whose values are secrets."""


def load_settings(
    config: Path | None, environment: Mapping[str, str], flags: Mapping[str, object | None]
) -> Settings:
    """Load the settings from all sources. Raises SettingsError with every mistake, not only the first.

    Args:
        flags: by names like "server.port"; None is a flag that was not given.
    """
    problems: list[str] = []
    try:
        merged = merged_sources(config, environment, flags, SECRETS, problems)
    except SourceUnreadable as error:
        without_file = merged_sources(None, environment, flags, SECRETS, [])
        raise SettingsError(str(error), _log_form(without_file.tree)) from None
    try:
        settings = Settings.model_validate(merged.tree)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False, include_context=False):
            name = ".".join(str(step) for step in problem["loc"])
            if problem["type"] == "extra_forbidden":
                problems += unknown(name, Settings, merged.variables, SECRETS)
            else:
                reason = "must be a section" if problem["type"] == "model_type" else _reason(problem["msg"])
                problems.append(f"{name}: {reason}")
    else:
        problems += [*_site_mistakes(settings), *_worker_mistakes(settings)]
    if problems:
        raise SettingsError("\n".join(problems), _log_form(merged.tree))
    return settings


def _site_mistakes(settings: Settings) -> Iterator[str]:
    """Yield the mistakes of the pages for people that no section shows alone."""
    platform, web, server = settings.chat_platform, settings.web, settings.server
    if web.public_url is not None:
        for name in ("client_id", "client_secret"):
            if getattr(platform, name) is None:
                yield (
                    f"chat_platform.{name}: is missing, and nobody can sign in without it; "
                    "your application's page at the platform shows it"
                )
    elif platform.bot_token is not None:
        yield (
            "chat_platform.bot_token: tells owners of decisions on listings and where their pages are; "
            "set web.public_url, or leave the token out"
        )
    if settings.mail.host is not None and web.public_url is None:
        yield (
            "mail.host: mails tell owners of listings and lead to their pages; set web.public_url, "
            "or leave the mail server out"
        )
    if settings.mail.host is not None and not web.keep_email:
        yield (
            "mail.host: nobody gets a mail while no address is kept; set web.keep_email: true, "
            "or leave the mail server out"
        )
    if settings.mail.host is None and web.keep_email:
        yield (
            "web.keep_email: addresses are kept for mails only, and no server sends any; set mail.host, "
            "or leave this setting out"
        )
    if settings.guild_counts.source == "platform" and web.public_url is None:
        yield (
            "guild_counts.source: platform asks as your application, and the platform wants to know of which "
            "site that is; set web.public_url, or use another source"
        )
    # Behind a Unix socket is a proxy, and the public URL says where that listens.
    hosts = {"server.address": server.address} if server.unix_socket is None else {}
    if web.public_url is not None:
        hosts["web.public_url"] = read_url(web.public_url).host
    beyond = [name for name, host in hosts.items() if not is_loopback(host)]
    yield from stand_in_mistakes(platform, beyond)


def _worker_mistakes(settings: Settings) -> Iterator[str]:
    workers, redis = settings.server.workers, settings.redis
    if workers > 1 and redis.url is None:
        yield (
            f"server.workers: is {workers}, and workers tell each other of votes through Redis; "
            "set redis.url and redis.node, or use one worker"
        )
    elif redis.node is not None and len(f"{redis.node}-{workers}") > LONGEST_NODE_NAME and workers > 1:
        yield (
            f"redis.node: is too long for {workers} workers, which add -2, -3 and so on to it; "
            f"use at most {LONGEST_NODE_NAME - len(f'-{workers}')} characters"
        )


def stand_in_mistakes(platform: ChatPlatformSettings, beyond: Sequence[str]) -> Iterator[str]:
    """Yield the mistake of each URL that leads to a stand-in for the platform, which lets in everybody.

    Args:
        beyond: what lets people reach the gateway from other machines: settings, or addresses.
    """
    for name in ("authorize_url", "api_url"):
        if beyond and is_loopback(read_url(getattr(platform, name)).host):
            yield (
                f"chat_platform.{name}: is on loopback, where a stand-in signs everybody in as anyone, and "
                f"{' and '.join(beyond)} lets other machines in; use the platform's own URL, "
                "or keep the gateway on loopback"
            )


def _log_form(tree: Mapping[str, object]) -> LogForm:
    """Return the form of the log that settings ask for which are not valid otherwise."""
    section = tree.get("log")
    return "json" if isinstance(section, dict) and section.get("form") == "json" else "text"


def _reason(message: str) -> str:
    message = message.removeprefix("Value error, ")
    return message[:1].lower() + message[1:]
