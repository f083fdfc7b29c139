"""examples/chat_platform.py: its answers follow the description that the platform has published.

The description (OpenAPI, https://github.com/discord/discord-api-spec) names the fields below, their types,
and which of them are always there. It says nothing of `/applications/{id}/rpc`, the directory and tokens.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree

import msgspec
import pytest
import requests

from chatplatform.authorization import new_sign_in, read_callback, sign_in_url, token_form
from chatplatform.platform_client import UNKNOWN_INVITE, UNKNOWN_TEMPLATE
from tests.support.gateways import WAIT_SECONDS
from tests.support.platform_stand_in import (
    ADA,
    BACK,
    BEN,
    BOT_TOKEN,
    CHANNELS,
    CLEO,
    CLIENT_ID,
    CLIENT_SECRET,
    DAN,
    GAME_NIGHT,
    GOOD_SERVER,
    WITHOUT_BOT,
    StandIn,
    messages_path,
    server_id,
    standing_in,
)

SIGN_IN = new_sign_in(bytes(range(64)))
CREDENTIALS = (CLIENT_ID, CLIENT_SECRET)


class UserAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """UserPIIResponse."""

    id: str
    username: str
    discriminator: str
    public_flags: int
    flags: int
    mfa_enabled: bool
    locale: str
    avatar: str | None = None
    banner: str | None = None
    accent_color: int | None = None
    global_name: str | None = None
    avatar_decoration_data: dict[str, Any] | None = None
    premium_type: int | None = None
    email: str | None = None
    verified: bool | None = None


class ServerAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """MyGuildResponse."""

    id: str
    name: str
    owner: bool
    permissions: str
    features: list[str]
    icon: str | None = None
    banner: str | None = None
    approximate_member_count: int | None = None
    approximate_presence_count: int | None = None


class PublicUserAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """UserResponse."""

    id: str
    username: str
    discriminator: str
    public_flags: int
    flags: int
    global_name: str | None
    avatar: str | None = None
    banner: str | None = None
    accent_color: int | None = None
    avatar_decoration_data: dict[str, Any] | None = None
    bot: bool = False


class ChannelAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """PrivateChannelResponse."""

    id: str
    type: Literal[1]
    flags: int
    recipients: list[PublicUserAnswer]
    last_message_id: str | None = None


class MessageAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """MessageResponse, of a message that has nothing but text."""

    id: str
    channel_id: str
    author: PublicUserAnswer
    type: int
    content: str
    mentions: list[PublicUserAnswer]
    mention_roles: list[str]
    mention_everyone: bool
    attachments: list[object]
    embeds: list[object]
    components: list[object]
    timestamp: datetime
    flags: int
    pinned: bool
    tts: bool
    edited_timestamp: datetime | None = None
    nonce: int | str | None = None


class RoleAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """GuildRoleResponse."""

    id: str
    name: str
    permissions: str
    position: int
    color: int
    colors: dict[str, int | None]
    hoist: bool
    managed: bool
    mentionable: bool
    flags: int
    description: str | None = None
    icon: str | None = None
    unicode_emoji: str | None = None


class InnerServerAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """GuildWithCountsResponse, as a bot gets it that is in the server."""

    id: str
    name: str
    owner_id: str
    region: str
    afk_timeout: int
    system_channel_flags: int
    widget_enabled: bool
    verification_level: int
    roles: list[RoleAnswer]
    default_message_notifications: int
    mfa_level: Literal[0, 1]
    explicit_content_filter: int
    max_members: int
    max_stage_video_channel_users: int
    max_video_channel_users: int
    premium_tier: int
    premium_subscription_count: int
    preferred_locale: str
    premium_progress_bar_enabled: bool
    nsfw: bool
    nsfw_level: Literal[0, 1, 2, 3]
    emojis: list[object]
    stickers: list[object]
    features: list[str]
    icon: str | None = None
    description: str | None = None
    home_header: str | None = None
    splash: str | None = None
    discovery_splash: str | None = None
    banner: str | None = None
    application_id: str | None = None
    afk_channel_id: str | None = None
    system_channel_id: str | None = None
    widget_channel_id: str | None = None
    max_presences: int | None = None
    vanity_url_code: str | None = None
    rules_channel_id: str | None = None
    safety_alerts_channel_id: str | None = None
    public_updates_channel_id: str | None = None
    approximate_member_count: int | None = None
    approximate_presence_count: int | None = None


class OverwriteAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """ChannelPermissionOverwriteResponse."""

    id: str
    type: Literal[0, 1]
    allow: str
    deny: str


class ServerChannelAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """GuildChannelResponse."""

    id: str
    type: int
    flags: int
    guild_id: str
    name: str
    position: int
    permission_overwrites: list[OverwriteAnswer]
    nsfw: bool
    parent_id: str | None = None
    topic: str | None = None
    last_message_id: str | None = None
    rate_limit_per_user: int | None = None


class OwnApplicationAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """PrivateApplicationResponse."""

    id: str
    name: str
    description: str
    verify_key: str
    flags: int
    redirect_uris: list[str]
    approximate_user_install_count: int
    explicit_content_filter: Literal[0, 1]
    owner: PublicUserAnswer
    icon: str | None = None
    type: int | None = None
    bot: PublicUserAnswer | None = None
    bot_public: bool | None = None
    bot_require_code_grant: bool | None = None
    interactions_endpoint_url: str | None = None
    role_connections_verification_url: str | None = None
    approximate_guild_count: int | None = None
    team: dict[str, Any] | None = None


class TemplateRoleAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """GuildTemplateRoleResponse."""

    id: int
    name: str
    permissions: str
    color: int
    hoist: bool
    mentionable: bool
    icon: str | None = None
    unicode_emoji: str | None = None


class TemplateOverwriteAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """ChannelPermissionOverwriteResponse, whose id is a number of the template."""

    id: int
    type: Literal[0, 1]
    allow: str
    deny: str


class TemplateChannelAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """GuildTemplateChannelResponse."""

    type: int
    bitrate: int
    user_limit: int
    nsfw: bool
    rate_limit_per_user: int
    permission_overwrites: list[TemplateOverwriteAnswer]
    template: str
    id: int | None = None
    name: str | None = None
    position: int | None = None
    topic: str | None = None
    parent_id: int | None = None
    default_auto_archive_duration: int | None = None
    available_tags: list[object] | None = None
    default_reaction_emoji: object | None = None
    default_thread_rate_limit_per_user: int | None = None
    default_sort_order: int | None = None
    default_forum_layout: int | None = None


class TemplateServerAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """GuildTemplateSnapshotResponse."""

    name: str
    verification_level: int
    default_message_notifications: int
    explicit_content_filter: int
    preferred_locale: str
    afk_timeout: int
    system_channel_flags: int
    roles: list[TemplateRoleAnswer]
    channels: list[TemplateChannelAnswer]
    description: str | None = None
    region: str | None = None
    afk_channel_id: str | None = None
    system_channel_id: str | None = None


class TemplateAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """GuildTemplateResponse."""

    code: str
    name: str
    usage_count: int
    creator_id: str
    created_at: datetime
    updated_at: datetime
    source_guild_id: str
    serialized_source_guild: TemplateServerAnswer
    creator: PublicUserAnswer | None
    description: str | None = None
    is_dirty: bool | None = None


class ErrorAnswer(msgspec.Struct):
    """ErrorResponse: the least that an error of the API holds."""

    message: str
    code: int


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


def token_of(stand_in: StandIn, user_id: str) -> str:
    code = read_callback(stand_in.decide(SIGN_IN, user_id), SIGN_IN)
    answer = exchanged(stand_in, token_form(code, BACK, SIGN_IN))
    token: str = answer.json()["access_token"]
    return token


def exchanged(stand_in: StandIn, form: dict[str, str], **options: Any) -> requests.Response:
    options = {"auth": CREDENTIALS, **options}
    url = stand_in.access.api_url + "/oauth2/token"
    return requests.post(url, data=form, timeout=WAIT_SECONDS, **options)


def asked(stand_in: StandIn, path: str, authorization: str) -> requests.Response:
    headers = {"Authorization": authorization}
    return requests.get(stand_in.access.api_url + path, headers=headers, timeout=WAIT_SECONDS)


@pytest.mark.parametrize("user_id", [ADA, BEN, CLEO, DAN])
def test_users_and_servers_are_as_the_platform_describes_them(stand_in: StandIn, user_id: str) -> None:
    bearer = f"Bearer {token_of(stand_in, user_id)}"
    user = msgspec.json.decode(asked(stand_in, "/users/@me", bearer).content, type=UserAnswer)
    assert user.id == user_id
    for query in ("", "?with_counts=true"):
        answer = asked(stand_in, f"/users/@me/guilds{query}", bearer)
        servers = msgspec.json.decode(answer.content, type=list[ServerAnswer])
        assert {server.owner for server in servers} == {user_id == ADA, False}
        assert all((server.approximate_member_count is not None) == bool(query) for server in servers)


def test_the_application_of_the_bot_is_as_the_platform_describes_it_to_that_bot(stand_in: StandIn) -> None:
    answer = asked(stand_in, "/applications/@me", f"Bot {BOT_TOKEN}")
    application = msgspec.json.decode(answer.content, type=OwnApplicationAnswer)
    assert application.id == CLIENT_ID
    assert application.approximate_guild_count
    assert asked(stand_in, "/applications/@me", "Bot wrong").status_code == 401


@pytest.mark.parametrize("number", [1, 2, 4, 5, 6, 7])
def test_a_server_is_as_the_platform_describes_it_to_a_bot_that_is_in_it(
    stand_in: StandIn, number: int
) -> None:
    path, bot = f"/guilds/{server_id(number)}", f"Bot {BOT_TOKEN}"
    for query in ("", "?with_counts=true"):
        answer = asked(stand_in, path + query, bot)
        server = msgspec.json.decode(answer.content, type=InnerServerAnswer)
        assert server.id == server_id(number)
        assert (server.approximate_member_count is not None) == bool(query)
        assert [role.id for role in server.roles if role.name == "@everyone"] == [server.id]
    channels = msgspec.json.decode(
        asked(stand_in, f"{path}/channels", bot).content, type=list[ServerChannelAnswer]
    )
    assert {each.guild_id for each in channels} == {server_id(number)}


@pytest.mark.parametrize("rest", ["", "/channels"])
@pytest.mark.parametrize(
    ("server", "authorization", "status", "code"),
    [
        (WITHOUT_BOT, f"Bot {BOT_TOKEN}", 403, 50_001),
        ("399999999999999999", f"Bot {BOT_TOKEN}", 404, 10_004),
        (GOOD_SERVER, "Bot wrong", 401, 0),
        (GOOD_SERVER, "", 401, 0),
    ],
)
def test_a_server_is_shown_to_a_bot_that_is_in_it_alone(
    stand_in: StandIn, server: str, authorization: str, status: int, code: int, rest: str
) -> None:
    refused = asked(stand_in, f"/guilds/{server}{rest}", authorization)
    assert refused.status_code == status
    assert msgspec.json.decode(refused.content, type=ErrorAnswer).code == code


def posted(
    stand_in: StandIn, path: str, body: object, authorization: str = f"Bot {BOT_TOKEN}"
) -> requests.Response:
    headers, url = {"Authorization": authorization}, stand_in.access.api_url + path
    return requests.post(url, json=body, headers=headers, timeout=WAIT_SECONDS)


def test_channels_and_messages_are_as_the_platform_describes_them(stand_in: StandIn) -> None:
    answer = posted(stand_in, CHANNELS, {"recipient_id": ADA})
    channel = msgspec.json.decode(answer.content, type=ChannelAnswer)
    assert [user.id for user in channel.recipients] == [ADA]
    again = posted(stand_in, CHANNELS, {"recipient_id": ADA})
    assert again.json() == answer.json()
    path = f"/channels/{channel.id}/messages"
    assert path == messages_path(ADA)
    said = posted(stand_in, path, {"content": "Hello", "nonce": "one"})
    message = msgspec.json.decode(said.content, type=MessageAnswer)
    assert (message.content, message.channel_id, message.author.bot) == ("Hello", channel.id, True)
    assert stand_in.messages(ADA)[0] == "Hello"


def test_a_nonce_that_is_enforced_makes_one_message(stand_in: StandIn) -> None:
    posted(stand_in, CHANNELS, {"recipient_id": BEN})
    before, path = len(stand_in.messages(BEN)), messages_path(BEN)
    for enforced, expected in ((True, 1), (True, 1), (False, 2)):
        body = {"content": "Hello", "nonce": "the same", "enforce_nonce": enforced}
        assert posted(stand_in, path, body).status_code == 200
        assert len(stand_in.messages(BEN)) - before == expected


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        (CHANNELS, {"recipient_id": "200000000000000099"}, 404, 10_013),
        (CHANNELS, [], 400, 0),
        ("/channels/500000000000000099/messages", {"content": "Hello"}, 404, 10_003),
        (messages_path(ADA), {}, 400, 50_035),
        (messages_path(ADA), {"content": ""}, 400, 50_035),
        (messages_path(ADA), {"content": "x" * 2_001}, 400, 50_035),
        (messages_path(ADA), {"content": "x", "nonce": "x" * 26}, 400, 50_035),
        (messages_path(DAN), {"content": "Hello"}, 403, 50_007),
    ],
)
def test_what_the_platform_would_not_send_is_refused(
    stand_in: StandIn, path: str, body: object, status: int, code: int
) -> None:
    for user_id in (ADA, DAN):
        assert posted(stand_in, CHANNELS, {"recipient_id": user_id}).status_code == 200
    refused = posted(stand_in, path, body)
    assert refused.status_code == status
    assert msgspec.json.decode(refused.content, type=ErrorAnswer).code == code


@pytest.mark.parametrize("authorization", ["", "Bot", "Bot wrong", f"Bearer {BOT_TOKEN}"])
def test_the_bot_alone_sends_messages(stand_in: StandIn, authorization: str) -> None:
    for path, body in ((CHANNELS, {"recipient_id": ADA}), (messages_path(ADA), {"content": "Hello"})):
        refused = posted(stand_in, path, body, authorization)
        assert refused.status_code == 401
        assert msgspec.json.decode(refused.content, type=ErrorAnswer).code == 0


def test_people_see_what_was_sent(stand_in: StandIn) -> None:
    posted(stand_in, CHANNELS, {"recipient_id": ADA})
    posted(stand_in, messages_path(ADA), {"content": "<b>Hello</b>"})
    page = requests.get(stand_in.url + "/stand-in/messages", timeout=WAIT_SECONDS)
    assert page.headers["Content-Type"].startswith("text/html")
    assert "Ada, who owns bots" in page.text
    assert "&lt;b&gt;Hello" in page.text


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer wrong", "Bot wrong"])
def test_without_a_token_of_a_user_nothing_is_shown(stand_in: StandIn, authorization: str) -> None:
    for path in ("/users/@me", "/users/@me/guilds"):
        refused = asked(stand_in, path, authorization)
        assert refused.status_code == 401
        assert msgspec.json.decode(refused.content, type=ErrorAnswer).code == 0


def test_every_answer_says_how_often_may_be_asked(stand_in: StandIn) -> None:
    headers = asked(stand_in, "/users/@me", "").headers
    for name in ("Limit", "Remaining", "Reset-After", "Bucket"):
        assert headers[f"X-RateLimit-{name}"]


@pytest.mark.parametrize(
    ("change", "options", "status"),
    [
        ({}, {"headers": {"Content-Type": "application/json"}}, 400),
        ({}, {"auth": (CLIENT_ID, "wrong")}, 401),
        ({}, {"auth": None}, 401),
        ({"grant_type": "password"}, {}, 400),
        ({"code": "wrong"}, {}, 400),
        ({"redirect_uri": BACK + "?"}, {}, 400),
        ({"code_verifier": "x" * 43}, {}, 400),
        ({"code_verifier": ""}, {}, 400),
    ],
)
def test_a_code_is_exchanged_for_the_right_client_address_and_verifier_alone(
    stand_in: StandIn, change: dict[str, str], options: dict[str, Any], status: int
) -> None:
    code = read_callback(stand_in.decide(SIGN_IN, ADA), SIGN_IN)
    form = {**token_form(code, BACK, SIGN_IN), **change}
    assert exchanged(stand_in, form, **options).status_code == status


def test_the_client_may_be_named_in_the_form(stand_in: StandIn) -> None:
    code = read_callback(stand_in.decide(SIGN_IN, ADA), SIGN_IN)
    named = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    answer = exchanged(stand_in, {**token_form(code, BACK, SIGN_IN), **named}, auth=None)
    assert (answer.status_code, answer.json()["scope"]) == (200, "identify email guilds")


@pytest.mark.parametrize(
    "query",
    ["client_id=1", "redirect_uri=https%3A%2F%2Felsewhere.example%2F", "response_type=token", "scope=bot"],
)
def test_a_browser_is_never_sent_to_an_address_that_is_not_registered(stand_in: StandIn, query: str) -> None:
    right = f"client_id={CLIENT_ID}&redirect_uri={BACK}&response_type=code"
    url = f"{stand_in.url}/oauth2/authorize?{right}&{query}"
    for ask in (requests.get, requests.post):
        refused = ask(url, timeout=WAIT_SECONDS, allow_redirects=False)
        assert (refused.status_code, refused.headers.get("Location")) == (400, None)


@pytest.mark.parametrize(
    ("code", "server"), [("server-1", GOOD_SERVER), ("for-a-week", GOOD_SERVER), ("friends", None)]
)
def test_an_invite_is_as_the_platform_describes_it(stand_in: StandIn, code: str, server: str | None) -> None:
    plain = asked(stand_in, f"/invites/{code}", "").json()
    assert (plain["code"], plain.get("guild", {}).get("id")) == (code, server)
    assert not {"expires_at", "approximate_member_count", "approximate_presence_count"} & plain.keys()
    query = "?with_counts=true&with_expiration=true"
    whole = asked(stand_in, f"/invites/{code}{query}", "").json()
    assert (whole["expires_at"] is None) == (code != "for-a-week")
    assert ("approximate_presence_count" in whole) == (server is not None)


def test_an_invite_that_does_not_exist_is_refused_with_the_platform_s_number(stand_in: StandIn) -> None:
    answer = asked(stand_in, "/invites/nothing", "")
    assert (answer.status_code, answer.json()["code"]) == (404, UNKNOWN_INVITE)


def test_a_template_is_as_the_platform_describes_it(stand_in: StandIn) -> None:
    answer = asked(stand_in, f"/guilds/templates/{GAME_NIGHT}", "")
    shown = msgspec.json.decode(answer.content, type=TemplateAnswer)
    assert (shown.code, shown.creator_id) == (GAME_NIGHT, ADA)
    assert shown.creator
    assert shown.creator.id == ADA
    assert [each.name for each in shown.serialized_source_guild.roles if each.id == 0] == ["@everyone"]


def test_a_template_that_does_not_exist_is_refused_with_the_platform_s_number(stand_in: StandIn) -> None:
    answer = asked(stand_in, "/guilds/templates/Nothing00000", "")
    assert (answer.status_code, answer.json()["code"]) == (404, UNKNOWN_TEMPLATE)


@pytest.mark.parametrize(
    "path", [f"avatars/{ADA}", "embed/avatars", f"app-icons/{BEN}", f"icons/{GOOD_SERVER}"]
)
def test_pictures_are_drawn_and_those_of_two_addresses_differ(stand_in: StandIn, path: str) -> None:
    drawn = []
    for name in ("0" * 32, "1" * 32):
        picture = requests.get(f"{stand_in.url}/{path}/{name}.png?size=64", timeout=WAIT_SECONDS)
        assert picture.headers["Content-Type"] == "image/svg+xml"
        assert ElementTree.fromstring(picture.text).tag == "{http://www.w3.org/2000/svg}svg"
        drawn.append(picture.text)
    assert drawn[0] != drawn[1]


def test_who_is_not_to_be_asked_again_comes_back_at_once_as_the_same_user(stand_in: StandIn) -> None:
    silent = sign_in_url(stand_in.authorize_url, CLIENT_ID, BACK, SIGN_IN, asks_again=False)
    assert "Who are you?" in requests.get(silent, timeout=WAIT_SECONDS).text
    for user in (BEN, ADA):
        browser = requests.Session()
        form = {"user": user, "decision": "approve"}
        browser.post(silent, data=form, allow_redirects=False, timeout=WAIT_SECONDS)
        back = browser.get(silent, allow_redirects=False, timeout=WAIT_SECONDS)
        assert back.headers["Location"].startswith(BACK)
        code = read_callback(dict(parse_qsl(urlsplit(back.headers["Location"]).query)), SIGN_IN)
        token = exchanged(stand_in, token_form(code, BACK, SIGN_IN)).json()["access_token"]
        assert asked(stand_in, "/users/@me", f"Bearer {token}").json()["id"] == user
