"""Reports of listings, as the operator makes, lists and settles them."""

from pathlib import Path
from typing import Any

import pytest

from listings.reports import REPORT_CHARACTERS
from tests.support.contract import refusal, wrong_fields
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_BOT,
    SERVER,
    SERVER_SUBMISSION,
    USER,
    ThreadGateway,
    running,
)
from tests.support.sample_rows import OTHER_USER

REFS = (f"bots/{BOT}", f"servers/{SERVER}")
BY_REF = pytest.mark.parametrize("ref", REFS)


def list_(gateway: ThreadGateway, ref: str = REFS[0]) -> None:
    kind, _, its_id = ref.partition("/")
    form = BOT_SUBMISSION if kind == "bots" else SERVER_SUBMISSION
    gateway.done("POST", f"/manage/{kind}", {**form, "id": its_id})
    gateway.done("POST", f"/manage/{ref}/approve", {})


def report(gateway: ThreadGateway, ref: str = REFS[0], user: str = USER, **fields: str) -> None:
    body = {"user": user, "reason": "does_not_work", **fields}
    answer = gateway.operate("POST", f"/manage/{ref}/reports", body)
    assert (answer.status_code, answer.json()) == (201, {"success": True})


def reports(gateway: ThreadGateway, ref: str = REFS[0]) -> Any:
    return gateway.done("GET", f"/manage/{ref}/reports")["reports"]


def reported(gateway: ThreadGateway, query: str = "") -> Any:
    return gateway.done("GET", f"/manage/reports{query}")


@BY_REF
def test_a_report_is_kept_with_its_reason_and_its_user(gateway: ThreadGateway, ref: str) -> None:
    list_(gateway, ref)
    report(gateway, ref, text=" It is silent. ")
    at_ms = gateway.clock.now_ms()
    assert reports(gateway, ref) == [
        {
            "id": f"{at_ms}-{USER}",
            "at": at_ms,
            "by": f"users/{USER}",
            "reason": "does_not_work",
            "rating": None,
            "text": "It is silent.",
        }
    ]
    assert reported(gateway) == {
        "success": True,
        "listings": [
            {
                "ref": ref,
                "kind": ref.partition("/")[0],
                "id": ref.partition("/")[2],
                "name": gateway.done("GET", f"/manage/{ref}")["name"],
                "reports": 1,
                "reasons": ["does_not_work"],
                "newest_at": at_ms,
            }
        ],
        "next": None,
    }


def test_a_second_report_of_a_user_replaces_the_first(gateway: ThreadGateway) -> None:
    list_(gateway)
    report(gateway)
    report(gateway, user=OTHER_USER)
    report(gateway, reason="breaks_rules")
    found = [(each["by"], each["reason"]) for each in reports(gateway)]
    assert found == [(f"users/{USER}", "breaks_rules"), (f"users/{OTHER_USER}", "does_not_work")]
    assert reported(gateway)["listings"][0]["reports"] == 2


def test_neither_the_listing_nor_its_history_names_a_reporter(gateway: ThreadGateway) -> None:
    list_(gateway)
    report(gateway, text="It is silent.")
    gateway.clock.advance(1)
    gateway.done("POST", f"/manage/{REFS[0]}/reports/settle", {})
    for path in ("", "/history"):
        text = gateway.operate("GET", f"/manage/{REFS[0]}{path}").text
        assert USER not in text
        assert "silent" not in text
    history = gateway.done("GET", f"/manage/{REFS[0]}/history")["history"]
    assert (history[0]["deed"], history[0]["by"]) == ("reports_settled", "operator")


@BY_REF
def test_settled_reports_are_gone_but_not_those_that_came_later(gateway: ThreadGateway, ref: str) -> None:
    list_(gateway, ref)
    report(gateway, ref)
    seen = reports(gateway, ref)[0]["id"]
    report(gateway, ref, OTHER_USER)  # within the same millisecond
    left = gateway.done("POST", f"/manage/{ref}/reports/settle", {"seen": [seen]})["reports"]
    assert [each["by"] for each in left] == [f"users/{OTHER_USER}"]
    assert gateway.done("POST", f"/manage/{ref}/reports/settle", {})["reports"] == []
    assert reported(gateway)["listings"] == []
    again = gateway.operate("POST", f"/manage/{ref}/reports/settle", {})
    assert refusal(again) == (
        409,
        "The listing has no open report. Another moderator may have settled it.",
    )
    report(gateway, ref)
    assert len(reports(gateway, ref)) == 1


