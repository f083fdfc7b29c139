"""Facts that the chat platform has stated. Invariant: a fact is what it said, or unknown; it is never
guessed.

Only ids and hashes that were read go into the addresses of pictures.
"""

from typing import Literal

import msgspec

PLATFORM_EPOCH_MS = (
    1_420_070_400_000  # the first second of 2015: a snowflake holds the milliseconds since then
)

Answer = Literal["yes", "no", "unknown"]


class PlatformUser(msgspec.Struct, frozen=True, gc=False):
    """A user who has signed in. `avatar` is the hash that the picture's address is made of."""

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
    """A server as a bot sees it that is in it.

    `is_nsfw`: the platform marks the whole server so. `needs_two_factor`: moderators must have a second
    factor. `everyone` holds the permissions of everyone on the server, as bits.
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


class PlatformApplication(msgspec.Struct, frozen=True, gc=False):
    """An application, which is what the platform calls a bot that can be added to servers.

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

SIZE = 64  # pixels; the platform scales to powers of two
DEFAULT_AVATARS = 6


def avatar_url(cdn_url: str, user_id: str, avatar: str | None) -> str:
    """Return the address of a user's picture; of one of the platform's own for a user without one."""
    if avatar is None:
        return f"{cdn_url}/embed/avatars/{(int(user_id) >> 22) % DEFAULT_AVATARS}.png"
    return f"{cdn_url}/avatars/{user_id}/{avatar}.png?size={SIZE}"


def application_icon_url(cdn_url: str, application: PlatformApplication) -> str | None:
    if application.icon is None:
        return None
    return f"{cdn_url}/app-icons/{application.id}/{application.icon}.png?size={SIZE}"


def server_icon_url(cdn_url: str, server: PlatformServer | InnerServer) -> str | None:
    return f"{cdn_url}/icons/{server.id}/{server.icon}.png?size={SIZE}" if server.icon is not None else None
