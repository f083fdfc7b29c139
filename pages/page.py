"""A page: one function, and a row that says everything else about it.

    async def show(page: PageCall) -> Shown[KeyList]: ...

    KEYS = Page(path="/{kind}/{id}/manage/keys", tab="keys", access=Access("keys"), show=show,
                posts=(Post(action=ISSUE_KEY, reads=..., then=...),))

    GET   access of the page -> show -> drawn, or its value as JSON under the same path with `.json`
    POST  access of the action -> reads -> form -> run -> then; a refusal shows the page again

A page that is shown again after a refused post finds the typed values, the faults and the status in
`page.refused`. So `show` is the one place that knows how the page looks.

A post runs its action. Where a page has a guard that the API does not have (a limit of presses, a proof of
work, a check by the chat platform), the post has a `run` of its own, which calls the action's function after
the guard. It raises `Again` for a refusal that only this page knows, or to keep the facts that it found out.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from actions.action import Access, Action, Call
from core.finished import finished
from core.rows import Listing
from handlers.reply import NO_HEADERS, Reply
from kinds.kind import PartName, PlatformObject
from languages.said import Code
from languages.texts import NO_ERRORS, Words
from pages.site_tools import SiteTools
from pages.visitors import Person, PersonVisit, signed_in
from people.permissions import Right
from ratelimit.bucket import Decision
from web.form_posts import FormPost
from web.pages import Done, Visitors

F = TypeVar("F")
V = TypeVar("V")
NOTHING: Mapping[str, Any] = MappingProxyType({})
ANYTHING = Access()
"""The access of a page for every visitor of its kind."""


class RefusedPost(Struct, frozen=True):
    """A form that was refused, for the page that is shown again.

    Args:
        error: the refusal; None if the page is not shown again.
        errors: the faults by field; the field "" is the whole form.
        typed: the values that were posted, as `Post.reads` returned them.
        found: the facts that the post found out before the refusal, such as the checks of a server.
    """

    error: Exception | None = None
    errors: Mapping[str, Words] = NO_ERRORS
    typed: Mapping[str, Any] = NOTHING
    found: Mapping[str, Any] = NOTHING
    status: int = 200
    headers: Mapping[str, str] = NO_HEADERS
    limits: Decision | None = None


NOT_REFUSED = RefusedPost()


class Again(Exception):
    """A refusal that shows the page again, raised by a `run` of a post.

    Args:
        error: the refusal. A page that knows it may say it in words of its own. None if it is no refusal of
            the API; then it takes `errors` and a `status`.
        found: the facts that the post found out so far, for the page.
        errors: the faults by field.
    """

    def __init__(
        self,
        error: Exception | None = None,
        *,
        found: Mapping[str, Any] = NOTHING,
        errors: Mapping[str, Words] = NO_ERRORS,
        status: int | None = None,
    ) -> None:
        super().__init__(type(error).__name__)
        self.error = error if error is not None else self
        self.found, self.errors, self.status = found, errors, status


class PageCall(Struct, frozen=True):
    """One request for a page.

    Args:
        call: the call of an action that the page may make: tools, actor, time, kind and ids.
        visit: the request, and its sender.
        site: the tools of pages.
        listing: the listing of the path; None if the page's access takes no right on it.
        rights: the visitor's rights on it.
        refused: the form that was refused before this page is shown again.
        shown: the refs of the listings and users that the page shows, as far as it is made.
    """

    call: Call
    visit: PersonVisit
    site: SiteTools
    listing: Listing | None = None
    rights: frozenset[Right] = frozenset()
    refused: RefusedPost = NOT_REFUSED
    shown: set[str] = msgspec.field(default_factory=set)

    @property
    def row(self) -> Listing:
        """The listing, for a page whose access takes a right on it."""
        if self.listing is None:
            raise TypeError("the access of this page takes no right on a listing")
        return self.listing

    @property
    def person(self) -> Person:
        """The visitor. Raises Refusal for a page that is for anyone."""
        return signed_in(self.visit)

    @property
    def here(self) -> str:
        """The path of the listing's first page for its owners."""
        return f"/{self.row.ref}/manage"

    @property
    def is_json(self) -> bool:
        """True for the JSON of a page, if the page has one."""
        return self.visit.path.endswith(".json")

    def typed(self, name: str, default: Any = "") -> Any:
        """Return a value of the form that was refused."""
        return self.refused.typed.get(name, default)


