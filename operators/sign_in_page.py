"""The sign-in of the operator, and the sign-out. Law: the API's check decides, and nothing keeps the token.

A wrong token is a failure of its address, in one count with those of the API. A sign-in always makes a new
session, and ends the one that the browser had.
"""

from collections.abc import Mapping

from core.refusals import Refusal
from handlers.manage import Operator, token_digest
from operators.operator_audience import HOME, SIGN_IN, OperatorVisit
from watchers.security_log import tell
from web.cookies import OPERATOR, keeps_cookies
from web.json_answers import AnswerRefused
from web.links import way_back
from web.pages import Page, Shown, see_other
from web.sessions import OperatorSessions

WRONG = "This is not the operator token. It stands in the file operator.token of the data folder."


class SignInPage:
    def __init__(self, operator: Operator, sessions: OperatorSessions) -> None:
        self._operator = operator
        self._sessions = sessions

    def show(self, visit: OperatorVisit) -> Shown:
        to = way_back(visit.request.query.get("to", HOME), HOME)
        return see_other(to) if visit.visitor is not None else _page(visit, to, {})

    def sign_in(self, visit: OperatorVisit) -> Shown:
        form = visit.form()
        to, token = way_back(form.text("to"), HOME), form.text("token")
        if not keeps_cookies(visit.request.headers):
            return _page(visit, to, {}, 400)
        if not token:
            return _page(visit, to, {"token": "Enter the token."}, 400)
        try:
            refused = self._operator.refusal(visit.request.address, token)
        except Refusal:
            return _page(visit, to, {"token": WRONG}, 401)
        if refused is not None:
            raise AnswerRefused(refused)
        self._sessions.end(OPERATOR.value(visit.request.headers))
        tell("operator_signed_in")
        return see_other(to, cookies=(OPERATOR.opened(self._sessions.open(token_digest(token))),))

    def sign_out(self, visit: OperatorVisit) -> Shown:
        if visit.visitor is not None:
            tell("operator_signed_out")
        self._sessions.end(OPERATOR.value(visit.request.headers))
        return see_other(SIGN_IN, {"clear-site-data": '"cache"'}, (OPERATOR.cleared(),))


def _page(visit: OperatorVisit, to: str, errors: Mapping[str, str], status: int = 200) -> Page:
    host, _, port = visit.request.headers.get("Host", "").partition(":")
    values = {
        "errors": errors,
        "to": to,
        "can_sign_in": keeps_cookies(visit.request.headers),
        "host": host or "this-machine",
        "port": port or "8080",
    }
    return Page("debug/sign_in.html", "Sign in", values, status)
