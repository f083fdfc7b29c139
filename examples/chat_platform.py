"""A stand-in for the chat platform: signing in, and the part of its API that Votegate uses, on this machine.

.venv/bin/python examples/chat_platform.py [--port PORT] [--client-id ID] [--redirect-uri URI]...

Nobody needs an account: whoever signs in chooses one of its users. It answers as the platform's reference
says, and refuses what the platform would refuse. It is for first steps and for tests, never for the public.

`POST /stand-in/faults` with {"path": ..., "fault": ..., "times": ...} lets the next answers go wrong;
`POST /stand-in/applications/{id}` with {"description": ...} writes what an owner would write there, and with
{"guild_count": ...} puts it into the directory, or takes it out of it (null);
`POST /stand-in/servers/{id}` with {"approximate_member_count": ..., "bot": true, ...} changes a server;
`GET /stand-in/messages` shows the direct messages that its users got, and `/stand-in/messages.json` as JSON;
`GET /stand-in/seen` shows how often each path was asked for.
"""

import argparse
import asyncio
import base64
import hashlib
import html
import json
import secrets
import struct
import sys
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

API = "/api/v10"
CLIENT_ID = "900000000000000001"
CLIENT_SECRET, BOT_TOKEN = "stand-in-client-secret", "stand-in-bot-token"
CODE_SECONDS, TOKEN_SECONDS = 60, 604_800
SCOPES = {"identify", "email", "guilds"}
HAS_COMMANDS = 1 << 23
COOKIE = "stand-in-user"
"""Whom this browser has chosen before. Ports share cookies, so the name is none of the gateway's."""
SLOW_SECONDS = 60
FIRST_APPLICATION = 400000000000000000
FIRST_CHANNEL, FIRST_MESSAGE = 500000000000000000, 600000000000000000
READY_BOT = str(FIRST_APPLICATION + 1)
"""An application that everybody may add to servers, with slash commands."""
FAULTS = (
    *("429", "429-global", "401", "403", "404", "500", "html", "slow", "cut", "missing", "types", "deep"),
    *("cannot-message", "no-user", "lost", "late"),
)
"""`lost`, `late`: a message is taken, and the answer to it is cut off, or comes too late."""
CONTENT_CHARACTERS, NONCE_CHARACTERS = 2_000, 25
NONCE_SECONDS = 300


def user(number: int, username: str, name: str | None, **others: Any) -> dict[str, Any]:
    """A user as `GET /users/@me` shows one."""
    return {
        "id": str(200000000000000000 + number),
        "username": username,
        "discriminator": "0",
        "global_name": name,
        "avatar": hashlib.md5(username.encode(), usedforsecurity=False).hexdigest() if number < 4 else None,
        "banner": None,
        "accent_color": None,
        "avatar_decoration_data": None,
        "public_flags": 0,
        "flags": 0,
        "mfa_enabled": True,
        "locale": "en-US",
        "premium_type": 0,
        "verified": True,
        "email": f"{username}@example.com",
        **others,
    }


USERS = {
    each["id"]: each
    for each in (
        user(1, "ada", "Ada, who owns bots"),
        user(2, "ben", "Ben, who votes"),
        user(3, "cleo", "Cleo, who moderates"),
        user(4, "dan", None, email=None, verified=False, locale="en-GB"),
        user(5, "emil", "Emil, who reads German", locale="de"),
    )
}
ADA = next(iter(USERS))
EMIL = next(each["id"] for each in USERS.values() if each["username"] == "emil")
CLOSED = next(each["id"] for each in USERS.values() if each["username"] == "dan")
"""A user who takes no direct messages."""
BOT = {
    "id": CLIENT_ID,
    "username": "votegate",
    "discriminator": "0001",
    "global_name": None,
    "avatar": None,
    "public_flags": 0,
    "flags": 0,
    "bot": True,
}


