"""The site: from a request to the bytes of a page. Law: every page passes the same checks in the same order.

    a form from another site (403) -> no session (303 to the sign-in; 401 for a fragment) -> view -> drawing

A page is drawn whole, or as one of its blocks when htmx asks (`HX-Request`). A refusal becomes a page, too.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from core.actors import OPERATOR
from core.clock import Clock
from handlers.reply import (
    SPOKEN,
    FromElsewhere,
    OperatorTokenRequired,
    Reply,
    no_such_path,
    reply_to,
)
from handlers.request import Endpoint, Request
from handlers.route import PAGE, Resource
from web.cookies import session_value
from web.cross_origin import SAFE_METHODS, is_from_here
from web.error_pages import error_page
from web.json_answers import AnswerRefused
from web.page_policy import PAGE_HEADERS
from web.pages import Page, PageRow, Visit, see_other
from web.sessions import OperatorSessions, Session
from web.static_files import PATH as STATIC_PATH
from web.templates import Drawing, Templates

HTML = "text/html; charset=utf-8"
SIGN_IN = "/debug/sign-in"


class Site:
    """Serves the rows of pages.

    Args:
        facts: values that every template may use.
    """

    def __init__(
        self, templates: Templates, sessions: OperatorSessions, clock: Clock, facts: Mapping[str, Any]
    ) -> None:
        self._templates = templates
        self._sessions = sessions
        self._clock = clock
        self._facts = facts

    def session_of(self, request: Request) -> Session | None:
        return self._sessions.of(session_value(request.headers))

    def resources(self, rows: Iterable[PageRow], to: object) -> list[Resource]:
        """Return the paths of the rows, those of the static files, and the page for paths that do not exist.

        Args:
            to: the object from which the rows pick their views.
        """
        paths: dict[str, dict[str, Endpoint]] = {}
        for row in rows:
            paths.setdefault(row.path, {})[row.method] = self._served(row, to)
        paths[STATIC_PATH] = {"GET": self._static}
        paths["/debug/{rest*}"] = {"GET": self._missing, "POST": self._missing}
        return [
            Resource(path, endpoints, self._finish, names=dict.fromkeys(endpoints, PAGE))
            for path, endpoints in paths.items()
        ]

    def _served(self, row: PageRow, to: object) -> Endpoint:
        view = row.view(to)

        async def serve(request: Request) -> Reply:
            drawing = await self._templates.load()
            session = self.session_of(request)
            if session is not None:
                request = request._replace(by=OPERATOR)
            try:
                self._refuse_other_sites(request)
                if session is None and not row.is_open:
                    return self._without_session(drawing, request)
                shown = view(Visit(request, session))
                shown = await shown if inspect.isawaitable(shown) else shown
            except SPOKEN as error:
                shown = error_page(reply_to(error), signed_in=session is not None)
            except AnswerRefused as refused:
                shown = error_page(refused.reply, signed_in=session is not None)
            if isinstance(shown, Page):
                return self._drawn(drawing, request, session, shown)
            return replace(shown, headers={**PAGE_HEADERS, **shown.headers})

        return serve

    def _refuse_other_sites(self, request: Request) -> None:
        if request.method not in SAFE_METHODS:
            has_cookie = session_value(request.headers) is not None
            if not is_from_here(request.headers, has_cookie=has_cookie):
                raise FromElsewhere

    def _without_session(self, drawing: Drawing, request: Request) -> Reply:
        if _wants_fragment(request):
            refused = reply_to(OperatorTokenRequired())
            return self._drawn(drawing, request, None, error_page(refused, signed_in=False))
        back = request.path if request.method in SAFE_METHODS else "/debug"
        return see_other(f"{SIGN_IN}?to={quote(back)}" if back != "/debug" else SIGN_IN, PAGE_HEADERS)

    def _drawn(self, drawing: Drawing, request: Request, session: Session | None, page: Page) -> Reply:
        values = {
            **self._facts,
            "title": page.title,
            "path": request.path,
            "signed_in": session is not None,
            "notice": session.notice(request.query.get("notice")) if session is not None else None,
            "now_ms": self._clock.now_ms(),
            **page.values,
        }
        if _wants_fragment(request):
            text = drawing.fragment(page.template, values, _target(request))
        else:
            text = drawing.whole(page.template, values)
        return Reply(page.status, text.encode(), {**PAGE_HEADERS, **page.headers}, page.limits, HTML)

    def _finish(self, request: Request, reply: Reply) -> Reply:
        """Draw an answer that no view made: 405, a bug. Before the first page it stays as it is."""
        drawing = self._templates.drawing
        if drawing is None or reply.status < 400:
            return reply
        session = self.session_of(request)
        return self._drawn(drawing, request, session, error_page(reply, signed_in=session is not None))

    async def _missing(self, request: Request) -> Reply:
        """Answer for a path that does not exist: with a page for a browser, as everywhere else for others."""
        if "text/html" in request.headers.get("Accept", ""):
            await self._templates.load()
            return self._finish(request, no_such_path())
        return no_such_path()

    async def _static(self, request: Request) -> Reply:
        drawing = await self._templates.load()
        return drawing.files.reply(request)


def _wants_fragment(request: Request) -> bool:
    """Tell whether htmx asks for a part of a page. It asks for a whole one when it replaces the body."""
    return "HX-Request" in request.headers and request.headers.get("HX-Request-Type") != "full"


def _target(request: Request) -> str:
    """Return the id of the element that htmx fills: a block of that name fills it, else the content does."""
    return request.headers.get("HX-Target", "").rpartition("#")[2]
