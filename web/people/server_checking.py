"""The check of a server, with what its manager sees and what the deployment's bot sees. Law: a check is made
here, of the platform's own answers, and never of what a form says.

While the platform is away, the bot sees nothing: then the conditions that it alone sees are unknown.
"""

from collections.abc import Mapping
from urllib.parse import urlencode

from chatplatform.answers import PlatformServer
from chatplatform.listing_checks import ServerConditions, ServerFacts, server_checks
from chatplatform.platform_client import ChatPlatform, Inside, PlatformAway
from core.clock import Clock
from core.rows import Policy, ServerCheck
from kinds.kind import CheckName
from languages.texts import Text
from web.people.server_lists import ServerLists
from web.people.user_limit import UserLimit

CHECKS = Policy(10, 60)
"""How often a user may have a server checked."""
CONDITIONS: Mapping[CheckName, Text] = {
    "members": Text("Members"),
    "age": Text("Age in days"),
    "icon": Text("An icon of its own"),
    "two_factor": Text("Moderators need a second factor"),
    "community": Text("Community features are on"),
    "nsfw": Text("NSFW channels that it must not have"),
}


class ServerChecking:
    """Checks servers.

    Args:
        authorize_url: the platform's page on which a bot is added to a server.
    """

    def __init__(
        self,
        platform: ChatPlatform,
        conditions: ServerConditions,
        lists: ServerLists,
        clock: Clock,
        authorize_url: str,
        client_id: str,
    ) -> None:
        self._platform = platform
        self._conditions = conditions
        self._lists = lists
        self._clock = clock
        self._authorize_url = authorize_url
        self._client_id = client_id
        self._limit = UserLimit(CHECKS, clock)

    def glance(self, server: PlatformServer, at_ms: int) -> tuple[ServerCheck, ...]:
        """Check a server by what its manager sees, and ask nobody."""
        return self._checks(server.id, ServerFacts(server, at_ms))

    async def check(self, user_id: str, server_id: str) -> tuple[ServerCheck, ...]:
        """Check a server, with all that can be seen. Raises TooMany for a user who asks too often."""
        self._limit.take(user_id)
        try:
            inside = await self._platform.inside(server_id)
        except PlatformAway:
            inside = Inside(None, None, 0)
        return self._of(inside, server_id, user_id)

    async def look(self, server_id: str) -> tuple[ServerCheck, ...]:
        """Check a server by what the bot sees. Raises PlatformAway."""
        return self._of(await self._platform.inside(server_id), server_id, "")

    @property
    def has_bot(self) -> bool:
        return self._platform.has_bot

    def bot_link(self, server_id: str) -> str | None:
        """Return the address at which the deployment's bot is added to a server, without any permission; None
        if there is no bot."""
        if not self._platform.has_bot:
            return None
        query = {
            "client_id": self._client_id,
            "scope": "bot",
            "permissions": "0",
            "guild_id": server_id,
            "disable_guild_select": "true",
        }
        return f"{self._authorize_url}?{urlencode(query)}"

    def _of(self, inside: Inside, server_id: str, user_id: str) -> tuple[ServerCheck, ...]:
        known = self._lists.of(user_id)
        seen, seen_ms = (known.of(server_id), known.at_ms) if known is not None else (None, 0)
        return self._checks(
            server_id, ServerFacts(seen, seen_ms, inside.server, inside.channels, inside.at_ms)
        )

    def _checks(self, server_id: str, facts: ServerFacts) -> tuple[ServerCheck, ...]:
        return server_checks(self._conditions, server_id, facts, self._clock.now_ms())
