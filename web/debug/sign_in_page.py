"""The sign-in of the operator, and the sign-out. Law: the API's check decides, and nothing keeps the token.

A wrong token is a failure of its address, in one count with those of the API. A sign-in always makes a new
session, and ends the one that the browser had.
"""

from collections.abc import Mapping

from handlers.manage import Operator
from handlers.reply import OperatorTokenRefused
from web.cookies import cleared_cookie, keeps_cookies, session_cookie, session_value
from web.error_pages import error_page
from web.links import way_back
from web.pages import Page, Shown, Visit, see_other
from web.sessions import OperatorSessions

HOME = "/debug"
WRONG = "This is not the operator token. It stands in the file operator.token of the data folder."


class SignInPage:
    def __init__(self, operator: Operator, sessions: OperatorSessions) -> None:
        self._operator = operator
        self._sessions = sessions

    def show(self, visit: Visit) -> Shown:
        to = way_back(visit.request.query.get("to", HOME), HOME)
        return see_other(to) if visit.session is not None else _page(visit, to, {})

    def sign_in(self, visit: Visit) -> Shown:
        form = visit.form()
        to, token = way_back(form.text("to"), HOME), form.text("token")
        if not keeps_cookies(visit.request.headers):
            return _page(visit, to, {}, 400)
        if not token:
            return _page(visit, to, {"token": "Enter the token."}, 400)
        try:
            refused = self._operator.refusal(visit.request.address, token)
        except OperatorTokenRefused:
            return _page(visit, to, {"token": WRONG}, 401)
        if refused is not None:
            return error_page(refused, signed_in=False)
        self._sessions.end(session_value(visit.request.headers))
        return see_other(to, {"set-cookie": session_cookie(self._sessions.open())})

    def sign_out(self, visit: Visit) -> Shown:
        self._sessions.end(session_value(visit.request.headers))
        return see_other("/debug/sign-in", {"set-cookie": cleared_cookie(), "clear-site-data": '"cache"'})


def _page(visit: Visit, to: str, errors: Mapping[str, str], status: int = 200) -> Page:
    host, _, port = visit.request.headers.get("Host", "").partition(":")
    values = {
        "errors": errors,
        "to": to,
        "can_sign_in": keeps_cookies(visit.request.headers),
        "host": host or "this-machine",
        "port": port or "8080",
    }
    return Page("debug/sign_in.html", "Sign in", values, status)
