"""Each page of a listing for its owners opens for those visitors alone who have the right."""

import pytest

from pages.owner.overview import OVERVIEW_PAGES
from pages.owner.owners import OWNER_PAGES
from pages.owner.profile import PROFILE
from pages.owner.submission import SUBMISSION
from pages.page_rows import rows_of
from tests.support.gateways import OPERATOR_TOKEN
from tests.support.made_listings import MADE_IDS, list_made
from tests.support.owned_listings import SERVER, list_bot, list_server
from tests.support.page_visitor import COOKIE
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, READY
from tests.support.visited_listings import stranger_status
from web.pages import PageRow

REMOVAL = [page for page in OWNER_PAGES if page.tab == "danger"]
ROWS = rows_of((SUBMISSION, *OVERVIEW_PAGES, PROFILE, *REMOVAL))
OF_LISTINGS = [row for row in ROWS if "{id}" in row.path]
OF_OWNERS = ("/danger", "/prove")
"""Pages for the owner alone."""
YEAR_SECONDS = 365 * 86_400


def named(row: PageRow) -> str:
    return f"{row.method} {row.path}"


def path_of(row: PageRow) -> str:
    return row.path.format(id={"servers": SERVER, **MADE_IDS}.get(row.path.split("/")[1], READY))


@pytest.fixture(scope="module")
def gateway(gateway: PeopleGateway) -> PeopleGateway:
    list_bot(gateway, extra=[BEN])
    list_server(gateway)
    list_made(gateway, ADA)
    return gateway


@pytest.fixture(autouse=True)
def time_passes(gateway: PeopleGateway) -> None:
    gateway.clock.advance(600)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_stranger_and_the_operators_cookie_are_led_to_the_sign_in(
    gateway: PeopleGateway, row: PageRow
) -> None:
    stranger, operator = gateway.person(None), gateway.person(None)
    assert operator.sign_in(OPERATOR_TOKEN).status_code == 303
    assert COOKIE in operator.cookies
    for visitor in (stranger, operator):
        answer = visitor.request(row.method, path_of(row))
        assert answer.status_code == stranger_status(row.path)
        assert answer.headers.get("Location", "/signin").startswith("/signin")
        assert answer.headers["X-Robots-Tag"] == "noindex"


@pytest.mark.parametrize("row", OF_LISTINGS, ids=named)
def test_who_has_nothing_to_do_with_it_does_not_learn_that_it_is_there(
    gateway: PeopleGateway, row: PageRow
) -> None:
    dan, missing = gateway.person(DAN), row.path.format(id="499999999999999999")
    answers = [dan.request(row.method, path) for path in (path_of(row), missing)]
    assert [each.status_code for each in answers] == [404, 404]
    why = "There is no such listing." if row.path.endswith(".json") else "There is nothing here"
    assert why in answers[0].text
    assert gateway.operate("GET", f"/manage/bots/{READY}").status_code == 200


@pytest.mark.parametrize("row", OF_LISTINGS, ids=named)
def test_a_moderator_sees_the_overview_and_no_more(gateway: PeopleGateway, row: PageRow) -> None:
    answer = gateway.person(CLEO).request(row.method, path_of(row))
    assert answer.status_code == (200 if row.path.endswith(("/manage", "/manage.json")) else 403)


@pytest.mark.parametrize("row", [row for row in OF_LISTINGS if row.path.startswith("/bots")], ids=named)
def test_an_extra_owner_may_do_all_but_what_is_the_owners(gateway: PeopleGateway, row: PageRow) -> None:
    answer = gateway.person(BEN).request(row.method, path_of(row))
    assert (answer.status_code == 403) == row.path.endswith(OF_OWNERS)


@pytest.mark.parametrize("row", [row for row in ROWS if row.method == "GET"], ids=named)
def test_the_owner_may_open_every_page(gateway: PeopleGateway, row: PageRow) -> None:
    answer = gateway.person(ADA).get(path_of(row))
    assert (answer.status_code, answer.headers["X-Robots-Tag"]) == (200, "noindex")


@pytest.mark.parametrize("row", [row for row in ROWS if row.method == "POST"], ids=named)
def test_a_form_of_another_site_is_refused(gateway: PeopleGateway, row: PageRow) -> None:
    answer = gateway.person(ADA).request("POST", path_of(row), {"Sec-Fetch-Site": "cross-site"})
    assert (answer.status_code, "This was refused" in answer.text) == (403, True)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_part_of_a_page_can_be_drawn_alone(gateway: PeopleGateway, row: PageRow) -> None:
    answer = gateway.person(ADA).request(row.method, path_of(row), {"HX-Request": "true"})
    assert answer.status_code < 500, answer.text
    assert "<html" not in answer.text


def test_an_expired_session_opens_nothing(gateway: PeopleGateway) -> None:
    ada = gateway.person(ADA)
    gateway.clock.advance(YEAR_SECONDS)
    for row in ROWS:
        assert ada.request(row.method, path_of(row)).status_code == stranger_status(row.path)
