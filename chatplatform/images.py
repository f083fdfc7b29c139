"""Addresses of pictures at the chat platform. Law: only ids and hashes that were read go into an address."""

from chatplatform.facts import InnerServer, PlatformApplication, PlatformServer

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
