"""The facts of the chat platform about bots and servers that people submit, or that are listed already.

Invariants: a check of a server uses the platform's own answers, and never what a form says. A user asks a few
times a minute. Lists of servers are in memory alone, for minutes.

While the platform is away, the deployment's bot sees nothing: the conditions that it alone sees are unknown.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from chatplatform.answers import PlatformApplication, PlatformServer, application_icon_url, created_ms
from chatplatform.listing_checks import ServerConditions, ServerFacts, server_checks
from chatplatform.platform_client import ChatPlatform, Inside, PlatformAway, Told
from core.clock import NS_PER_SECOND, Clock
from core.newest import Newest
from core.rows import Policy, ServerCheck
from handlers.visitor_limit import VisitorLimit
from kinds.registry import KINDS

LOOK_UPS = Policy(5, 60)
"""The limit of a user's look-ups of applications."""
CHECKS = Policy(10, 60)
"""The limit of a user's checks of servers."""
KEPT_NS = 600 * NS_PER_SECOND
"""The time for which a list of servers is kept."""
MOST_USERS = 1_000
"""The users whose lists of servers are kept."""
_SERVERS = "|".join(kind.plural for kind in KINDS if kind.known_as == "server")
_EMOJIS = "|".join(kind.plural for kind in KINDS if kind.has("as_emojis"))
_PAGES_WITH_SERVERS = re.compile(
    rf"/(?:(?:{_SERVERS})/(?:new|[0-9]+/(?:manage|take-over))|(?:{_EMOJIS})/[^/]+/add-to-server)(?=[/?#]|$)"
)


class ApplicationCard(NamedTuple):
    """The facts about an application, and when the platform said them (Unix milliseconds)."""

    application: PlatformApplication
    icon_url: str | None
    created_ms: int
    at_ms: int


class Applications:
    """Looks applications up.

    Args:
        cdn_url: the address of the chat platform's pictures.
    """

    def __init__(self, platform: ChatPlatform, clock: Clock, cdn_url: str) -> None:
        self._platform = platform
        self._cdn_url = cdn_url
        self._limit = VisitorLimit(LOOK_UPS, clock)

    async def ask(self, user_id: str, application_id: str, *, refresh: bool = False) -> Told:
        """Return the platform's answer about an application.

        Args:
            user_id: the user who asks.
            refresh: true to ask even if the platform has answered recently.

        Raises PlatformAway, and TooManyRequests for a user who asks too often.
        """
        self._limit.take(user_id)
        return await self._platform.application(application_id, refresh=refresh)

    def card(self, application_id: str) -> ApplicationCard | None:
        """Return the platform's last answer; None if there is none, or it knows no such application."""
        told = self._platform.last_answer(application_id)
        if told is None or told.application is None:
            return None
        icon_url = application_icon_url(self._cdn_url, told.application)
        return ApplicationCard(told.application, icon_url, created_ms(application_id), told.at_ms)


class ServerList(NamedTuple):
    """The servers that a user may manage, and when the platform said so (Unix milliseconds).

    `is_known` is False if it gave no answer.
    """

    servers: Sequence[PlatformServer]
    at_ms: int
    is_known: bool = True

    def of(self, server_id: str) -> PlatformServer | None:
        return next((each for each in self.servers if each.id == server_id), None)


class ServerLists:
    """The servers of users who want to list one, as the chat platform said them.

    The list comes with a sign-in, whose token is used once. Another sign-in reads it again, for which the
    platform asks nobody who has said yes before. After a restart, and at another node of a fleet, it is read
    again. Only servers that the user may manage are kept.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lists = Newest[str, tuple[ServerList, int]](MOST_USERS)
        """Each user's list, and when it came (monotonic ns); the oldest first."""

    @staticmethod
    def is_wanted(page: str) -> bool:
        """Return true if the page after a sign-in shows something of the list.

        No page of voters does, so the platform is not asked for their servers.
        """
        return _PAGES_WITH_SERVERS.match(page) is not None

    def keep(self, user_id: str, servers: Sequence[PlatformServer] | None) -> None:
        """Keep the platform's answer; None if it gave none."""
        managed = [each for each in servers or () if each.may_manage]
        found = ServerList(managed, self._clock.now_ms(), is_known=servers is not None)
        self._lists[user_id] = found, self._clock.monotonic_ns()
        self.drop_old()

    def of(self, user_id: str) -> ServerList | None:
        """Return the list of a user; None if there is none, or it is too old."""
        self.drop_old()
        known = self._lists.get(user_id)
        return known[0] if known is not None else None

    def server(self, user_id: str, server_id: str) -> PlatformServer | None:
        """Return a server that the user may manage, as far as the list says so."""
        known = self.of(user_id)
        return known.of(server_id) if known is not None else None

    def forget(self, user_id: str) -> None:
        self._lists.pop(user_id, None)

    def drop_old(self) -> None:
        oldest_ns = self._clock.monotonic_ns() - KEPT_NS
        while self._lists:
            user_id, (_, came_ns) = next(iter(self._lists.items()))
            if came_ns > oldest_ns:
                return
            del self._lists[user_id]


class ServerChecking:
    """Checks servers.

    Args:
        authorize_url: the platform's page that adds a bot to a server.
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
        self.limit = VisitorLimit(CHECKS, clock)

    def glance(self, server: PlatformServer, at_ms: int) -> tuple[ServerCheck, ...]:
        """Check a server by the facts that its manager sees, without a question to the platform."""
        return self._checks(server.id, ServerFacts(server, at_ms))

    async def check(self, user_id: str, server_id: str) -> tuple[ServerCheck, ...]:
        """Check a server by all facts. Raises TooManyRequests for a user who asks too often."""
        self.limit.take(user_id)
        try:
            inside = await self._platform.inside(server_id)
        except PlatformAway:
            inside = Inside(None, None, 0)
        return self._of(inside, server_id, user_id)

    async def look(self, server_id: str) -> tuple[ServerCheck, ...]:
        """Check a server by the facts that the bot sees. Raises PlatformAway."""
        return self._of(await self._platform.inside(server_id), server_id, "")

    @property
    def has_bot(self) -> bool:
        return self._platform.has_bot

    def bot_link(self, server_id: str, permissions: int = 0) -> str | None:
        """Return the address that adds the deployment's bot to a server, with these permissions.

        None if there is no bot.
        """
        if not self._platform.has_bot:
            return None
        query = {
            "client_id": self._client_id,
            "scope": "bot",
            "permissions": str(permissions),
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
