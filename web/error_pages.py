"""Errors as pages. Law: a page says what happened, why, and what to do next.

The reason is the text of the JSON error (`handlers/reply.py`); this table adds what happened and what to do.
"""

from collections.abc import Mapping

import msgspec

from handlers.reply import Reply
from web.pages import Page


class ErrorText(msgspec.Struct, frozen=True):
    """The parts of an error page that its status decides."""

    title: str
    what_to_do: str


_OTHER_4XX = ErrorText("The request was not taken", "Go back, and try it from the page again.")
_OTHER_5XX = ErrorText("Something went wrong here", "Try again. If it stays, look at the log of the gateway.")
_TEXTS: Mapping[int, ErrorText] = {
    400: ErrorText("The form was not taken", "Go back, and fill it in again. Nothing has changed."),
    401: ErrorText("You are not signed in", "Sign in with the operator token. Nothing has changed."),
    403: ErrorText(
        "The form was refused",
        "Open this page here, and send the form again. If it happens again, the proxy in front of the "
        "gateway does not pass the Host header on. Nothing has changed.",
    ),
    404: ErrorText(
        "There is nothing here", "Look for it under Find. It may have been removed, or never have existed."
    ),
    405: ErrorText("The page cannot do that", "Go back, and use the buttons of the page."),
    409: ErrorText(
        "It cannot be done as things stand", "Look at the page again: the state may have changed meanwhile."
    ),
    413: ErrorText(
        "The form is too large", "Shorten what you wrote, and send it again. Nothing has changed."
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
}


class _JsonError(msgspec.Struct):
    error: str = ""


def error_page(refused: Reply, *, signed_in: bool) -> Page:
    """Return the page that says what a JSON error says."""
    fallback = _OTHER_4XX if refused.status < 500 else _OTHER_5XX
    text = _TEXTS.get(refused.status, fallback)
    values = {
        "status": refused.status,
        "what": text.title,
        "why": error_text(refused),
        "what_to_do": text.what_to_do,
        "wait_seconds": refused.limits.reset_seconds if refused.limits is not None else None,
        "may_sign_in": refused.status == 401 or not signed_in,
    }
    return Page("error.html", text.title, values, refused.status, refused.headers, refused.limits)


def error_text(refused: Reply) -> str:
    """Return the text of a JSON error."""
    return msgspec.json.decode(refused.body, type=_JsonError).error
