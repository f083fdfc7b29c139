"""Reminders by the platform's bot, over sockets and with a stand-in for the platform.

Invariant: one message for each vote.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH
from tests.support.gateways import BOT, SERVER, eventually
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import BEN, BOT_TOKEN, CHANNELS, DAN, messages_path
from tests.support.scraped import scraped
from tests.support.slots_set import eligibility_checked

BOT_REF, SERVER_REF = f"bots/{BOT}", f"servers/{SERVER}"
DAY = 86_400
RETRY_SECONDS = 5
SETTINGS = {"chat_platform.bot_token": BOT_TOKEN, "chat_platform.timeout_seconds": 60}
"""A long timeout, because it is real time, while retries wait for the clock of the test."""


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[PeopleGateway]:
    """A gateway with a bot token, a bot and a server. The platform does not know their owner."""
    with serving(tmp_path / "data", **SETTINGS) as gateway:
        gateway.list_bot()
        gateway.list_server()
        eventually(lambda: scraped(gateway).value("direct_messages_pending") == 0)
        yield gateway


def opted_in(gateway: PeopleGateway, ref: str = BOT_REF, user: str = BEN) -> None:
    """Let a user vote, and press the button for a reminder."""
    person = gateway.person(user)
    person.acted(f"/{ref}/vote")
    person.acted("/me/reminders", {"listing": ref, "remind": "on", "to": f"/{ref}/vote"})


def states(gateway: PeopleGateway, user: str = BEN) -> list[Any]:
    """Return the states of all reminders of a user, as the operator sees them."""
    rows = gateway.done("GET", f"/manage/users/{user}/reminders")["reminders"]
    return [row["message"] for row in rows]


def told(gateway: PeopleGateway) -> list[str]:
    """Wait until no message to Ben is under way. Return his messages."""
    eventually(lambda: states(gateway) == ["delivered"])
    return gateway.stand_in.messages(BEN)


def test_a_user_is_reminded_once_after_the_cooldown_with_a_link_to_vote_and_one_to_stop(
    gateway: PeopleGateway,
) -> None:
    opted_in(gateway)
    gateway.advance(DAY - 1)
    assert states(gateway) == ["none"]
    gateway.advance(1)
    (text,) = told(gateway)
    assert "You can vote for the bot Test bot again" in text
    assert f"<{gateway.base_url}/{BOT_REF}/vote>" in text
    assert f"<{gateway.base_url}/me/reminders/{BOT_REF}>" in text
    sample = {"outcome": "delivered", "error": "none"}
    assert scraped(gateway).value("direct_message_attempts_total", **sample) == 1
    gateway.advance(9 * DAY)
    gateway.restart(seconds_down=DAY)
    assert len(told(gateway)) == 1


def test_after_the_next_vote_there_is_one_more(gateway: PeopleGateway) -> None:
    opted_in(gateway)
    gateway.advance(DAY)
    assert len(told(gateway)) == 1
    gateway.person(BEN).acted(f"/{BOT_REF}/vote")
    assert states(gateway) == ["none"]
    gateway.advance(DAY)
    assert len(told(gateway)) == 2


def test_a_reminder_that_came_due_while_the_gateway_was_down_is_sent_after_the_start(
    gateway: PeopleGateway,
) -> None:
    opted_in(gateway)
    gateway.done("POST", "/debug/snapshot")
    gateway.restart(seconds_down=2 * DAY)
    assert len(told(gateway)) == 1


def test_a_failure_is_tried_again_and_a_message_whose_answer_was_lost_is_there_once(
    gateway: PeopleGateway,
) -> None:
    opted_in(gateway)
    gateway.stand_in.goes_wrong(CHANNELS, "500")
    gateway.advance(DAY)
    eventually(lambda: states(gateway) == ["pending"])
    gateway.stand_in.goes_wrong(messages_path(BEN), "lost")
    gateway.advance(RETRY_SECONDS)
    eventually(lambda: len(gateway.stand_in.messages(BEN)) == 1)
    eventually(lambda: attempts(gateway) == 2)
    gateway.advance(60)
    assert len(told(gateway)) == 1
    assert attempts(gateway) == 3


def test_a_vote_before_the_message_could_be_sent_moves_the_reminder_to_the_new_end(
    gateway: PeopleGateway,
) -> None:
    opted_in(gateway)
    gateway.stand_in.goes_wrong(CHANNELS, "500")
    gateway.advance(DAY)
    eventually(lambda: states(gateway) == ["pending"])
    gateway.person(BEN).acted(f"/{BOT_REF}/vote")
    gateway.advance(DAY - 1)
    assert states(gateway) == ["none"]
    assert gateway.stand_in.messages(BEN) == []
    gateway.advance(1)
    assert len(told(gateway)) == 1


def attempts(gateway: PeopleGateway) -> int:
    (reminder,) = gateway.person(BEN).get("/me/data.json").json()["reminders"]
    made: int = reminder["direct_message"]["attempts"]
    return made


def test_a_user_who_takes_no_messages_has_a_notice_on_the_site_and_gets_no_further_message(
    gateway: PeopleGateway,
) -> None:
    opted_in(gateway, user=DAN)
    gateway.advance(DAY)
    eventually(lambda: states(gateway, DAN) == ["failed"])
    asked = gateway.stand_in.asked(CHANNELS)
    dan = gateway.person(DAN)
    assert "You can vote for" in dan.page("/me/notices")
    dan.acted(f"/{BOT_REF}/vote")
    gateway.advance(DAY)
    gateway.restart()
    assert gateway.stand_in.asked(CHANNELS) == asked
    assert "You can vote for" in gateway.person(DAN).page("/me/notices")


@pytest.mark.parametrize("what", ["turned off", "erased", "removed"])
def test_a_reminder_that_was_turned_off_erased_or_lost_its_listing_is_not_sent(
    gateway: PeopleGateway, what: str
) -> None:
    opted_in(gateway)
    opted_in(gateway, SERVER_REF)
    if what == "turned off":
        gateway.person(BEN).acted("/me/reminders", {"listing": BOT_REF, "remind": "off"})
    elif what == "erased":
        gateway.done("DELETE", f"/manage/users/{BEN}")
        opted_in(gateway, SERVER_REF)
    else:
        gateway.done("DELETE", BOT_PATH)
    gateway.advance(DAY)
    (text,) = told(gateway)
    assert "Test server" in text


def test_a_reminder_of_a_hidden_server_is_sent_when_it_is_shown_again(gateway: PeopleGateway) -> None:
    opted_in(gateway, SERVER_REF)
    opted_in(gateway)
    now_ms = gateway.clock.now_ms()
    hidden = eligibility_checked(SERVER_REF, (), now_ms, now_ms, now_ms)
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([hidden]))
    gateway.advance(DAY)
    eventually(lambda: sorted(states(gateway)) == ["delivered", "none"])
    shown = eligibility_checked(SERVER_REF, (), now_ms)
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([shown]))
    eventually(lambda: states(gateway) == ["delivered", "delivered"])
    assert len(gateway.stand_in.messages(BEN)) == 2


def test_without_a_bot_token_there_are_only_notices(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        gateway.list_bot()
        opted_in(gateway)
        gateway.advance(DAY)
        assert "You can vote for" in gateway.person(BEN).page("/me/notices")
        assert states(gateway) == ["none"]
        assert gateway.stand_in.asked(CHANNELS) == 0
