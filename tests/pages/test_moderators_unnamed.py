"""Owners and users read that a moderator did something, never which one: on every page, in all JSON."""

import pytest

from pages.table import PEOPLE_PAGES
from people.permissions import ACTIONS_OF_MODERATORS
from tests.support.co_owners import let_join
from tests.support.gateways import BOT, BOT_SUBMISSION, SERVER, SERVER_SUBMISSION
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN

OF_BOT, OF_SERVER = f"/review/bots/{BOT}", f"/review/servers/{SERVER}"
READ = [row.path for row in PEOPLE_PAGES if row.method == "GET" and row.access != "moderator"]
NO_ID = "0" * 24
DECIDED = {
    "claim": {},
    "notes": {"note": "Ask for a video."},
    "release": {},
    "deny": {"words": "It answers no command."},
    "quarantine": {"act": "submit", "length": "ever", "quarantine": "Too many of the same."},
    "lift": {"act": "submit"},
    "approve": {"confirmed": "yes"},
    "settle": {"reports": ""},
    "votes": {"reason": "Accounts of one person.", "ids": DAN, "sure": "yes"},
    "agree": {},
    "refuse": {"words": "It is spam."},
    "withdraw": {"withdraw_words": "It is spam."},
}
"""The forms of moderators, by the last word of their address, in an order in which each can be sent."""


@pytest.fixture(scope="module")
def gateway(gateway: PeopleGateway) -> PeopleGateway:
    """Ada owns a bot and a server, of which Cleo has decided everything that a moderator may decide."""
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    let_join(gateway, BOT, DAN)
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "owner_id": ADA})
    return gateway


def test_no_page_and_no_json_of_an_owner_names_a_moderator(gateway: PeopleGateway) -> None:
    cleo = gateway.person(CLEO)
    assert {*DECIDED} == {
        row.path.rpartition("/")[2]
        for row in PEOPLE_PAGES
        if row.method == "POST" and row.access == "moderator"
    }
    for here, listing in ((OF_BOT, f"bots/{BOT}"), (OF_SERVER, f"servers/{SERVER}")):
        for act, fields in DECIDED.items():
            gateway.clock.advance(1)
            if act in {"approve", "agree", "refuse"}:  # it is sent again, or changed
                edited = {**gateway.done("GET", f"/manage/{listing}"), "name": f"For {act}"}
                form = BOT_SUBMISSION if listing.startswith("bots") else SERVER_SUBMISSION
                gateway.done(
                    "PUT", f"/manage/{listing}", {name: edited[name] for name in form if name != "id"}
                )
            if act == "settle":
                gateway.done("POST", f"/manage/{listing}/reports", {"user": DAN, "reason": "breaks_rules"})
                report = gateway.done("GET", f"/manage/{listing}/reports")["reports"][0]
                fields = {"reports": report["id"]}
            if act == "votes":
                gateway.done("POST", f"/manage/{listing}/votes", {"user": DAN})
                remove_review(gateway, cleo, listing)
            shown = gateway.done("GET", f"/manage/{listing}")
            seen = {"seen": shown["change"]["version"] if shown["change"] else str(shown["updated_at"])}
            gateway.clock.advance(1)
            answer = cleo.post(f"{here}/{act}", {**fields, **seen})
            assert answer.status_code == 303, (act, words(answer.text))
        read_by_ada(gateway)
        done = gateway.done("GET", f"/manage/{listing}/history")["history"]
        by_cleo = {each["deed"] for each in done if each["by"] == f"users/{CLEO}"}
        assert by_cleo == ACTIONS_OF_MODERATORS, "the operator reads who it was"


def remove_review(gateway: PeopleGateway, cleo: Person, listing: str) -> None:
    gateway.done("POST", f"/manage/{listing}/votes", {"user": BEN})
    review = {"stars": 1, "text": "It insults everybody who comes."}
    gateway.done("PUT", f"/manage/{listing}/ratings/{BEN}", review)
    cleo.acted(f"/{listing}/reviews/{BEN}/remove", {"reason": "It insults."})


def read_by_ada(gateway: PeopleGateway) -> None:
    """Read everything that an owner may read."""
    gateway.clock.advance(3_600)  # one may download one's data four times an hour
    ada = gateway.person(ADA)
    for path in READ:
        for kind, listing in (("bots", BOT), ("servers", SERVER)):
            address = path.format_map(
                {
                    "kind": kind,
                    "id": listing,
                    "user_id": BEN,
                    "key_id": NO_ID,
                    "delivery_id": NO_ID,
                    "part": "1",
                    "month": "2026-01",
                    "pair": "1a1033-ff7a59",
                    "name": "0.png",
                }
            )
            answer = ada.get(address)
            assert answer.status_code in {200, 303, 400, 403, 404}, address
            assert CLEO not in answer.text, address


def test_the_history_calls_each_of_them_a_moderator_but_moderators_read_who_it_was(
    gateway: PeopleGateway,
) -> None:
    gateway.operate("DELETE", f"/manage/bots/{BOT}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    gateway.clock.advance(1)
    cleo, here = gateway.person(CLEO), f"/bots/{BOT}/manage"
    seen = {"seen": str(gateway.done("GET", f"/manage/bots/{BOT}")["updated_at"])}
    cleo.acted(f"{OF_BOT}/deny", {"words": "It answers no command.", **seen})
    ada = gateway.person(ADA)
    assert "denied: It answers no command. · a moderator" in words(ada.page(here))
    assert ada.get(f"{here}.json").json()["history"][0]["by"] == "moderator"
    assert "denied: It answers no command. · you" in words(cleo.page(here))
    assert cleo.get(f"{here}.json").json()["history"][0]["by"] == f"users/{CLEO}"


def test_who_is_under_quarantine_reads_why_and_not_from_whom(gateway: PeopleGateway) -> None:
    gateway.operate("DELETE", f"/manage/bots/{BOT}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    cleo, ada = gateway.person(CLEO), gateway.person(ADA)
    cleo.acted(f"{OF_BOT}/quarantine", DECIDED["quarantine"])
    (found,) = ada.get("/me/data.json").json()["account"]["quarantines"]
    assert (found["reason"], found["by"]) == ("Too many of the same.", "moderator")
    read_by_ada(gateway)