MANAGE_GUILD, VIEW_CHANNEL = 1 << 5, 1 << 10
FIRST_SERVER_CHANNEL = 700000000000000000
PLATFORM_EPOCH_MS, DAY_MS = 1_420_070_400_000, 86_400_000


def snowflake(at_ms: int) -> str:
    """An id that the platform made then."""
    return str((at_ms - PLATFORM_EPOCH_MS) << 22)


def server(number: int, name: str, owner_id: str, **others: Any) -> dict[str, Any]:
    """A server, with what only a bot sees that is in it. `bot`: that of the deployment is. `managers` may
    manage it beside its owner."""
    return {
        "id": str(300000000000000000 + number),
        "name": name,
        "icon": hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(),
        "features": ["COMMUNITY", "NEWS"],
        "approximate_member_count": 1_250,
        "approximate_presence_count": 180,
        "owner_id": owner_id,
        "mfa_level": 1,
        "nsfw_level": 0,
        "everyone": VIEW_CHANNEL,
        "channels": (channel(1, "general"),),
        "bot": True,
        "managers": (),
        **others,
    }


def channel(number: int, name: str, **others: Any) -> dict[str, Any]:
    """A channel. `denied`: permissions that it takes from everyone."""
    return {
        "id": str(FIRST_SERVER_CHANNEL + number),
        "name": name,
        "type": 0,
        "nsfw": False,
        "denied": 0,
        **others,
    }


RED, CLOSED_RED = (
    channel(2, "after-dark", nsfw=True),
    channel(3, "staff-only", nsfw=True, denied=VIEW_CHANNEL),
)
SERVERS = (
    server(1, "Ada's workshop", ADA, channels=(channel(1, "general"), CLOSED_RED)),
    server(2, "A small circle", ADA, approximate_member_count=12, features=[], icon=None),
    server(3, "The quiet library", ADA, bot=False),
    server(4, "The night market", ADA, channels=(channel(1, "general"), RED)),
    server(5, "Without a second factor", ADA, mfa_level=0),
    server(6, "Emil's garden", EMIL, managers=(ADA,)),
    server(7, "Emil's attic", EMIL),
    server(8, "Made yesterday", ADA, id=snowflake(round(time.time() * 1_000) - DAY_MS)),
)
ROLE: dict[str, Any] = {
    "name": "@everyone",
    "description": None,
    "position": 0,
    "color": 0,
    "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
    "hoist": False,
    "managed": False,
    "mentionable": False,
    "icon": None,
    "unicode_emoji": None,
    "flags": 0,
}
GUILD: dict[str, Any] = {
    "description": None,
    "home_header": None,
    "splash": None,
    "discovery_splash": None,
    "banner": None,
    "application_id": None,
    "region": "deprecated",
    "afk_channel_id": None,
    "afk_timeout": 300,
    "system_channel_id": None,
    "system_channel_flags": 0,
    "widget_enabled": False,
    "widget_channel_id": None,
    "verification_level": 1,
    "default_message_notifications": 1,
    "explicit_content_filter": 2,
    "max_presences": None,
    "max_members": 500_000,
    "max_stage_video_channel_users": 50,
    "max_video_channel_users": 25,
    "vanity_url_code": None,
    "premium_tier": 0,
    "premium_subscription_count": 0,
    "preferred_locale": "en-US",
    "rules_channel_id": None,
    "safety_alerts_channel_id": None,
    "public_updates_channel_id": None,
    "premium_progress_bar_enabled": False,
    "nsfw": False,
    "emojis": [],
    "stickers": [],
}
"""The fields of a server that nothing here looks at."""
SHOWN = ("id", "name", "icon", "features", "approximate_member_count", "approximate_presence_count")


def application(number: int, name: str, **others: Any) -> dict[str, Any]:
    """An application as `GET /applications/{id}/rpc` shows one."""
    application_id = str(FIRST_APPLICATION + number)
    return {
        "id": application_id,
        "name": name,
        "icon": hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(),
        "description": f"{name} was made to try Votegate with.",
        "summary": "",
        "type": None,
        "hook": True,
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": hashlib.sha256(application_id.encode()).hexdigest(),
        "flags": HAS_COMMANDS,
        **others,
    }


