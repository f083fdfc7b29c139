"""Every page for people, requested by every kind of visitor: only those who may see it do.

The right that each page of a listing takes is here once more, by its address: asking for less fails a test.
"""

from typing import Literal

import pytest

from kinds.registry import KINDS
from pages.page_rows import rows_of
from pages.public.listing import PUBLIC_LISTING
from pages.public.lists import PUBLIC_LISTS
from pages.table import PEOPLE_PAGES
from people.permissions import Right
from tests.support.co_owners import let_join
from tests.support.gateways import BOT, BOT_SUBMISSION, SERVER, SERVER_SUBMISSION
from tests.support.made_listings import MADE_IDS, list_made
from tests.support.page_visitor import COOKIE, PageVisitor
from tests.support.people_filled import drawn_pages, is_looked_at, pages
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.people_scene import SESSION
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN
from tests.support.visited_listings import named, stranger_status
from web.pages import PageRow

Visitor = Literal["stranger", "operator", "expired", "user", "extra owner", "owner", "moderator"]
OUTSIDE: tuple[Visitor, ...] = ("stranger", "operator", "expired")
INSIDE: tuple[Visitor, ...] = ("user", "extra owner", "owner", "moderator")
NEEDS: dict[str, Right] = {
    "": "see",
    "votes": "see",
    "profile": "edit",
    "prove": "prove",
    "keys": "keys",
    "webhook": "webhook",
    "owners": "own",
    "leave": "leave",
    "danger": "remove",
    "check": "edit",
}
"""The right that a listing's page needs, by the word behind `manage`."""
MAY: dict[Visitor, set[Right]] = {
    "user": set(),
    "extra owner": {"see", "edit", "keys", "webhook", "leave"},
    "owner": {"see", "edit", "keys", "webhook", "prove", "own", "remove"},
    "moderator": {"see", "review", "decide"},
}
ROWS = [row for row in PEOPLE_PAGES if row.access != "anyone"]
OF_LISTINGS = [row for row in ROWS if "/manage" in row.path]
OF_MODERATORS = [row for row in ROWS if row.access == "moderator"]
every_row = pytest.mark.parametrize("row", ROWS, ids=named)


@pytest.fixture(scope="module")
def gateway(gateway: PeopleGateway) -> PeopleGateway:
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    let_join(gateway, BOT, DAN)
    gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "owner_id": ADA})
    list_made(gateway, ADA)
    ids = {"bots": BOT, "servers": SERVER, **MADE_IDS}
    for kind in KINDS:
        if kind.has("webhook"):
            path = f"/manage/{kind.ref(ids[kind.plural])}/webhook"
            gateway.done("PUT", path, {"url": "http://127.0.0.1:9/votes"})
    return gateway


@pytest.fixture(scope="module")
def visitors(gateway: PeopleGateway) -> dict[Visitor, PageVisitor]:
    operator = PageVisitor(gateway)
    operator.sign_in()
    assert COOKIE in operator.cookies
    expired = gateway.person(BEN)
    ended = gateway.person(None)
    ended.cookies[SESSION] = expired.cookies[SESSION]
    expired.post("/signout")
    people: dict[Visitor, str] = {"user": BEN, "extra owner": DAN, "owner": ADA, "moderator": CLEO}
    return {
        "stranger": gateway.person(None),
        "operator": operator,
        "expired": ended,
        **{who: gateway.person(user) for who, user in people.items()},
    }


def address(row: PageRow) -> str:
    path = row.path.replace("{kind}", "bots").replace("{key_id}", "0" * 24).replace("{delivery_id}", "0" * 24)
    return path.replace("{id}", {"servers": SERVER, **MADE_IDS}.get(path.split("/")[1], BOT))


def asked(visitor: PageVisitor, row: PageRow) -> int:
    return visitor.request(row.method, address(row), data={} if row.method == "POST" else None).status_code


def needed(row: PageRow) -> Right:
    return NEEDS[
        row.path.partition("/manage")[2]
        .lstrip("/")
        .partition("/")[0]
        .removesuffix(".json")
        .removesuffix(".csv")
    ]


@every_row
def test_who_is_not_signed_in_is_sent_to_sign_in(visitors: dict[Visitor, PageVisitor], row: PageRow) -> None:
    for who in OUTSIDE:
        answer = visitors[who].request(row.method, address(row), data={} if row.method == "POST" else None)
        assert answer.status_code == stranger_status(row.path), who
        if answer.status_code == 303:
            assert answer.headers["Location"].startswith("/signin"), who
        else:
            assert answer.json()["error"] == "You must sign in.", who