def test_a_report_that_replaces_a_seen_one_stays_open(gateway: ThreadGateway) -> None:
    list_(gateway)
    report(gateway)
    seen = reports(gateway)[0]["id"]
    report(gateway, reason="breaks_rules")
    answer = gateway.operate("POST", f"/manage/{REFS[0]}/reports/settle", {"seen": [seen]})
    assert answer.status_code == 409
    assert [each["reason"] for each in reports(gateway)] == ["breaks_rules"]


@BY_REF
def test_a_withdrawn_approval_settles_all_reports(gateway: ThreadGateway, ref: str) -> None:
    list_(gateway, ref)
    report(gateway, ref)
    gateway.done("POST", f"/manage/{ref}/withdraw", {"reason": "It is silent."})
    assert reports(gateway, ref) == []
    deeds = [act["deed"] for act in gateway.done("GET", f"/manage/{ref}/history")["history"]]
    assert {"reports_settled", "withdrawn"} <= {*deeds}


@BY_REF
def test_only_a_public_listing_can_be_reported(gateway: ThreadGateway, ref: str) -> None:
    list_(gateway, ref)
    gateway.done("POST", f"/manage/{ref}/withdraw", {"reason": "It is silent."})
    answer = gateway.operate("POST", f"/manage/{ref}/reports", {"user": USER, "reason": "breaks_rules"})
    assert refusal(answer) == (409, "Only a public listing can be reported.")


def test_a_user_under_quarantine_reports_nothing(gateway: ThreadGateway) -> None:
    list_(gateway)
    gateway.done("PUT", f"/manage/users/{USER}/quarantines/report", {"reason": "Reports without a cause."})
    answer = gateway.operate("POST", f"/manage/{REFS[0]}/reports", {"user": USER, "reason": "breaks_rules"})
    assert answer.status_code == 403
    assert answer.json()["error"] == "The user is under quarantine: Reports without a cause."


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"reason": "boring"}, "reason"),
        ({"text": "x" * (REPORT_CHARACTERS + 1)}, "text"),
        ({"text": "\u202e"}, "text"),
        ({"user": "ben"}, "user"),
    ],
)
def test_a_report_that_says_nothing_is_refused(
    gateway: ThreadGateway, fields: dict[str, str], wrong: str
) -> None:
    list_(gateway)
    body = {"user": USER, "reason": "breaks_rules", **fields}
    assert wrong_fields(gateway.operate("POST", f"/manage/{REFS[0]}/reports", body)) == {wrong}


def test_the_listing_with_the_newest_report_is_first_on_the_pages(gateway: ThreadGateway) -> None:
    for ref in (*REFS, f"bots/{OTHER_BOT}"):
        list_(gateway, ref)
        report(gateway, ref)
        gateway.clock.advance(1)
    report(gateway, REFS[1], OTHER_USER)
    seen, query = [], "?limit=1"
    for _ in range(3):
        page = reported(gateway, query)
        seen += [each["ref"] for each in page["listings"]]
        query = f"?limit=1&after={page['next']}"
    assert page["next"] is None
    assert seen == [REFS[1], f"bots/{OTHER_BOT}", REFS[0]]


def test_reports_outlive_a_restart_and_go_with_their_user(tmp_path: Path) -> None:
    with running(tmp_path / "data") as gateway:
        list_(gateway)
        report(gateway)
        report(gateway, user=OTHER_USER)
        before = (reports(gateway), reported(gateway))
    with running(tmp_path / "data") as gateway:
        assert (reports(gateway), reported(gateway)) == before
        gateway.done("DELETE", f"/manage/users/{USER}")
        assert [each["by"] for each in reports(gateway)] == [f"users/{OTHER_USER}"]
        gateway.done("DELETE", f"/manage/users/{OTHER_USER}")
        assert reported(gateway)["listings"] == []
