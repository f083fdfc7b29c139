"""Descriptions as they will look when they are saved. Law: no user keeps the thread busy that draws them."""

from markupsafe import Markup

from core.clock import Clock
from core.rows import Policy
from web.markdown import Markdown
from web.people.user_limit import UserLimit

PREVIEWS = Policy(20, 60)
"""How often a user may look at a text that is not saved."""


class Previews:
    def __init__(self, markdown: Markdown, clock: Clock) -> None:
        self._markdown = markdown
        self._limit = UserLimit(PREVIEWS, clock)

    async def html(self, user_id: str, text: str) -> Markup:
        """Return the HTML of a description. Raises AnswerRefused for a user who asks too often."""
        self._limit.take(user_id)
        return await self._markdown.html(text)
