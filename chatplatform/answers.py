"""Answers of the chat platform, as facts.

Invariants. No answer raises. A fact that the platform does not state is unknown: it is never guessed.

A field that is missing or of a wrong type is unknown, and the other fields still count. That is why no
`Struct` decodes answers: one wrong field would spoil all of them. An answer without its id, or with the id of
something else, is no answer. Only checked ids and hashes go into the addresses of pictures.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from grammars.patterns import is_snowflake

PLATFORM_EPOCH_MS = 1_420_070_400_000
"""The first second of 2015. A snowflake has the milliseconds since then."""

Answer = Literal["yes", "no", "unknown"]


class PlatformUser(msgspec.Struct, frozen=True, gc=False):
    """A user who has signed in. `avatar` is the hash in the address of the picture. The user has confirmed
    the address `email` at the platform."""

    id: str
    username: str
    display_name: str | None = None
    avatar: str | None = None
    locale: str | None = None
    email: str | None = None


class PlatformServer(msgspec.Struct, frozen=True, gc=False):
    """A server of a user who has signed in, as that user sees it. `members` is approximate."""

    id: str
    name: str
    icon: str | None = None
    is_owned: bool = False
    may_manage: bool = False
    has_community: Answer = "unknown"
    members: int | None = None
    has_icon: Answer = "unknown"


class InnerServer(msgspec.Struct, frozen=True, gc=False):
    """A server as a bot inside sees it.

    `is_nsfw`: the platform marks the whole server so. `needs_two_factor`: moderators must have a second
    factor. `everyone` has the permissions of everyone on the server, as bits.
    """

    id: str
    name: str
    icon: str | None = None
    owner_id: str | None = None
    has_icon: Answer = "unknown"
    has_community: Answer = "unknown"
    needs_two_factor: Answer = "unknown"
    is_nsfw: Answer = "unknown"
    members: int | None = None
    everyone: int | None = None


class ServerChannel(msgspec.Struct, frozen=True, gc=False):
    """A channel of a server. `is_open`: everyone on the server can see it."""

    name: str
    is_nsfw: Answer = "unknown"
    is_open: Answer = "unknown"


class PlatformInvite(msgspec.Struct, frozen=True, gc=False):
    """An invite, and the approximate numbers of people on its server.

    `server_id` is None if it leads to no server, but to a group of friends.
    """

    server_id: str | None
    expires: Answer = "unknown"
    members: int | None = None
    online: int | None = None


class PlatformApplication(msgspec.Struct, frozen=True, gc=False):
    """An application: a bot that can be added to servers.

    `is_inviteable`: everybody may add it to a server. `has_commands`: it has slash commands that work on
    every server; the platform does not mention commands that are for one server alone.
    """

    id: str
    name: str
    icon: str | None = None
    description: str = ""
    is_inviteable: Answer = "unknown"
    has_commands: Answer = "unknown"


class ApplicationReach(msgspec.Struct, frozen=True, gc=False):
    """The approximate number of servers that an application is in; None if the platform does not say."""

    id: str
    servers: int | None = None


def created_ms(snowflake: str) -> int:
    """Return the time at which the platform made an id (Unix milliseconds)."""
    return (int(snowflake) >> 22) + PLATFORM_EPOCH_MS


# -- addresses of pictures -----------------------------------------------------------------------------------

SIZE = 128
"""In pixels: twice the size of most pictures, for dense screens. The platform scales to powers of two."""
DEFAULT_AVATARS = 6


def avatar_url(cdn_url: str, user_id: str, avatar: str | None) -> str:
    """Return the address of a user's picture; without one, that of one of the platform's own pictures."""
    if avatar is None:
        return f"{cdn_url}/embed/avatars/{(int(user_id) >> 22) % DEFAULT_AVATARS}.png"
    return f"{cdn_url}/avatars/{user_id}/{avatar}.png?size={SIZE}"


def application_icon_url(cdn_url: str, application: PlatformApplication) -> str | None:
    if application.icon is None:
        return None
    return f"{cdn_url}/app-icons/{application.id}/{application.icon}.png?size={SIZE}"


def server_icon_url(cdn_url: str, server: PlatformServer | InnerServer) -> str | None:
    return f"{cdn_url}/icons/{server.id}/{server.icon}.png?size={SIZE}" if server.icon is not None else None


MOST_SERVERS = 200
"""The most servers of a user. The platform lets nobody join more."""
MOST_CHARACTERS = 512
"""The longest name or description; longer ones are cut."""
MOST_MEMBERS = 1 << 53  # a greater number is no integer in JSON

MOST_CHANNELS = 1_000
"""The most channels of a server. The platform allows half of that."""

_HASH = re.compile(r"(?:a_)?[0-9a-f]{32}")
_LOCALE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})?")
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]{1,255}")
_ADMINISTRATOR, _MANAGE_GUILD, VIEW_CHANNEL = 1 << 3, 1 << 5, 1 << 10
_TWO_FACTOR: Mapping[int, Answer] = {0: "no", 1: "yes"}  # mfa_level
# Default, explicit, safe, age-restricted.
_NSFW_LEVELS: Mapping[int, Answer] = {0: "no", 1: "yes", 2: "no", 3: "yes"}
_WITHOUT_TALK = {4, 14}  # categories and directories, which hold channels or servers and no messages
_HAS_COMMANDS = 1 << 23  # APPLICATION_COMMAND_BADGE


def read_user(answer: object) -> PlatformUser | None:
    """Read `GET /users/@me`. None if it does not say who the user is."""
    fields = fields_of(answer)
    user_id, username = snowflake_of(fields, "id"), text_of(fields, "username")
    if user_id is None or not username:
        return None
    return PlatformUser(
        user_id,
        username,
        display_name=text_of(fields, "global_name"),
        avatar=_matching(fields, "avatar", _HASH),
        locale=_matching(fields, "locale", _LOCALE),
        email=_matching(fields, "email", _EMAIL) if fields.get("verified") is True else None,
    )


def read_servers(answer: object) -> tuple[PlatformServer, ...] | None:
    """Read `GET /users/@me/guilds`. None if it is no list; servers without an id or a name are left out."""
    if not isinstance(answer, list):
        return None
    servers = [server for each in answer[:MOST_SERVERS] if (server := _read_server(each)) is not None]
    return tuple({server.id: server for server in servers}.values())


def _read_server(answer: object) -> PlatformServer | None:
    fields = fields_of(answer)
    server_id, name = snowflake_of(fields, "id"), text_of(fields, "name")
    if server_id is None or not name:
        return None
    is_owned = fields.get("owner") is True
    permissions = bits_of(fields, "permissions") or 0
    return PlatformServer(
        server_id,
        name,
        icon=_matching(fields, "icon", _HASH),
        is_owned=is_owned,
        may_manage=is_owned or bool(permissions & (_ADMINISTRATOR | _MANAGE_GUILD)),
        has_community=_contains(fields, "features", "COMMUNITY"),
        members=count_of(fields, "approximate_member_count"),
        has_icon=_has_icon(fields),
    )


def read_inner_server(answer: object, asked: str) -> InnerServer | None:
    """Read `GET /guilds/{id}`. None if it is not about the id that was asked for."""
    fields = fields_of(answer)
    name = text_of(fields, "name")
    if snowflake_of(fields, "id") != asked or not name:
        return None
    return InnerServer(
        asked,
        name,
        icon=_matching(fields, "icon", _HASH),
        owner_id=snowflake_of(fields, "owner_id"),
        has_icon=_has_icon(fields),
        has_community=_contains(fields, "features", "COMMUNITY"),
        needs_two_factor=_one_of(fields, "mfa_level", _TWO_FACTOR),
        is_nsfw=_one_of(fields, "nsfw_level", _NSFW_LEVELS),
        members=count_of(fields, "approximate_member_count"),
        everyone=_everyone(fields, asked),
    )


def read_member(answer: object) -> str | None:
    """Read `GET /guilds/{id}/members/{user}`: the id of the user. None if it has none."""
    return snowflake_of(fields_of(fields_of(answer).get("user")), "id")


def read_server_channels(answer: object, server: InnerServer) -> tuple[ServerChannel, ...] | None:
    """Read `GET /guilds/{id}/channels`. None if it is no list; a channel that says nothing is unknown."""
    if not isinstance(answer, list) or len(answer) > MOST_CHANNELS:
        return None
    return tuple(_read_server_channel(fields_of(each), server) for each in answer)


def _read_server_channel(fields: Mapping[str, Any], server: InnerServer) -> ServerChannel:
    said, kind = fields.get("nsfw"), count_of(fields, "type")
    is_nsfw: Answer = "yes" if said is True else "no" if said is False else "unknown"
    if "nsfw" not in fields and kind in _WITHOUT_TALK:
        is_nsfw = "no"
    name = text_of(fields, "name") or "?"
    # Most channels are none of these, and their permissions would take most of the time.
    return ServerChannel(name, is_nsfw, _is_open(fields, server) if is_nsfw != "no" else "unknown")


def _is_open(fields: Mapping[str, Any], server: InnerServer) -> Answer:
    """Return "yes" if everyone sees a channel. Start with the permissions of everyone, take away those that
    the channel denies, and add those that it allows. An administrator sees all channels.

    https://docs.discord.com/developers/topics/permissions#permission-overwrites
    """
    overwrites = fields.get("permission_overwrites")
    if not isinstance(overwrites, list):
        return "unknown"
    allowed = denied = 0
    for each in map(fields_of, overwrites):
        whose = snowflake_of(each, "id")
        if whose is None:
            return "unknown"
        if whose == server.id:
            allow, deny = bits_of(each, "allow"), bits_of(each, "deny")
            if allow is None or deny is None:
                return "unknown"
            allowed, denied = allowed | allow, denied | deny
    if allowed & VIEW_CHANNEL:
        return "yes"
    if server.everyone is None:
        return "unknown"
    if server.everyone & _ADMINISTRATOR:
        return "yes"
    return "yes" if server.everyone & ~denied & VIEW_CHANNEL else "no"


def _everyone(fields: Mapping[str, Any], server_id: str) -> int | None:
    """Return the permissions of the role that everyone has: its id is that of the server."""
    roles = fields.get("roles")
    found = map(fields_of, roles) if isinstance(roles, list) else ()
    return next(
        (bits_of(role, "permissions") for role in found if snowflake_of(role, "id") == server_id), None
    )


def _has_icon(fields: Mapping[str, Any]) -> Answer:
    if _matching(fields, "icon", _HASH) is not None:
        return "yes"
    return "no" if fields.get("icon", "") is None else "unknown"


def read_invite(answer: object) -> PlatformInvite | None:
    """Read `GET /invites/{code}?with_counts=true&with_expiration=true`. None if it is no invite."""
    fields = fields_of(answer)
    if not isinstance(fields.get("code"), str):
        return None
    ends = fields.get("expires_at", 0)
    return PlatformInvite(
        snowflake_of(fields_of(fields.get("guild")), "id"),
        "no" if ends is None else "yes" if isinstance(ends, str) else "unknown",
        members=count_of(fields, "approximate_member_count"),
        online=count_of(fields, "approximate_presence_count"),
    )


def read_channel(answer: object) -> str | None:
    """Read the id of a channel, `POST /users/@me/channels`."""
    return snowflake_of(fields_of(answer), "id")


def read_code(answer: object) -> int:
    """Read the platform's number for an error; 0 if it says none."""
    return count_of(fields_of(answer), "code") or 0


