"""Users as the operator sees them: moderators, sessions, quarantines."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH, Served, refusal, wrong_fields
from tests.support.gateways import BOT, OTHER_USER, OWNER, SERVER, USER, ThreadGateway, running
from tests.support.people import signed_in
from tests.support.sample_rows import DAY_MS, HOUR_MS

USERS, MODERATORS = "/manage/users", "/manage/moderators"
ONE = f"{USERS}/{USER}"
NO_USER = (404, "There is no such user.")
NO_QUARANTINE = (404, "The user is under no such quarantine.")
FIRST, SECOND = "1" * 64, "2" * 64
"""Digests of sessions."""


@pytest.fixture
def named(tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway whose settings name the owner as a moderator."""
    with running(tmp_path / "data", **{"web.moderators": [OWNER]}) as gateway:
        yield gateway


def sign_in(gateway: ThreadGateway, *digests: str, user: str = USER) -> None:
    """The user signs in with one browser after the other, a minute apart."""
    for digest in digests:
        event = signed_in(user, digest, gateway.clock.now_ms())
        gateway.on_loop(partial(gateway.gateway.ledger.commit, [event]))
        gateway.advance(60)


def forbid(
    gateway: ThreadGateway,
    act: str = "vote",
    user: str = USER,
    until: int | None = None,
    reason: str = "Why.",
) -> Any:
    return gateway.done("PUT", f"{USERS}/{user}/quarantines/{act}", {"reason": reason, "until": until})


def sessions(gateway: ThreadGateway, user: str = USER) -> list[str]:
    """The ids of the user's open sessions."""
    return [each["id"] for each in gateway.done("GET", f"{USERS}/{user}/sessions")["sessions"]]


# -- Who somebody is --------------------------------------------------------------------------------------


def test_a_user_who_has_signed_in_is_shown(gateway: ThreadGateway) -> None:
    now_ms = gateway.clock.now_ms()
    sign_in(gateway, FIRST, SECOND)

    assert gateway.done("GET", ONE) == {
        "success": True,
        "id": USER,
        "username": "ada",
        "display_name": "Ada",
        "locale": None,
        "first_at": now_ms,
        "moderator": None,
        "sessions": 2,
        "quarantines": [],
    }


def test_a_user_whom_nobody_knows_is_404(served: Served) -> None:
    for path in (f"{USERS}/{OTHER_USER}{part}" for part in ("", "/sessions", "/notices", "/reminders")):
        assert refusal(served.operate("GET", path)) == NO_USER
    for path in ("/sessions", f"/sessions/{FIRST[:16]}", "/reminders"):
        assert refusal(served.operate("DELETE", f"{USERS}/{OTHER_USER}{path}")) == NO_USER


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", path) for path in ("", "/sessions", "/notices", "/reminders")),
        *(("PUT", path) for path in ("/moderator", "/quarantines/vote")),
        *(
            ("DELETE", path)
            for path in ("/moderator", "/reminders", "/sessions", "/sessions/1", "/quarantines/vote")
        ),
    ],
)
@pytest.mark.parametrize("user", ["1", "me", "0" * 18, "18446744073709551616"])
def test_an_id_that_is_none_is_400(served: Served, method: str, path: str, user: str) -> None:
    assert wrong_fields(served.operate(method, f"{USERS}/{user}{path}", {"reason": "Why."})) == {"id"}


def test_a_wrong_act_is_named_before_the_body_is_read(served: Served) -> None:
    assert wrong_fields(served.operate("PUT", f"{ONE}/quarantines/dance", {"reason": ""})) == {"act"}


def test_users_are_listed_in_pages_in_the_order_of_their_ids(gateway: ThreadGateway) -> None:
    assert gateway.done("GET", USERS) == {"success": True, "users": [], "next": None}
    for user in (OTHER_USER, USER, OWNER):
        forbid(gateway, user=user)

    first = gateway.done("GET", f"{USERS}?limit=2")
    last = gateway.done("GET", f"{USERS}?limit=2&after={first['next']}")

    assert [user["id"] for user in first["users"]] == [OWNER, USER]
    assert first["next"] == USER
    assert ([user["id"] for user in last["users"]], last["next"]) == ([OTHER_USER], None)
    assert {"success": True, **last["users"][0]} == gateway.done("GET", f"{USERS}/{OTHER_USER}")


@pytest.mark.parametrize(
    ("query", "field"),
    [("limit=0", "limit"), ("limit=501", "limit"), ("limit=x", "limit"), ("after=x", "after")],
)
def test_a_page_that_cannot_be_is_400(served: Served, query: str, field: str) -> None:
    assert wrong_fields(served.operate("GET", f"{USERS}?{query}")) == {field}


# -- Moderators -------------------------------------------------------------------------------------------


