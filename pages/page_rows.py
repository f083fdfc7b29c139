"""The routes of a page. Invariant: the access of its row is checked before its function runs.

A page becomes up to three routes: GET, GET of its JSON, and POST. The site (web/site.py) draws what they
return, and has checked before that the visitor is one of the row's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from actions.action import Access, Call, form_of
from core.failures import Unavailable
from core.finished import finished
from core.rows import Listing
from core.state import State
from forms.reading import read
from handlers.reply import NO_HEADERS, Reply, encode_json, reply_to, success
from kinds.kind import Kind
from kinds.registry import KINDS
from languages.refusals import Invalid, Refusal
from languages.texts import Text, Words
from pages.page import Again, Answer, AnyPage, PageCall, Post, RefusedPost, Show, Shown, run_post
from pages.posted_files import Failure, files_in, uploaded
from pages.public.lists import icon_of
from pages.site_tools import SiteTools
from pages.tabs import TABS, tab_title, tab_values
from pages.visitors import Person, PersonVisit, ask_stale, signed_in
from people.permissions import Right, rights
from people.quarantine import refuse_quarantined
from ratelimit.bucket import TooManyRequests
from web.error_pages import by_field, error_text, field_texts
from web.form_posts import FormPost
from web.pages import HtmlPage, PageRow, SiteAnswer, tagged

AGAIN = frozenset({400, 403, 409, 429, 503})
"""The statuses of refusals after which a form is shown again. Any other becomes an error page, but for a 401
of a form that is given back."""
TELLS_WHEN = {429, 503}
"""The statuses whose headers say when to come again."""
STALE = Text(
    "You signed in more than an hour ago. This could hand the listing over or give a secret away, so sign "
    "in again to confirm it. Nothing has changed yet."
)


class ListingRights(NamedTuple):
    """A listing, and the visitor's rights on it."""

    row: Listing
    rights: frozenset[Right]


def rows_of(pages: Sequence[AnyPage]) -> tuple[PageRow, ...]:
    """Return the routes of pages, for each kind that has them."""
    of_none = [row for page in pages if "{kind}" not in page.path for row in _rows(page, None)]
    of_kinds = [
        row
        for kind in KINDS
        for page in pages
        if "{kind}" in page.path and _is_for(page, kind)
        for row in _rows(page, kind)
    ]
    return (*of_none, *of_kinds)


def _is_for(page: AnyPage, kind: Kind) -> bool:
    part = TABS[page.tab].of if page.tab else page.of
    return kind.has(part) and page.known_as in {None, kind.known_as}


def _rows(page: AnyPage, kind: Kind | None) -> list[PageRow]:
    path = page.path.replace("{kind}", str(kind or ""))
    rows = []
    if page.show is not None and page.has_get:
        if page.has_json:  # first, because the end of `path` may be an id
            json = _json_path(path)
            of_json = (*page.kept, "limit") if page.kept is not None else None
            rows.append(
                PageRow("GET", json, lambda to: _Served(page, kind, to).json, page.visitors, kept=of_json)
            )
        rows.append(
            PageRow("GET", path, lambda to: _Served(page, kind, to).show, page.visitors, kept=page.kept)
        )
    if page.posts:
        rows.append(
            PageRow(
                *("POST", path, lambda to: _Served(page, kind, to).post, page.visitors),
                gives_back=page.gives_back,
                takes_files=_takes_files(page, kind),
            )
        )
    return [row._replace(kind=kind, of=page.of) for row in rows]


def _takes_files(page: AnyPage, kind: Kind | None) -> bool:
    return page.takes_files and kind is not None and kind.has("files")


def _json_path(path: str) -> str:
    return "/index.json" if path == "/" else f"{path}.json"


