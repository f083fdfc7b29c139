"""Users, servers and applications as the API shows them, and everything that the stand-in remembers."""

import hashlib
import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

CLIENT_ID = "900000000000000001"
CLIENT_SECRET, BOT_TOKEN = "stand-in-client-secret", "stand-in-bot-token"
HAS_COMMANDS = 1 << 23
FIRST_APPLICATION = 400000000000000000
READY_BOT = str(FIRST_APPLICATION + 1)
"""An application that everybody may add to servers, with slash commands."""


def user(number: int, username: str, name: str | None, **others: Any) -> dict[str, Any]:
    """Return a user as `GET /users/@me` shows one."""
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
    """Return an id that the platform made at that time."""
    return str((at_ms - PLATFORM_EPOCH_MS) << 22)


def server(number: int, name: str, owner_id: str, **others: Any) -> dict[str, Any]:
    """Return a server, with the facts that only a bot in it sees.

    `bot` is true if the deployment's bot is in it. `managers` may manage it, beside its owner.
    `members` are others in it.
    """
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
        "bot_adds_emojis": True,
        "emoji_slots": 50,
        "managers": (),
        "members": (),
        **others,
    }


def channel(number: int, name: str, **others: Any) -> dict[str, Any]:
    """Return a channel. `denied` are the permissions that it takes from everyone."""
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
INVITES: dict[str, dict[str, Any]] = {
    **{f"server-{each['id'][-1]}": {"server": each["id"], "expires_at": None} for each in SERVERS},
    "for-a-week": {"server": SERVERS[0]["id"], "expires_at": "2026-12-31T12:00:00+00:00"},
    "friends": {"server": None, "expires_at": None},
}
"""The invites by their codes: `server-1` is one to the first server. Every other code is unknown."""


def template_role(number: int, name: str, color: int = 0) -> dict[str, Any]:
    """Return a role of a template. The first one, 0, is that of everyone."""
    shown = {"permissions": "1024", "hoist": False, "mentionable": False, "icon": None, "unicode_emoji": None}
    return {"id": number, "name": name, "color": color, **shown}


def template_channel(number: int, kind: int, name: str, parent: int | None, **others: Any) -> dict[str, Any]:
    """Return a channel of a template. The `kind` is 0 for text, 2 for voice, and 4 for a category."""
    return {
        "id": number,
        "type": kind,
        "name": name,
        "position": number,
        "topic": None,
        "bitrate": 64_000,
        "user_limit": 0,
        "nsfw": False,
        "rate_limit_per_user": 0,
        "parent_id": parent,
        "default_auto_archive_duration": None,
        "permission_overwrites": [],
        "available_tags": None,
        "template": "",
        "default_reaction_emoji": None,
        "default_thread_rate_limit_per_user": None,
        "default_sort_order": None,
        "default_forum_layout": None,
        **others,
    }


CLOSED_OVERWRITE = {"id": 0, "type": 0, "allow": "0", "deny": str(VIEW_CHANNEL)}
"""It hides a channel of a template from everyone."""


def template(code: str, name: str, creator_id: str, **others: Any) -> dict[str, Any]:
    """Return a template as `GET /guilds/templates/{code}` shows one, without its creator."""
    hidden = {"permission_overwrites": [CLOSED_OVERWRITE]}
    return {
        "code": code,
        "name": name,
        "description": None,
        "usage_count": 3_912,
        "creator_id": creator_id,
        "created_at": "2022-03-04T10:00:00+00:00",
        "updated_at": "2026-05-06T10:00:00+00:00",
        "source_guild_id": "300000000000000001",
        "serialized_source_guild": {
            "name": name,
            "description": None,
            "region": "deprecated",
            "verification_level": 1,
            "default_message_notifications": 1,
            "explicit_content_filter": 2,
            "preferred_locale": "en-US",
            "afk_channel_id": None,
            "afk_timeout": 300,
            "system_channel_id": None,
            "system_channel_flags": 0,
            "roles": [
                template_role(0, "@everyone"),
                template_role(1, "Host", 0xE67E22),
                template_role(2, "Regular", 0x2ECC71),
                template_role(3, "New here"),
            ],
            "channels": [
                template_channel(1, 0, "start-here", None),
                template_channel(2, 4, "Welcome", None),
                template_channel(3, 0, "rules", 2),
                template_channel(4, 0, "pick-your-roles", 2),
                template_channel(5, 4, "Tonight", None),
                template_channel(6, 0, "who-is-in", 5),
                template_channel(7, 2, "Table one", 5),
                template_channel(8, 2, "Table two", 5),
                template_channel(9, 4, "Hosts only", None, **hidden),
                template_channel(10, 0, "planning", 9, **hidden),
                template_channel(11, 2, "Hosts", 9, **hidden),
            ],
        },
        "is_dirty": None,
        **others,
    }


