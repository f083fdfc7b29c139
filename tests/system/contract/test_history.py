"""The history of a listing: its actions, and the actors."""

from pathlib import Path
from typing import Any

import pytest

from core.actors import user_actor
from tests.support.gateways import BOT, BOT_SUBMISSION, USER, ThreadGateway
from tests.support.sample_rows import OTHER_USER
from tests.support.slots_set import actual_count_set
from tests.support.suspended_endpoints import hold, trying_once
from tests.support.webhook_receiver import Receiver

PATH = f"/manage/bots/{BOT}"


def history(gateway: ThreadGateway) -> list[dict[str, Any]]:
    answer = gateway.done("GET", f"{PATH}/history")
    assert answer["next"] is None
    acts: list[dict[str, Any]] = answer["history"]
    return acts


def test_every_action_of_management_is_in_the_history_the_newest_first(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    gateway.list_bot()
    gateway.advance(1)
    key = gateway.done("POST", f"{PATH}/keys", {"name": "second"})
    gateway.done("POST", f"{PATH}/keys/{key['id']}/rotate", {})
    gateway.done("DELETE", f"{PATH}/keys/{key['id']}")
    gateway.done("PUT", f"{PATH}/limits", {})
    gateway.done("PUT", f"{PATH}/webhook", {"url": receiver.url})
    gateway.advance(1)
    gateway.done("POST", f"{PATH}/webhook/secret/rotate", {})
    gateway.done("DELETE", f"{PATH}/webhook")

    acts = history(gateway)

    assert {act["by"] for act in acts} == {"operator"}
    assert [act["at"] for act in acts] == sorted((act["at"] for act in acts), reverse=True)
    assert {(act["deed"], act["about"]) for act in acts} == {
        ("submitted", ""),
        ("approved", ""),
        ("actual_count_set", "1000"),
        ("key_issued", "tests"),
        ("key_issued", "second"),
        ("key_rotated", "second"),
        ("key_deleted", "second"),
        ("limits_set", ""),
        ("webhook_saved", "127.0.0.1"),
        ("secret_rotated", "127.0.0.1"),
        ("webhook_removed", ""),
    }


def test_a_denial_stays_in_the_history_with_its_reason_after_the_next_edit(gateway: ThreadGateway) -> None:
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
    gateway.done("POST", f"{PATH}/deny", {"reason": "It does not answer."})
    gateway.advance(1)
    bot = gateway.done("GET", PATH)
    form = ("owner_id", "name", "short_description", "description", "categories")
    gateway.done("PUT", PATH, {name: bot[name] for name in form})

    acts = {act["deed"]: act["about"] for act in history(gateway)}

    assert acts == {"edited": "", "denied": "It does not answer.", "submitted": ""}


def test_the_action_of_an_erased_user_stays_in_the_history_without_the_name(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    now_ms = gateway.clock.now_ms()

    def act() -> None:
        for user, count in ((USER, 7), (OTHER_USER, 8)):
            gateway.gateway.ledger.commit(
                [actual_count_set(f"bots/{BOT}", count, at_ms=now_ms, by=user_actor(user))]
            )

    gateway.on_loop(act)
    by = {act["about"]: act["by"] for act in history(gateway)}
    assert (by["7"], by["8"]) == (f"users/{USER}", f"users/{OTHER_USER}")

    gateway.done("DELETE", f"/manage/users/{USER}")

    by = {act["about"]: act["by"] for act in history(gateway)}
    assert (by["7"], by["8"]) == ("erased", f"users/{OTHER_USER}")
    tail = [event["text"] for event in gateway.done("GET", "/debug/journal.json")["events"]]
    assert not [text for text in tail if USER in text]


def test_votes_and_pushes_of_counts_are_not_in_the_history(gateway: ThreadGateway) -> None:
    key = gateway.list_bot()
    before = history(gateway)
    gateway.cast()
    gateway.stats(key, {"server_count": 1_000})
    assert history(gateway) == before


def test_a_bot_that_is_listed_again_has_a_new_history(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.done("DELETE", PATH)
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
    assert [act["deed"] for act in history(gateway)] == ["submitted"]


@pytest.mark.parametrize(("call", "deed"), [("probe", "endpoint_probed"), ("resume", "suspension_lifted")])
def test_probes_and_resumed_deliveries_are_in_the_history(
    tmp_path: Path, receiver: Receiver, call: str, deed: str
) -> None:
    with trying_once(tmp_path / "data", receiver) as gateway:
        hold(gateway, receiver, events=1)
        gateway.done("POST", f"{PATH}/webhook/{call}", {})
        newest = history(gateway)[0]
    assert (newest["deed"], newest["by"]) == (deed, "operator")
