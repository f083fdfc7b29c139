"""The builder of the sites: that of the operator, and that of people. No logic.

A gateway without a site imports nothing of it: templates alone are a tenth of a start.
"""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.api import Api
from gateway.delivery import Egress
from gateway.fleet import Fleet
from gateway.store import Runtime, Store
from handlers.request import Request
from handlers.route import Resource
from operators.gateway_parts import GatewayParts

if TYPE_CHECKING:
    from gateway.branding import PageDrawing
    from gateway.debug_site import DebugSite
    from gateway.people_site import PeopleReaders, PeopleSite


@dataclass(frozen=True)
class Sites:
    """The sites of the gateway. Without `drawing`, there are none."""

    drawing: "PageDrawing | None" = None
    debug: "DebugSite | None" = None
    people: "PeopleSite | None" = None

    @property
    def readers(self) -> "PeopleReaders | None":
        """The readers of the log that pages for people need."""
        return self.people.readers if self.people is not None else None

    async def surveyed(self) -> None:
        """Return once the pages for people have surveyed all listings."""
        if self.people is not None:
            await self.people.is_surveyed.wait()

    def is_signed_in(self, request: Request) -> bool:
        """Return true if the operator is signed in with this browser."""
        return self.debug is not None and self.debug.is_signed_in(request)

    def resources(self, inside: GatewayParts) -> list[Resource]:
        """Return every path of the pages. That of people comes last: it has a page for every other path."""
        if self.drawing is None:
            return []
        from web.site import static_resource

        resources = [static_resource(self.drawing.files), *self.drawing.files.resources()]
        if self.debug is not None:
            resources += self.debug.resources(inside)
        if self.people is not None:
            resources += self.people.resources()
        return resources

    def running(self, runtime: Runtime) -> list[Coroutine[Any, Any, None]]:
        """Return the loops of the pages."""
        sites = (self.debug, self.people)
        return [site.run(runtime.stop, runtime.observers) for site in sites if site is not None]


def sites_of(runtime: Runtime, store: Store, fleet: Fleet, api: Api, egress: Egress) -> Sites:
    """Make the sites that the settings ask for."""
    settings, platform = runtime.settings, egress.platform
    if not settings.debug.pages and platform is None:
        return Sites()
    from gateway.branding import page_drawing

    drawing, debug, people = page_drawing(settings.site), None, None
    if settings.debug.pages:
        from gateway.debug_site import DebugSite
        from web.cookies import look_cookie

        secret, look = api.callers.digester.secret, look_cookie(are_secure=not settings.web.insecure_cookies)
        debug = DebugSite(runtime, api.callers.operator, secret, look, drawing, api.managed.kinds)
    if platform is not None:
        from gateway.people_site import PeopleSite

        people = PeopleSite(runtime, store, fleet, api, egress, drawing)
    return Sites(drawing, debug, people)
