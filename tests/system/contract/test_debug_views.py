"""The debug pages of the operator as JSON: complete, bounded and without secrets."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handlers.route import Resource
from operators.operator_pages import ALL_ROUTES
from serving import timeline
from tests.support.contract import (
    BOT_PATH,
    arrive,
    attempted,
    filled,
    refusal,
    set_webhook,
    users,
    webhook,
    wrong_fields,
)
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_BOT,
    OTHER_USER,
    OWNER,
    SERVER,
    USER,
    ThreadGateway,
    eventually,
    running,
)
from tests.support.suspended_endpoints import cast, suspend, trying_once
from tests.support.webhook_receiver import Receiver, status

CHAT_TOKEN = "the-token-in-the-url"


@pytest.fixture
def once(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    """A gateway that tries every delivery once, with a bot whose webhook goes to the receiver."""
    with trying_once(tmp_path / "once", receiver) as gateway:
        yield gateway


def events(gateway: ThreadGateway) -> list[Any]:
    found: list[Any] = gateway.done("GET", "/debug/journal.json")["events"]
    return found


# -- The overview -----------------------------------------------------------------------------------------


def test_the_overview_shows_answered_requests_and_the_age_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "POINT_SECONDS", 0.02)
    monkeypatch.setattr(
        timeline, "MINUTE", 1_000_000
    )  # so many points that none is dropped before it is seen
    monkeypatch.setattr(timeline, "POINTS", 1_000_000)
    with running(tmp_path / "data") as gateway:
        key = gateway.list_bot()
        gateway.cast()
        for _ in range(3):
            gateway.voters(key)

        def seen() -> Any:
            gateway.advance(1)
            overview = gateway.done("GET", "/debug/overview.json")
            asked = {each["endpoint"]: each["requests"] for each in overview["endpoints"]}
            is_counted = sum(overview["series"]["requests_per_second"]) > 0  # false while the clock stands
            ages = overview["ages_seconds"]
            is_aged = ages["head"] is not None and ages["durable"] is not None
            return overview if asked.get("checkVote") == 3 and is_counted and is_aged else None

        shown = eventually(seen)

    state = ("version", "ready", "not_ready_because", "positions", "counts", "limiter", "replication")
    assert {*state, "ages_seconds", "connections", "memory", "loop_lag_ms"} <= shown.keys()
    checks = next(each for each in shown["endpoints"] if each["endpoint"] == "checkVote")
    assert (checks["status_class"], checks["requests"]) == ("2xx", 3)
    assert len({len(column) for column in shown["series"].values()}) == 1
    assert shown["counts"]["votes"] == 1
    assert shown["ages_seconds"]["snapshot"] is None
    assert shown["loop_lag_ms"]["samples"][-1] == shown["loop_lag_ms"]["last"]


def test_the_age_of_a_snapshot_counts_from_its_beginning(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.done("POST", "/debug/snapshot")
    gateway.advance(90)

    assert gateway.done("GET", "/debug/overview.json")["ages_seconds"]["snapshot"] == 90.0


def test_the_data_folder_is_shown_with_digests(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    data, overview = (gateway.done("GET", f"/debug/{page}.json") for page in ("data", "overview"))

    assert data["positions"] == overview["positions"]
    assert data["digest"] == gateway.done("POST", "/debug/verify")["digest"]
    assert data["fleet_digest"] is None


# -- The journal ------------------------------------------------------------------------------------------


def test_the_journal_shows_events_the_newest_first(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.cast()

    shown = events(gateway)

    assert [each["type"] for each in shown] == [
        "vote_cast.1",
        "key_saved.1",
        "slots_set.1",
        "listing_reviewed.1",
        "listing_saved.1",
    ]
    head = gateway.done("GET", "/debug/overview.json")["positions"]["head"]
    now_ms = gateway.clock.now_ms()
    text = f"user {USER}, count 1"
    vote = {"position": head, "at": now_ms, "type": "vote_cast.1", "ref": f"bots/{BOT}", "text": text}
    assert shown[0] == vote


def test_the_journal_is_read_page_by_page(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    for user in users(120):
        gateway.cast(user)

    first = gateway.done("GET", "/debug/journal.json")
    second = gateway.done("GET", f"/debug/journal.json?before={first['next']}")

    assert (len(first["events"]), len(second["events"])) == (100, 24)
    assert second["next"] is None
    assert first["events"][-1]["position"] == second["events"][0]["position"] + 1


@pytest.mark.parametrize("before", ["", "0", "-1", "x", "1.5", "9" * 20])
def test_an_invalid_page_of_the_journal_is_refused(gateway: ThreadGateway, before: str) -> None:
    assert wrong_fields(gateway.operate("GET", f"/debug/journal.json?before={before}")) == {"before"}


def test_an_erased_user_is_not_shown_any_more(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.cast()
    gateway.done("DELETE", f"/manage/users/{USER}")

    assert USER not in json.dumps(events(gateway))


# -- Secrets ----------------------------------------------------------------------------------------------


def test_no_view_shows_a_secret(gateway: ThreadGateway, receiver: Receiver) -> None:
    key = gateway.list_bot()
    gateway.list_server()
    set_webhook(gateway, f"{receiver.url}/path-secret?query-secret", token="token-of-the-owner")
    secret = gateway.done("POST", f"{BOT_PATH}/webhook/secret/rotate", {"overlap_seconds": 60})["secret"]
    chat = f"https://discord.com/api/webhooks/723456789012345678/{CHAT_TOKEN}"
    set_webhook(gateway, chat, f"/manage/servers/{SERVER}", language="en")
    receiver.default = status(500)
    gateway.cast()
    attempted(gateway, 1)
    said = (key, gateway.operator_token)
    gateway.on_loop(lambda: logging.getLogger("votegate").warning("%s and %s", *said))
    secrets = [key, gateway.operator_token, secret, CHAT_TOKEN, "token-of-the-owner"]

    views = [row for row in ALL_ROUTES if row.path.startswith("/debug/") and row.path.endswith(".json")]
    shown = {row.path: gateway.operate("GET", f"{filled(row.path)}?q=bot").text for row in views}

    assert len(shown) >= 8
    for path, text in shown.items():
        assert not [each for each in secrets if each in text], path
    assert "path-secret" not in shown["/debug/webhooks.json"] + shown["/debug/journal.json"]


def test_every_view_is_a_row_that_only_the_operator_may_call(gateway: ThreadGateway) -> None:
    for row in ALL_ROUTES:
        if row.path.endswith(".json") and row.tag == "Debug":
            assert row.access == "operator"
            assert gateway.request("GET", filled(row.path)).status_code == 401
            assert Resource(row.path, {}).pattern.endswith("json")


# -- Errors -----------------------------------------------------------------------------------------------


def test_a_bug_is_shown_with_the_request_that_met_it(
    gateway: ThreadGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.operator_pages.read_query", lambda *_: 1 / 0)

    answer = gateway.operate("GET", "/debug/find.json")
    line = gateway.done("GET", "/debug/errors.json")["errors"][0]

    assert answer.status_code == 500
    request_id = answer.headers["x-request-id"]
    assert request_id in answer.json()["error"]
    assert (line["level"], line["logger"]) == ("ERROR", "serving.application")
    assert line["request_id"] == request_id
    assert "ZeroDivisionError" in line["traceback"]


def test_a_suspension_is_among_the_errors(once: ThreadGateway, receiver: Receiver) -> None:
    suspend(once, receiver)

    line = once.done("GET", "/debug/errors.json")["errors"][0]

    assert (line["level"], line["traceback"]) == ("WARNING", None)
    assert f"bots/{BOT} is suspended: http_500" in line["text"]


# -- Webhooks ---------------------------------------------------------------------------------------------


def test_a_failing_endpoint_is_shown_with_the_reason_until_it_recovers(
    once: ThreadGateway, receiver: Receiver
) -> None:
    empty = once.done("GET", "/debug/webhooks.json")
    receiver.default = status(503)
    once.cast()
    attempted(once, 1)

    failing = once.done("GET", "/debug/webhooks.json")
    receiver.default = status(204)
    once.cast(OTHER_USER)
    arrive(once, receiver, 2)
    well = once.done("GET", "/debug/webhooks.json")

    assert (empty["failing"], empty["loaded"], empty["pending"]) == ([], [], 0)
    assert failing["failing_endpoints"] == 1
    assert failing["failing"] == [
        {
            "kind": "bots",
            "id": BOT,
            "name": BOT_SUBMISSION["name"],
            "host": "127.0.0.1",
            "pending": 0,
            "in_flight": 0,
            "slow": False,
            "wait_ms": 0,
            "failed_in_a_row": 1,
            "last_error": "http_503",
            "suspension": None,
        }
    ]
    assert (well["failing"], well["failing_endpoints"]) == ([], 0)


def test_a_suspended_endpoint_is_shown_with_its_waiting_deliveries(
    once: ThreadGateway, receiver: Receiver
) -> None:
    assert once.concerns("endpoints") == []
    suspension = suspend(once, receiver)
    for user in users(3, first=50):
        once.cast(user)
    (concern,) = once.concerns("endpoints")
    assert concern.startswith("1 endpoint is suspended")

    shown = once.done("GET", "/debug/webhooks.json")

    assert (shown["suspended_endpoints"], shown["pending"], shown["waiting_endpoints"]) == (1, 3, 1)
    assert shown["failing"] == shown["loaded"]
    assert shown["failing"][0]["suspension"] == suspension
    assert (shown["failing"][0]["last_error"], shown["failing"][0]["pending"]) == ("http_500", 3)


def test_an_operator_lifts_a_suspension_and_waiting_deliveries_leave(
    once: ThreadGateway, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    suspend(once, receiver)
    once.cast(OTHER_USER)
    receiver.received.clear()
    receiver.default = status(204)

    lifted = once.done("POST", f"{BOT_PATH}/webhook/resume", {})

    assert (lifted["suspension"], lifted["failed_in_a_row"]) == (None, 0)
    arrive(once, receiver, 1)
    assert webhook(once)["pending"] == 0
    assert f"the endpoint of bots/{BOT} is no longer suspended: the operator has lifted it" in caplog.messages
    again = once.operate("POST", f"{BOT_PATH}/webhook/resume", {})
    assert refusal(again) == (409, "The endpoint is not suspended.")


def test_an_operator_probes_at_once_and_sees_the_outcome(once: ThreadGateway, receiver: Receiver) -> None:
    suspend(once, receiver)
    once.cast(OTHER_USER)
    receiver.received.clear()

    failed = once.done("POST", f"{BOT_PATH}/webhook/probe", {})
    receiver.default = status(204)
    recovered = once.done("POST", f"{BOT_PATH}/webhook/probe", {})

    assert failed["suspension"]["probes_failed"] == 1
    assert failed["suspension"]["next_probe_at"] > once.clock.now_ms()
    assert (recovered["suspension"], recovered["pending"]) == (None, 0)
    assert len(receiver.received) == 2


def test_without_a_suspension_or_a_delivery_there_is_nothing_to_probe(
    once: ThreadGateway, receiver: Receiver
) -> None:
    path = f"{BOT_PATH}/webhook/probe"
    well = once.operate("POST", path, {})
    suspend(once, receiver)
    nothing = once.operate("POST", path, {})

    assert refusal(well) == (409, "The endpoint is not suspended.")
    assert refusal(nothing) == (
        409,
        "No delivery waits that could probe the endpoint; send a test.",
    )


# -- The limiter ------------------------------------------------------------------------------------------


def test_the_limiter_shows_the_callers_that_use_most_of_a_limit(gateway: ThreadGateway) -> None:
    keys = {bot: gateway.list_bot(bot) for bot in (BOT, OTHER_BOT)}
    gateway.done("PUT", f"/manage/bots/{OTHER_BOT}/limits", {"voters": {"requests": 4, "window_seconds": 60}})
    for _ in range(10):
        gateway.voters(keys[BOT])
    gateway.voters(keys[OTHER_BOT], OTHER_BOT)
    gateway.stats(keys[BOT], {"command_count": 1})

    shown = gateway.done("GET", "/debug/limiter.json")

    assert shown["voters"]["counted"] == 2
    assert [(each["id"], each["used"], each["limit"]) for each in shown["voters"]["hottest"]] == [
        (OTHER_BOT, 1, 4),
        (BOT, 10, 100),
    ]
    assert [each["own_limit"] for each in shown["voters"]["hottest"]] == [True, False]
    assert [(each["id"], each["used"]) for each in shown["stats"]["hottest"]] == [(BOT, 1)]
    gateway.advance(shown["voters"]["hottest"][1]["reset_seconds"])
    assert gateway.done("GET", "/debug/limiter.json")["voters"]["hottest"] == []


def test_the_limiter_shows_the_addresses_that_fail(tmp_path: Path) -> None:
    with running(tmp_path / "data", **{"limits.failures.requests": 3}) as gateway:
        gateway.list_bot()
        for _ in range(4):
            gateway.voters("vg_wrong")

        failures = gateway.done("GET", "/debug/limiter.json")["failures"]

        assert failures["worst"] == [
            {"address": "127.0.0.1", "failures": 3, "refused": True, "reset_seconds": 300}
        ]
        assert (failures["limit"]["requests"], failures["counted"]) == (3, 1)


# -- Finding ----------------------------------------------------------------------------------------------


def test_a_listing_is_found_by_its_id_and_by_a_part_of_its_name(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.list_server()

    by_name = gateway.done("GET", "/debug/find.json?q=TEST")
    by_id = gateway.done("GET", f"/debug/find.json?q={SERVER}")
    nothing = gateway.done("GET", "/debug/find.json")

    bot = {"kind": "bots", "id": BOT, "name": "Test bot", "state": "approved"}
    server = {"kind": "servers", "id": SERVER, "name": "Test server", "state": "approved"}
    assert by_name == {"success": True, "listings": [bot, server], "more": False, "user": None}
    assert by_id == {"success": True, "listings": [server], "more": False, "user": SERVER}
    assert nothing == {"success": True, "listings": [], "more": False, "user": None}


def test_a_text_that_is_too_long_is_refused(gateway: ThreadGateway) -> None:
    assert wrong_fields(gateway.operate("GET", f"/debug/find.json?q={'x' * 101}")) == {"q"}


# -- Listings and users -----------------------------------------------------------------------------------


def test_a_bot_is_shown_whole_with_its_newest_votes(once: ThreadGateway, receiver: Receiver) -> None:
    voters = users(25)
    cast(once, voters)
    once.advance(24 * 3_600)
    cast(once, voters[:1])
    arrive(once, receiver, 26)

    shown = once.done("GET", f"/debug/listings/bots/{BOT}.json")

    assert shown["voters"] == 25
    assert [vote["user"] for vote in shown["recent_votes"]] == [voters[0], *voters[:5:-1]]
    assert shown["recent_votes"][0] == {"user": voters[0], "votes": 2, "last_at": once.clock.now_ms() - 1}
    assert len(shown["deliveries"]) == 20
    assert shown["listing"].items() <= once.done("GET", BOT_PATH).items()
    assert shown["deliveries_pending"] == 0


def test_a_server_is_shown_whole(gateway: ThreadGateway) -> None:
    gateway.list_server()
    gateway.cast(path=f"/manage/servers/{SERVER}")

    shown = gateway.done("GET", f"/debug/listings/servers/{SERVER}.json")

    assert (shown["listing"]["id"], shown["webhook"], shown["voters"]) == (SERVER, None, 1)
    assert [vote["user"] for vote in shown["recent_votes"]] == [USER]


@pytest.mark.parametrize("path", [f"bots/{OTHER_BOT}", f"servers/{BOT}", "bots/nobody", "servers/x"])
def test_an_unknown_listing_is_404(gateway: ThreadGateway, path: str) -> None:
    answer = gateway.operate("GET", f"/debug/listings/{path}.json")

    assert refusal(answer) == (404, "There is no such listing.")


def test_a_user_is_shown_with_listings_and_votes(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.list_server()
    gateway.cast(OWNER)
    gateway.advance(60)

    shown = gateway.done("GET", f"/debug/users/{OWNER}.json")

    assert [(each["kind"], each["id"]) for each in shown["listings"]] == [("bots", BOT), ("servers", SERVER)]
    assert (shown["listings_count"], shown["votes_count"]) == (2, 1)
    last_at = gateway.clock.now_ms() - 60_000
    vote = {"kind": "bots", "id": BOT, "name": "Test bot", "voted": True, "votes": 1, "last_at": last_at}
    assert shown["votes"] == [vote]


def test_an_unknown_user_has_nothing_and_a_wrong_id_is_refused(gateway: ThreadGateway) -> None:
    shown = gateway.done("GET", f"/debug/users/{USER}.json")

    assert (shown["listings"], shown["votes"]) == ([], [])
    assert wrong_fields(gateway.operate("GET", "/debug/users/me.json")) == {"id"}