def read_application(answer: object, asked: str) -> PlatformApplication | None:
    """Read `GET /applications/{id}/rpc`. None if it is not about the id that was asked for."""
    fields = fields_of(answer)
    name = text_of(fields, "name")
    if snowflake_of(fields, "id") != asked or not name:
        return None
    return PlatformApplication(
        asked,
        name,
        icon=_matching(fields, "icon", _HASH),
        description=text_of(fields, "description") or "",
        is_inviteable=_inviteable(fields),
        has_commands=_commands(fields),
    )


def read_reach(answer: object, asked: str) -> ApplicationReach | None:
    """Read `GET /application-directory-static/applications/{id}`, or `GET /applications/@me`. None if it is
    not about the id that was asked for."""
    fields = fields_of(answer)
    if snowflake_of(fields, "id") != asked:
        return None
    listed = count_of(fields_of(fields.get("directory_entry")), "guild_count")
    return ApplicationReach(
        asked, listed if listed is not None else count_of(fields, "approximate_guild_count")
    )


def _inviteable(fields: Mapping[str, Any]) -> Answer:
    """One plain no is enough for a no; a yes takes both answers. An application without a bot has neither."""
    is_public, needs_code = fields.get("bot_public"), fields.get("bot_require_code_grant")
    if is_public is False or needs_code is True:
        return "no"
    return "yes" if is_public is True and needs_code is False else "unknown"


