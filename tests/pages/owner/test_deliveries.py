"""pages/owner/deliveries.py: the log, filtered and in pages; a whole delivery; and sending again."""

import html
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from pages.owner.deliveries import DELIVERY_PAGES, ON_A_PAGE
from pages.page_rows import rows_of
from tests.support.contract import deliveries, users
from tests.support.gateways import BOT, SERVER, USER, eventually
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.platform_stand_in import ADA
from tests.support.suspended_endpoints import ONCE, cast, hold, settled
from tests.support.visited_listings import (
    OF_SERVER,
    WEBHOOK,
    named,
    not_allowed,
    own_bot,
    own_server,
    path_of,
    refusals,
    statuses,
)
from tests.support.webhook_receiver import Receiver, status
from web.pages import PageRow

ROWS = rows_of(DELIVERY_PAGES)
FRAGMENT = {"HX-Request": "true", "HX-Request-Type": "partial"}
LOG, API = f"{WEBHOOK}/deliveries", f"/manage/bots/{BOT}/webhook"
TOKEN = "token-of-the-owner"
NONE = "0" * 24


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return ONCE


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    """A gateway that tries failed deliveries again."""
    with serving(tmp_path_factory.mktemp("patient") / "data") as gateway:
        yield gateway


def signed_in(gateway: PeopleGateway, receiver: Receiver) -> Person:
    """Ada, whose bot has a webhook."""
    gateway.clock.advance(600)
    own_bot(gateway)
    gateway.done("PUT", API, {"url": f"{receiver.url}/votes", "token": TOKEN})
    return gateway.person(ADA)


@pytest.fixture
def ada(gateway: PeopleGateway, receiver: Receiver) -> Person:
    return signed_in(gateway, receiver)


@pytest.fixture(scope="module")
def others(gateway: PeopleGateway) -> dict[str, Person]:
    own_bot(gateway)
    own_server(gateway)
    return not_allowed(gateway)


def one_of_each(gateway: PeopleGateway, receiver: Receiver) -> dict[str, Any]:
    """The ids of two deliveries by their states: one arrived, and one failed."""
    receiver.answers = [status(204, b"thanks"), status(500, b"<b>no</b>")]
    cast(gateway, users(1))
    settled(gateway)
    cast(gateway, users(1, first=1))
    settled(gateway)
    return {row["state"]: row for row in deliveries(gateway)}


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_log_is_for_owners_alone(others: dict[str, Person], row: PageRow) -> None:
    assert statuses(row, others) == refusals(row)


# -- The log ----------------------------------------------------------------------------------------------