OWN_APPLICATION: dict[str, Any] = {
    "icon": None,
    "description": "",
    "type": None,
    "bot_public": True,
    "bot_require_code_grant": False,
    "verify_key": hashlib.sha256(CLIENT_ID.encode()).hexdigest(),
    "flags": 0,
    "redirect_uris": [],
    "interactions_endpoint_url": None,
    "role_connections_verification_url": None,
    "approximate_user_install_count": 0,
    "explicit_content_filter": 0,
    "team": None,
}


@dataclass
class Grant:
    """What a user has allowed: a code that was not exchanged yet."""

    user_id: str
    redirect_uri: str
    scope: str
    challenge: str | None
    until: float


@dataclass
class Message:
    """A direct message. `shown` is what the API answers."""

    to: str
    nonce: str | None
    at: float
    shown: dict[str, Any]


@dataclass
class Platform:
    """All that the stand-in knows."""

    redirect_uris: tuple[str, ...]
    client_id: str = CLIENT_ID
    client_secret: str = field(default=CLIENT_SECRET, repr=False)
    applications: dict[str, dict[str, Any]] = field(default_factory=dict)
    directory: dict[str, int | None] = field(default_factory=lambda: {READY_BOT: 1_200})
    """How many servers each application is in that is in the directory."""
    servers: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {each["id"]: dict(each) for each in SERVERS}
    )
    codes: dict[str, Grant] = field(default_factory=dict)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    """(user, scope) of each access token."""
    bot_token: str = field(default=BOT_TOKEN, repr=False)
    channels: dict[str, str] = field(default_factory=dict)
    """The user of each channel of direct messages."""
    messages: list["Message"] = field(default_factory=list)
    allowed: set[str] = field(default_factory=set)
    """Users who have said yes before."""
    faults: list[tuple[str, str]] = field(default_factory=list)
    """(path, fault) of answers to come."""
    asked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for each in (
            application(1, "Ready bot"),
            application(2, "Private bot", bot_public=False),
            application(3, "Silent bot", flags=0),
            application(4, "No bot", bot_public=None, bot_require_code_grant=None),
            application(5, "Fresh bot"),
        ):
            shown = {name: value for name, value in each.items() if value is not None or name == "type"}
            self.applications[each["id"]] = shown

    def fault(self, path: str) -> str | None:
        """Return how the answer for this path goes wrong, if it does."""
        for index, (faulty, fault) in enumerate(self.faults):
            if faulty == path:
                del self.faults[index]
                return fault
        return None


