"""Invites of listed servers: what the chat platform says of each. Invariant: an invite without an answer is
unknown, and never taken for an invalid one.

A form asks at once. Other listings are noted, and the platform is asked about one after the other: first
about those that somebody has reported, then about those whose last answer is too old.
"""

import asyncio
from collections.abc import Iterable

from chatplatform.answers import PlatformInvite
from chatplatform.platform_client import ChatPlatform, PlatformAway
from core.clock import Clock
from core.rows import InviteCheck, InviteProblem

MOST_NOTED = 1_000


class ServerInvites:
    """The questions of a gateway about invites."""

    def __init__(self, platform: ChatPlatform, clock: Clock) -> None:
        self._platform = platform
        self._clock = clock
        self._noted: dict[str, None] = {}
        self._due: dict[str, None] = {}
        self._woken = asyncio.Event()

    async def ask(self, server_id: str, code: str) -> InviteCheck | None:
        """Return the platform's answer about an invite to a server; None while it gives none."""
        try:
            return await self.look(server_id, code)
        except PlatformAway:
            return None

    async def look(self, server_id: str, code: str) -> InviteCheck | None:
        """Return the answer; None if it leaves something open. Raises PlatformAway."""
        found = await self._platform.invite(code)
        if found is not None and found.expires == "unknown":
            return None
        problem = _problem(found, server_id)
        is_there = found is not None and problem is None
        return InviteCheck(
            code,
            self._clock.now_ms(),
            problem,
            found.members if found is not None and is_there else None,
            found.online if found is not None and is_there else None,
        )

    def ask_soon(self, ref: str) -> None:
        """Note a listing. Its invite is asked about before those that are due."""
        if ref not in self._noted and len(self._noted) < MOST_NOTED:
            self._noted[ref] = None
            self._woken.set()

    def set_due(self, refs: Iterable[str]) -> None:
        """Note the listings whose invites are due, in this order, in place of those that were due before."""
        self._due = dict.fromkeys(refs)
        self._woken.set()

    async def next_noted(self) -> str:
        """Return a listing that was noted, once there is one, and forget it."""
        while not self._noted and not self._due:
            self._woken.clear()
            await self._woken.wait()
        ref = next(iter(self._noted or self._due))
        self._noted.pop(ref, None)
        self._due.pop(ref, None)
        return ref


def _problem(found: PlatformInvite | None, server_id: str) -> InviteProblem | None:
    if found is None:
        return "gone"
    if found.server_id != server_id:
        return "elsewhere"
    return "expires" if found.expires == "yes" else None