def _commands(fields: Mapping[str, Any]) -> Answer:
    """The newer field is text, because it has bits that no JSON integer holds."""
    flags = bits_of(fields, "flags_new")
    flags = bits_of(fields, "flags") if flags is None else flags
    if flags is None:
        return "unknown"
    return "yes" if flags & _HAS_COMMANDS else "no"


# -- rate limits ---------------------------------------------------------------------------------------------
# https://docs.discord.com/developers/topics/rate-limits

TOO_MANY = 429
LONGEST_SECONDS = 3_600.0
"""The longest wait that is believed. A longer one is a mistake of the platform."""
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def asked_seconds(status: int, headers: Mapping[str, str], body: object) -> float | None:
    """Return how long an answer asks to wait, None if it does not. The longest wait that it states counts.

    The names of `headers` are in lower case. A value that makes no sense counts as none.
    """
    asked: list[float | None] = []
    if headers.get("x-ratelimit-remaining") == "0":
        asked.append(_in_header(headers.get("x-ratelimit-reset-after")))
    if status == TOO_MANY:
        # The body is finer than the header, which is rounded.
        asked += [_in_header(headers.get("retry-after")), _believed(fields_of(body).get("retry_after"))]
    return max((seconds for seconds in asked if seconds is not None), default=None)


