"""Pages that ask before something is done. Invariant: asking changes nothing, and says what will.

A question is a page of its own under the tab that it belongs to. Its form is posted to the same address.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kinds.kind import PartName
from pages.page import Again, Page, PageCall, Post, Shown, run_post
from web.people.questions import OVERLAPS, Question, not_confirmed


class NotConfirmed(Exception):
    """The name that one has to type was not typed."""


def question_page(
    *, path: str, asks: Callable[[PageCall], Question], post: Post[Any], tab: str, of: PartName | None = None
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
            refused = not_confirmed(question)
            raise Again(NotConfirmed(), errors=refused.errors, status=refused.status)
        made = run_post(post, page, form)
        return await made if inspect.isawaitable(made) else made

    return Page(
        path=path,
        of=of,
        tab=tab,
        template="manage_question",
        access=post.needs,
        show=show,
        has_json=False,
        posts=(replace(post, run=run),),
    )


def _confirmation(page: PageCall) -> str:
    return page.visit.form().text("confirmation")