def test_moderators_are_those_of_the_settings_and_those_who_were_appointed(named: ThreadGateway) -> None:
    sign_in(named, FIRST)
    assert named.done("PUT", f"{ONE}/moderator")["moderator"] == "appointed"

    assert named.done("GET", MODERATORS) == {
        "success": True,
        "moderators": [
            {"id": OWNER, "username": None, "display_name": None, "moderator": "settings"},
            {"id": USER, "username": "ada", "display_name": "Ada", "moderator": "appointed"},
        ],
        "next": None,
    }


def test_a_moderator_of_the_settings_is_known_before_the_first_sign_in(named: ThreadGateway) -> None:
    shown = named.done("GET", f"{USERS}/{OWNER}")

    assert (shown["moderator"], shown["first_at"], shown["username"]) == ("settings", None, None)
    assert sessions(named, OWNER) == []
    assert named.done("DELETE", f"{USERS}/{OWNER}/sessions") == {"success": True}
    assert named.done("GET", USERS)["users"] == [], "there is no row"


def test_a_moderator_of_the_settings_is_dismissed_there_alone(named: ThreadGateway) -> None:
    named.done("PUT", f"{USERS}/{OWNER}/moderator")

    refused = named.operate("DELETE", f"{USERS}/{OWNER}/moderator")

    assert refusal(refused) == (409, "The settings name this moderator; take the id out of web.moderators.")
    assert named.done("GET", f"{USERS}/{OWNER}")["moderator"] == "settings"


def test_a_user_is_a_moderator_from_the_appointment_to_the_dismissal(gateway: ThreadGateway) -> None:
    gateway.done("PUT", f"{ONE}/moderator", {})
    assert gateway.done("PUT", f"{ONE}/moderator")["moderator"] == "appointed", "once more changes nothing"

    assert gateway.done("DELETE", f"{ONE}/moderator") == {"success": True}

    assert gateway.done("GET", ONE)["moderator"] is None
    assert gateway.done("GET", MODERATORS)["moderators"] == []


def test_a_user_who_does_not_moderate_can_be_dismissed(served: Served) -> None:
    before = served.digest()
    assert served.operate("DELETE", f"{USERS}/{OTHER_USER}/moderator").json() == {"success": True}
    assert served.digest() == before


def test_an_appointment_takes_no_fields(served: Served) -> None:
    assert wrong_fields(served.operate("PUT", f"{ONE}/moderator", {"role": "owner"})) == {"role"}


# -- Sessions ---------------------------------------------------------------------------------------------


def test_the_notices_of_a_user_are_those_of_the_listings_that_the_user_owns(gateway: ThreadGateway) -> None:
    sign_in(gateway, FIRST, user=OWNER)
    gateway.list_bot()
    approved = {"listing": f"bots/{BOT}", "name": "Test bot", "at": gateway.clock.now_ms()}
    approved |= {"by": "operator", "deed": "approved", "about": "", "is_new": True}

    shown = gateway.done("GET", f"{USERS}/{OWNER}/notices")

    assert (approved in shown["notices"], shown["unread"]) == (True, len(shown["notices"]))


def test_sessions_are_listed_newest_first_without_their_digests(gateway: ThreadGateway) -> None:
    now_ms = gateway.clock.now_ms()
    sign_in(gateway, FIRST, SECOND)

    response = gateway.operate("GET", f"{ONE}/sessions")

    label = "Firefox on Linux"
    assert response.json() == {
        "success": True,
        "sessions": [
            {"id": SECOND[:16], "label": label, "opened_at": now_ms + 60_000, "seen_at": now_ms + 60_000},
            {"id": FIRST[:16], "label": label, "opened_at": now_ms, "seen_at": now_ms},
        ],
        "next": None,
    }
    for path in (ONE, USERS, MODERATORS, f"/debug/users/{USER}.json", "/debug/journal.json"):
        assert FIRST[:17] not in gateway.operate("GET", path).text, path


def test_a_session_that_is_over_is_not_listed(tmp_path: Path) -> None:
    idle = {"web.session_idle_seconds": 120, "web.moderator_session_idle_seconds": 60}
    with running(tmp_path / "data", **idle) as gateway:
        sign_in(gateway, FIRST)
        assert sessions(gateway) == [FIRST[:16]]

        gateway.done("PUT", f"{ONE}/moderator")
        assert (sessions(gateway), gateway.done("GET", ONE)["sessions"]) == ([], 0), "a moderator's is over"

        gateway.done("DELETE", f"{ONE}/moderator")
        gateway.clock.advance_ms(59_999)
        assert sessions(gateway) == [FIRST[:16]]
        gateway.clock.advance_ms(1)
        assert sessions(gateway) == []


