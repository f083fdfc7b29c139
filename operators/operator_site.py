"""The operator's pages as a site: the sign-in, the table of pages, and the live overview.

Invariants: a visitor who is not the operator sees the sign-in alone. The check of the API decides who is the
operator, and nothing keeps the token. A page that changes something is a POST, and the GET of the same path
asks for confirmation.

A wrong token is a failure of its address, and counts together with wrong keys and tokens at the API. A
sign-in always makes a new session, and ends the one that the browser had.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from core.actors import OPERATOR as ACTOR
from core.finished import finished
from handlers.operator import Operator, token_digest
from handlers.reply import Reply
from kinds.kind import Kind
from kinds.registry import KINDS
from languages.refusals import Refusal
from operators.all_workers import overview_of_all
from operators.gateway_parts import GatewayParts
from operators.live import Live, ended, event
from operators.operator_actions import OperatorVisit, action_rows
from operators.operator_pages import OPERATIONS, DebugOperation
from operators.operator_sessions import OperatorSessions, Session
from operators.overview import live_values
from watchers.security_log import tell
from web.audiences import Audience
from web.brand import Brand
from web.cookies import OPERATOR, Cookie, Notices, keeps_cookies, look_kept, look_of
from web.error_pages import ErrorText, ErrorTexts
from web.markdown import Markdown
from web.other_sites import PAGE_HEADERS, origins_of_host, way_back
from web.pages import HtmlPage, PageRow, SiteAnswer, see_other
from web.templates import OPERATORS, Templates

HOME, SIGN_IN = "/debug", "/debug/sign-in"
ERROR_TEXTS = ErrorTexts(
    {
        401: ErrorText("You are not signed in", "Sign in with the operator token. Nothing has changed."),
        403: ErrorText(
            "The form was refused",
            "Open this page here, and send the form again. If it happens again, the proxy in front of the "
            "gateway does not pass the Host header on. Nothing has changed.",
        ),
        404: ErrorText(
            "There is nothing here",
            "Look for it under Find. It may have been removed, or never have existed.",
        ),
        429: ErrorText(
            "Too many attempts failed",
            "Wait, then try once more. If it was not you, the log names the address that guesses.",
        ),
        500: ErrorText(
            "Something went wrong here", "Look for the number in the log. The cause is beside it."
        ),
        503: ErrorText(
            "It cannot be done right now",
            "Nothing was saved. Try again in a moment; /readyz tells when the gateway is ready.",
        ),
    },
    ErrorText("Something went wrong here", "Try again. If it happens again, look at the log of the gateway."),
)


def operator_audience(
    sessions: OperatorSessions,
    notices: Notices,
    look: Cookie,
    brand: Brand,
    kinds: Sequence[Kind] = KINDS,
    worker: int | None = None,
) -> Audience[Session]:
    return Audience(
        cookie=OPERATOR,
        known=sessions.of,
        actor=lambda _: ACTOR,
        language=lambda _, __: OPERATORS,
        rules={"operator": lambda _: True},
        act=lambda _: None,
        stranger="operator_token_required",
        origins=origins_of_host,
        notices=notices,
        sign_in=SIGN_IN,
        home=HOME,
        home_link="Back to the overview",
        is_closed=True,
        rest="/debug/{rest*}",
        brand=brand,
        frame="debug/frame.html",
        headers=PAGE_HEADERS,
        error_texts=ERROR_TEXTS,
        look=lambda headers: look_of(look, headers),
        values={
            "is_dense": True,
            "site_kinds": tuple(kinds),
            "worker": worker,
            "sections": [(each.page, each.section) for each in OPERATIONS if each.section],
        },
    )


WRONG = "This is not the operator token. The file operator.token of the data folder has it."


class SignInPage:
    def __init__(self, operator: Operator, sessions: OperatorSessions) -> None:
        self._operator = operator
        self._sessions = sessions

    def show(self, visit: OperatorVisit) -> SiteAnswer:
        to = way_back(visit.request.query.get("to", HOME), HOME)
        return see_other(to) if visit.visitor is not None else _page(visit, to, {})

    def sign_in(self, visit: OperatorVisit) -> SiteAnswer:
        form = visit.form()
        to, token = way_back(form.text("to"), HOME), form.text("token")
        if not keeps_cookies(visit.request.headers):
            return _page(visit, to, {}, 400)
        if not token:
            return _page(visit, to, {"token": "Enter the token."}, 400)
        try:
            self._operator.check(visit.request.address, token)
        except Refusal:
            return _page(visit, to, {"token": WRONG}, 401)
        self._sessions.end(OPERATOR.value(visit.request.headers))
        tell("operator_signed_in")
        return see_other(to, cookies=(OPERATOR.opened(self._sessions.open(token_digest(token))),))

    def sign_out(self, visit: OperatorVisit) -> SiteAnswer:
        if visit.visitor is not None:
            tell("operator_signed_out")
        self._sessions.end(OPERATOR.value(visit.request.headers))
        return see_other(SIGN_IN, {"clear-site-data": '"cache"'}, (OPERATOR.cleared(),))


def _page(visit: OperatorVisit, to: str, errors: Mapping[str, str], status: int = 200) -> HtmlPage:
    host, _, port = visit.request.headers.get("Host", "").partition(":")
    values = {
        "errors": errors,
        "to": to,
        "can_sign_in": keeps_cookies(visit.request.headers),
        "host": host or "this-machine",
        "port": port or "8080",
    }
    return HtmlPage("debug/sign_in.html", "Sign in", values, status)


class LiveOverview:
    """The part of the overview that moves, as a stream of events."""

    def __init__(
        self,
        parts: GatewayParts,
        templates: Templates,
        sessions: OperatorSessions,
        values: Mapping[str, Any],
    ) -> None:
        """`values` are those of all pages."""
        self._parts = parts
        self._values = values
        self._templates = templates
        self.viewers = Live(self.event, sessions)

    def stream(self, visit: OperatorVisit) -> Reply:
        return self.viewers.stream(visit.visitor) if visit.visitor is not None else ended()

    async def event(self) -> bytes:
        """Return the events of one moment: the part of the page that moves, and the points of the charts."""
        drawing = await self._templates.load()
        value = await overview_of_all(self._parts)
        moved = drawing.fragment("debug/overview.html", {**self._values, **live_values(value)}, "live")
        return event(moved) + event(msgspec.json.encode(value.series).decode(), "series")


@dataclass(frozen=True)
class OperatorSite:
    """The objects that make the pages: one of a gateway."""

    parts: GatewayParts
    sign_in: SignInPage
    live: LiveOverview
    markdown: Markdown
    look: Cookie

    def choose_look(self, visit: OperatorVisit) -> SiteAnswer:
        """Keep the theme in the cookie that pages for people read, too, and go back. Raises Refusal."""
        form = visit.form()
        return see_other(way_back(form.text("to"), HOME), cookies=(look_kept(self.look, form.text("look")),))

    async def show(self, visit: OperatorVisit, operation: DebugOperation[Any]) -> SiteAnswer:
        """Draw the page of an operation."""
        value = await finished(operation.show(self.parts, visit.request))
        values = await finished(operation.html(value, visit.request, self.markdown))
        template = operation.template or operation.page.rpartition("/")[2]
        title = operation.title(value) if operation.title is not None else operation.section
        return HtmlPage(f"debug/{template}.html", title, {"value": value, **values})


def _row(operation: DebugOperation[Any]) -> PageRow:
    return PageRow(
        *("GET", operation.page, lambda to: partial(to.show, operation=operation), "operator"),
        kind=operation.kind,
    )


PAGES = (
    PageRow("GET", SIGN_IN, lambda to: to.sign_in.show, "anyone"),
    PageRow("POST", SIGN_IN, lambda to: to.sign_in.sign_in, "anyone"),
    PageRow("POST", "/debug/sign-out", lambda to: to.sign_in.sign_out, "anyone"),
    PageRow("POST", "/debug/look", lambda to: to.choose_look, "operator"),
    PageRow("GET", "/debug/live", lambda to: to.live.stream, "anyone"),
    *(_row(each) for each in OPERATIONS if each.page),
    *action_rows(),
)
"""A page that is not here does not exist."""
