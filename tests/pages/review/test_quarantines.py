"""pages/review/listing_review.py: moderators forbid owners something for a time, on a whole gateway."""

import re
from typing import Any

import pytest

from core.actors import user_actor
from core.user_rows import user_ref
from people.quarantine import MOST_CHARACTERS
from tests.support.gateways import BOT_SUBMISSION
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, READY

HERE = f"/review/bots/{READY}"
DAY_SECONDS = 86_400
TERMS = {"act": "sign_in", "length": "day", "quarantine": "Spam in three listings."}


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"web.moderators": f"{CLEO},{DAN}"}


@pytest.fixture
def cleo(gateway: PeopleGateway) -> Person:
    gateway.clock.advance(40 * DAY_SECONDS)  # whatever another test has forbidden is over
    owned_by(gateway, ADA)
    return gateway.person(CLEO)


def owned_by(gateway: PeopleGateway, owner: str) -> None:
    gateway.operate("DELETE", f"/manage/bots/{READY}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": READY, "owner_id": owner})


def in_force(cleo: Person) -> list[Any]:
    found: list[Any] = cleo.get(f"{HERE}.json").json()["owner"]["quarantines"]
    return found


def test_who_may_not_sign_in_is_signed_out_and_told_why_until_it_is_over(
    gateway: PeopleGateway, cleo: Person
) -> None:
    ada = gateway.person(ADA)
    page = words(cleo.acted(f"{HERE}/quarantine", TERMS))
    assert "The user is under quarantine, and sees the reason." in page
    assert "Sign in Spam in three listings." in page
    assert ada.get("/me").status_code == 303
    refused = ada.sign_in_as(ADA)
    assert (refused.status_code, "Spam in three listings." in refused.text) == (403, True)
    gateway.clock.advance(DAY_SECONDS)
    assert ada.sign_in_as(ADA).status_code == 303
    assert in_force(gateway.person(CLEO)) == []


def test_it_is_by_the_moderator_and_lasts_as_long_as_was_chosen(gateway: PeopleGateway, cleo: Person) -> None:
    now_ms = gateway.clock.now_ms()
    for act, length, days in (("submit", "week", 7), ("vote", "month", 30)):
        cleo.acted(f"{HERE}/quarantine", {**TERMS, "act": act, "length": length})
        (found,) = [each for each in in_force(cleo) if each["act"] == act]
        assert (found["by"], found["since"]) == (user_actor(CLEO), now_ms)
        assert found["until"] == now_ms + days * DAY_SECONDS * 1_000


def test_one_without_an_end_is_lifted(gateway: PeopleGateway, cleo: Person) -> None:
    cleo.acted(f"{HERE}/quarantine", {**TERMS, "length": "ever"})
    assert in_force(cleo)[0]["until"] is None
    assert "when it is lifted" in cleo.page(HERE)
    page = gateway.person(DAN).acted(f"{HERE}/lift", {"act": "sign_in"})
    assert "The quarantine is lifted." in page
    assert in_force(cleo) == []
    again = cleo.post(f"{HERE}/lift", {"act": "sign_in"})
    assert (again.status_code, "under no such quarantine" in again.text) == (404, True)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"act": "breathe"}, "act"),
        ({"act": ""}, "act"),
        ({"length": "year"}, "length"),
        ({"quarantine": ""}, "quarantine"),
        ({"quarantine": "x" * (MOST_CHARACTERS + 1)}, "quarantine"),
        ({"quarantine": "\u202e"}, "quarantine"),
    ],
)
def test_a_form_that_is_wrong_is_shown_again(cleo: Person, change: dict[str, str], field: str) -> None:
    answer = cleo.post(f"{HERE}/quarantine", {**TERMS, **change})
    assert answer.status_code == 400
    assert f'id="{field}-problem"' in answer.text
    assert 'id="quarantine-of" open' in answer.text
    assert change.get("quarantine", TERMS["quarantine"]) in answer.text
    assert in_force(cleo) == []
    assert cleo.post(f"{HERE}/lift", {"act": "breathe"}).status_code == 400


@pytest.mark.parametrize("other", [CLEO, DAN])
def test_moderators_have_no_power_over_moderators_and_themselves(
    gateway: PeopleGateway, cleo: Person, other: str
) -> None:
    owned_by(gateway, other)
    assert f"{HERE}/quarantine" not in cleo.page(HERE)
    for deed in ("quarantine", "lift"):
        assert cleo.post(f"{HERE}/{deed}", TERMS).status_code == (403 if other == CLEO else 409)
    row = gateway.gateway.ledger.state.users.get(user_ref(other))
    assert row is None or row.quarantines == ()
    assert cleo.get("/me").status_code == 200


def test_whoever_becomes_the_owner_meanwhile_is_not_meant(gateway: PeopleGateway, cleo: Person) -> None:
    seen = re.findall(r'name="owner" value="([0-9]+)"', cleo.page(HERE))
    assert seen == [ADA]
    owned_by(gateway, BEN)
    refused = cleo.post(f"{HERE}/quarantine", {**TERMS, "owner": ADA})
    assert (
        refused.status_code,
        "The owner of the listing has changed since you opened it" in refused.text,
    ) == (409, True)
    assert TERMS["quarantine"] in refused.text
    assert in_force(cleo) == []
    cleo.acted(f"{HERE}/quarantine", {**TERMS, "owner": BEN})
    refused = cleo.post(f"{HERE}/lift", {"act": TERMS["act"], "owner": ADA})
    assert (refused.status_code, len(in_force(cleo))) == (409, 1)
    cleo.acted(f"{HERE}/lift", {"act": TERMS["act"], "owner": BEN})
    assert in_force(cleo) == []