class Refusal(Exception):
    """An answer of the API that is an error."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(status)
        self.status, self.body = status, body


UNAUTHORIZED = Refusal(401, {"message": "401: Unauthorized", "code": 0})
UNKNOWN_USER = Refusal(404, {"message": "Unknown User", "code": 10_013})
UNKNOWN_CHANNEL = Refusal(404, {"message": "Unknown Channel", "code": 10_003})
CANNOT_MESSAGE = Refusal(403, {"message": "Cannot send messages to this user", "code": 50_007})
UNKNOWN_SERVER = Refusal(404, {"message": "Unknown Guild", "code": 10_004})
NO_ACCESS = Refusal(403, {"message": "Missing Access", "code": 50_001})
INVALID_FORM = Refusal(400, {"message": "Invalid Form Body", "code": 50_035})


class Handler(RequestHandler):
    @property
    def platform(self) -> Platform:
        platform: Platform = self.settings["platform"]
        return platform

    def answer(self, body: Any, status: int = 200) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(body))

    def write_error(self, status_code: int, **_: Any) -> None:
        self.answer({"message": f"{status_code}: {self._reason}", "code": 0}, status_code)


class Api(Handler):
    """An endpoint of the API: it may go wrong, and it says how often it may be asked."""

    async def prepare(self) -> None:
        path = self.request.path.removeprefix(API)
        self.platform.asked[path] += 1
        self.set_header("X-RateLimit-Bucket", hashlib.sha256(type(self).__name__.encode()).hexdigest()[:32])
        for name, value in (("Limit", "50"), ("Remaining", "49"), ("Reset-After", "1.000")):
            self.set_header(f"X-RateLimit-{name}", value)
        self.fault = self.platform.fault(path)
        if self.fault is not None:
            await self._go_wrong(self.fault)

    async def _go_wrong(self, fault: str) -> None:
        if fault.startswith("429"):
            is_global = fault == "429-global"
            self.set_header("Retry-After", "1")
            self.set_header("X-RateLimit-Scope", "global" if is_global else "user")
            if is_global:
                self.set_header("X-RateLimit-Global", "true")
            message = "You are being rate limited."
            self.answer({"message": message, "retry_after": 0.2, "global": is_global}, 429)
        elif fault in {"cannot-message", "no-user"}:
            refusal = CANNOT_MESSAGE if fault == "cannot-message" else UNKNOWN_USER
            self.answer(refusal.body, refusal.status)
        elif fault == "html":
            self.set_status(503)
            self.finish("<html><body>error code: 1015</body></html>")
        elif fault in {"401", "403", "404", "500"}:
            code = {"403": 50_001, "404": 10_004}.get(fault, 0)
            self.answer({"message": f"{fault}: as asked for", "code": code}, int(fault))
        elif fault == "deep":
            self.set_header("Content-Type", "application/json")
            self.finish("[" * 100_000)
        elif fault == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        elif fault == "cut":
            await self.cut()

    async def cut(self) -> None:
        """Begin an answer, and end the connection in the midst of it."""
        self.set_header("Content-Length", "1000")
        self.write('{"id": "')
        await self.flush()
        self.detach().close()
        raise HTTPError(500)

    def show(self, body: Any) -> None:
        """Answer, without the fields that matter or with wrong ones if that was asked for."""
        if self.fault in {"missing", "types"}:
            body = [self._wrong(each) for each in body] if isinstance(body, list) else self._wrong(body)
        self.answer(body)

    def _wrong(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.fault == "missing":
            kept = ("id", "name", "username")
            return {name: value for name, value in body.items() if name in kept}
        return {name: value if name == "id" else [value] for name, value in body.items()}

    def log_exception(self, *_: Any) -> None:
        """Say nothing: an answer that goes wrong was asked for."""

    def user_id(self, scope: str) -> str:
        kind, _, token = self.request.headers.get("Authorization", "").partition(" ")
        found = self.platform.tokens.get(token) if kind == "Bearer" else None
        if found is None or scope not in found[1].split():
            raise UNAUTHORIZED
        return found[0]

    def only_bot(self) -> None:
        kind, _, token = self.request.headers.get("Authorization", "").partition(" ")
        if kind != "Bot" or not secrets.compare_digest(token, self.platform.bot_token):
            raise UNAUTHORIZED

    def json_body(self) -> dict[str, Any]:
        try:
            body = json.loads(self.request.body)
        except ValueError:
            body = None
        if self.request.headers.get("Content-Type") != "application/json" or not isinstance(body, dict):
            raise Refusal(400, {"message": "400: Bad Request", "code": 0})
        return body

    def _handle_request_exception(self, e: BaseException) -> None:
        if isinstance(e, Refusal):
            self.answer(e.body, e.status)
        else:
            super()._handle_request_exception(e)


# -- Signing in -------------------------------------------------------------------------------------------

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>Sign in</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 1rem/1.5 system-ui; max-width: 28rem; margin: 3rem auto; padding: 0 1rem }}
button {{ font: inherit; padding: .4rem 1rem }} label {{ display: block; padding: .3rem 0 }}</style></head>
<body><main><h1>Stand-in for the chat platform</h1>
<p>Somebody asks for: {scopes}. Who are you?</p>
<form method="post">{users}
<p><button name="decision" value="approve">Approve</button>
<button name="decision" value="cancel">Cancel</button></p></form></main></body></html>"""


