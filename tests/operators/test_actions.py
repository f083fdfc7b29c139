"""Actions: each asks first, then does what the API does, and says how it went."""

from html import unescape

import pytest

from core.failures import Unavailable
from core.ledger import Ledger
from operators.operator_actions import ACTIONS, DATA, LISTING
from tests.support.contract import deliveries, webhook
from tests.support.gateways import BOT, BOT_SUBMISSION, SERVER, SERVER_SUBMISSION, ThreadGateway
from tests.support.page_visitor import PageVisitor, words
from tests.support.suspended_endpoints import cast, hold, settled
from tests.support.webhook_receiver import Receiver, status

HERE = LISTING.format(kind="bots", id=BOT)


@pytest.fixture
def in_review(gateway: ThreadGateway) -> None:
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)


def test_every_action_of_a_listing_asks_first_and_asking_changes_nothing(
    once: ThreadGateway, watching: PageVisitor, receiver: Receiver
) -> None:
    hold(once, receiver, 1)
    delivery_id = deliveries(once)[-1]["id"]
    head = once.done("GET", "/debug/overview.json")["positions"]["head"]
    for action in ACTIONS:
        place = action.place.format(kind="bots", id=BOT, delivery_id=delivery_id)
        path = f"{place}/{action.slug}"
        shown = watching.page(path)
        assert f'<form method="post" action="{path}">' in shown
        assert f">{action.title}</button>" in shown
        effect = action.operations[0].about
        assert " ".join(effect.split()) in unescape(words(shown))
        assert not {"$", "{"} & set(effect), "only the OpenAPI document fills in numbers"
    assert once.done("GET", "/debug/overview.json")["positions"]["head"] == head
    assert receiver.received == []