@pytest.mark.parametrize("row", OF_LISTINGS, ids=named)
@pytest.mark.parametrize("who", INSIDE)
def test_a_listing_s_page_is_for_those_with_the_right(
    visitors: dict[Visitor, PageVisitor], row: PageRow, who: Visitor
) -> None:
    if row.method == "POST" and needed(row) in MAY[who]:
        return  # what it does is tested beside the page
    status = asked(visitors[who], row)
    if "see" not in MAY[who] or (who == "extra owner" and not row.path.startswith("/bots/")):
        assert status == 404
    elif needed(row) not in MAY[who]:
        assert status == 403
    elif "{key_id}" in row.path or "{delivery_id}" in row.path:
        assert status == 404  # there is none with this id
    else:
        assert status == 200


@pytest.mark.parametrize("row", OF_MODERATORS, ids=named)
def test_a_moderator_s_page_is_for_moderators(visitors: dict[Visitor, PageVisitor], row: PageRow) -> None:
    others = [who for who in INSIDE if who != "moderator"]
    assert {who: asked(visitors[who], row) for who in others} == dict.fromkeys(others, 403)


@pytest.mark.parametrize("row", [row for row in ROWS if row.method == "GET"], ids=lambda row: row.path)
def test_every_page_can_be_drawn_alone(visitors: dict[Visitor, PageVisitor], row: PageRow) -> None:
    who: Visitor = "moderator" if row.access == "moderator" else "owner"
    whole, part = (visitors[who].get(address(row), **headers) for headers in ({}, {"HX-Request": "true"}))
    assert part.status_code == whole.status_code < 500
    if whole.headers["Content-Type"].startswith("text/html"):
        assert "<!doctype html>" in whole.text
        assert "<!doctype html>" not in part.text


@pytest.mark.parametrize("row", rows_of((*PUBLIC_LISTS, *PUBLIC_LISTING)), ids=named)
def test_a_public_page_is_for_everybody_and_one_of_what_is_in_review_for_those_who_may_see_it(
    visitors: dict[Visitor, PageVisitor], row: PageRow
) -> None:
    insiders = set[str]()
    if "{id}" in row.path and not row.path.startswith(("/bots/", "/users/")):  # it is in review
        insiders = {"owner", "moderator"} if not row.path.endswith("badge.svg") else set()
        leads_on = row.kind is not None and row.kind.slug is not None  # from the id to the name
        seen = 303 if leads_on and row.path.removesuffix(".json").endswith("{id}") else 200
        expected = {who: seen if who in insiders else 404 for who in visitors}
    else:
        # The bot names no commands.
        expected = dict.fromkeys(visitors, 404 if row.path.endswith("/commands") else 200)
    assert {who: asked(visitors[who], row) for who in visitors} == expected


def test_there_are_pages_of_each_kind() -> None:
    assert {row.access for row in PEOPLE_PAGES} == {"anyone", "signed in", "moderator"}
    assert {needed(row) for row in OF_LISTINGS} == {*NEEDS.values()}


@pytest.mark.parametrize("row", [row for row in PEOPLE_PAGES if row.method == "POST"], ids=named)
def test_no_page_changes_anything_for_another_site(
    gateway: PeopleGateway, visitors: dict[Visitor, PageVisitor], row: PageRow
) -> None:
    owner = visitors["owner"]
    assert isinstance(owner, Person)
    before = gateway.done("GET", "/debug/overview.json")["positions"]["head"]
    answer = owner.request("POST", address(row), {"Sec-Fetch-Site": "cross-site"}, data={})
    assert answer.status_code == 403
    assert gateway.done("GET", "/debug/overview.json")["positions"]["head"] == before


OF_EACH_KIND = {
    "/{kind}",
    "/{kind}/new",
    "/{kind}/{id}",
    "/{kind}/{id}/manage/profile",
    "/review/{kind}/{id}",
}
"""The pages on which kinds differ most."""


def test_a_browser_looks_at_every_page_and_at_the_own_pages_of_every_kind() -> None:
    looked_at = pages()
    assert {row.path for row in drawn_pages() if not is_looked_at(row, looked_at)} == set()
    for kind in KINDS:
        own = [row for row in drawn_pages() if row.kind is kind and in_general(row) in OF_EACH_KIND]
        assert {in_general(row) for row in own} == OF_EACH_KIND
        for row in own:
            assert is_looked_at(row, looked_at, kinds=kind.plural), row.path


def in_general(row: PageRow) -> str:
    """Return the path of a page of all kinds."""
    return row.path.replace(f"/{row.kind}", "/{kind}", 1)
