"""The site: from a request to the bytes of a page. Invariant: every page passes the same checks in the same
order.

    a form from another site (403) -> a stranger (303 to the sign-in; 401 for a fragment, and for long texts,
    which come back)
    -> a visitor without the access of the row (403) -> view -> drawing

A page is drawn whole, or as one of its blocks when htmx asks (`HX-Request`). A refusal becomes a page, too.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from core.clock import Clock
from core.finished import finished
from handlers.gzip_body import LEAST_BYTES, packed, takes_gzip
from handlers.late import Late
from handlers.reply import KEPT_BRIEFLY, NO_HEADERS, SPOKEN, Reply, refused, reply_to
from handlers.request import Endpoint, Request
from handlers.route import PAGE, AnswerKeeping, AnswerVariant, Resource, usual_size
from languages.refusals import Refusal
from languages.texts import Text
from watchers.security_log import tell
from web.audiences import Audience
from web.brand_files import BrandFiles, accent_style
from web.carried_style import CarriedStyle
from web.error_pages import error_page
from web.other_sites import (
    LONGEST_WAY_BACK,
    NOWHERE,
    SAFE_METHODS,
    is_from_here,
    link,
    way_back,
    with_style,
)
from web.pages import NO_INDEX, Done, HtmlPage, Instead, PageRow, SiteAnswer, V, View, Visit, see_other
from web.static_files import PATH as STATIC_PATH
from web.static_files import read_static_files
from web.templates import Drawing, Templates

HTML = "text/html; charset=utf-8"
UNSENT = Text("You are not signed in any more")


class Site(Generic[V]):
    """Serves the rows of pages to one audience."""

    def __init__(self, templates: Templates, audience: Audience[V], clock: Clock) -> None:
        self._templates = templates
        self._audience = audience
        self._clock = clock
        self._style = Late(self._read_style)

    def visitor(self, request: Request) -> V | None:
        return self._audience.visitor(request)

    def resources(self, rows: Iterable[PageRow], to: object) -> list[Resource]:
        """Return the paths of the rows, and last the page for paths that do not exist.

        Args:
            to: the object from which the rows pick their views.
        """
        paths: dict[str, dict[str, Endpoint]] = {}
        takes_files, kept = set[str](), dict[str, AnswerKeeping]()
        for row in rows:
            if row.kept is not None:
                kept[row.path] = AnswerKeeping(row.kept, self.variant)
            if row.takes_files:
                takes_files.add(row.path)
            paths.setdefault(row.path, {})[row.method] = self._served(row, to)
        return [
            *(
                Resource(
                    *(path, endpoints, self._finish),
                    names=dict.fromkeys(endpoints, PAGE),
                    most_bytes=self._most_bytes if path in takes_files else usual_size,
                    keeping=kept.get(path),
                )
                for path, endpoints in paths.items()
            ),
            Resource(self._audience.rest, {"GET": self._missing}, self._finish_missing),
        ]

    def variant(self, headers: Mapping[str, str]) -> AnswerVariant | None:
        """Return the variant of a page for a stranger; None for a page that is made for its visitor alone."""
        audience = self._audience
        if "HX-Request" in headers or any(
            each.value(headers) is not None for each in (audience.cookie, audience.notices.cookie)
        ):
            return None
        language, look = audience.language(None, headers), audience.look(headers)
        return AnswerVariant(takes_gzip(headers), (language, look, _comes_from_elsewhere(headers)))

    def _most_bytes(self, headers: Mapping[str, str]) -> int | None:
        """Return the size of the largest form with files, for visitors who are signed in."""
        is_known = self._audience.known(self._audience.cookie.value(headers)) is not None
        return self._audience.upload_bytes if is_known else None

    def _served(self, row: PageRow, to: object) -> Endpoint:
        view = row.view(to)
        may_see: Callable[[V], bool] | None = None
        if row.access != "anyone":
            may_see = self._audience.rules[row.access]
        own = NO_HEADERS if may_see is None else NO_INDEX

        async def serve(request: Request) -> Reply:
            reply = await answer(request)
            return replace(reply, headers={**reply.headers, **own}) if own else reply

        async def answer(request: Request) -> Reply:
            visitor = self.visitor(request)
            if visitor is not None:
                request = request.acting(self._audience.actor(visitor))
            try:
                shown = await self._shown(Visit(request, visitor), view, may_see, gives_back=row.gives_back)
            except SPOKEN as error:
                shown = self._refused(request, visitor, reply_to(error))
            if isinstance(shown, HtmlPage):
                drawing = await self._templates.load(self._audience.language(visitor, request.headers))
                is_bare = visitor is None and request.method in SAFE_METHODS and not _wants_fragment(request)
                style = (
                    await self._style.get() if is_bare and _comes_from_elsewhere(request.headers) else None
                )
                reply = self._drawn(drawing, request, visitor, shown, style)
                return self._for_strangers(reply, request) if row.kept is not None else reply
            return self._with_headers(self._redirected(shown) if isinstance(shown, Done) else shown)

        return serve

    def _for_strangers(self, reply: Reply, request: Request) -> Reply:
        """Let caches keep a page that is the same for all strangers.

        `Vary` leaves out `Sec-Fetch-Site`: a page that carries the styles looks like one that names them (RFC
        9110, 12.5.5).
        """
        if reply.status != 200 or reply.cookies or self.variant(request.headers) is None:
            return reply
        return replace(reply, headers={**reply.headers, **KEPT_BRIEFLY})

    def _redirected(self, done: Done) -> Reply:
        notice = self._audience.notices.given(done.notice, done.path)
        return see_other(done.path, done.headers, (*done.cookies, notice))

    async def _shown(
        self, visit: Visit[V], view: View, may_see: Callable[[V], bool] | None, *, gives_back: bool
    ) -> SiteAnswer:
        """Return the answer of the view, for visitors who may see it."""
        self._refuse_other_sites(visit.request)
        if may_see is not None and visit.visitor is None:
            typed = (
                list(visit.form(takes_files=True).pairs())
                if gives_back and visit.request.body is not None and not _wants_fragment(visit.request)
                else ()
            )
            return (
                HtmlPage("unsent.html", UNSENT, {"typed": typed}, 401)
                if typed
                else self._to_sign_in(visit.request)
            )
        if may_see is not None and visit.visitor is not None and not may_see(visit.visitor):
            raise Refusal("not_permitted")
        if may_see is not None and visit.visitor is not None and visit.request.method not in SAFE_METHODS:
            self._audience.act(visit.visitor)
        try:
            return await finished(view(visit))
        except Instead as instead:
            return instead.page

    def _refuse_other_sites(self, request: Request) -> None:
        if request.method not in SAFE_METHODS:
            has_cookie = self._audience.cookie.value(request.headers) is not None
            if not is_from_here(request.headers, self._audience.origins, has_cookie=has_cookie):
                tell("form_refused", by=request.by)
                raise Refusal("from_elsewhere")

    def _to_sign_in(self, request: Request) -> Reply:
        """Return a redirect to the sign-in. Raises the refusal of a stranger for a fragment and for JSON."""
        if _wants_fragment(request) or _is_json(request):
            raise Refusal(self._audience.stranger)
        return see_other(self._sign_in_from(request), self._audience.headers)

    def _sign_in_from(self, request: Request) -> str:
        """Return the address of the sign-in that leads back to the page of the request."""
        home, sign_in = self._audience.home, self._audience.sign_in
        if request.method not in SAFE_METHODS:
            return sign_in
        back = way_back(_address(request), home)
        return f"{sign_in}?to={quote(back)}" if back != home else sign_in

    def _address_of(self, request: Request) -> str | None:
        """Return the address that shows the same page again; None for the answer to a form.

        The way back from the platform has secrets in its address, so its address is that of the sign-in. A
        query that is too long for a way back is left out.
        """
        if request.method not in SAFE_METHODS:
            return None
        sign_in = self._audience.sign_in
        if request.path.startswith(f"{sign_in}/"):
            return sign_in
        address = _address(request)
        return address if len(address) <= LONGEST_WAY_BACK or request.path == sign_in else request.path

    def _with_headers(self, reply: Reply) -> Reply:
        headers = {**self._audience.headers, **reply.headers}
        return replace(reply, headers={name: value for name, value in headers.items() if value})

    def _refused(self, request: Request, visitor: V | None, refused: Reply) -> HtmlPage | Reply:
        """Return the page of a refusal; for a program the refusal itself."""
        if _is_json(request):
            return refused
        may_sign_in = refused.status == 401 or (visitor is None and self._audience.is_closed)
        is_of_form = request.method not in SAFE_METHODS
        texts = self._audience.error_texts
        return error_page(refused, texts, may_sign_in=may_sign_in, is_of_form=is_of_form)

    def _drawn(
        self,
        drawing: Drawing,
        request: Request,
        visitor: V | None,
        page: HtmlPage,
        style: CarriedStyle | None = None,
    ) -> Reply:
        """Draw a page. It carries the style, if there is one."""
        audience = self._audience
        is_whole = not _wants_fragment(request)
        notice = audience.notices.of(request) if is_whole else None
        values = {
            **audience.values,
            "brand": audience.brand,
            "frame": audience.frame,
            "sign_in": audience.sign_in,
            "home": audience.home,
            "home_link": audience.home_link,
            "title": page.title,
            "path": request.path,
            "sign_in_from_here": self._sign_in_from(request),
            "address": self._address_of(request),
            "visitor": visitor,
            "look": audience.look(request.headers),
            "carries_style": style is not None,
            "notice": notice,
            "now_ms": self._clock.now_ms(),
            **page.values,
        }
        if is_whole:
            text = drawing.whole(page.template, values)
        else:
            text = drawing.fragment(page.template, values, _target(request))
        headers = {**audience.headers, **page.headers}
        cookies = (*page.cookies, audience.notices.taken) if notice is not None else page.cookies
        body = text.encode()
        if takes_gzip(request.headers) and (visitor is None or _may_pack_secrets(request, body)):
            headers["content-encoding"] = "gzip"
            body = packed(body) if style is None else style.pack(body)
        if style is not None:
            headers["content-security-policy"] = with_style(headers["content-security-policy"], style.source)
        return Reply(page.status, body, headers, page.limits, HTML, cookies=cookies, shows=page.shows)

    def _read_style(self) -> CarriedStyle:
        return CarriedStyle(read_static_files().text("site.css") + accent_style(self._audience.brand.accent))

    def _finish(self, request: Request, reply: Reply) -> Reply:
        """Draw an answer that no view made: 405, a bug.

        Before the first page in the visitor's language is drawn, the answer stays JSON.
        """
        visitor = self.visitor(request)
        drawing = self._templates.loaded(self._audience.language(visitor, request.headers))
        if drawing is None or reply.status < 400:
            return reply
        shown = self._refused(request, visitor, reply)
        if isinstance(shown, HtmlPage):
            return self._drawn(drawing, request, visitor, shown)
        return self._with_headers(shown)

    def _finish_missing(self, request: Request, reply: Reply) -> Reply:
        """Answer any other method of a path that does not exist, and a bug."""
        return self._finish(request, reply if reply.status >= 500 else refused("no_such_path"))

    async def _missing(self, request: Request) -> Reply:
        """Answer a path that does not exist: with a page for a browser, with JSON for others.

        A slash at the end leads to the page without it.
        """
        if request.path.endswith("/"):
            without = link(_written(request.path.rstrip("/"), request.query))
            if without != NOWHERE:
                return Reply(308, b"", {"location": without}, content_type="text/plain; charset=utf-8")
        if "text/html" in request.headers.get("Accept", ""):
            await self._templates.load(self._audience.language(self.visitor(request), request.headers))
            return self._finish(request, refused("no_such_path"))
        return refused("no_such_path")


def static_resource(brand: BrandFiles) -> Resource:
    """Return the path of the styles and scripts, which all sites of a gateway share."""
    files = Late(lambda: read_static_files().beside(brand.static))

    async def serve(request: Request) -> Reply:
        return (await files.get()).reply(request)

    return Resource(STATIC_PATH, {"GET": serve}, names={"GET": PAGE}, keeping=AnswerKeeping())


def _comes_from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Return true if a browser comes from another site, or from an address that was typed, and takes gzip."""
    return headers.get("Sec-Fetch-Site") in {"none", "cross-site"} and takes_gzip(headers)