def test_a_session_is_ended_by_its_id(gateway: ThreadGateway) -> None:
    sign_in(gateway, FIRST, SECOND)

    assert gateway.done("DELETE", f"{ONE}/sessions/{FIRST[:16]}") == {"success": True}

    assert sessions(gateway) == [SECOND[:16]]


def test_all_sessions_of_a_user_are_ended_at_once_and_nobody_else_s(gateway: ThreadGateway) -> None:
    sign_in(gateway, FIRST)
    sign_in(gateway, SECOND, user=OTHER_USER)

    assert gateway.done("DELETE", f"{ONE}/sessions") == {"success": True}

    assert (sessions(gateway), sessions(gateway, OTHER_USER)) == ([], [SECOND[:16]])


def test_the_sessions_of_all_users_are_ended_at_once(gateway: ThreadGateway) -> None:
    sign_in(gateway, FIRST)
    sign_in(gateway, SECOND, user=OTHER_USER)

    assert gateway.done("DELETE", "/manage/sessions") == {"success": True, "ended": 2}

    assert (sessions(gateway), sessions(gateway, OTHER_USER)) == ([], [])
    assert gateway.done("DELETE", "/manage/sessions")["ended"] == 0


@pytest.mark.parametrize("wanted", [FIRST, FIRST[:15], SECOND[:16], "none"])
def test_a_session_that_the_user_has_not_is_404(gateway: ThreadGateway, wanted: str) -> None:
    sign_in(gateway, FIRST)
    sign_in(gateway, SECOND, user=OTHER_USER)

    refused = gateway.operate("DELETE", f"{ONE}/sessions/{wanted}")

    assert refusal(refused) == (404, "The user has no such session.")
    assert sessions(gateway) == [FIRST[:16]]


# -- Quarantines ------------------------------------------------------------------------------------------


def test_a_quarantine_is_shown_with_who_imposed_it_and_until_when(gateway: ThreadGateway) -> None:
    now_ms = gateway.clock.now_ms()

    shown = forbid(gateway, until=now_ms + DAY_MS, reason="Bought votes.")["quarantines"]

    imposed = {"act": "vote", "reason": "Bought votes.", "by": "operator", "since": now_ms}
    assert shown == [{**imposed, "until": now_ms + DAY_MS, "in_force": True}]
    gateway.clock.advance_ms(DAY_MS)
    assert gateway.done("GET", ONE)["quarantines"] == [{**shown[0], "in_force": False}]


def test_each_act_is_forbidden_by_itself(gateway: ThreadGateway) -> None:
    for act in ("vote", "sign_in", "submit"):
        forbid(gateway, act)
    gateway.done("DELETE", f"{ONE}/quarantines/submit")

    shown = {each["act"]: each["in_force"] for each in gateway.done("GET", ONE)["quarantines"]}
    assert shown == {"sign_in": True, "submit": False, "vote": True}


def test_a_lifted_quarantine_shows_when_it_was_lifted(gateway: ThreadGateway) -> None:
    forbid(gateway)
    gateway.advance(60)

    assert gateway.done("DELETE", f"{ONE}/quarantines/vote") == {"success": True}

    (lifted,) = gateway.done("GET", ONE)["quarantines"]
    assert (lifted["until"], lifted["in_force"]) == (gateway.clock.now_ms(), False)
    assert refusal(gateway.operate("DELETE", f"{ONE}/quarantines/vote")) == NO_QUARANTINE


def test_a_quarantine_that_is_over_cannot_be_lifted(gateway: ThreadGateway) -> None:
    forbid(gateway, until=gateway.clock.now_ms() + HOUR_MS)
    gateway.clock.advance_ms(HOUR_MS)

    assert refusal(gateway.operate("DELETE", f"{ONE}/quarantines/vote")) == NO_QUARANTINE


def test_a_user_who_may_not_sign_in_is_signed_out(gateway: ThreadGateway) -> None:
    sign_in(gateway, FIRST, SECOND)

    assert forbid(gateway, "sign_in")["sessions"] == 0

    assert sessions(gateway) == []


def test_quarantines_and_moderators_survive_a_restart(gateway: ThreadGateway) -> None:
    sign_in(gateway, FIRST)
    forbid(gateway)
    gateway.done("PUT", f"{ONE}/moderator")
    before = gateway.done("GET", ONE)

    gateway.restart()

    assert gateway.done("GET", ONE) == before


