"""Pages as values, and the rows of their tables. Invariant: a view does not know how its page is drawn.

A view is a function from a visit to a page, a redirect or any other reply. `Site` (site.py) checks the
visitor, calls the view, and draws its page whole, or as the fragment that htmx swaps in.
"""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from handlers.reply import JSON, NO_HEADERS, Reply
from handlers.request import Request, is_known
from kinds.kind import Kind, PartName
from languages.texts import Words
from ratelimit.bucket import Decision
from web.form_posts import FormPost, read_form

V = TypeVar("V")
"""The visitors of an audience who have signed in (audiences.py)."""

Visitors = Literal["anyone", "operator", "signed in", "moderator"]
"""The visitors who may see a page. Each audience has some of them."""


class Visit(NamedTuple, Generic[V]):
    """A request for a page. `visitor` is None for one who is not signed in. `posted` is its form, once the
    files in it are uploaded."""

    request: Request
    visitor: V | None
    posted: FormPost | None = None

    @property
    def path(self) -> str:
        return self.request.path

    def form(self, *, takes_files: bool = False) -> FormPost:
        """Return the posted form. Raises Refusal, also for files in a form that takes none."""
        request = self.request
        if self.posted is not None:
            return self.posted
        content_type = request.headers.get("Content-Type", "")
        return read_form(request.body, request.max_body_bytes, content_type, takes_files=takes_files)


class HtmlPage(NamedTuple):
    """A template with its values. Its block `content` is the fragment. `shows` is as in a `Reply`."""

    template: str
    title: Words
    values: Mapping[str, Any]
    status: int = 200
    headers: Mapping[str, str] = NO_HEADERS
    limits: Decision | None = None
    cookies: tuple[str, ...] = ()
    shows: Collection[str] = ()


class Notice(NamedTuple):
    """The outcome of an action, for the next page. A `Text` in it has no values."""

    text: Words
    is_problem: bool = False


class Done(NamedTuple):
    """An accepted form: the browser goes on to the page at `path`, which shows the notice once."""

    path: str
    notice: Notice
    headers: Mapping[str, str] = NO_HEADERS
    cookies: tuple[str, ...] = ()


class Instead(Exception):
    """A page that a visitor gets instead of the requested one."""

    def __init__(self, page: HtmlPage) -> None:
        super().__init__(page.template)
        self.page = page


SiteAnswer = HtmlPage | Done | Reply
NO_INDEX = {"x-robots-tag": "noindex"}
"""The header that keeps a page out of search engines."""
NO_VARY = {"vary": ""}
"""The headers of an answer that is the same for everybody: those of a page would name the cookie."""
View = Callable[[Visit[Any]], SiteAnswer | Awaitable[SiteAnswer]]


class PageRow(NamedTuple):
    """A method of a page's path.

    Args:
        view: picks the function that makes the page.
        access: the visitors who may see it.
        gives_back: true for a form of long texts. A visitor whose session has ended gets them back.
        takes_files: true for a form that may have files.
        kind: the kind of listing that it is for; None for all of them.
        of: the part that the kind must have, if it takes one.
        kept: the names that the query may have if the answer is kept for strangers; None if it is never kept.
    """

    method: str
    path: str
    view: Callable[[Any], View]
    access: Visitors
    gives_back: bool = False
    takes_files: bool = False
    kind: Kind | None = None
    of: PartName | None = None
    kept: Collection[str] | None = None


def see_other(path: str, headers: Mapping[str, str] = NO_HEADERS, cookies: tuple[str, ...] = ()) -> Reply:
    """Return the answer to an accepted form: the browser gets `path` next (RFC 9110, 15.4.4)."""
    given = {"location": path, **headers}
    return Reply(303, b"", given, content_type="text/plain; charset=utf-8", cookies=cookies)


def tagged(request: Request, body: bytes, headers: Mapping[str, str], content_type: str = JSON) -> Reply:
    """Return the body with its strong tag; 304 if the client has it already (RFC 9110, 13.1.2)."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    given = {**headers, "etag": tag}
    if is_known(request, tag):
        return Reply(304, b"", given, content_type=content_type)
    return Reply(200, body, given, content_type=content_type)
