"""Questions before something is done with a listing. Invariant: asking changes nothing, and says what will.

A question is a page of its own under the tab that it belongs to. Its form is posted to the same address.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from core.refusals import Invalid, Refusal, Unavailable
from handlers.reply import reply_to
from languages.texts import Text, Words
from web.error_pages import error_text, field_texts
from web.pages import Page
from web.people.listing_access import Access
from web.people.listing_tabs import tab_page

OVERLAPS = (
    (0, Text("At once")),
    (3_600, Text("After 1 hour")),
    (86_400, Text("After 24 hours")),
    (604_800, Text("After 7 days")),
)
"""When an old key or secret stops, in seconds and in words."""
FormError = Refusal | Unavailable
REFUSALS = (Refusal, Unavailable)
SHOWN_AGAIN = frozenset({400, 403, 409, 503})
"""The statuses of refusals after which a form is shown again."""


class Question(NamedTuple):
    """A question.

    Args:
        what: what will be done, and what will not.
        back: the page that asked.
        asks_overlap: true to ask when the old one stops.
        typed: what one types to confirm; None if the button is enough.
        is_grave: true if something is taken away.
    """

    title: Text
    what: Text
    button: Text
    back: str
    asks_overlap: bool = False
    typed: str | None = None
    is_grave: bool = False

    def is_confirmed(self, text: str) -> bool:
        """Tell whether the text is what one has to type. A browser shows any white space as one space."""
        return self.typed is None or text.split() == self.typed.split()


class FormRefusal(NamedTuple):
    """Why a form is shown again: what is wrong by field, and the status. The field "" is the whole form."""

    errors: Mapping[str, Words]
    status: int


NOT_REFUSED = FormRefusal({}, 200)


def refused_by(error: FormError, shown_again: Collection[int] = SHOWN_AGAIN) -> FormRefusal:
    """Return why a form is shown again. Raises the error if it is not: the page is gone, or nobody's."""
    reply = reply_to(error)
    if reply.status not in shown_again:
        raise error
    errors = field_texts(error) if isinstance(error, Invalid) else {"": error_text(reply)}
    return FormRefusal(errors, reply.status)


def asked(
    access: Access, at: str, question: Question, refused: FormRefusal = NOT_REFUSED, value: Any = 0
) -> Page:
    """Return the page of a question.

    Args:
        value: what its field held.
    """
    values = {"question": question, "errors": refused.errors, "value": value, "overlaps": OVERLAPS}
    return tab_page(access, at, values, refused.status, template="manage_question")


def not_confirmed(question: Question) -> FormRefusal:
    return FormRefusal(
        {"confirmation": Text("Type {text}, as it is written here.", text=question.typed or "")}, 400
    )
