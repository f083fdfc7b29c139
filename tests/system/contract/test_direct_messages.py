"""Messages to owners about decisions, over sockets and with a stand-in for the platform."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.co_owners import let_join
from tests.support.contract import BOT_PATH, SHORT_DRAIN_SECONDS, arrive
from tests.support.gateways import BOT, BOT_SUBMISSION, SERVER, SERVER_SUBMISSION, eventually, running
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, BOT_TOKEN, CHANNELS, CLEO, DAN, messages_path
from tests.support.scraped import scraped
from tests.support.webhook_receiver import Receiver

SERVER_PATH = f"/manage/servers/{SERVER}"
UNKNOWN = "299999999999999999"
TIMEOUT_SECONDS = 0.9
RETRY_SECONDS = 5
TOLD = {"chat_platform.bot_token": BOT_TOKEN, "chat_platform.timeout_seconds": TIMEOUT_SECONDS}


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[PeopleGateway]:
    """A gateway with a bot token."""
    with serving(tmp_path / "data", **TOLD) as gateway:
        yield gateway


def submitted(gateway: PeopleGateway, owner: str = ADA) -> None:
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": owner})


def approved(gateway: PeopleGateway, owner: str = ADA) -> None:
    submitted(gateway, owner)
    gateway.done("POST", f"{BOT_PATH}/approve", {})


def message(gateway: PeopleGateway, path: str = BOT_PATH) -> Any:
    return gateway.done("GET", f"{path}/history")["message"]


def ended(gateway: PeopleGateway, path: str = BOT_PATH) -> Any:
    """Wait until the message has arrived or is given up. Return it."""

    def over() -> Any:
        shown = message(gateway, path)
        return shown if shown["state"] != "pending" else None

    return eventually(over)


def attempted(gateway: PeopleGateway, attempts: int) -> Any:
    """The message, once so many attempts were made."""

    def made() -> Any:
        shown = message(gateway)
        return shown if shown["attempts"] >= attempts else None

    return eventually(made)


# -- what an owner reads -----------------------------------------------------------------------------------


def test_the_owner_of_an_approved_bot_gets_the_address_of_its_page(gateway: PeopleGateway) -> None:
    approved(gateway)
    shown = ended(gateway)
    assert (shown["to"], shown["decision"], shown["state"]) == (ADA, "approved", "delivered")
    assert (shown["attempts"], shown["error"], shown["why"], shown["next_attempt_at"]) == (
        1,
        None,
        None,
        None,
    )
    assert shown["told_at"] >= shown["decided_at"]
    (text,) = gateway.stand_in.messages(ADA)
    assert "was approved" in text
    assert text.endswith(f"<{gateway.base_url}/bots/{BOT}/manage>")


def test_the_owner_of_a_denied_server_gets_the_reason(gateway: PeopleGateway) -> None:
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "owner_id": BEN})
    gateway.done("POST", f"{SERVER_PATH}/deny", {"reason": "It is empty. Invite *some* people."})
    assert ended(gateway, SERVER_PATH)["decision"] == "denied"
    (text,) = gateway.stand_in.messages(BEN)
    assert "It is empty. Invite *some* people." in re.sub(r"\\(?=\W)", "", text)
    assert f"/servers/{SERVER}/manage" in text


def test_only_the_owner_gets_a_message_about_a_moderator_s_decision(gateway: PeopleGateway) -> None:
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    let_join(gateway, BOT, BEN)
    cleo = gateway.person(CLEO)
    seen = re.search(r'name="seen" value="(\d+)"', cleo.get(f"/review/bots/{BOT}").text)
    assert seen is not None
    form = {"seen": seen[1], "words": "It is silent."}
    assert cleo.post(f"/review/bots/{BOT}/deny", form).status_code == 303
    assert ended(gateway)["state"] == "delivered"
    assert ["It is silent" in text for text in gateway.stand_in.messages(ADA)] == [True]
    assert gateway.stand_in.messages(BEN) == []


def test_each_decision_is_sent(gateway: PeopleGateway) -> None:
    submitted(gateway)
    gateway.done("POST", f"{BOT_PATH}/deny", {"reason": "Too quiet."})
    ended(gateway)
    edit = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
    gateway.clock.advance(1)
    gateway.done("PUT", BOT_PATH, {**edit, "owner_id": ADA})
    gateway.done("POST", f"{BOT_PATH}/approve", {})
    eventually(lambda: ended(gateway)["decision"] == "approved")
    assert ["approved" in text for text in gateway.stand_in.messages(ADA)] == [True, False]


def test_a_decision_about_a_change_and_a_withdrawn_approval_are_sent(gateway: PeopleGateway) -> None:
    edit = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}

    def renamed(name: str) -> dict[str, str]:
        gateway.clock.advance(1)
        change = gateway.done("PUT", BOT_PATH, {**edit, "owner_id": ADA, "name": name})["change"]
        return {"version": change["version"]}

    def told_of(decision: str) -> None:
        eventually(lambda: ended(gateway)["decision"] == decision)

    approved(gateway)
    ended(gateway)
    gateway.done("POST", f"{BOT_PATH}/change/agree", renamed("Nicer name"))
    told_of("change_agreed")
    gateway.done("POST", f"{BOT_PATH}/change/refuse", {**renamed("Free Nitro"), "reason": "Spam."})
    told_of("change_refused")
    gateway.clock.advance(1)
    gateway.done("POST", f"{BOT_PATH}/withdraw", {"reason": "Spam again."})
    told_of("withdrawn")
    first_lines = [text.splitlines()[0] for text in gateway.stand_in.messages(ADA)]
    assert {
        "Your change to the bot Nicer name was approved: everybody sees it.",
        "Your change to the bot Nicer name was refused.",
        "The approval of your bot Nicer name was withdrawn: it is not listed any more.",
    } <= set(first_lines)


def test_without_a_bot_token_there_is_no_message(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        approved(gateway)
        assert message(gateway) is None
        assert gateway.stand_in.asked(CHANNELS) == 0
        assert not [name for name in scraped(gateway).families if "direct_message" in name]
    with running(tmp_path / "other") as alone:
        alone.list_bot()
        assert alone.done("GET", f"{BOT_PATH}/history")["message"] is None


# -- faults ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "error", "why"),
    [
        (DAN, "cannot_message", "the owner takes no messages from the bot, or shares no server with it"),
        (UNKNOWN, "http_404", "the chat platform does not know the owner"),
    ],
)
def test_a_user_who_takes_no_messages_is_not_tried_again(
    gateway: PeopleGateway, owner: str, error: str, why: str
) -> None:
    approved(gateway, owner)
    shown = ended(gateway)
    assert (shown["state"], shown["attempts"], shown["error"], shown["why"]) == ("failed", 1, error, why)
    asked = gateway.stand_in.asked(CHANNELS)
    gateway.advance(30 * 86_400)
    assert gateway.stand_in.asked(CHANNELS) == asked
    assert scraped(gateway).value("direct_messages_pending") == 0


def test_a_wrong_token_ends_it(tmp_path: Path) -> None:
    wrong = {"chat_platform.bot_token": "a-token-that-is-wrong"}
    with serving(tmp_path / "data", **wrong) as gateway:
        approved(gateway)
        shown = ended(gateway)
        assert (shown["state"], shown["error"]) == ("failed", "http_401")
        assert shown["why"] == "the chat platform refuses the bot token"
        sample = {"outcome": "failed", "error": "http_4xx"}
        assert scraped(gateway).value("direct_message_attempts_total", **sample) == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("500", "http_500"),
        ("html", "http_503"),
        ("cut", "unreachable"),
        ("slow", "timeout"),
        ("429", "limited"),
        ("429-global", "limited"),
    ],
)
@pytest.mark.parametrize("path", [CHANNELS, messages_path(ADA)])
def test_a_failed_message_is_tried_again_until_it_arrives(
    gateway: PeopleGateway, path: str, fault: str, error: str
) -> None:
    gateway.stand_in.goes_wrong(path, fault)
    approved(gateway)
    shown = attempted(gateway, 1)
    assert (shown["state"], shown["error"]) == ("pending", error)
    assert gateway.stand_in.messages(ADA) == []
    gateway.advance(RETRY_SECONDS)
    assert ended(gateway)["state"] == "delivered"
    assert len(gateway.stand_in.messages(ADA)) == 1
    outcome = "held" if error == "limited" else "retry"
    kind = {"limited": "limited", "http_500": "http_5xx", "http_503": "http_5xx"}.get(error, error)
    counted = scraped(gateway)
    assert counted.value("direct_message_attempts_total", outcome=outcome, error=kind) == 1
    assert counted.value("direct_message_attempts_total", outcome="delivered", error="none") == 1


def test_a_message_whose_answer_was_lost_is_there_once(gateway: PeopleGateway) -> None:
    gateway.stand_in.goes_wrong(messages_path(ADA), "lost", times=2)
    approved(gateway)
    assert attempted(gateway, 1)["error"] == "unreachable"
    gateway.advance(RETRY_SECONDS)
    attempted(gateway, 2)
    gateway.advance(RETRY_SECONDS)
    assert ended(gateway)["attempts"] == 3
    assert len(gateway.stand_in.messages(ADA)) == 1


def test_a_platform_that_hangs_holds_up_neither_webhooks_nor_decisions(
    tmp_path: Path, receiver: Receiver
) -> None:
    hanging = {**TOLD, "chat_platform.timeout_seconds": 60, "server.drain_seconds": SHORT_DRAIN_SECONDS}
    with serving(tmp_path / "data", **hanging) as gateway:
        gateway.stand_in.goes_wrong(CHANNELS, "slow", times=9)
        approved(gateway)
        eventually(lambda: gateway.stand_in.asked(CHANNELS))
        gateway.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url})
        gateway.cast()
        arrive(gateway, receiver, 1)
        gateway.list_server()
        assert message(gateway)["attempts"] == 0


# -- restarts and people's data ----------------------------------------------------------------------------


def test_an_unsent_message_is_sent_after_a_restart(gateway: PeopleGateway) -> None:
    gateway.stand_in.goes_wrong(CHANNELS, "500")
    approved(gateway)
    attempted(gateway, 1)
    gateway.done("POST", "/debug/snapshot")
    gateway.restart(seconds_down=RETRY_SECONDS)
    assert ended(gateway)["attempts"] == 2
    assert len(gateway.stand_in.messages(ADA)) == 1
    gateway.restart()
    assert message(gateway)["state"] == "delivered"
    assert len(gateway.stand_in.messages(ADA)) == 1


def test_an_erased_owner_is_not_written_to_and_nothing_is_kept_on_it(gateway: PeopleGateway) -> None:
    gateway.stand_in.goes_wrong(CHANNELS, "500")
    approved(gateway)
    attempted(gateway, 1)
    known = gateway.person(ADA).get("/me/data.json").json()
    (told,) = known["direct_messages"]
    assert (told["listing"], told["decision"], told["delivered"]) == (f"bots/{BOT}", "approved", False)
    gateway.done("DELETE", f"/manage/users/{ADA}")
    assert message(gateway) is None
    gateway.advance(RETRY_SECONDS)
    gateway.restart()
    assert message(gateway) is None
    assert gateway.stand_in.messages(ADA) == []


# -- who sees it -------------------------------------------------------------------------------------------


def test_moderators_and_the_operator_see_if_the_owner_got_the_message_or_why_not(
    gateway: PeopleGateway,
) -> None:
    approved(gateway, DAN)
    shown = ended(gateway)
    cleo = gateway.person(CLEO)
    words = "The owner was not told by a direct message: the owner takes no messages from the bot"
    for path in (f"/review/bots/{BOT}", "/review?show=decided"):
        assert words in cleo.get(path).text
    assert cleo.get(f"/review/bots/{BOT}.json").json()["message"] == shown
    (decided,) = cleo.get("/review.json?show=decided").json()["decided"]
    assert decided["message"] == shown
    assert gateway.done("GET", f"/debug/listings/bots/{BOT}.json")["message"] == shown
    operator = gateway.person(None)
    operator.sign_in()
    assert "cannot_message" in operator.get(f"/debug/listings/bots/{BOT}").text


def test_owners_and_moderators_see_that_the_message_arrived(gateway: PeopleGateway) -> None:
    gateway.stand_in.goes_wrong(CHANNELS, "500")
    approved(gateway)
    attempted(gateway, 1)
    cleo = gateway.person(CLEO)
    assert "The owner was not told yet: the chat platform answered with status 500" in (
        cleo.get(f"/review/bots/{BOT}").text
    )
    assert gateway.done("GET", "/debug/webhooks.json")["messages_pending"] == 1
    operator = gateway.person(None)
    operator.sign_in()
    assert "Messages to owners waiting" in operator.get("/debug/webhooks").text
    gateway.advance(RETRY_SECONDS)
    ended(gateway)
    assert "The owner was told by a direct message at" in cleo.get(f"/review/bots/{BOT}").text
    assert gateway.done("GET", "/debug/webhooks.json")["messages_pending"] == 0


def test_the_bot_token_is_on_no_page_and_in_no_line_of_the_log(gateway: PeopleGateway) -> None:
    approved(gateway)
    ended(gateway)
    for path in (
        "/debug/overview.json",
        "/debug/overview.json",
        "/debug/journal.json",
        f"/debug/listings/bots/{BOT}.json",
    ):
        assert BOT_TOKEN not in gateway.operate("GET", path).text
    for path in (f"/{BOT_TOKEN}", f"/docs?token={BOT_TOKEN}"):  # the log of this module is searched for it
        assert gateway.request("GET", path).status_code in {200, 404}