TEMPLATES = {
    each["code"]: each
    for each in (
        template("GameNight001", "Game night", ADA),
        template("StudyHall002", "Study hall", ADA, usage_count=87),
        template("EmilsTable03", "Emil's round table", EMIL),
    )
}
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
    """Return an application as `GET /applications/{id}/rpc` shows one."""
    application_id = str(FIRST_APPLICATION + number)
    return {
        "id": application_id,
        "name": name,
        "icon": hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(),
        "description": f"{name} was made to try this site with.",
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


def name_of(user: dict[str, Any]) -> str:
    shown: str = user["global_name"] or user["username"]
    return shown


def public_user(user: dict[str, Any]) -> dict[str, Any]:
    """Return a user as everybody sees one."""
    private = {"locale", "mfa_enabled", "premium_type", "verified", "email"}
    return {name: value for name, value in user.items() if name not in private}


@dataclass
class Grant:
    """The consent of a user, whose code was not exchanged yet."""

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
    """Everything that the stand-in remembers while it runs."""

    redirect_uris: tuple[str, ...]
    client_id: str = CLIENT_ID
    client_secret: str = field(default=CLIENT_SECRET, repr=False)
    users: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(USERS))
    offered: dict[str, str] = field(
        default_factory=lambda: {user_id: name_of(each) for user_id, each in USERS.items()}
    )
    """The users that the sign-in page offers, with their names there."""
    shapes: dict[str, str] = field(default_factory=dict)
    """The shapes in drawn pictures, by their hashes."""
    applications: dict[str, dict[str, Any]] = field(default_factory=dict)
    directory: dict[str, int | None] = field(default_factory=lambda: {READY_BOT: 1_200})
    """The number of servers of each application in the directory."""
    servers: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {each["id"]: dict(each) for each in SERVERS}
    )
    invites: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {code: dict(each) for code, each in INVITES.items()}
    )
    templates: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {code: dict(each) for code, each in TEMPLATES.items()}
    )
    emojis: defaultdict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    """By server."""
    codes: dict[str, Grant] = field(default_factory=dict)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    """(user, scope) of each access token."""
    bot_token: str = field(default=BOT_TOKEN, repr=False)
    channels: dict[str, str] = field(default_factory=dict)
    """The user of each channel of direct messages."""
    messages: list["Message"] = field(default_factory=list)
    received: deque[str] = field(default_factory=lambda: deque(maxlen=20))
    """The bodies of the last webhooks."""
    allowed: set[str] = field(default_factory=set)
    """The users who have agreed before."""
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

    def learn(self, told: dict[str, Any]) -> None:
        """Add users, applications, servers and invites from the file of `--known`. `offered` replaces the
        users that a sign-in offers. A fact that the file leaves out is as in the built-in ones."""
        for each in told["users"]:
            self.users[each["id"]] = {**user(0, each["username"], None), **each}
        for each in told["applications"]:
            self.applications[each["id"]] = {**application(0, each["name"]), **each}
        for each in told["servers"]:
            self.servers[each["id"]] = {**server(0, each["name"], each["owner_id"]), **each}
        self.invites |= told["invites"]
        for each in told["templates"]:
            self.templates[each["code"]] = {
                **template(each["code"], each["name"], each["creator_id"]),
                **each,
            }
        self.directory |= told["directory"]
        self.shapes |= told["shapes"]
        self.offered = told["offered"]

    def fault(self, path: str) -> str | None:
        """Return how the answer for this path goes wrong, if it does."""
        for index, (faulty, fault) in enumerate(self.faults):
            if faulty == path:
                del self.faults[index]
                return fault
        return None
