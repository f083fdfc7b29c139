"""The question that a page asks before a post, and the secret that a page shows after one.

Invariants: a question changes nothing, and says what will change. A secret is shown by the answer to the form
that made it, so it is in no address, and no second request gets it.

A question is a page of its own under its tab. Its form is posted to the same address.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from languages.texts import Text
from pages.page import Again, Page, PageCall, Post, Shown, run_post

OVERLAPS = (
    (0, Text("At once")),
    (3_600, Text("After 1 hour")),
    (86_400, Text("After 24 hours")),
    (604_800, Text("After 7 days")),
)
"""When an old key or secret stops, in seconds and in words."""


class Question(NamedTuple):
    """A question.

    Args:
        what: the text that says what will change, and what will not.
        back: the page that asked.
        asks_overlap: true to ask when the old value stops.
        typed: the text to type to confirm; None if the button is enough.
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
        """Return true if the text is the one to type. A browser shows any white space as one space."""
        return self.typed is None or text.split() == self.typed.split()


def question_page(
    *, path: str, asks: Callable[[PageCall], Question], post: Post[Any], tab: str
) -> Page[None]:
    """Return the page of a question before a post. It takes the same access as the post's action.

    The question may take a name to be typed, or a time for which an old secret works on.
    """

    def show(page: PageCall) -> Shown[None]:
        question = asks(page)
        if question.typed is None:
            typed = page.typed("overlap_seconds", 0)
        else:
            typed = _confirmation(page) if page.refused.error is not None else ""
        return Shown(None, html={"question": question, "value": typed, "overlaps": OVERLAPS})

    async def run(page: PageCall, form: Any) -> Any:
        question = asks(page)
        if not question.is_confirmed(_confirmation(page)):
            typed = Text("Type {text}, as it is written here.", text=question.typed or "")
            raise Again(errors={"confirmation": typed}, status=400)
        return await run_post(post, page, form)

    return Page(
        path=path,
        tab=tab,
        template="manage_question",
        access=post.needs,
        show=show,
        has_json=False,
        posts=(replace(post, run=run),),
    )


def _confirmation(page: PageCall) -> str:
    return page.visit.form().text("confirmation")


class Secret(NamedTuple):
    """A secret that a page shows once, in the answer to the post that made it.

    Args:
        label: the name of the secret.
        what_to_do: the text for its owner.
        example: a command that uses the secret.
    """

    title: Text
    label: Text
    value: str
    what_to_do: Text
    example: str | None = None