def test_the_log_is_shown_by_state_as_its_twin_says(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    assert "No delivery yet" in ada.page(LOG)
    rows = one_of_each(gateway, receiver)
    for state, shown in {
        "": {"delivered", "failed"},
        "delivered": {"delivered"},
        "failed": {"failed"},
    }.items():
        query = f"?state={state}" if state else ""
        page = ada.page(LOG + query)
        assert {each for each, row in rows.items() if f"{LOG}/{row['id']}" in page} == shown
        assert f'href="{LOG}{query}" aria-current="page"' in page
        assert ada.get(f"{LOG}.json{query}").json() == gateway.done("GET", f"{API}/deliveries{query}")
    assert "Nothing waits" in ada.page(f"{LOG}?state=pending")
    assert "the answer had status 500" in ada.page(LOG)
    for wrong in ("?state=lost", "?after=1"):
        assert ada.get(LOG + wrong).status_code == 400


def test_the_pages_of_the_log_lead_to_each_other(gateway: PeopleGateway, ada: Person) -> None:
    cast(gateway, users(ON_A_PAGE + 2))
    settled(gateway)
    first = ada.page(f"{LOG}?state=delivered")
    assert first.count(f'href="{LOG}/') == ON_A_PAGE
    assert "Newest" not in first
    older = html.unescape(first.split('">Older<')[0].rpartition('href="')[2])
    second = ada.page(older)
    assert second.count(f'href="{LOG}/') == 2
    assert f'<a href="{LOG}?state=delivered">Newest</a>' in second
    assert "Older" not in second


# -- One delivery -----------------------------------------------------------------------------------------


def test_a_delivery_is_shown_with_its_attempts_and_its_request(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    failed = one_of_each(gateway, receiver)["failed"]
    page = ada.page(f"{LOG}/{failed['id']}")
    assert "It failed the answer had status 500" in words(page)
    assert page.count("&lt;b&gt;no&lt;/b&gt;") == 1
    command = html.unescape(page.split('id="command">')[1].partition("</code>")[0])
    *options, url = shlex.split(command.replace(" \\\n", " "))
    (received,) = [each for each in receiver.received if each.headers["webhook-id"] == failed["id"]]
    assert url == f"{receiver.url}{received.path}"
    assert options[-1].encode() == received.body
    headers = dict(each.split(": ", 1) for each in options if ": " in each)
    for name in ("Content-Type", "User-Agent", "webhook-id", "webhook-timestamp"):
        assert headers[name] == received.headers[name.lower()]
    assert TOKEN not in page
    assert received.headers["webhook-signature"] not in page


def test_a_delivery_that_waits_says_when_it_is_tried_again(
    patient: PeopleGateway, receiver: Receiver
) -> None:
    ada = signed_in(patient, receiver)
    receiver.default = status(500)
    page = words(ada.acted(f"{WEBHOOK}/test"))
    assert "It waits the answer had status 500" in page
    assert "Look again" in page
    assert "Send it again" not in page


def test_too_many_tests_are_refused_in_words(patient: PeopleGateway, receiver: Receiver) -> None:
    ada = signed_in(patient, receiver)
    receiver.default = status(500)
    answers = [ada.post(f"{WEBHOOK}/test") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [303] * 5 + [409]
    assert "Too many tests wait for this endpoint." in answers[-1].text


def test_a_delivery_that_is_not_there_is_not_found(ada: Person) -> None:
    for delivery_id in (NONE, "x", "%3Cscript%3E"):
        for method in ("GET", "POST"):
            answer = ada.request(method, f"{LOG}/{delivery_id}")
            assert (answer.status_code, "There is nothing here" in answer.text) == (404, True)


def test_a_delivery_of_another_listing_is_none_of_this_one(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    own_server(gateway)
    gateway.done("PUT", f"/manage/servers/{SERVER}/webhook", {"url": receiver.url})
    test = gateway.done("POST", f"/manage/servers/{SERVER}/webhook/test", {"user": USER})
    assert ada.get(f"{OF_SERVER}/deliveries/{test['id']}").status_code == 200
    assert ada.get(f"{LOG}/{test['id']}").status_code == 404
    assert ada.post(f"{LOG}/{test['id']}").status_code == 404


# -- Sending again ----------------------------------------------------------------------------------------


def test_a_delivery_is_sent_again_under_its_id(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    failed = one_of_each(gateway, receiver)["failed"]
    receiver.received.clear()
    page = words(ada.acted(f"{LOG}/{failed['id']}"))
    assert "It arrived status 204" in page
    assert [each.headers["webhook-id"] for each in receiver.received] == [failed["id"]]


def test_a_delivery_that_waits_is_not_sent_again(patient: PeopleGateway, receiver: Receiver) -> None:
    ada = signed_in(patient, receiver)
    receiver.default = status(500)
    path = ada.post(f"{WEBHOOK}/test").headers["Location"]
    answer = ada.post(path)
    assert (answer.status_code, "The delivery is still pending." in answer.text) == (409, True)


@pytest.mark.parametrize(("since", "hours", "again"), [("3600", 2, 0), ("86400", 2, 1), ("all", 400, 1)])
def test_what_failed_is_sent_again_since_a_time(
    gateway: PeopleGateway, receiver: Receiver, since: str, hours: int, again: int
) -> None:
    signed_in(gateway, receiver)
    one_of_each(gateway, receiver)
    receiver.received.clear()
    gateway.advance(hours * 3_600)
    late = gateway.person(ADA)
    page = late.acted(LOG, {"since": since})
    assert ("The failed deliveries are sent again." in page, "Nothing has failed" in page) == (
        again == 1,
        again == 0,
    )
    eventually(lambda: len(receiver.received) == again)
    settled(gateway)


@pytest.mark.parametrize("since", ["", "0", "-1", "ALL", "1e9", "<script>"])
def test_another_time_is_refused_at_its_field(ada: Person, since: str) -> None:
    answer = ada.post(LOG, {"since": since})
    assert answer.status_code == 400
    assert 'id="since" name="since" aria-invalid="true"' in answer.text
    assert "<script>" not in answer.text.partition("<main")[2]


def test_while_a_webhook_is_suspended_what_waits_says_until_when(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    hold(gateway, receiver, 1)
    page = words(ada.page(f"{LOG}?state=pending"))
    assert "Waiting" in page
    wait = words(ada.page(WEBHOOK)).partition("The next probe is in ")[2].partition(".")[0]
    assert f"The next attempt is in {wait}." in page


def test_servers_have_a_log_too(gateway: PeopleGateway, ada: Person, receiver: Receiver) -> None:
    own_server(gateway)
    gateway.done("PUT", f"/manage/servers/{SERVER}/webhook", {"url": receiver.url})
    ada.acted(f"{OF_SERVER}/test")
    assert "Arrived Test" in words(ada.page(f"{OF_SERVER}/deliveries"))
    twin = ada.get(f"{OF_SERVER}/deliveries.json?limit=1").json()
    assert twin == gateway.done("GET", f"/manage/servers/{SERVER}/webhook/deliveries?limit=1")


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.method == "GET" and row.path.startswith("/bots")], ids=named
)
def test_a_page_is_drawn_as_a_part_too(
    gateway: PeopleGateway, ada: Person, receiver: Receiver, row: PageRow
) -> None:
    failed = one_of_each(gateway, receiver)["failed"]
    answer = ada.get(path_of(row).replace(NONE, failed["id"]), **FRAGMENT)
    assert answer.status_code == 200
    assert "<html" not in answer.text