def _may_pack_secrets(request: Request, body: bytes) -> bool:
    """Return true if a page for a visitor who is signed in may be packed.

    The size of a packed page tells whether a guess in it is right (BREACH). An attack needs many pages with
    guesses of its own, for which it sends the visitor's browser here from another site. A browser says so in
    `Sec-Fetch-Site`, which no page can forge, and then nothing is packed, nor for a browser that does not say
    where it comes from. The answer to a form may show a new secret, and is never packed.
    """
    is_own = request.headers.get("Sec-Fetch-Site") in {"same-origin", "none"}
    return is_own and request.method in SAFE_METHODS and len(body) >= LEAST_BYTES


def _wants_fragment(request: Request) -> bool:
    """Return true if htmx asks for a part of a page. It asks for a whole one to replace the body."""
    return "HX-Request" in request.headers and request.headers.get("HX-Request-Type") != "full"


def _is_json(request: Request) -> bool:
    """Return true if a program asks for the JSON of a page."""
    return request.path.endswith(".json")


def _address(request: Request) -> str:
    """Return the address of a page. Its query has one order, as kept answers are found."""
    return _written(request.path, dict(sorted(request.query.items())))


def _written(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _target(request: Request) -> str:
    """Return the id of the element that htmx fills: a block of that name fills it, else the content does."""
    return request.headers.get("HX-Target", "").rpartition("#")[2]