class Authorize(Handler):
    """`/oauth2/authorize`: the page on which a user says yes or no."""

    def get(self) -> None:
        self._check()
        known = self.get_cookie(COOKIE, "")
        if self.get_query_argument("prompt", "consent") == "none" and known in self.platform.allowed:
            self._approve(known)
            return
        choices = "".join(
            f'<label><input type="radio" name="user" value="{each["id"]}"{" checked" * (each["id"] == ADA)}> '
            f"{html.escape(each['global_name'] or each['username'])}</label>"
            for each in USERS.values()
        )
        scopes = html.escape(", ".join(self.get_query_argument("scope", "").split()))
        self.finish(PAGE.format(scopes=scopes, users=choices))

    def post(self) -> None:
        self._check()
        if self.get_body_argument("decision", "") != "approve":
            self._back(error="access_denied", error_description="The resource owner denied the request")
            return
        user_id = self.get_body_argument("user", "")
        if user_id not in USERS:
            raise HTTPError(400)
        self._approve(user_id)

    def _check(self) -> None:
        """An address that is not registered is never gone back to."""
        platform = self.platform
        if (
            self.get_query_argument("client_id", "") != platform.client_id
            or self.get_query_argument("redirect_uri", "") not in platform.redirect_uris
            or self.get_query_argument("response_type", "") != "code"
            or not set(self.get_query_argument("scope", "").split()) <= SCOPES
            or self.get_query_argument("code_challenge_method", "S256") != "S256"
        ):
            raise HTTPError(400)

    def _approve(self, user_id: str) -> None:
        code = secrets.token_urlsafe(22)
        self.platform.allowed.add(user_id)
        self.set_cookie(COOKIE, user_id, httponly=True, samesite="Lax")
        self.platform.codes[code] = Grant(
            user_id,
            self.get_query_argument("redirect_uri"),
            self.get_query_argument("scope", ""),
            self.get_query_argument("code_challenge", None),
            time.monotonic() + CODE_SECONDS,
        )
        self._back(code=code)

    def _back(self, **query: str) -> None:
        state = self.get_query_argument("state", None)
        if state is not None:
            query["state"] = state
        self.redirect(f"{self.get_query_argument('redirect_uri')}?{urlencode(query)}")


class Token(Api):
    """`POST /oauth2/token`: takes a form, and nothing else."""

    def post(self) -> None:
        kind = self.request.headers.get("Content-Type", "").partition(";")[0]
        if kind != "application/x-www-form-urlencoded":
            raise Refusal(400, {"error": "invalid_request", "error_description": "The body is no form."})
        if not self._is_our_client():
            raise Refusal(401, {"error": "invalid_client"})
        if self.get_body_argument("grant_type", "") != "authorization_code":
            raise Refusal(400, {"error": "unsupported_grant_type"})
        grant = self.platform.codes.pop(self.get_body_argument("code", ""), None)  # used once, right or wrong
        if grant is None or not self._is_for(grant):
            raise Refusal(400, {"error": "invalid_grant", "error_description": 'Invalid "code" in request.'})
        token = secrets.token_urlsafe(22)
        self.platform.tokens[token] = (grant.user_id, grant.scope)
        body = {"access_token": token, "token_type": "Bearer", "expires_in": TOKEN_SECONDS}
        self.show({**body, "refresh_token": secrets.token_urlsafe(22), "scope": grant.scope})

    def _is_our_client(self) -> bool:
        scheme, _, encoded = self.request.headers.get("Authorization", "").partition(" ")
        known = f"{self.platform.client_id}:{self.platform.client_secret}"
        if scheme == "Basic":
            return secrets.compare_digest(encoded, base64.b64encode(known.encode()).decode())
        given = f"{self.get_body_argument('client_id', '')}:{self.get_body_argument('client_secret', '')}"
        return secrets.compare_digest(given.encode(), known.encode())

    def _is_for(self, grant: Grant) -> bool:
        if time.monotonic() > grant.until or self.get_body_argument("redirect_uri", "") != grant.redirect_uri:
            return False
        verifier = self.get_body_argument("code_verifier", "")
        if grant.challenge is None:
            return not verifier
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        return 43 <= len(verifier) <= 128 and digest == grant.challenge


