"""The operator's pages, built of their parts. No logic. It is imported only where there are such pages."""

import asyncio
import secrets
from collections.abc import Sequence
from functools import partial

from gateway.branding import PageDrawing
from gateway.store import Runtime
from handlers.operator import Operator
from handlers.request import Request
from handlers.route import Resource, of_kinds
from kinds.kind import Kind
from operators.gateway_parts import GatewayParts
from operators.live import Live
from operators.operator_sessions import OperatorSessions
from operators.operator_site import PAGES, LiveOverview, OperatorSite, SignInPage, operator_audience
from serving.observers import Observers
from web.cookies import OPERATOR_NOTICE, Cookie, Notices
from web.site import Site


class DebugSite:
    """The pages of the operator."""

    def __init__(
        self,
        runtime: Runtime,
        operator: Operator,
        secret: bytes,
        look: Cookie,
        drawing: PageDrawing,
        kinds: Sequence[Kind],
    ) -> None:
        clock, worker = runtime.clock, runtime.worker
        debug, board = runtime.settings.debug, worker.board if worker is not None else None
        idle, longest = debug.session_idle_seconds, debug.session_seconds
        new_value = partial(secrets.token_urlsafe, 32)
        self._sessions = OperatorSessions(clock, idle, longest, operator.accepts, new_value, board)
        self._templates, self._markdown = drawing.templates, drawing.markdown
        notices = Notices(OPERATOR_NOTICE, secret, clock, secrets.token_bytes)
        number = worker.number if worker is not None else None
        audience = operator_audience(self._sessions, notices, look, drawing.brand, kinds, number)
        self._site, self._values = Site(self._templates, audience, clock), audience.values
        self._operator, self._look = operator, look
        self._viewers: Live | None = None
        self._kinds = kinds

    def is_signed_in(self, request: Request) -> bool:
        return self._site.visitor(request) is not None

    def resources(self, parts: GatewayParts) -> list[Resource]:
        """Return every path of the pages."""
        live = LiveOverview(parts, self._templates, self._sessions, self._values)
        self._viewers = live.viewers
        site = OperatorSite(
            parts, SignInPage(self._operator, self._sessions), live, self._markdown, self._look
        )
        return self._site.resources(of_kinds(PAGES, self._kinds, ()), site)

    async def run(self, stop: asyncio.Event, observers: Observers) -> None:
        """Feed the live pages until `stop` is set."""
        if self._viewers is not None:
            await observers.run("live_pages", partial(self._viewers.run, stop))
