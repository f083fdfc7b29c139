"""The audiences of pages: the operator, and people. One value of each declares how their pages differ."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from core.actors import Actor
from handlers.request import Request
from languages.language_names import Language
from languages.said import Code
from languages.texts import Words
from web.brand import Brand
from web.cookies import Cookie, Notices
from web.error_pages import ErrorTexts
from web.other_sites import OwnOrigins
from web.pages import V, Visitors


@dataclass(frozen=True)
class Audience(Generic[V]):
    """One kind of visitor.

    Args:
        cookie: the cookie that a visitor is known by.
        known: returns the visitor with this value of the cookie; None for a stranger.
        actor: names a visitor in the audit log.
        language: returns the language of a page, by the headers of its request; None for the English of the
            operator's pages.
        rules: returns true if a visitor has an access, for each access but "anyone".
        act: is called before a visitor who is signed in changes something. It may refuse that.
        stranger: the code of the refusal of a stranger.
        origins: returns the origins of these pages.
        notices: bring the notice of an action to the next page.
        sign_in: the path of the sign-in, to which a stranger is sent.
        home: the path of the first page.
        home_link: the text of a link to it.
        is_closed: true if a stranger may see the sign-in alone.
        rest: the path template of all addresses that are no page.
        brand: the name and the look of the platform.
        frame: the template around a page.
        headers: the headers of every page.
        error_texts: the texts of error pages.
        look: returns the look that a visitor chose, by the headers of the request; None to follow the system.
        values: further values for the templates.
        upload_bytes: the size of the largest form with files.
    """

    cookie: Cookie
    known: Callable[[str | None], V | None]
    actor: Callable[[V], Actor]
    language: Callable[[V | None, Mapping[str, str]], Language | None]
    rules: Mapping[Visitors, Callable[[V], bool]]
    act: Callable[[V], None]
    stranger: Code
    origins: OwnOrigins
    notices: Notices
    sign_in: str
    home: str
    home_link: Words
    is_closed: bool
    rest: str
    brand: Brand
    frame: str
    headers: Mapping[str, str]
    error_texts: ErrorTexts
    look: Callable[[Mapping[str, str]], str | None] = lambda _: None
    values: Mapping[str, Any] = field(default_factory=dict)
    upload_bytes: int = 0

    def visitor(self, request: Request) -> V | None:
        return self.known(self.cookie.value(request.headers))
