"""Templates of servers: what the chat platform says of each, with the trees of their channels and roles.

Invariant: a template without an answer is unknown, and never taken for one that is gone.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from chatplatform.platform_client import ChatPlatform, PlatformAway
from core.clock import Clock
from core.rows import TemplateCheck
from forms.file_fields import FileRef

Keep = Callable[[bytes, FileRef, str | None], Awaitable[FileRef]]


class TemplateTold(NamedTuple):
    """The platform's answer about a template, and the user who made it, if it says so."""

    check: TemplateCheck
    creator_id: str | None = None


class ServerTemplates:
    """The questions of a gateway about templates.

    Args:
        keep: keeps a file.
    """

    def __init__(self, platform: ChatPlatform, keep: Keep, clock: Clock) -> None:
        self._platform = platform
        self._keep = keep
        self._clock = clock

    async def ask(self, code: str) -> TemplateTold | None:
        """Return the platform's answer about a template; None while it gives none.

        Raises Unavailable if the tree cannot be kept.
        """
        try:
            return await self.look(code)
        except PlatformAway:
            return None

    async def look(self, code: str) -> TemplateTold:
        """Return the platform's answer. Raises PlatformAway, and Unavailable."""
        found = await self._platform.template(code)
        now_ms = self._clock.now_ms()
        if found is None:
            return TemplateTold(TemplateCheck(now_ms, "gone"))
        if (tree := found.tree) is None:
            return TemplateTold(TemplateCheck(now_ms, uses=found.uses), found.creator_id)
        file = await self._keep(*tree.file, None)
        check = TemplateCheck(now_ms, None, found.uses, tree.channels, tree.role_count, file)
        return TemplateTold(check, found.creator_id)
