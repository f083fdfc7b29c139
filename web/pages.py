"""Pages as values, and the rows of their tables. Invariant: a page is made without knowing how it is drawn.

A view is a function from a visit to a page, a redirect or any other reply. `Site` (site.py) checks who asks,
calls the view, and draws its page whole, or as the fragment that htmx swaps in.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from handlers.reply import NO_HEADERS, Reply
from handlers.request import Request
from languages.texts import Words
from ratelimit.bucket import Decision
from web.form_posts import FormPost, read_form

V = TypeVar("V")
"""A kind of visitor who has signed in (audiences.py)."""

Access = Literal["anyone", "operator", "signed in", "moderator"]
"""The visitors who see a page. Each kind of visitor has some of them."""


class Visit(NamedTuple, Generic[V]):
    """A request for a page. `visitor` is None for one who is not signed in."""

    request: Request
    visitor: V | None

    @property
    def path(self) -> str:
        return self.request.path

    def form(self) -> FormPost:
        """Return the posted form. Raises Refusal."""
        request = self.request
        return read_form(request.body, request.max_body_bytes, request.headers.get("Content-Type", ""))


class Page(NamedTuple):
    """A template with its values. The template's block `content` is the fragment."""

    template: str
    title: Words
    values: Mapping[str, Any]
    status: int = 200
    headers: Mapping[str, str] = NO_HEADERS
    limits: Decision | None = None
    cookies: tuple[str, ...] = ()


class Notice(NamedTuple):
    """The outcome of an action, for the page that comes after it. A `Text` in it has no values."""

    text: Words
    is_problem: bool = False


class Done(NamedTuple):
    """An accepted form: the browser goes on to the page at `path`, which says the notice once."""

    path: str
    notice: Notice
    headers: Mapping[str, str] = NO_HEADERS
    cookies: tuple[str, ...] = ()


class Instead(Exception):
    """A page that a visitor gets instead of the one that was asked for."""

    def __init__(self, page: Page) -> None:
        super().__init__(page.template)
        self.page = page


Shown = Page | Done | Reply
View = Callable[[Visit[Any]], Shown | Awaitable[Shown]]


class PageRow(NamedTuple):
    """A method of a page's path.

    Args:
        view: picks the function that makes the page.
        access: who sees it.
        gives_back: true for a form of long texts. A visitor whose session has ended gets them back.
    """

    method: str
    path: str
    view: Callable[[Any], View]
    access: Access
    gives_back: bool = False


def see_other(path: str, headers: Mapping[str, str] = NO_HEADERS, cookies: tuple[str, ...] = ()) -> Reply:
    """Return the answer to a form that was taken: the browser gets `path` next (RFC 9110, 15.4.4)."""
    given = {"location": path, **headers}
    return Reply(303, b"", given, content_type="text/plain; charset=utf-8", cookies=cookies)
