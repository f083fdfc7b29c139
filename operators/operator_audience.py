"""The operator as a visitor of pages. Invariant: any other visitor sees the sign-in alone."""

from core.actors import OPERATOR as ACTOR
from web.audiences import Audience
from web.cookies import OPERATOR
from web.cross_origin import origins_of_host
from web.error_pages import ErrorText, ErrorTexts
from web.notice_cookie import Notices
from web.page_policy import PAGE_HEADERS
from web.pages import Visit
from web.sessions import OperatorSessions, Session
from web.templates import OPERATORS

HOME, SIGN_IN = "/debug", "/debug/sign-in"
SECTIONS = (
    (HOME, "Overview"),
    ("/debug/webhooks", "Webhooks"),
    ("/debug/limiter", "Limiter"),
    ("/debug/errors", "Errors"),
    ("/debug/journal", "Journal"),
    ("/debug/data", "Data"),
)
"""The navigation: paths and names."""

OperatorVisit = Visit[Session]

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
            "Something went wrong here", "Look for the number in the log: it stands beside the cause."
        ),
        503: ErrorText(
            "It cannot be done right now",
            "Nothing was saved. Try again in a moment; /readyz tells when the gateway is ready.",
        ),
    },
    ErrorText("Something went wrong here", "Try again. If it stays, look at the log of the gateway."),
)


def operator_audience(sessions: OperatorSessions, notices: Notices) -> Audience[Session]:
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
        frame="debug/frame.html",
        headers=PAGE_HEADERS,
        error_texts=ERROR_TEXTS,
        values={"sections": SECTIONS},
    )
