"""The queue, claims and notes, as the operator asks for them."""

from pathlib import Path
from typing import Any

import pytest

from listings.review import NOTE_CHARACTERS
from tests.support.contract import refusal, wrong_fields
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_BOT,
    OWNER,
    SERVER,
    SERVER_SUBMISSION,
    ThreadGateway,
    running,
)

REFS = (f"bots/{BOT}", f"servers/{SERVER}")
BY_REF = pytest.mark.parametrize("ref", REFS)


def submit(gateway: ThreadGateway, ref: str = REFS[0]) -> None:
    kind, _, its_id = ref.partition("/")
    form = BOT_SUBMISSION if kind == "bots" else SERVER_SUBMISSION
    gateway.done("POST", f"/manage/{kind}", {**form, "id": its_id})


def queue(gateway: ThreadGateway, query: str = "") -> Any:
    return gateway.done("GET", f"/manage/queue{query}")


def test_the_queue_shows_what_waits_for_longest_first(gateway: ThreadGateway) -> None:
    assert queue(gateway) == {"success": True, "usual_wait_ms": None, "queue": [], "next": None}
    submit(gateway, f"servers/{SERVER}")
    submitted_at = gateway.clock.now_ms()
    gateway.clock.advance(1)
    submit(gateway)
    shown = queue(gateway)
    assert [each["ref"] for each in shown["queue"]] == [f"servers/{SERVER}", f"bots/{BOT}"]
    assert shown["queue"][0] == {
        "ref": f"servers/{SERVER}",
        "kind": "servers",
        "id": SERVER,
        "what": "submission",
        "name": "Test server",
        "owner_id": OWNER,
        "since": submitted_at,
        "claimed_by": None,
        "proven": False,
    }


def test_a_decided_listing_leaves_the_queue_and_one_that_is_sent_again_is_at_its_end(
    gateway: ThreadGateway,
) -> None:
    submit(gateway)
    gateway.clock.advance(1)
    submit(gateway, f"bots/{OTHER_BOT}")
    gateway.done("POST", f"/manage/bots/{BOT}/deny", {"reason": "It is silent."})
    assert [each["id"] for each in queue(gateway)["queue"]] == [OTHER_BOT]
    gateway.clock.advance(1)
    gateway.done(
        "PUT", f"/manage/bots/{BOT}", {name: BOT_SUBMISSION[name] for name in BOT_SUBMISSION if name != "id"}
    )
    assert [each["id"] for each in queue(gateway)["queue"]] == [OTHER_BOT, BOT]


def test_pages_of_the_queue_leave_nothing_out(gateway: ThreadGateway) -> None:
    for ref in (*REFS, f"bots/{OTHER_BOT}"):  # all of them at the same time
        submit(gateway, ref)
    seen, query = [], "?limit=1"
    for _ in range(3):
        page = queue(gateway, query)
        seen += [each["ref"] for each in page["queue"]]
        query = f"?limit=1&after={page['next']}"
    assert page["next"] is None
    assert seen == sorted([*REFS, f"bots/{OTHER_BOT}"])


def test_a_cursor_holds_when_its_listing_is_gone(gateway: ThreadGateway) -> None:
    for ref in REFS:
        submit(gateway, ref)
    cursor = queue(gateway, "?limit=1")["next"]
    gateway.done("DELETE", f"/manage/bots/{BOT}")
    assert [each["ref"] for each in queue(gateway, f"?after={cursor}")["queue"]] == [f"servers/{SERVER}"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        *(("?limit=0", "limit"), ("?limit=501", "limit"), ("?after=1", "after")),
        *(("?after=1-cats-" + BOT, "after"), ("?after=", "after")),
    ],
)
def test_a_query_that_is_none_is_refused(gateway: ThreadGateway, query: str, field: str) -> None:
    assert wrong_fields(gateway.operate("GET", f"/manage/queue{query}")) == {field}


def test_a_gateway_that_starts_again_finds_the_queue(tmp_path: Path) -> None:
    with running(tmp_path / "data") as gateway:
        submit(gateway)
        before = queue(gateway)
    with running(tmp_path / "data") as gateway:
        assert queue(gateway) == before


@BY_REF
def test_a_claim_says_who_is_at_it_until_it_is_given_back(gateway: ThreadGateway, ref: str) -> None:
    submit(gateway, ref)
    claimed = gateway.done("POST", f"/manage/{ref}/claim", {})
    assert claimed == {"success": True, "claimed_by": "operator", "claimed_at": gateway.clock.now_ms()}
    assert queue(gateway)["queue"][0]["claimed_by"] == "operator"
    head = gateway.gateway.ledger.head
    assert gateway.done("POST", f"/manage/{ref}/claim", {}) == claimed
    assert gateway.gateway.ledger.head == head, "what is so already is not written again"
    released = {"success": True, "claimed_by": None, "claimed_at": None}
    assert gateway.done("DELETE", f"/manage/{ref}/claim") == released
    assert gateway.done("DELETE", f"/manage/{ref}/claim") == released


@BY_REF
def test_a_decision_ends_the_claim(gateway: ThreadGateway, ref: str) -> None:
    submit(gateway, ref)
    gateway.done("POST", f"/manage/{ref}/approve", {})
    for method in ("POST", "DELETE"):
        answer = gateway.operate(method, f"/manage/{ref}/claim")
        assert refusal(answer) == (409, "The listing is approved, not in review.")


@BY_REF
def test_notes_are_for_moderators_and_the_newest_is_first(gateway: ThreadGateway, ref: str) -> None:
    submit(gateway, ref)
    assert gateway.done("GET", f"/manage/{ref}/notes") == {"success": True, "notes": [], "next": None}
    for text in ("First.", "Second."):
        gateway.clock.advance(1)
        answer = gateway.operate("POST", f"/manage/{ref}/notes", {"text": text})
        assert answer.status_code == 201
    assert answer.json() == gateway.done("GET", f"/manage/{ref}/notes")
    notes = answer.json()["notes"]
    assert [(note["by"], note["text"]) for note in notes] == [("operator", "Second."), ("operator", "First.")]
    assert "First." not in gateway.operate("GET", f"/manage/{ref}").text
    assert "First." not in gateway.operate("GET", f"/manage/{ref}/history").text


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": ""},
        {"text": " \n"},
        {"text": "x" * (NOTE_CHARACTERS + 1)},
        {"text": "\u202e"},
        {"text": 1},
    ],
)
def test_a_note_that_nobody_could_read_is_refused(gateway: ThreadGateway, body: Any) -> None:
    submit(gateway)
    assert wrong_fields(gateway.operate("POST", f"/manage/bots/{BOT}/notes", body)) == {"text"}


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "claim"), ("DELETE", "claim"), ("GET", "notes"), ("POST", "notes")]
)
@BY_REF
def test_an_unknown_listing_cannot_be_claimed_or_noted(
    gateway: ThreadGateway, method: str, path: str, ref: str
) -> None:
    answer = gateway.operate(method, f"/manage/{ref}/{path}", {} if method == "POST" else None)
    assert refusal(answer) == (404, "There is no such listing.")
