"""Changes of approved listings and withdrawn approvals, through the management API and with a bot's key."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinds.bots import BotProfile
from tests.support.contract import (
    BOT_NOT_FOUND,
    BOT_PATH,
    HEADER_REQUIRED,
    INVALID_KEY,
    refusal,
    wrong_fields,
)
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_BOT,
    OWNER,
    SERVER,
    SERVER_SUBMISSION,
    USER,
    ThreadGateway,
    running,
)

GOOD, BAD = "Test bot", "Free Nitro"
KEYS = f"{BOT_PATH}/keys"


@pytest.fixture(params=["after", "before"])
def mode(request: pytest.FixtureRequest) -> str:
    """The value of `review.edits`."""
    mode: str = request.param
    return mode


@pytest.fixture
def edited(tmp_path: Path, mode: str) -> Iterator[ThreadGateway]:
    """A gateway with an approved bot that was renamed."""
    with running(tmp_path / "data", **{"review.edits": mode}) as gateway:
        gateway.list_bot()
        gateway.clock.advance(1)
        edit(gateway, name=BAD)
        yield gateway


def form(submission: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**{name: value for name, value in submission.items() if name != "id"}, **fields}


def edit(gateway: ThreadGateway, **fields: Any) -> Any:
    return gateway.done("PUT", BOT_PATH, form(BOT_SUBMISSION, **fields))


def shown(gateway: ThreadGateway) -> Any:
    return gateway.done("GET", BOT_PATH)


def version(gateway: ThreadGateway) -> dict[str, str]:
    return {"version": shown(gateway)["change"]["version"]}


def queue(gateway: ThreadGateway) -> list[tuple[str, str, str]]:
    found = gateway.done("GET", "/manage/queue")["queue"]
    return [(each["ref"], each["what"], each["name"]) for each in found]


def test_an_edit_is_a_change_with_both_versions(edited: ThreadGateway, mode: str) -> None:
    row = shown(edited)
    change = row["change"]
    assert (row["state"], row["name"]) == ("approved", BAD if mode == "after" else GOOD)
    assert (change["agreed"]["name"], change["proposed"]["name"]) == (GOOD, BAD)
    assert change["is_public"] == (mode == "after")
    now_ms = edited.clock.now_ms()
    assert (change["sent_by"], change["sent_at"], change["waiting_since"]) == ("operator", now_ms, now_ms)
    assert set(change["agreed"]) == set(change["proposed"]) == set(BotProfile.__struct_fields__)
    assert queue(edited) == [(f"bots/{BOT}", "change", BAD)]


def test_a_change_survives_a_restart_from_a_snapshot_and_from_the_journal(edited: ThreadGateway) -> None:
    before = shown(edited)
    edited.restart()
    assert shown(edited) == before
    assert queue(edited) == [(f"bots/{BOT}", "change", BAD)]
    edited.done("POST", "/debug/snapshot")
    edited.restart()
    assert queue(edited) == [(f"bots/{BOT}", "change", BAD)]
    assert shown(edited) == before
    edited.done("POST", f"{BOT_PATH}/change/refuse", {**version(edited), "reason": "Spam."})
    edited.restart()
    assert (shown(edited)["name"], shown(edited)["change"], queue(edited)) == (GOOD, None, [])


@pytest.mark.parametrize(("call", "kept"), [("agree", BAD), ("refuse", GOOD)])
def test_a_decision_names_the_version_and_says_what_everybody_sees(
    edited: ThreadGateway, call: str, kept: str
) -> None:
    reviewed_at, body = shown(edited)["reviewed_at"], {"reason": "Spam."} if call == "refuse" else {}
    seen = version(edited)
    edit(edited, name="Freer Nitro")
    old = edited.operate("POST", f"{BOT_PATH}/change/{call}", {**seen, **body})
    assert refusal(old) == (409, "The change is not the one that you saw. Look at it again, then decide.")
    edit(edited, name=BAD)
    answer = edited.done("POST", f"{BOT_PATH}/change/{call}", {**seen, **body})
    assert (answer["name"], answer["change"], answer["state"]) == (kept, None, "approved")
    assert (answer["reason"], answer["reviewed_at"]) == (None, reviewed_at)
    late = edited.operate("POST", f"{BOT_PATH}/change/{call}", {**seen, **body})
    assert refusal(late) == (409, "The listing has no change that waits for a decision.")


def test_a_decision_without_what_it_needs_is_refused(edited: ThreadGateway) -> None:
    for body in ({}, {"version": "1"}, {"version": "g" * 16}):
        assert wrong_fields(edited.operate("POST", f"{BOT_PATH}/change/agree", body)) == {"version"}
    refused = edited.operate("POST", f"{BOT_PATH}/change/refuse", version(edited))
    assert wrong_fields(refused) == {"reason"}


def test_a_server_has_the_same_calls(tmp_path: Path, mode: str) -> None:
    path = f"/manage/servers/{SERVER}"
    with running(tmp_path / "data", **{"review.edits": mode}) as gateway:
        gateway.list_server()
        change = gateway.done("PUT", path, form(SERVER_SUBMISSION, keywords=["nitro"]))["change"]
        assert change["proposed"]["keywords"] == ["nitro"]
        answer = gateway.done("POST", f"{path}/change/agree", {"version": change["version"]})
        assert (answer["keywords"], answer["change"]) == (["nitro"], None)
        assert gateway.done("POST", f"{path}/withdraw", {"reason": "Spam."})["state"] == "denied"


def test_an_approved_listing_is_not_denied_and_the_answer_names_the_way(edited: ThreadGateway) -> None:
    answer = edited.operate("POST", f"{BOT_PATH}/deny", {"reason": "Spam."})
    assert refusal(answer) == (
        409,
        "The listing is approved, not in review. Withdraw its approval instead.",
    )


# -- Keys and votes of a bot whose approval is withdrawn ---------------------------------------------------


def test_keys_of_a_withdrawn_bot_answer_as_those_of_a_bot_that_is_not_approved(
    gateway: ThreadGateway, key: str
) -> None:
    assert gateway.voters(key).status_code == 200
    gateway.done("POST", f"{BOT_PATH}/withdraw", {"reason": "Spam."})
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": OTHER_BOT})
    for bot in (BOT, OTHER_BOT):
        assert refusal(gateway.voters(key, bot)) == INVALID_KEY
        assert refusal(gateway.stats(key, {"command_count": 1}, bot)) == INVALID_KEY
    assert refusal(gateway.voters(None)) == HEADER_REQUIRED
    assert refusal(gateway.voters(key, USER)) == BOT_NOT_FOUND
    with_scheme = gateway.voters(f"Bearer {key}")
    assert "no scheme" in with_scheme.headers["www-authenticate"]
    assert refusal(gateway.operate("POST", f"{BOT_PATH}/votes", {"user": USER})) == (
        409,
        "Only an approved listing can be voted for.",
    )
    assert refusal(gateway.operate("POST", KEYS, {"name": "new"})) == (
        409,
        "Keys are for approved listings only.",
    )


def test_the_same_keys_and_votes_are_there_once_the_bot_is_approved_again(
    gateway: ThreadGateway, key: str
) -> None:
    gateway.cast()
    gateway.done("POST", f"{BOT_PATH}/withdraw", {"reason": "Spam."})
    gateway.restart()
    assert refusal(gateway.voters(key)) == INVALID_KEY
    (known,) = gateway.done("GET", KEYS)["keys"]
    assert edit(gateway, name="Good again")["state"] == "in_review"
    assert refusal(gateway.voters(key)) == INVALID_KEY
    rotated = gateway.done("POST", f"{KEYS}/{known['id']}/rotate", {})["key"]
    assert refusal(gateway.voters(rotated)) == INVALID_KEY
    gateway.done("POST", f"{BOT_PATH}/approve", {})
    assert gateway.voters(rotated).json()["vote"] == 1
    assert refusal(gateway.voters(key)) == INVALID_KEY, "a key that was rotated meanwhile"


def test_the_trail_says_who_withdrew_and_why(gateway: ThreadGateway, key: str) -> None:
    del key
    answer = gateway.done("POST", f"{BOT_PATH}/withdraw", {"reason": "Spam."})
    assert (answer["state"], answer["reason"]) == ("denied", "Spam.")
    act = gateway.done("GET", f"{BOT_PATH}/history")["history"][0]
    assert (act["deed"], act["by"], act["about"]) == ("withdrawn", "operator", "Spam.")
    again = gateway.operate("POST", f"{BOT_PATH}/withdraw", {"reason": "Spam."})
    assert refusal(again) == (409, "The listing is not approved.")


# -- Quarantines ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["in_review", "approved", "denied"])
def test_a_listing_of_an_owner_who_may_not_submit_is_not_edited(gateway: ThreadGateway, state: str) -> None:
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
    if state == "approved":
        gateway.done("POST", f"{BOT_PATH}/approve", {})
    if state == "denied":
        gateway.done("POST", f"{BOT_PATH}/deny", {"reason": "Spam."})
    quarantine = f"/manage/users/{OWNER}/quarantines/submit"
    gateway.done("PUT", quarantine, {"reason": "Spam."})
    answer = gateway.operate("PUT", BOT_PATH, form(BOT_SUBMISSION, name=BAD))
    assert (answer.status_code, answer.json()["until"]) == (403, None)
    assert answer.json()["error"] == "The user is under quarantine: Spam."
    assert (shown(gateway)["name"], shown(gateway)["state"]) == (GOOD, state)
    gateway.done("DELETE", quarantine)
    edit(gateway, name=BAD)


def test_a_listing_of_an_owner_who_may_not_submit_is_handed_over_by_the_operator(
    gateway: ThreadGateway, key: str
) -> None:
    del key
    gateway.done("PUT", f"/manage/users/{OWNER}/quarantines/submit", {"reason": "Spam."})
    assert edit(gateway, owner_id=USER)["owner_id"] == USER
    assert edit(gateway, owner_id=USER, name="Better")["name"] == "Better"