# -- The API ----------------------------------------------------------------------------------------------


class Me(Api):
    def get(self) -> None:
        shown = dict(USERS[self.user_id("identify")])
        if "email" not in self.platform.tokens[self._token][1].split():
            shown.pop("email")
        self.show(shown)

    @property
    def _token(self) -> str:
        return self.request.headers["Authorization"].partition(" ")[2]


class MyServers(Api):
    def get(self) -> None:
        user_id = self.user_id("guilds")
        with_counts = self.get_query_argument("with_counts", "false") == "true"
        shown = []
        for each in self.platform.servers.values():
            is_owner = each["owner_id"] == user_id
            one = {name: each[name] for name in SHOWN}
            if not with_counts:
                one = {name: value for name, value in one.items() if not name.startswith("approximate")}
            own = MANAGE_GUILD if user_id in each["managers"] else 0
            permissions = "2251799813685247" if is_owner else str(VIEW_CHANNEL | own)
            shown.append({**one, "banner": None, "owner": is_owner, "permissions": permissions})
        self.show(shown)


class Server(Api):
    """`GET /guilds/{id}`, for a bot that is in it."""

    def get(self, server_id: str) -> None:
        found = self.inside(server_id)
        with_counts = self.get_query_argument("with_counts", "false") == "true"
        named = SHOWN if with_counts else SHOWN[:4]
        role = {**ROLE, "id": server_id, "permissions": str(found["everyone"])}
        more = {name: found[name] for name in (*named, "owner_id", "mfa_level", "nsfw_level")}
        self.show({**GUILD, **more, "roles": [role]})

    def inside(self, server_id: str) -> dict[str, Any]:
        self.only_bot()
        found = self.platform.servers.get(server_id)
        if found is None:
            raise UNKNOWN_SERVER
        if not found["bot"]:
            raise NO_ACCESS
        return found


class ServerChannels(Server):
    """`GET /guilds/{id}/channels`."""

    def get(self, server_id: str) -> None:
        shown = []
        for position, each in enumerate(self.inside(server_id)["channels"]):
            overwrite = {"id": server_id, "type": 0, "allow": "0", "deny": str(each["denied"])}
            one = {name: value for name, value in each.items() if name != "denied"}
            one |= {"guild_id": server_id, "position": position, "flags": 0, "parent_id": None, "topic": None}
            one |= {"last_message_id": None, "rate_limit_per_user": 0}
            shown.append({**one, "permission_overwrites": [overwrite] if each["denied"] else []})
        self.show(shown)


class ApplicationRpc(Api):
    def get(self, application_id: str) -> None:
        found = self.platform.applications.get(application_id)
        if found is None:
            raise Refusal(404, {"message": "Unknown Application", "code": 10_002})
        self.show(found)


class DirectoryApplication(Api):
    """`GET /application-directory-static/applications/{id}`, for everyone."""

    def get(self, application_id: str) -> None:
        listed = self.platform.directory.get(application_id)
        if listed is None:
            raise Refusal(404, {"message": "Unknown Application", "code": 10_002})
        entry = {"guild_count": listed, "short_description": "", "supported_locales": ["en-US"]}
        self.show({**self.platform.applications[application_id], "directory_entry": entry})