class _Served:
    """A page for one kind of listing, or for none."""

    def __init__(self, page: AnyPage, kind: Kind | None, site: SiteTools) -> None:
        self._page = page
        self._posts = {post.button: post for post in page.posts}
        self._kind: Kind | None = kind
        self._site = site

    async def show(self, visit: PersonVisit) -> SiteAnswer:
        call = self._opened(visit, self._page.access)
        self._refuse_shut_out(visit, self._page.access)
        return await self._answered(call, await _made(self._page.show, call))

    async def json(self, visit: PersonVisit) -> SiteAnswer:
        call = self._opened(visit, self._page.access)
        self._refuse_shut_out(visit, self._page.access)
        shown = await _made(self._page.show, call)
        if not isinstance(shown, Shown):
            return shown
        if shown.value is None:
            raise Refusal(shown.missing)
        if shown.cached is not None:
            reply = tagged(visit.request, encode_json(shown.value), shown.cached)
            return replace(reply, shows=frozenset(call.shown))
        return success(shown.value)

    async def post(self, visit: PersonVisit) -> SiteAnswer:
        form = visit.form(takes_files=_takes_files(self._page, self._kind))
        post = self._chosen(form)
        call = self._opened(visit, post.needs if post is not None else self._page.access)
        if post is None:
            raise Refusal("no_such_path")
        problem: Failure | None = None
        if form.files:
            form, problem = await uploaded(call, form)
            call = replace(call, visit=visit._replace(posted=form))
        typed = post.reads(call, form) if post.reads is not None else {}
        try:
            if problem is not None:
                raise Again(problem)
            self._refuse_shut_out(visit, post.needs)
            if post.guard is not None:
                post.guard(call)
            made = await run_post(post, call, _form_of(post, self._kind, typed))
        except (Refusal, Unavailable) as error:
            if self._page.show is None:
                raise
            refused = self._refused(error, post, typed)
        except Again as again:
            refused = self._refused_again(again, post, typed)
        else:
            return await self._answered(call, post.then(call, made))
        call = replace(call, refused=refused)
        return await self._answered(call, await _made(self._page.show, call))

    def _opened(self, visit: PersonVisit, access: Access) -> PageCall:
        """Return the call of the page, for a visitor with the access, but for a quarantine. Raises its
        refusal."""
        actions = self._site.actions

        def still_allowed() -> None:
            if self._site.accounts.sender(visit.request) is None:  # signed out, or forgotten, in the meantime
                raise Refusal("sign_in_required")
            self._check(visit, access)
            self._refuse_shut_out(visit, access)

        listing = self._check(visit, access)
        params, now_ms = visit.request.params, actions.clock.now_ms()
        call = Call(actions, visit.request.by, now_ms, self._kind, params, still_allowed)
        if listing is None:
            return PageCall(call, visit, self._site)
        return PageCall(call, visit, self._site, listing.row, listing.rights)

    def _check(self, visit: PersonVisit, access: Access) -> ListingRights | None:
        """Return the listing with the visitor's rights, if the access takes one. Raises its refusal."""
        actions, listing = self._site.actions, None
        if access.right is not None and self._kind is not None:
            ref = self._kind.ref(visit.request.params[0])
            listing = listing_for(actions.ledger.state, signed_in(visit), ref, access.right)
        if access.fresh:
            ask_stale(visit, actions.clock.now_ms(), STALE)
        return listing

    def _refuse_shut_out(self, visit: PersonVisit, access: Access) -> None:
        """Raise the refusal of a visitor under a quarantine. A form keeps its typed values."""
        if access.unless is not None:
            actions = self._site.actions
            now_ms = actions.clock.now_ms()
            refuse_quarantined(actions.ledger.state, signed_in(visit).id, access.unless, now_ms)

    def _chosen(self, form: FormPost) -> Post[Any] | None:
        """Return the post whose button sent the form, or else the one without a button."""
        return self._posts.get(form.text("act"), self._posts.get(""))

    def _refused(
        self, error: Refusal | Unavailable | TooManyRequests, post: Post[Any], typed: Mapping[str, Any]
    ) -> RefusedPost:
        """Return why a form is shown again. Raises the error if it is not."""
        reply = reply_to(error)
        if reply.status not in AGAIN and not (reply.status == 401 and self._page.gives_back):
            raise error
        errors: Mapping[str, Words] = {"": error_text(reply)}
        if isinstance(error, Invalid):
            faults = field_texts(error).items()
            errors = by_field({post.fields.get(name.partition(".")[0], name): why for name, why in faults})
        headers = reply.headers if reply.status in TELLS_WHEN else NO_HEADERS
        return RefusedPost(error, errors, typed, {}, reply.status, headers, reply.limits)

    def _refused_again(self, again: Again, post: Post[Any], typed: Mapping[str, Any]) -> RefusedPost:
        error, found = again.error, again.found
        if again.status is None and isinstance(error, (Refusal, Unavailable, TooManyRequests)):
            return replace(self._refused(error, post, typed), found=found)
        return RefusedPost(error, again.errors, typed, found, again.status or 400)

    async def _answered(self, call: PageCall, answer: Answer) -> SiteAnswer:
        if isinstance(answer, Shown):
            return await self._drawn(call, answer)
        if isinstance(answer, Reply):
            return replace(answer, shows=frozenset(call.shown))
        return answer

    async def _drawn(self, call: PageCall, shown: Shown[Any]) -> HtmlPage:
        page, refused = self._page, call.refused
        html = await shown.html() if callable(shown.html) else shown.html
        values = {"value": shown.value, "errors": refused.errors, **html}
        title = shown.title
        if page.takes_files:
            values["files"] = await files_in(call, values.get("values", {}))
        if page.tab:
            icon_url = icon_of(call, call.row, call.row.latest)
            values = {**tab_values(call.row, page.tab, call.rights), "icon_url": icon_url, **values}
            title = title or tab_title(call.row, page.tab)
        return HtmlPage(
            f"people/{shown.template or page.template or f'manage_{page.tab}'}.html",
            title or "",
            values,
            shown.status or refused.status,
            {**shown.headers, **refused.headers},
            shown.limits or refused.limits,
            shown.cookies,
            frozenset(call.shown),
        )


def listing_for(state: State, person: Person, ref: str, right: Right) -> ListingRights:
    """Return a listing for a person who needs a right on it. Raises Refusal.

    Invariant: a person who may not see the listing does not learn that it exists.
    """
    row = state.listings.get(ref)
    if row is None:
        raise Refusal("no_such_listing")
    allowed = rights(person.id, row, is_moderator=person.is_moderator)
    if right not in allowed:
        raise Refusal("not_permitted") if "see" in allowed else Refusal("no_such_listing")
    return ListingRights(row, allowed)


async def _made(show: Show[Any] | None, call: PageCall) -> Answer:
    if show is None:
        raise TypeError("this path takes posts alone")
    return await finished(show(call))


def _form_of(post: Post[Any], kind: Kind | None, typed: Mapping[str, Any]) -> Any:
    """Return the form of the post's action; None if it has none. Raises Invalid."""
    if post.action is None or post.reads is None:
        return None
    form_type = form_of(post.action, kind)
    return read(form_type, typed) if form_type is not None else None