Html = Mapping[str, Any]


@dataclass(frozen=True)
class Shown(Generic[V]):
    """A page as a value.

    Args:
        value: the page's JSON, a view, which the template gets as `value`. None if there is no JSON now.
        title: None for the title of the tab.
        html: values for the template alone; an async function if making them costs more than JSON is worth.
        template: another template than that of the row, such as for a key that is shown once.
        headers: headers of this page alone.
        cookies: the `Set-Cookie` headers.
        cached: headers of a JSON that caches may keep. It has a tag (web/pages.py).
        missing: the refusal of the JSON of a page without a value.
        status: the status of a page that says no without a form, such as to the id in its query.
        limits: the decision of a limiter that the page says no for.
    """

    value: V
    title: Words | None = None
    html: Html | Callable[[], Awaitable[Html]] = field(default_factory=dict)
    template: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS)
    cookies: tuple[str, ...] = ()
    cached: Mapping[str, str] | None = None
    missing: Code = "sign_in_required"
    status: int | None = None
    limits: Decision | None = None


Answer = Shown[Any] | Done | Reply
Show = Callable[[PageCall], Shown[V] | Done | Reply | Awaitable[Shown[V] | Done | Reply]]


@dataclass(frozen=True, kw_only=True)
class Post(Generic[F]):
    """A form of a page.

    Args:
        action: the action that it makes. None if only a browser does it, such as signing out: then there are
            `run` and `access`.
        reads: returns the fields of the action's form, as the browser sent them; None for no form.
        then: returns the answer: a redirect with a notice, or a page with a secret.
        guard: raises Again for a form that this page refuses before anything of it is read.
        run: a function around the action's own, if this page has a guard. It gets the form that was read.
        access: another access than that of the action.
        button: the value of the field `act` that its form sends, where one address has several forms.
        fields: the page's names of fields, by those of the action's form, where they differ. Faults of
            several fields may be those of one: an entry of a list has the name of the list.
    """

    action: Action[F, Any] | None = None
    then: Callable[[PageCall, Any], Answer]
    reads: Callable[[PageCall, FormPost], Mapping[str, Any]] | None = None
    guard: Callable[[PageCall], None] | None = None
    run: Callable[[PageCall, F], Any] | None = None
    access: Access | None = None
    button: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs(self) -> Access:
        """The access that the post takes."""
        if self.access is not None:
            return self.access
        return self.action.access if self.action is not None else ANYTHING


@dataclass(frozen=True, kw_only=True)
class Page(Generic[V]):
    """A row of the table of pages.

    Args:
        path: with `{kind}` it is a page for each kind that has the part.
        of: the part that a kind must have, for a page under no tab; a tab names the part of its pages.
        known_as: the object of the chat platform that listings of the kind must stand for, too.
        access: the right and the sign-in that the page takes, beside its `visitors`.
        show: returns the page, or a file or redirect. None for a path that takes posts alone.
        visitors: the visitors who may see the page.
        tab: the tab of a listing's pages under which it is; it has the title and the head of the tab.
        template: the template in `web/templates/people/`; by default `manage_<tab>.html`.
        has_get: false for an address that takes posts alone. A refused one shows `show`.
        has_json: false for a question, and where a secret is shown.
        gives_back: true for a form of long texts. A visitor whose session has ended gets them back.
        takes_files: true for a form with the fields of a profile: those of some kinds are files.
        kept: the names that the query may have, for a page that is the same for all strangers and is kept for
            them; None for any other. Its JSON is kept with them and `limit`.
    """

    path: str
    show: Show[V] | None = None
    access: Access = ANYTHING
    visitors: Visitors = "signed in"
    of: PartName | None = None
    known_as: PlatformObject | None = None
    tab: str = ""
    template: str = ""
    has_get: bool = True
    has_json: bool = True
    posts: tuple[Post[Any], ...] = ()
    gives_back: bool = False
    takes_files: bool = False
    kept: tuple[str, ...] | None = None


AnyPage = Page[Any]


async def run_post(post: Post[Any], page: PageCall, form: Any) -> Any:
    """Run a post with its form, and return its view. Raises the refusals of its action, and Again."""
    if post.run is not None:
        return await finished(post.run(page, form))
    if post.action is None:
        raise TypeError("a post without an action has a function of its own")
    return await finished(post.action.run(page.call, form))