def is_global(headers: Mapping[str, str], body: object) -> bool:
    """Return true if the answer 429 is about everything on the platform."""
    return headers.get("x-ratelimit-global", "").lower() == "true" or fields_of(body).get("global") is True


def _in_header(text: str | None) -> float | None:
    return _believed(float(text)) if text is not None and _SECONDS.fullmatch(text) else None


def _believed(seconds: object) -> float | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        return None
    return min(seconds, LONGEST_SECONDS)


# -- the fields of an answer ---------------------------------------------------------------------------------


def decoded(content: bytes) -> object:
    """Return the decoded content; None if it is no JSON, such as the error page of a proxy."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def fields_of(answer: object) -> Mapping[str, Any]:
    """Return the fields of an answer; none if it is no object."""
    return answer if isinstance(answer, dict) else {}


def snowflake_of(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and is_snowflake(value) else None


def text_of(fields: Mapping[str, Any], name: str) -> str | None:
    """Return a text as one readable line, cut if it is long; None for an empty one."""
    value = fields.get(name)
    if not isinstance(value, str):
        return None
    readable = "".join(letter if letter.isprintable() else " " for letter in value[:MOST_CHARACTERS])
    return readable.strip() or None


def _matching(fields: Mapping[str, Any], name: str, form: re.Pattern[str]) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and form.fullmatch(value) else None


def count_of(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_MEMBERS
    return value if is_count else None


def bits_of(fields: Mapping[str, Any], name: str) -> int | None:
    """Return a set of bits, which is an integer or its decimal digits."""
    value = fields.get(name)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= len(str(1 << 128)):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _one_of(fields: Mapping[str, Any], name: str, meanings: Mapping[int, Answer]) -> Answer:
    number = count_of(fields, name)
    return meanings.get(number, "unknown") if number is not None else "unknown"


def _contains(fields: Mapping[str, Any], name: str, item: str) -> Answer:
    value = fields.get(name)
    if not isinstance(value, list):
        return "unknown"
    return "yes" if item in value else "no"