@pytest.mark.parametrize(
    ("terms", "wrong"),
    [
        ({}, {"reason"}),
        ({"reason": ""}, {"reason"}),
        ({"reason": " \n"}, {"reason"}),
        ({"reason": "x" * 513}, {"reason"}),
        ({"reason": "\u202ewhy"}, {"reason"}),
        ({"reason": "Why.", "until": 1}, {"until"}),
        ({"reason": "Why.", "until": "tomorrow"}, {"until"}),
        ({"reason": "Why.", "until": 253_402_300_800_000}, {"until"}),
        ({"reason": "Why.", "by": "gateway"}, {"by"}),
    ],
)
def test_terms_that_break_a_rule_are_400_and_forbid_nothing(
    served: Served, terms: dict[str, Any], wrong: set[str]
) -> None:
    before = served.digest()
    assert wrong_fields(served.operate("PUT", f"{ONE}/quarantines/vote", terms)) == wrong
    assert served.digest() == before


def test_the_end_of_a_quarantine_is_later_than_now(gateway: ThreadGateway) -> None:
    now_ms = gateway.clock.now_ms()
    terms = {"reason": "x" * 512, "until": now_ms}
    assert wrong_fields(gateway.operate("PUT", f"{ONE}/quarantines/vote", terms)) == {"until"}
    gateway.done("PUT", f"{ONE}/quarantines/vote", {**terms, "until": now_ms + 1})


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_an_act_that_there_is_not_is_400(served: Served, method: str) -> None:
    refused = served.operate(method, f"{ONE}/quarantines/sleep", {"reason": "Why."})

    assert wrong_fields(refused) == {"act"}
    assert refused.json()["fields"] == {"act": "must be one of sign_in, submit, vote, report"}


@pytest.mark.parametrize("path", [BOT_PATH, f"/manage/servers/{SERVER}"], ids=["bot", "server"])
def test_a_user_under_quarantine_cannot_vote_until_it_is_over(gateway: ThreadGateway, path: str) -> None:
    gateway.list_bot()
    gateway.list_server()
    until_ms = gateway.clock.now_ms() + HOUR_MS
    forbid(gateway, until=until_ms, reason="Bought votes.")

    refused = gateway.operate("POST", f"{path}/votes", {"user": USER})

    assert refused.status_code == 403
    until = datetime.fromtimestamp(until_ms / 1_000, UTC)
    assert refused.json() == {
        "success": False,
        "error": f"The user is under quarantine until {until:%Y-%m-%d %H:%M} (UTC): Bought votes.",
        "status": 403,
        "code": "quarantined",
        "until": until_ms,
    }
    assert gateway.cast(OTHER_USER, path)["vote"] == 1
    gateway.clock.advance_ms(HOUR_MS)
    assert gateway.cast(USER, path)["vote"] == 1, "the refused vote was not counted"


def test_a_user_votes_again_once_a_quarantine_without_an_end_is_lifted(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    forbid(gateway)
    assert gateway.operate("POST", f"{BOT_PATH}/votes", {"user": USER}).json()["until"] is None

    gateway.done("DELETE", f"{ONE}/quarantines/vote")

    assert gateway.cast()["vote"] == 1


def test_a_quarantine_of_another_act_forbids_no_vote(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    for act in ("sign_in", "submit"):
        forbid(gateway, act)
    assert gateway.cast()["vote"] == 1


# -- Forgetting -------------------------------------------------------------------------------------------


def test_only_a_quarantine_in_force_of_an_erased_user_is_kept(gateway: ThreadGateway) -> None:
    sign_in(gateway, FIRST)
    forbid(gateway)
    gateway.done("PUT", f"{ONE}/moderator")

    gateway.done("DELETE", ONE)

    shown = gateway.done("GET", ONE)
    assert [(each["act"], each["in_force"]) for each in shown["quarantines"]] == [("vote", True)]
    assert (shown["username"], shown["moderator"], shown["sessions"]) == (None, None, 0)


def test_a_forgotten_user_under_no_quarantine_is_nobody(gateway: ThreadGateway) -> None:
    sign_in(gateway, FIRST)
    forbid(gateway)
    gateway.done("PUT", f"{ONE}/moderator")
    gateway.done("DELETE", f"{ONE}/quarantines/vote")

    gateway.done("DELETE", ONE)

    assert refusal(gateway.operate("GET", ONE)) == NO_USER
    assert gateway.done("GET", MODERATORS)["moderators"] == []
    assert USER not in json.dumps(gateway.done("GET", "/debug/journal.json")["events"])


def test_the_debug_endpoint_shows_the_same_of_a_user(gateway: ThreadGateway) -> None:
    sign_in(gateway, FIRST)
    forbid(gateway)

    inside = gateway.done("GET", f"/debug/users/{USER}.json")

    shown = gateway.done("GET", ONE)
    assert {name: inside[name] for name in shown} == shown
    unknown = gateway.done("GET", f"/debug/users/{OTHER_USER}.json")
    assert (unknown["first_at"], unknown["moderator"], unknown["quarantines"]) == (None, None, [])
