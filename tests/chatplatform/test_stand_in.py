"""examples/chat_platform.py: its answers are what the platform's published description says of them.

The description (OpenAPI, https://github.com/discord/discord-api-spec) names the fields below, their types,
and which of them are always there. It says nothing of `/applications/{id}/rpc` and of tokens.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
import requests

from chatplatform.authorization import new_sign_in, read_callback, sign_in_url, token_form
from tests.support.gateways import WAIT_SECONDS
from tests.support.platform_stand_in import (
    ADA,
    BACK,
    BEN,
    CLEO,
    CLIENT_ID,
    CLIENT_SECRET,
    DAN,
    StandIn,
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
        assert {server.owner for server in servers} == {user_id == ADA}
        assert all((server.approximate_member_count is not None) == bool(query) for server in servers)


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


def test_pictures_are_pictures(stand_in: StandIn) -> None:
    picture = requests.get(f"{stand_in.url}/avatars/{ADA}/{'0' * 32}.png", timeout=WAIT_SECONDS)
    assert picture.headers["Content-Type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG\r\n\x1a\n")


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
