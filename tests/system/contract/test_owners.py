"""Owners of a listing, through the management API."""

from typing import Any

import pytest

from tests.support.gateways import BOT, OWNER, SERVER, USER, ThreadGateway

OTHER = "623456789012345678"
BOTS, SERVERS = f"/manage/bots/{BOT}", f"/manage/servers/{SERVER}"
MEMBER = f"{BOTS}/extra-owners/{USER}"
WEEK_SECONDS = 7 * 86_400


@pytest.fixture
def gateway(gateway: ThreadGateway) -> ThreadGateway:
    gateway.list_bot(BOT)
    gateway.list_server(SERVER)
    return gateway


def owners(shown: dict[str, Any]) -> tuple[str, list[str], list[str]]:
    return shown["owner_id"], shown["extra_owners"], shown["invited"]


def test_an_extra_owner_is_invited_accepts_and_leaves(gateway: ThreadGateway) -> None:
    gateway.clock.advance(1)
    assert owners(gateway.done("PUT", MEMBER, {})) == (OWNER, [], [USER])
    gateway.clock.advance(1)
    assert owners(gateway.done("POST", f"{MEMBER}/accept", {})) == (OWNER, [USER], [])
    gateway.clock.advance(1)
    assert owners(gateway.done("DELETE", MEMBER)) == (OWNER, [], [])
    deeds = [act["deed"] for act in gateway.done("GET", f"{BOTS}/history")["history"]]
    assert deeds[:3] == ["co_owner_removed", "co_owner_joined", "co_owner_invited"]


def test_nobody_becomes_an_extra_owner_without_an_invitation(gateway: ThreadGateway) -> None:
    refused = gateway.operate("POST", f"{MEMBER}/accept", {})
    assert (refused.status_code, refused.json()["error"]) == (404, "The user has no invitation.")


@pytest.mark.parametrize("user", ["1", "me", OWNER + "0000"])
def test_a_user_is_named_by_a_whole_id(gateway: ThreadGateway, user: str) -> None:
    for method, path in (("PUT", ""), ("POST", "/accept"), ("DELETE", "")):
        refused = gateway.operate(method, f"{BOTS}/extra-owners/{user}{path}", {})
        assert (refused.status_code, refused.json()["fields"].keys()) == (400, {"id"})


@pytest.mark.parametrize("one", [BOTS, SERVERS])
def test_an_offered_listing_is_accepted_within_a_week(gateway: ThreadGateway, one: str) -> None:
    offered = gateway.done("PUT", f"{one}/hand-over", {"heir": USER})
    now_ms = gateway.clock.now_ms()
    assert offered["owner_id"] == OWNER
    assert offered["hand_over"] == {
        "heir": USER,
        "offered_at": now_ms,
        "lapses_at": now_ms + WEEK_SECONDS * 1_000,
    }
    assert gateway.operate("POST", f"{one}/hand-over/accept", {"heir": OTHER}).status_code == 404
    shown = gateway.done("POST", f"{one}/hand-over/accept", {"heir": USER})
    assert (shown["owner_id"], shown["hand_over"]) == (USER, None)
    gateway.done("PUT", f"{one}/hand-over", {"heir": OWNER})
    gateway.clock.advance(WEEK_SECONDS)
    assert gateway.operate("POST", f"{one}/hand-over/accept", {"heir": OWNER}).status_code == 404
    assert gateway.done("DELETE", f"{one}/hand-over")["hand_over"] is None


def test_a_server_has_no_extra_owners(gateway: ThreadGateway) -> None:
    assert gateway.operate("PUT", f"{SERVERS}/extra-owners/{USER}", {}).status_code == 404
    gateway.done("PUT", f"{SERVERS}/hand-over", {"heir": USER})
    assert "extra_owners" not in gateway.done("POST", f"{SERVERS}/hand-over/accept", {"heir": USER})


def test_an_operator_sets_another_owner_without_an_offer(gateway: ThreadGateway) -> None:
    shown = gateway.done("GET", BOTS)
    fields = ("name", "short_description", "description", "categories", "support_invite")
    edited = gateway.done("PUT", BOTS, {name: shown[name] for name in fields} | {"owner_id": USER})
    assert owners(edited) == (USER, [], [])
    edit = {name: shown[name] for name in (*fields, "owner_id", "extra_owners")}
    refused = gateway.operate("PUT", BOTS, edit)
    assert refused.json()["fields"].keys() == {"extra_owners"}


def test_the_list_of_keys_names_their_makers(gateway: ThreadGateway) -> None:
    gateway.done("POST", f"{BOTS}/keys", {"name": "second"})
    keys = gateway.done("GET", f"{BOTS}/keys")["keys"]
    assert [key["made_by"] for key in keys] == [["operator"]] * len(keys)


@pytest.mark.parametrize("one", [BOTS, SERVERS])
@pytest.mark.parametrize("who", [OWNER, USER], ids=["owner", "heir"])
def test_nobody_accepts_a_listing_while_one_of_the_two_owners_may_not_submit(
    gateway: ThreadGateway, one: str, who: str
) -> None:
    gateway.done("PUT", f"{one}/hand-over", {"heir": USER})
    quarantine = f"/manage/users/{who}/quarantines/submit"
    gateway.done("PUT", quarantine, {"reason": "Spam."})
    refused = gateway.operate("POST", f"{one}/hand-over/accept", {"heir": USER})
    assert (refused.status_code, refused.json()["error"]) == (403, "The user is under quarantine: Spam.")
    assert gateway.done("GET", one)["owner_id"] == OWNER
    gateway.done("DELETE", quarantine)
    assert gateway.done("POST", f"{one}/hand-over/accept", {"heir": USER})["owner_id"] == USER