class OwnApplication(Api):
    """`GET /applications/@me`, for the bot of the application."""

    def get(self) -> None:
        self.only_bot()
        servers = sum(each["bot"] for each in self.platform.servers.values())
        own = {"id": self.platform.client_id, "name": "Votegate", "owner": _public(USERS[ADA]), "bot": BOT}
        self.show({**OWN_APPLICATION, **own, "approximate_guild_count": servers})


class Channels(Api):
    """`POST /users/@me/channels`: open the channel of direct messages with a user, or find it again."""

    def post(self) -> None:
        self.only_bot()
        user_id = str(self.json_body().get("recipient_id"))
        if user_id not in USERS:
            raise UNKNOWN_USER
        channel_id = str(FIRST_CHANNEL + int(user_id) % 1_000)
        self.platform.channels[channel_id] = user_id
        recipients = [_public(USERS[user_id])]
        self.show(
            {"id": channel_id, "type": 1, "last_message_id": None, "flags": 0, "recipients": recipients}
        )


class Messages(Api):
    """`POST /channels/{id}/messages`: a message with the nonce of one of the last minutes is that one."""

    async def post(self, channel_id: str) -> None:
        self.only_bot()
        body, user_id = self.json_body(), self.platform.channels.get(channel_id)
        if user_id is None:
            raise UNKNOWN_CHANNEL
        if user_id == CLOSED:
            raise CANNOT_MESSAGE
        content, nonce = body.get("content"), body.get("nonce")
        if not isinstance(content, str) or not 1 <= len(content) <= CONTENT_CHARACTERS:
            raise INVALID_FORM
        if nonce is not None and (not isinstance(nonce, str) or len(nonce) > NONCE_CHARACTERS):
            raise INVALID_FORM
        known = self._known(user_id, nonce) if body.get("enforce_nonce") is True else None
        message = known or self._take(user_id, channel_id, content, nonce)
        if self.fault == "lost":
            await self.cut()
        elif self.fault == "late":
            await asyncio.sleep(SLOW_SECONDS)
        self.show(message.shown)

    def _known(self, user_id: str, nonce: str | None) -> Message | None:
        since = time.monotonic() - NONCE_SECONDS
        found = (each for each in self.platform.messages if (each.to, each.nonce) == (user_id, nonce))
        return next((each for each in found if nonce is not None and each.at > since), None)

    def _take(self, user_id: str, channel_id: str, content: str, nonce: str | None) -> Message:
        shown = {
            "id": str(FIRST_MESSAGE + len(self.platform.messages)),
            "channel_id": channel_id,
            "author": BOT,
            "type": 0,
            "content": content,
            "mentions": [],
            "mention_roles": [],
            "mention_everyone": False,
            "attachments": [],
            "embeds": [],
            "components": [],
            "timestamp": datetime.now(UTC).isoformat(),
            "edited_timestamp": None,
            "flags": 0,
            "pinned": False,
            "tts": False,
            "nonce": nonce,
        }
        message = Message(user_id, nonce, time.monotonic(), shown)
        self.platform.messages.append(message)
        return message


def _public(user: dict[str, Any]) -> dict[str, Any]:
    """A user as everybody sees one."""
    private = {"locale", "mfa_enabled", "premium_type", "verified", "email"}
    return {name: value for name, value in user.items() if name not in private}


class Picture(Handler):
    """Any picture of the CDN: a square in a colour of its own."""

    def get(self, path: str) -> None:
        colour = hashlib.sha256(path.encode()).digest()[:3]
        rows = (b"\0" + colour * 64) * 64
        header = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
        chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
        self.set_header("Content-Type", "image/png")
        self.write(b"\x89PNG\r\n\x1a\n")
        for name, content in chunks:
            checksum = struct.pack(">I", zlib.crc32(name + content))
            self.write(struct.pack(">I", len(content)) + name + content + checksum)


# -- What only a stand-in has -----------------------------------------------------------------------------

