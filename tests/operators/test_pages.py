"""The pages about parts of the process, empty and full."""

import pytest

from tests.support.gateways import BOT, ThreadGateway
from tests.support.page_visitor import PageVisitor, words
from tests.support.suspended_endpoints import hold
from tests.support.webhook_receiver import Receiver

PAGES = ("webhooks", "limiter", "errors", "journal", "data")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_an_empty_gateway_says_that_there_is_nothing(visitor: PageVisitor, name: str) -> None:
    page = visitor.page(f"/debug/{name}")
    assert 'class="empty"' in page or name == "data"
    assert f'<a href="/debug/{name}" aria-current="page">' in page


def test_failing_and_suspended_endpoints_are_named_with_the_reason(
    once: ThreadGateway, watching: PageVisitor, receiver: Receiver
) -> None:
    hold(once, receiver, 2)
    page = watching.page("/debug/webhooks")
    shown = words(page)
    assert "suspended next probe" in shown
    assert "http_500" in shown
    assert f'href="/debug/listings/bots/{BOT}">Test bot</a>' in page
    assert "Waiting 2 at 1 endpoint" in shown


def test_the_hottest_callers_and_failing_addresses_are_shown(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    key = gateway.list_bot()
    for _ in range(25):
        gateway.voters(key)
    gateway.voters("wrong")
    shown = words(visitor.page("/debug/limiter"))
    assert "Test bot 25 100 in 5 min 25%" in shown
    assert "127.0.0.1 1 served" in shown


def test_errors_are_shown_with_the_id_of_their_request(
    visitor: PageVisitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.all_workers.overview", lambda *_: 1 / 0)
    failed = visitor.get("/debug")
    assert failed.status_code == 500
    page = visitor.page("/debug/errors")
    assert failed.headers["X-Request-Id"] in page
    assert "ZeroDivisionError" in page


def test_the_journal_is_shown_newest_first_and_page_by_page(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    key = gateway.list_bot()
    for user in range(120):
        gateway.cast(str(555555555555555000 + user))
    page = visitor.page("/debug/journal")
    positions = [
        int(each) for each in words(page.split("<tbody>")[1]).split() if each.isdigit() and len(each) <= 3
    ]
    assert positions[0] == gateway.done("GET", "/debug/overview.json")["positions"]["head"]
    older = page.split('href="/debug/journal?before=')[1].split('"')[0]
    assert f"/debug/listings/bots/{BOT}" in visitor.page(f"/debug/journal?before={older}")
    assert key not in page


@pytest.mark.parametrize("before", ["0", "x", "-1", "1.5"])
def test_a_place_in_the_journal_that_is_none_is_a_page_with_400(visitor: PageVisitor, before: str) -> None:
    assert visitor.get(f"/debug/journal?before={before}").status_code == 400
