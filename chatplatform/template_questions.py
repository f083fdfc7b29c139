"""Templates of servers: what the chat platform says of each, with the trees of their channels and roles.

Invariant: a template without an answer is unknown, and never taken for one that is gone.
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from chatplatform.platform_client import ChatPlatform, PlatformAway
from chatplatform.template_answers import MEDIA_TYPE, TemplateTree, packed
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
        if found is None:
            return TemplateTold(TemplateCheck(self._clock.now_ms(), "gone"))
        check = TemplateCheck(self._clock.now_ms(), uses=found.uses)
        if found.tree is not None:
            check = TemplateCheck(
                check.at_ms,
                uses=found.uses,
                channels=found.tree.channels,
                roles=found.tree.role_count,
                tree=await self._kept(found.tree),
            )
        return TemplateTold(check, found.creator_id)

    async def _kept(self, tree: TemplateTree) -> FileRef:
        content = packed(tree)
        facts = FileRef(hashlib.sha256(content).hexdigest(), MEDIA_TYPE, len(content))
        return await self._keep(content, facts, None)
