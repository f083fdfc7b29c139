"""The settings of the pages for people and of the chat platform, and how they fit together."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from grammars.patterns import is_snowflake
from listings.review import denial_text
from settings.model import ChatPlatformSettings, Settings, SettingsError, load_settings
from tests.support.examples import examples
from tests.support.given_settings import BOT_TOKEN, CLIENT_SECRET, from_environment, from_file, mistakes

CLEO, DAN = "200000000000000003", "200000000000000004"
CLIENT: dict[str, object] = {
    "chat_platform.client_id": "900000000000000001",
    "chat_platform.client_secret": CLIENT_SECRET,
}
DAY = 86_400


def loaded(**settings: object) -> Settings:
    return load_settings(None, {}, {**CLIENT, **settings})


def wrong(**settings: object) -> list[str]:
    return mistakes(flags={**CLIENT, **settings})


def test_without_a_public_url_nothing_of_the_platform_is_needed() -> None:
    settings = load_settings(None, {}, {})
    assert (settings.web.public_url, settings.web.redirect_uri) == (None, None)
    assert settings.chat_platform == ChatPlatformSettings()


def test_the_defaults_are_those_of_the_platform_and_of_its_sessions() -> None:
    platform, web = Settings().chat_platform, Settings().web
    assert platform.authorize_url == "https://discord.com/oauth2/authorize"
    assert platform.api_url == "https://discord.com/api/v10"
    assert (web.session_idle_seconds, web.session_seconds) == (14 * DAY, 90 * DAY)
    assert (web.moderator_session_idle_seconds, web.moderator_session_seconds) == (DAY / 2, 7 * DAY)


@pytest.mark.parametrize("url", ["https://bots.example", "https://Bots.example:443/"])
def test_the_redirect_uri_is_a_path_of_the_public_url(url: str) -> None:
    assert loaded(**{"web.public_url": url}).web.redirect_uri == "https://bots.example/signin/callback"


@pytest.mark.parametrize(
    ("missing", "names"),
    [
        ({"client_id"}, ["chat_platform.client_id"]),
        ({"client_secret"}, ["chat_platform.client_secret"]),
        ({"client_id", "client_secret"}, ["chat_platform.client_id", "chat_platform.client_secret"]),
    ],
)
def test_with_a_public_url_each_part_of_the_client_is_needed(missing: set[str], names: list[str]) -> None:
    given_ones = {name: value for name, value in CLIENT.items() if name.partition(".")[2] not in missing}
    found = mistakes(flags={**given_ones, "web.public_url": "https://bots.example"})
    assert [mistake.partition(": is missing")[0] for mistake in found] == names


def test_counts_of_the_platform_need_a_public_url() -> None:
    (mistake,) = mistakes(flags={**CLIENT, "guild_counts.source": "platform"})
    assert mistake.startswith("guild_counts.source: platform asks as your application")
    assert loaded(**{"guild_counts.source": "platform", "web.public_url": "https://bots.example"})


SITE = {"web.public_url": "https://bots.example"}
BOT = {**SITE, "chat_platform.bot_token": BOT_TOKEN}


@pytest.mark.parametrize(
    ("given_settings", "source"),
    [
        ({}, "operator"),
        (SITE, "operator"),
        (BOT, "platform"),
        ({**BOT, "guild_counts.source": "operator"}, "operator"),
        ({**BOT, "guild_counts.source": "none"}, "none"),
        ({**SITE, "guild_counts.source": "platform"}, "platform"),
    ],
)
def test_actual_counts_come_from_the_platform_where_a_bot_token_is_set_unless_another_source_is(
    given_settings: dict[str, object], source: str
) -> None:
    assert loaded(**given_settings).counts_source == source


def test_a_bot_token_without_pages_for_people_has_no_effect_and_is_a_mistake() -> None:
    (mistake,) = mistakes(flags={**CLIENT, "chat_platform.bot_token": BOT_TOKEN})
    assert mistake.startswith("chat_platform.bot_token: ")
    assert "web.public_url" in mistake
    assert BOT_TOKEN not in mistake
    token = loaded(
        **{"web.public_url": "https://bots.example", "chat_platform.bot_token": BOT_TOKEN}
    ).chat_platform.bot_token
    assert token == SecretStr(BOT_TOKEN)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"])
def test_plain_http_is_for_loopback(url: str) -> None:
    assert loaded(**{"web.public_url": url}).web.public_url == url


def test_plain_http_elsewhere_takes_cookies_that_are_not_secure() -> None:
    url = {"web.public_url": "http://bots.example"}
    (mistake,) = wrong(**url)
    assert mistake.startswith("web: web.public_url must begin with https://")
    assert "web.insecure_cookies: true" in mistake
    assert loaded(**url, **{"web.insecure_cookies": True}).web.public_url == "http://bots.example"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("web.public_url", "https://bots.example/path"),
        ("web.public_url", "bots.example"),
        ("web.moderators", "cleo"),
        ("web.moderators", [True]),
        ("web.session_idle_seconds", 0),
        ("web.session_seconds", 31_536_001),
        ("web.moderator_session_idle_seconds", "nan"),
        ("web.moderator_session_seconds", -1),
        ("web.insecure_cookies", "perhaps"),
        ("chat_platform.authorize_url", "http://discord.com/oauth2/authorize"),
        ("chat_platform.api_url", "https://discord.com/api?v=10"),
        ("chat_platform.cdn_url", "cdn.discordapp.com"),
        ("chat_platform.client_id", "1"),
        ("chat_platform.client_id", "9000000000000000o1"),
        ("chat_platform.client_secret", "two\nlines"),
        ("chat_platform.bot_token", "two\nlines"),
        ("chat_platform.timeout_seconds", 0),
        ("chat_platform.timeout_seconds", 61),
        ("chat_platform.cache_seconds", -1),
        ("chat_platform.cache_seconds", 86_401),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: object) -> None:
    (mistake,) = wrong(**{name: value})
    assert mistake.startswith(f"{name}")


def test_ids_may_stand_in_the_file_without_quotes(tmp_path: Path) -> None:
    settings = from_file(
        tmp_path, f"web: {{moderators: [{CLEO}, '{DAN}']}}\nchat_platform: {{client_id: {CLEO}}}"
    )
    assert settings.web.moderators == (CLEO, DAN)
    assert settings.chat_platform.client_id == CLEO


@examples(300)
@given(
    st.one_of(
        st.text(max_size=22), st.integers(0, 1 << 68).map(str), st.from_regex(r"\d{16,21}", fullmatch=True)
    )
)
def test_an_id_is_what_the_rest_of_the_program_takes_for_one(text: str) -> None:
    try:
        ChatPlatformSettings.model_validate({"client_id": text})
    except ValueError:
        assert not is_snowflake(text)
    else:
        assert is_snowflake(text)


def test_the_client_secret_is_in_no_text_made_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{CLIENT_SECRET}\n")
    settings = from_environment({"chat_platform.client_secret_file": str(tmp_path / "secret")})
    assert settings.chat_platform.client_secret == SecretStr(CLIENT_SECRET)
    assert CLIENT_SECRET not in f"{settings!r} {settings.model_dump_json()}"


# -- A stand-in for the platform ---------------------------------------------------------------------------

STAND_IN, PLATFORM = "http://127.0.0.1:8090", "https://discord.com"
WHERE: dict[str, tuple[dict[str, object], list[str]]] = {
    "loopback": ({}, []),
    "localhost": ({"server.address": "localhost"}, []),
    "::1": ({"server.address": "::1", "web.public_url": "http://[::1]:8080"}, []),
    "loopback, public on it": ({"web.public_url": "http://localhost:8080"}, []),
    "a Unix socket": ({"server.address": "0.0.0.0", "server.unix_socket": "/run/v.sock"}, []),
    "everywhere": ({"server.address": "0.0.0.0"}, ["server.address"]),
    "everywhere of IPv6": ({"server.address": "::"}, ["server.address"]),
    "a name": ({"server.address": "gateway.example"}, ["server.address"]),
    "behind a proxy": ({"web.public_url": "https://bots.example"}, ["web.public_url"]),
    "a Unix socket behind a proxy": (
        {"server.unix_socket": "/run/v.sock", "web.public_url": "https://bots.example"},
        ["web.public_url"],
    ),
    "both": (
        {"server.address": "10.0.0.1", "web.public_url": "https://bots.example"},
        ["server.address", "web.public_url"],
    ),
}
"""By the place where a gateway listens: its settings, and those through which other machines reach it."""
TOLD = (
    "is on loopback, where a stand-in signs everybody in as anyone, and {} lets other machines in; use the "
)


@pytest.mark.parametrize(("where", "beyond"), WHERE.values(), ids=WHERE)
@pytest.mark.parametrize(
    ("authorize", "api"),
    [*itertools.product((STAND_IN, "https://localhost", PLATFORM), (STAND_IN, PLATFORM))],
)
def test_a_stand_in_for_the_platform_is_for_loopback_alone(
    where: dict[str, Any], beyond: list[str], authorize: str, api: str
) -> None:
    urls = {"chat_platform.authorize_url": f"{authorize}/a", "chat_platform.api_url": f"{api}/api/v10"}
    settings = {**CLIENT, **where, **urls}
    refused = [name for name, url in urls.items() if beyond and not url.startswith(PLATFORM)]

    try:
        load_settings(None, {}, settings)
        found = []
    except SettingsError as error:
        found = str(error).splitlines()

    told = TOLD.format(" and ".join(beyond))
    assert [mistake.partition(told)[0] for mistake in found] == [f"{name}: " for name in refused]


# -- Reasons for a denial ---------------------------------------------------------------------------------

SPAM = {"key": "spam", "title": "It is spam", "text": "It sends adverts."}


def test_reasons_for_a_denial_replace_the_defaults() -> None:
    reasons = loaded(**{"review.reasons": [SPAM]}).review.reasons
    assert [reason.model_dump() for reason in reasons] == [{**SPAM, "kind": "all"}]
    assert loaded(**{"review.reasons": []}).review.reasons == ()


def test_a_reason_may_be_for_listings_of_one_kind() -> None:
    (reason,) = loaded(**{"review.reasons": [{**SPAM, "kind": "servers"}]}).review.reasons
    assert reason.kind == "servers"
    assert {"misleading", "offensive"} <= {
        each.key for each in Settings().review.reasons if each.kind != "bots"
    }


def test_every_default_reason_fits_a_denial_with_words_beside_it() -> None:
    for reason in Settings().review.reasons:
        assert len(denial_text(reason.title, reason.text)) < 500


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"key": "Sp am"}, "review.reasons.0.key"),
        ({"title": ""}, "review.reasons.0.title"),
        ({"title": "x" * 81}, "review.reasons.0.title"),
        ({"title": "It is\nspam"}, "review.reasons.0.title"),
        ({"text": " It sends adverts."}, "review.reasons.0.text"),
        ({"texts": "It sends adverts."}, "review.reasons.0.texts"),
        ({"kind": "cats"}, "review.reasons.0.kind"),
    ],
)
def test_a_reason_that_no_page_can_show_is_refused(change: dict[str, str], name: str) -> None:
    (mistake,) = wrong(**{"review.reasons": [{**SPAM, **change}]})
    assert mistake.startswith(f"{name}: ")


@pytest.mark.parametrize("reasons", [[SPAM, SPAM], "spam", '{"key": "spam"}', "[" * 9_999])
def test_reasons_are_a_list_with_keys_that_differ(reasons: object) -> None:
    assert wrong(**{"review.reasons": reasons})
