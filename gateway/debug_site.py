"""The pages' part of the composition root. No logic. It is imported only where there are pages."""

import secrets
from dataclasses import dataclass

from core.clock import Clock
from core.version import VERSION
from handlers.manage import Operator
from handlers.request import Request
from handlers.route import Endpoints, Resource
from handlers.routes import ROUTES
from settings.model import DebugSettings
from web.debug.overview_page import OverviewPage
from web.debug.page_table import PAGES, SECTIONS, DebugPages
from web.debug.sign_in_page import SignInPage
from web.json_answers import JsonAnswers
from web.sessions import OperatorSessions
from web.site import Site
from web.templates import Templates


@dataclass(frozen=True)
class DebugSite:
    """The pages of the operator."""

    site: Site
    sessions: OperatorSessions
    operator: Operator

    def is_signed_in(self, request: Request) -> bool:
        return self.site.session_of(request) is not None

    def resources(self, endpoints: Endpoints) -> list[Resource]:
        """Return every path of the pages. They show what the endpoints answer."""
        answers = JsonAnswers(ROUTES, endpoints)
        pages = DebugPages(sign_in=SignInPage(self.operator, self.sessions), overview=OverviewPage(answers))
        return self.site.resources(PAGES, pages)


def open_site(debug: DebugSettings, clock: Clock, operator: Operator) -> DebugSite:
    idle, longest = debug.session_idle_seconds, debug.session_seconds
    sessions = OperatorSessions(
        clock, idle, longest, operator.keyed_digest, lambda: secrets.token_urlsafe(32)
    )
    site = Site(Templates(), sessions, clock, {"sections": SECTIONS, "version": VERSION})
    return DebugSite(site, sessions, operator)
