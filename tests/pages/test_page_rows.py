"""pages/page_rows.py: the routes of a page, its JSON, its forms, and how it is shown again."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlencode

import msgspec
import pytest

from actions.action import Access, Action, Call, Command
from actions.views import Success
from core.failures import Unavailable
from handlers.reply import Reply
from handlers.request import Request
from kinds.registry import KINDS
from languages.refusals import Refusal
from languages.said import Code
from languages.texts import Text
from listings.forms import KeyName
from pages.page import Again, Page, PageCall, Post, Shown
from pages.page_rows import rows_of
from pages.site_tools import SiteTools
from pages.visitors import PersonVisit
from tests.support.sample_rows import NOW_MS
from web.pages import HtmlPage, Visit, see_other


class Named(Success):
    """The value of the page."""

    names: tuple[str, ...]


async def name_it(_: Call, form: KeyName) -> Named:
    return Named(names=(form.name,))


NAME = Action(
    name="nameIt",
    run=name_it,
    route="POST /manage/names",
    summary="Name it",
    outcome="Named.",
    command=Command("names add"),
)


def show(page: PageCall) -> Shown[Named | None]:
    value = Named(names=("a",)) if page.visit.visitor is not None else None
    return Shown(value, Text("Names"), {"name": page.typed("name"), "found": page.refused.found})


PAGE = Page(
    path="/names",
    template="names",
    show=show,
    posts=(
        Post(
            action=NAME,
            reads=lambda _, form: {"name": form.text("name")},
            then=lambda *_: see_other("/"),
        ),
    ),
)


class Site:
    """The tools, with a session that can end."""

    def __init__(self) -> None:
        clock = SimpleNamespace(now_ms=lambda: NOW_MS)
        self.is_signed_in = True
        self.tools = cast(
            SiteTools,
            SimpleNamespace(
                actions=SimpleNamespace(clock=clock), accounts=SimpleNamespace(sender=self._known)
            ),
        )

    def _known(self, _: Request) -> object:
        return object() if self.is_signed_in else None


def visit(fields: dict[str, str] | None = None, visitor: object = "somebody") -> PersonVisit:
    body = urlencode(fields or {}).encode()
    request = Request("POST", "/names", (), {}, {}, "127.0.0.1", body, 10_000)
    return cast(PersonVisit, Visit(request, visitor))


def served(
    page: Page[Any], method: str, sent: PersonVisit, site: Site | None = None, suffix: str = ""
) -> Any:
    rows = {(row.method, row.path): row for row in rows_of([page])}
    answer = rows[method, page.path + suffix].view((site or Site()).tools)(sent)
    return asyncio.run(cast(Any, answer))


def routes(*pages: Page[Any]) -> list[tuple[str, str]]:
    return [(row.method, row.path) for row in rows_of(pages)]


def test_a_page_is_a_route_its_json_another_and_its_form_a_third() -> None:
    assert routes(PAGE) == [("GET", "/names.json"), ("GET", "/names"), ("POST", "/names")]
    assert routes(replace(PAGE, path="/", posts=())) == [("GET", "/index.json"), ("GET", "/")]
    assert routes(replace(PAGE, has_json=False, posts=())) == [("GET", "/names")]
    assert routes(replace(PAGE, show=None)) == [("POST", "/names")]


def test_a_page_of_listings_is_there_for_each_kind_that_has_the_part() -> None:
    page = replace(PAGE, path="/{kind}/{id}/names", has_json=False, posts=())
    assert routes(page) == [("GET", f"/{kind}/{{id}}/names") for kind in KINDS]
    assert routes(replace(page, of="keys")) == [("GET", "/bots/{id}/names")]


def test_the_json_of_a_page_is_its_value_and_takes_a_sign_in_where_there_is_none() -> None:
    reply = served(PAGE, "GET", visit(), suffix=".json")
    assert msgspec.json.decode(reply.body) == {"success": True, "names": ["a"]}
    with pytest.raises(Refusal, match="sign_in_required"):
        served(PAGE, "GET", visit(visitor=None), suffix=".json")


def test_a_post_runs_its_action_and_leads_on() -> None:
    reply = served(PAGE, "POST", visit({"name": "b"}))
    assert isinstance(reply, Reply)
    assert reply.headers["location"] == "/"


def test_a_form_that_is_refused_is_shown_again_with_what_was_typed() -> None:
    drawn = served(PAGE, "POST", visit({"name": "x" * 101}))
    assert isinstance(drawn, HtmlPage)
    assert (drawn.status, drawn.values["name"], list(drawn.values["errors"])) == (400, "x" * 101, ["name"])


@pytest.mark.parametrize(
    ("error", "status", "headers"),
    [(Refusal("keys_need_approval"), 409, {}), (Unavailable("the disk is full"), 503, {"retry-after": "5"})],
)
def test_a_refusal_of_the_rules_is_an_error_of_the_whole_form(
    error: Exception, status: int, headers: dict[str, str]
) -> None:
    def run(_: PageCall, __: object) -> None:
        raise error

    drawn = served(posting(run), "POST", visit({"name": "b"}))
    assert (drawn.status, list(drawn.values["errors"]), drawn.headers) == (status, [""], headers)


@pytest.mark.parametrize("code", ["no_such_listing", "sign_in_required"])
def test_a_form_is_not_shown_again_where_it_cannot_be_sent(code: Code) -> None:
    def run(_: PageCall, __: object) -> None:
        raise Refusal(code)

    with pytest.raises(Refusal, match=code):
        served(posting(run), "POST", visit({"name": "b"}))


def posting(run: Any) -> Page[Any]:
    return replace(PAGE, posts=(replace(PAGE.posts[0], run=run),))


def test_a_guard_of_the_page_keeps_what_it_has_found_out() -> None:
    def run(_: PageCall, __: object) -> None:
        raise Again(Refusal("keys_need_approval"), found={"checks": 7})

    assert served(posting(run), "POST", visit({"name": "b"})).values["found"] == {"checks": 7}


def test_a_refusal_that_only_the_page_knows_has_its_own_status_and_errors() -> None:
    def run(_: PageCall, __: object) -> None:
        raise Again(ValueError(), errors={"name": "no"}, status=403)

    drawn = served(posting(run), "POST", visit({"name": "b"}))
    assert (drawn.status, drawn.values["errors"], drawn.headers) == (403, {"name": "no"}, {})


def test_a_guard_before_the_form_is_checked_keeps_what_was_typed() -> None:
    def run(_: PageCall, form: object) -> None:
        assert form is None
        raise Again(Refusal("keys_need_approval"))

    post: Post[None] = Post(run=run, reads=PAGE.posts[0].reads, then=lambda *_: see_other("/"))
    drawn = served(replace(PAGE, posts=(post,)), "POST", visit({"name": "x" * 101}))
    assert (drawn.status, drawn.values["name"]) == (409, "x" * 101)


def test_a_guard_refuses_a_form_before_it_is_checked() -> None:
    def guard(page: PageCall) -> None:
        raise Again(ValueError(), errors={"": f"not {page.visit.form().text('name')[:1]}"}, status=403)

    page = replace(PAGE, posts=(replace(PAGE.posts[0], guard=guard),))
    drawn = served(page, "POST", visit({"name": "x" * 101}))
    assert (drawn.status, drawn.values["errors"], drawn.values["name"]) == (403, {"": "not x"}, "x" * 101)


def test_a_fault_is_shown_at_the_field_of_the_page() -> None:
    page = replace(PAGE, posts=(replace(PAGE.posts[0], fields={"name": "title"}),))
    assert list(served(page, "POST", visit({"name": ""})).values["errors"]) == ["title"]


def test_a_session_that_ends_while_a_post_waits_is_noticed_before_it_commits() -> None:
    site, committed = Site(), []

    async def run(page: PageCall, _: object) -> None:
        await asyncio.sleep(0)  # the platform is asked, and meanwhile the visitor signs out elsewhere
        site.is_signed_in = False
        committed.append(page.call.rechecked())

    with pytest.raises(Refusal, match="sign_in_required"):
        served(posting(run), "POST", visit({"name": "b"}), site)
    assert committed == []


def test_the_button_says_which_form_was_sent() -> None:
    other: Post[None] = Post(
        run=lambda _, __: "other", then=lambda _, made: see_other(f"/{made}"), button="other"
    )
    page = replace(PAGE, posts=(*PAGE.posts, other))
    assert served(page, "POST", visit({"act": "other"})).headers["location"] == "/other"
    assert served(page, "POST", visit({"name": "b"})).headers["location"] == "/"


def test_an_unknown_button_does_nothing() -> None:
    page = replace(PAGE, posts=tuple(replace(post, button="name") for post in PAGE.posts))
    with pytest.raises(Refusal, match="no_such_path"):
        served(page, "POST", visit({"name": "b", "act": "x"}))


def test_the_access_of_a_post_is_that_of_its_action() -> None:
    action = replace(NAME, access=Access("keys", fresh=True))
    assert Post(action=action, then=lambda _, __: see_other("/")).needs == action.access
