"""Links of people to their pages elsewhere.

Invariant: a link whose host has the name of a known platform leads to a host of that platform.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from grammars.handles import skeleton
from languages.said import Fault


class SocialPlatform(NamedTuple):
    """A platform with its hosts, the best known first, and its icon of `web/static/icons.svg`."""

    name: str
    hosts: tuple[str, ...]
    icon: str = "profile"


PLATFORMS: Sequence[SocialPlatform] = (
    SocialPlatform("GitHub", ("github.com", "github.io"), "code"),
    SocialPlatform("GitLab", ("gitlab.com", "gitlab.io"), "code"),
    SocialPlatform("Codeberg", ("codeberg.org", "codeberg.page"), "code"),
    SocialPlatform("YouTube", ("youtube.com", "youtu.be"), "play"),
    SocialPlatform("Twitch", ("twitch.tv",), "play"),
    SocialPlatform("TikTok", ("tiktok.com",), "play"),
    SocialPlatform("Spotify", ("spotify.com",), "music"),
    SocialPlatform("SoundCloud", ("soundcloud.com",), "music"),
    SocialPlatform("Bandcamp", ("bandcamp.com",), "music"),
    SocialPlatform("Steam", ("steamcommunity.com",), "game"),
    SocialPlatform("Discord", ("discord.com", "discord.gg"), "chat"),
    SocialPlatform("Telegram", ("telegram.org", "telegram.me", "t.me"), "chat"),
    SocialPlatform("Reddit", ("reddit.com", "redd.it"), "chat"),
    SocialPlatform("X", ("x.com", "twitter.com")),
    SocialPlatform("Bluesky", ("bsky.app", "bsky.social")),
    SocialPlatform("Instagram", ("instagram.com",)),
    SocialPlatform("Facebook", ("facebook.com", "fb.com")),
    SocialPlatform("LinkedIn", ("linkedin.com",)),
    SocialPlatform("Patreon", ("patreon.com",)),
    SocialPlatform("Ko-fi", ("ko-fi.com",)),
)
_SHORTEST = 5
"""The shortest name by which a host is taken for one of a platform: "x" is in too many names."""
_BETWEEN_NAMES = re.compile("[.-]")


def platform_on(host: str) -> SocialPlatform | None:
    """Return the platform of a host."""
    return next((each for each in PLATFORMS if _is_on(host, each)), None)


def pretends(url: str) -> Fault | None:
    """Return the fault of a link whose host pretends to be a known platform, such as github.example."""
    host = urlsplit(url).hostname or ""
    names = {skeleton(part) for part in _BETWEEN_NAMES.split(host)}
    for platform in PLATFORMS:
        if names & _names_of(platform) and not _is_on(host, platform):
            return Fault("link_elsewhere", {"platform": platform.name, "host": platform.hosts[0]})
    return None


def _is_on(host: str, platform: SocialPlatform) -> bool:
    return any(host == each or host.endswith(f".{each}") for each in platform.hosts)


def _names_of(platform: SocialPlatform) -> set[str]:
    names = (platform.name, *(host.partition(".")[0] for host in platform.hosts))
    return {skeleton(name) for name in names if len(name) >= _SHORTEST}
