"""Icons of listings, from the chat platform. Invariant: no page waits for an icon, and many pages ask for one
no more often than a single page.

When a page shows a listing, it is noted if the last answer about its icon is a day old, or if there is none.
`run` asks the platform about one noted listing after the other, with a pause between them. Nothing is kept on
disk: after a start, icons come back as pages show listings.
"""

import asyncio
from typing import NamedTuple

from chatplatform.answers import application_icon_url, server_icon_url
from chatplatform.platform_client import ChatPlatform, PlatformAway
from core.clock import MS_PER_DAY, Clock
from core.newest import Newest
from kinds.registry import kind_of

HOLDS_MS = MS_PER_DAY
"""The age of an answer from which the platform is asked again."""
MOST_SERVERS, MOST_NOTED = 10_000, 1_000
PAUSE_SECONDS = 0.5
"""The pause between two questions."""
AWAY_SECONDS = 60.0
"""The pause after a question without an answer."""


class _Known(NamedTuple):
    url: str | None
    at_ms: int


class ListingIcons:
    """The icons of one gateway. `cdn_url` is the address of the chat platform's pictures."""

    def __init__(self, platform: ChatPlatform, clock: Clock, cdn_url: str) -> None:
        self._platform = platform
        self._clock = clock
        self._cdn_url = cdn_url
        self._servers = Newest[str, _Known](MOST_SERVERS)
        self._noted: dict[str, None] = {}
        self._woken = asyncio.Event()

    def url(self, ref: str) -> str | None:
        """Return the address of a listing's icon; None if it has none, or none is known."""
        known = self._told(ref)
        if known is None or self._clock.now_ms() - known.at_ms >= HOLDS_MS:
            self._note(ref)
        return known.url if known is not None else None

    async def run(self) -> None:
        """Ask about the noted listings until it is cancelled. It may run again after a failure."""
        while True:
            while self._noted:
                ref = next(iter(self._noted))
                try:
                    is_there = await self._ask(ref)
                finally:
                    del self._noted[ref]
                await asyncio.sleep(PAUSE_SECONDS if is_there else AWAY_SECONDS)
            self._woken.clear()
            await self._woken.wait()

    def _told(self, ref: str) -> _Known | None:
        if kind_of(ref).known_as != "application":
            return self._servers.get(ref)
        told = self._platform.last_answer(_id(ref))
        if told is None:
            return None
        icon = application_icon_url(self._cdn_url, told.application) if told.application is not None else None
        return _Known(icon, told.at_ms)

    def _note(self, ref: str) -> None:
        kind = kind_of(ref)
        # Only the deployment's bot sees servers.
        can_ask = kind.known_as == "application" or (kind.known_as == "server" and self._platform.has_bot)
        if can_ask and ref not in self._noted and len(self._noted) < MOST_NOTED:
            self._noted[ref] = None
            self._woken.set()

    async def _ask(self, ref: str) -> bool:
        """Ask the platform. Returns False if it answers no questions at all now."""
        try:
            if kind_of(ref).known_as == "application":
                await self._platform.application(_id(ref))
            else:
                server = await self._platform.server(_id(ref))
                url = server_icon_url(self._cdn_url, server) if server is not None else None
                self._servers[ref] = _Known(url, self._clock.now_ms())
        except PlatformAway as away:
            return away.reason == "refused"
        return True


def _id(ref: str) -> str:
    return ref.partition("/")[2]