INBOXES = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>Direct messages</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 1rem/1.5 system-ui; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }}
pre {{ white-space: pre-wrap }}</style></head>
<body><main><h1>Direct messages</h1>{shown}</main></body></html>"""


class Faults(Handler):
    def post(self) -> None:
        wanted = json.loads(self.request.body)
        if wanted["fault"] not in FAULTS:
            raise HTTPError(400)
        self.platform.faults += [(wanted["path"], wanted["fault"])] * wanted.get("times", 1)
        self.answer({"faults": len(self.platform.faults)})


class Inboxes(Handler):
    """The direct messages that each user got, the newest first."""

    def get(self, as_json: str | None) -> None:
        messages = self.platform.messages[::-1]
        if as_json is not None:
            self.answer(
                {"messages": [{"to": each.to, "content": each.shown["content"]} for each in messages]}
            )
            return
        shown = "".join(
            f"<h2>{html.escape(USERS[each.to]['global_name'] or USERS[each.to]['username'])}</h2>"
            f"<p>{html.escape(each.shown['timestamp'])}</p><pre>{html.escape(each.shown['content'])}</pre>"
            for each in messages
        )
        self.finish(INBOXES.format(shown=shown or "<p>Nobody has got a message yet.</p>"))


class Seen(Handler):
    def get(self) -> None:
        self.answer({"asked": self.platform.asked})


class ApplicationChange(Handler):
    def post(self, application_id: str) -> None:
        told, platform = json.loads(self.request.body), self.platform
        if "description" in told:
            platform.applications[application_id]["description"] = told["description"]
        if "guild_count" in told:
            platform.directory[application_id] = told["guild_count"]
        self.answer({})


class ServerChange(Handler):
    def post(self, server_id: str) -> None:
        self.platform.servers[server_id] |= json.loads(self.request.body)
        self.answer({})


def make_app(platform: Platform) -> Application:
    return Application(
        [
            ("/oauth2/authorize", Authorize),
            (f"{API}/oauth2/token", Token),
            (f"{API}/users/@me", Me),
            (f"{API}/users/@me/guilds", MyServers),
            (f"{API}/users/@me/channels", Channels),
            (rf"{API}/channels/(\d+)/messages", Messages),
            (rf"{API}/guilds/(\d+)", Server),
            (rf"{API}/guilds/(\d+)/channels", ServerChannels),
            (rf"{API}/applications/@me", OwnApplication),
            (rf"{API}/applications/(\d+)/rpc", ApplicationRpc),
            (rf"{API}/application-directory-static/applications/(\d+)", DirectoryApplication),
            (r"/(?:avatars|app-icons|icons|embed)/(.+\.png)", Picture),
            ("/stand-in/faults", Faults),
            (r"/stand-in/messages(\.json)?", Inboxes),
            ("/stand-in/seen", Seen),
            (r"/stand-in/applications/(\d+)", ApplicationChange),
            (r"/stand-in/servers/(\d+)", ServerChange),
        ],
        platform=platform,
        log_function=lambda _: None,
    )


def listen(platform: Platform, port: int) -> tuple[HTTPServer, str]:
    """Begin to serve on loopback. Return the server and its address; port 0 takes any that is free."""
    server = HTTPServer(make_app(platform))
    sockets = bind_sockets(port, "127.0.0.1")
    server.add_sockets(sockets)
    return server, f"http://127.0.0.1:{sockets[0].getsockname()[1]}"


async def serve(platform: Platform, port: int) -> None:
    _, url = listen(platform, port)
    sys.stdout.write(f"the stand-in for the chat platform is at {url}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    arguments = argparse.ArgumentParser(description="A stand-in for the chat platform")
    arguments.add_argument("--port", type=int, default=8090)
    arguments.add_argument("--client-id", default=CLIENT_ID)
    arguments.add_argument("--redirect-uri", action="append", default=[])
    given = arguments.parse_args()
    back = tuple(given.redirect_uri) or ("http://127.0.0.1:8080/signin/callback",)
    asyncio.run(serve(Platform(back, client_id=given.client_id), given.port))


if __name__ == "__main__":
    main()
