"""Pages of a listing for its owners: a stranger does not learn of it, and a refused form is drawn alone.

Their access by right is in tests/pages/test_every_page.py.
"""

import pytest

from pages.owner.overview import OVERVIEW_PAGES
from pages.owner.owners import OWNER_PAGES
from pages.owner.profile import PROFILE
from pages.owner.submission import SUBMISSION
from pages.page_rows import rows_of
from tests.support.made_listings import MADE_IDS, list_made
from tests.support.owned_listings import SERVER, list_bot, list_server
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, DAN, READY
from web.pages import PageRow

REMOVAL = [page for page in OWNER_PAGES if page.tab == "danger"]
ROWS = rows_of((SUBMISSION, *OVERVIEW_PAGES, PROFILE, *REMOVAL))
OF_LISTINGS = [row for row in ROWS if "{id}" in row.path]


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


@pytest.fixture(scope="module")
def dan(gateway: PeopleGateway) -> Person:
    return gateway.person(DAN)


@pytest.fixture(scope="module")
def ada(gateway: PeopleGateway) -> Person:
    return gateway.person(ADA)


@pytest.mark.parametrize("row", OF_LISTINGS, ids=named)
def test_who_has_nothing_to_do_with_it_does_not_learn_that_it_is_there(
    gateway: PeopleGateway, dan: Person, row: PageRow
) -> None:
    missing = row.path.format(id="499999999999999999")
    answers = [dan.request(row.method, path) for path in (path_of(row), missing)]
    assert [each.status_code for each in answers] == [404, 404]
    why = "There is no such listing." if row.path.endswith(".json") else "There is nothing here"
    assert why in answers[0].text
    assert gateway.operate("GET", f"/manage/bots/{READY}").status_code == 200


@pytest.mark.parametrize("row", [row for row in ROWS if row.method == "POST"], ids=named)
def test_a_refused_form_can_be_drawn_alone(ada: Person, row: PageRow) -> None:
    answer = ada.request("POST", path_of(row), {"HX-Request": "true"})
    assert answer.status_code < 500, answer.text
    assert "<html" not in answer.text
