"""Errors as pages, which say what happened, why, and what to do next.

The reason is the text of the refusal (`languages/refusal_texts.py`). The texts here say what happened and
what to do.
"""

from collections.abc import Mapping

import msgspec

from handlers.reply import Reply
from languages.refusals import Invalid
from languages.said import plainly
from languages.texts import Text, Words
from web.pages import HtmlPage


class ErrorText(msgspec.Struct, frozen=True):
    """The parts of an error page that its status decides."""

    title: Words
    what_to_do: Words


_OTHER_4XX = ErrorText(Text("The request was not accepted"), Text("Go back, and try it from the page again."))
_OF_FORMS: Mapping[int, ErrorText] = {
    400: ErrorText(
        Text("The form was not accepted"), Text("Go back, and fill it in again. Nothing has changed.")
    ),
    405: ErrorText(Text("The page cannot do that"), Text("Go back, and use the buttons of the page.")),
    409: ErrorText(
        Text("This is not possible now"),
        Text("Look at the page again: the state may have changed meanwhile."),
    ),
    413: ErrorText(
        Text("The form is too large"),
        Text("Shorten what you wrote, and send it again. Nothing has changed."),
    ),
}
"""Texts that are the same for every visitor."""


class ErrorTexts(msgspec.Struct, frozen=True):
    """The texts for one kind of visitor: by status, and for any other fault of ours."""

    by_status: Mapping[int, ErrorText]
    other_5xx: ErrorText

    def of(self, status: int) -> ErrorText:
        fallback = _OTHER_4XX if status < 500 else self.other_5xx
        return self.by_status.get(status) or _OF_FORMS.get(status, fallback)


def error_page(refused: Reply, texts: ErrorTexts, *, may_sign_in: bool, is_of_form: bool = True) -> HtmlPage:
    """Return a JSON error as a page.

    Args:
        may_sign_in: true to lead to the sign-in, false to lead to the first page.
        is_of_form: false for an opened address, which has no form to fill in.
    """
    text = texts.of(refused.status) if is_of_form or refused.status != 400 else _OTHER_4XX
    values = {
        "status": refused.status,
        "what": text.title,
        "why": error_text(refused),
        "what_to_do": text.what_to_do,
        "wait_seconds": refused.limits.reset_seconds if refused.limits is not None else None,
        "may_sign_in": may_sign_in,
    }
    return HtmlPage("error.html", text.title, values, refused.status, refused.headers, refused.limits)


def error_text(refused: Reply) -> Words:
    """Return the reason of a refusal."""
    return plainly(*refused.why) if refused.why is not None else ""


def field_texts(invalid: Invalid) -> dict[str, Words]:
    """Return the faults by field."""
    return {name: plainly(*fault) for name, fault in invalid.faults.items()}


def by_field(fields: Mapping[str, Words]) -> dict[str, Words]:
    """Return the faults by the fields of a form. That of an entry of a list names the entry."""
    found: dict[str, Words] = {}
    for name, reason in fields.items():
        outer, _, entry = name.partition(".")
        at_entry = Text("entry {number} {reason}", number=int(entry) + 1, reason=reason) if entry else reason
        found.setdefault(outer, at_entry)
    return found
