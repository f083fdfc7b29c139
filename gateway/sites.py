"""The sites of a gateway: the operator's, and that of people. No logic.

A gateway without a site imports nothing of it: templates alone are a tenth of a start.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.clock import Clock
from core.ledger import Ledger
from gateway.endpoints import Callers, PeopleRules
from gateway.membership import Membership
from handlers.request import Request
from handlers.route import Endpoints, Resource
from listings.ownership import Ownership
from operators.operator_pages import Operators
from serving.observers import Observers
from settings.model import Settings

if TYPE_CHECKING:
    from chatplatform.platform_client import ChatPlatform
    from gateway.debug_site import DebugSite
    from gateway.people_site import PeopleSite
    from gateway.readers import PeopleReaders
    from web.templates import Templates


@dataclass(frozen=True)
class Sites:
    """The sites that there are. None of them has anything without `templates`."""

    templates: "Templates | None" = None
    debug: "DebugSite | None" = None
    people: "PeopleSite | None" = None

    @property
    def platform(self) -> "ChatPlatform | None":
        """The client for the chat platform, which pages for people need."""
        return self.people.platform if self.people is not None else None

    @property
    def readers(self) -> "PeopleReaders | None":
        """The readers of the log that pages for people need."""
        return self.people.readers if self.people is not None else None

    def is_signed_in(self, request: Request) -> bool:
        """Tell whether the operator is signed in with this browser."""
        return self.debug is not None and self.debug.is_signed_in(request)

    def resources(self, endpoints: Endpoints, operators: Operators) -> list[Resource]:
        """Return every path of the pages. That of people comes last: it has a page for every other path."""
        if self.templates is None:
            return []
        from web.site import static_resource

        resources = [static_resource()]
        if self.debug is not None:
            resources += self.debug.resources(endpoints, operators)
        if self.people is not None:
            resources += self.people.resources(endpoints)
        return resources

    def running(self, stop: asyncio.Event, observers: Observers) -> list[Coroutine[Any, Any, None]]:
        """Return what goes on while the gateway serves."""
        return [site.run(stop, observers) for site in (self.debug, self.people) if site is not None]


@asynccontextmanager
async def open_sites(
    settings: Settings,
    ledger: Ledger,
    clock: Clock,
    callers: Callers,
    rules: PeopleRules,
    ownership: Ownership,
    fleet: Membership | None,
) -> AsyncIterator[Sites]:
    has_people = settings.web.public_url is not None
    if not settings.debug.pages and not has_people:
        yield Sites()
        return
    from web.markdown import Markdown
    from web.templates import Templates

    templates, markdown, debug = Templates(), Markdown(), None
    if settings.debug.pages:
        from gateway.debug_site import DebugSite

        debug = DebugSite(
            settings.debug, clock, callers.operator, callers.digester.secret, templates, markdown
        )
    if not has_people:
        yield Sites(templates, debug)
        return
    from gateway.people_site import open_people_site

    opening = open_people_site(
        settings, ledger, clock, callers.digester, rules, ownership, templates, markdown, fleet
    )
    async with opening as people:
        yield Sites(templates, debug, people)