@pytest.mark.usefixtures("in_review")
def test_a_listing_is_approved(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    shown = visitor.acted(f"{HERE}/approve")
    assert "It is approved." in shown
    assert gateway.done("GET", f"/manage/bots/{BOT}")["state"] == "approved"


@pytest.mark.usefixtures("in_review")
def test_a_listing_is_denied_with_a_reason_that_its_page_shows(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    shown = visitor.acted(f"{HERE}/deny", {"reason": "Copied <from> elsewhere\r\nand not changed"})
    assert "Copied &lt;from&gt; elsewhere" in shown
    assert gateway.done("GET", f"/manage/bots/{BOT}")["reason"] == "Copied <from> elsewhere\nand not changed"


@pytest.mark.usefixtures("in_review")
def test_a_form_that_is_refused_is_shown_again_with_its_values_and_what_is_wrong(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    answer = visitor.post(f"{HERE}/limits", {"stats.requests": "many", "stats.window_seconds": "60"})
    assert answer.status_code == 400
    assert 'value="many"' in answer.text
    assert 'value="60"' in answer.text
    assert '<a href="#stats.requests">Pushes of counts</a>' in answer.text
    assert 'aria-invalid="true" aria-describedby="stats.requests-problem stats.requests-hint"' in answer.text
    assert gateway.done("GET", f"/manage/bots/{BOT}")["limits"] == {"stats": None, "voters": None}
    assert visitor.post(f"{HERE}/deny", {"reason": ""}).status_code == 400


def test_limits_are_set_shown_and_taken_back(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_bot()
    fields = {"stats.requests": "5", "stats.window_seconds": "3,600"}
    assert "The limits are saved." in visitor.acted(f"{HERE}/limits", fields)
    own = gateway.done("GET", f"/manage/bots/{BOT}")["limits"]
    assert own == {"stats": {"requests": 5, "window_seconds": 3_600}, "voters": None}
    assert 'value="3600"' in visitor.page(f"{HERE}/limits")
    visitor.acted(f"{HERE}/limits", {"stats.requests": "", "stats.window_seconds": ""})
    assert gateway.done("GET", f"/manage/bots/{BOT}")["limits"] == {"stats": None, "voters": None}


def test_the_actual_server_count_is_set(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_bot(actual=None)
    assert "The count is saved." in visitor.acted(f"{HERE}/counts", {"server_count": "1200"})
    assert gateway.done("GET", f"/manage/bots/{BOT}")["actual_server_count"] == 1_200
    assert visitor.post(f"{HERE}/counts", {"server_count": "10000001"}).status_code == 400
    assert visitor.post(f"{HERE}/counts", {}).status_code == 400


def test_what_the_state_forbids_is_a_page_with_409(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_bot()
    answer = visitor.post(f"{HERE}/approve")
    assert answer.status_code == 409
    assert "The listing is approved, not in review." in answer.text
    denied = visitor.post(f"{HERE}/deny", {"reason": "kept"})
    assert (denied.status_code, "\nkept</textarea>" in denied.text) == (409, True)


@pytest.mark.parametrize("place", ["bots", "servers", "templates", "bots%2F1"])
def test_an_action_on_what_does_not_exist_is_a_page_with_404(visitor: PageVisitor, place: str) -> None:
    for method in ("GET", "POST"):
        answer = visitor.request(method, f"/debug/listings/{place}/{BOT}/approve")
        assert (answer.status_code, "There is nothing here" in answer.text) == (404, True)


def test_an_action_for_bots_is_none_for_servers(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.done("POST", "/manage/servers", SERVER_SUBMISSION)
    here = LISTING.format(kind="servers", id=SERVER)
    assert visitor.get(f"{here}/limits").status_code == 404
    assert "It is approved." in visitor.acted(f"{here}/approve")


def test_a_probe_that_arrives_ends_the_suspension(
    once: ThreadGateway, watching: PageVisitor, receiver: Receiver
) -> None:
    hold(once, receiver, 1)
    assert "suspended" in watching.page(HERE)
    assert "The probe succeeded." in watching.acted(f"{HERE}/probe")
    assert webhook(once)["suspension"] is None


def test_a_probe_that_fails_says_why(once: ThreadGateway, watching: PageVisitor, receiver: Receiver) -> None:
    hold(once, receiver, 1)
    receiver.default = status(503)
    shown = watching.acted(f"{HERE}/probe")
    assert "<span>The probe failed: http_503." in shown


def test_a_suspension_is_lifted(once: ThreadGateway, watching: PageVisitor, receiver: Receiver) -> None:
    hold(once, receiver, 1)
    assert "The suspension is lifted." in watching.acted(f"{HERE}/resume")
    assert webhook(once)["suspension"] is None


def test_a_delivery_is_sent_again(once: ThreadGateway, watching: PageVisitor, receiver: Receiver) -> None:
    receiver.default = status(500)
    cast(once, ["555555555555555555"])
    settled(once)
    receiver.default = status(204)
    path = f"{HERE}/deliveries/{deliveries(once)[0]['id']}/redeliver"
    assert path in watching.page(HERE)
    assert "Delivered: status 204 after" in watching.acted(path)
    receiver.default = status(500)
    assert "The attempt failed: http_500." in watching.acted(path)


def test_a_snapshot_is_taken(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_bot()
    assert "The snapshot at position 4 is on disk" in visitor.acted(f"{DATA}/snapshot")
    assert gateway.done("GET", "/debug/overview.json")["positions"]["snapshot"] == 4


def test_memory_and_disk_are_compared(visitor: PageVisitor) -> None:
    assert "Memory and disk agree at position 0." in visitor.acted(f"{DATA}/verify")


def test_a_backup_is_downloaded(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_bot()
    backup = visitor.post(f"{DATA}/backup")
    assert backup.status_code == 200
    assert backup.headers["Content-Disposition"] == 'attachment; filename="votegate.backup"'
    assert backup.headers["Content-Type"] == "application/octet-stream"
    assert len(backup.content) > 100


def test_a_notice_is_said_once_and_to_nobody_else(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_bot()
    location = visitor.post(f"{HERE}/counts", {"server_count": "1"}).headers["Location"]
    other = PageVisitor(gateway)
    other.sign_in()
    assert "The count is saved." not in other.page(location)
    assert "The count is saved." in visitor.page(location)
    assert "The count is saved." not in visitor.page(location)


def test_while_nothing_can_be_written_an_action_says_so_and_keeps_the_form(
    gateway: ThreadGateway, visitor: PageVisitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)

    def full(*_: object) -> int:
        raise Unavailable("the disk is full")

    monkeypatch.setattr(Ledger, "commit", full)
    denied = visitor.post(f"{HERE}/deny", {"reason": "kept"})
    assert (denied.status_code, "\nkept</textarea>" in denied.text) == (503, True)
    approved = visitor.post(f"{HERE}/approve")
    assert (approved.status_code, "Nothing was saved." in approved.text) == (503, True)
