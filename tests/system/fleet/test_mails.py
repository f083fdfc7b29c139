"""A user gets one mail from a fleet, whichever node takes the choice and the decision."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet_threads import ThreadFleet, threads_of
from tests.support.gateways import BOT, BOT_SUBMISSION, eventually
from tests.support.mail_receiver import HOST, MailReceiver, receiving_mail
from tests.support.people_gateway import Person, site_settings
from tests.support.platform_stand_in import ADA, StandIn, decided_at, standing_in
from tests.support.redis_server import RedisServer

HOME = "http://127.0.0.1:1"
"""The public address of all nodes. Only the platform's redirect goes there in these tests."""


@pytest.fixture
def mailbox() -> Iterator[MailReceiver]:
    with receiving_mail() as receiver:
        yield receiver


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with standing_in(f"{HOME}/signin/callback") as stand_in:
        yield stand_in


@pytest.fixture
def fleet(
    tmp_path: Path, redis_server: RedisServer, stand_in: StandIn, mailbox: MailReceiver
) -> Iterator[ThreadFleet]:
    """Two nodes without a bot token, which know a bot of Ada's."""
    settings = {
        **site_settings(HOME, stand_in),
        "web.keep_email": True,
        "mail.host": HOST,
        "mail.port": mailbox.port,
        "mail.tls": "none",
        "mail.from_address": "news@bots.example",
    }
    with threads_of(tmp_path, redis_server.url) as fleet:
        a, _ = (fleet.node(name, settings=settings) for name in "ab")
        a.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
        fleet.converge()
        yield fleet


def choice(node: Any) -> Any:
    row = node.gateway.ledger.state.users.get(f"users/{ADA}")
    return row.mail if row is not None else None


@pytest.mark.parametrize("chooses", [0, 1])
def test_one_node_sends_a_mail_about_a_decision_of_any_node(
    fleet: ThreadFleet, mailbox: MailReceiver, chooses: int
) -> None:
    here, other = fleet.nodes[chooses], fleet.nodes[1 - chooses]
    ada = Person(here)
    assert ada.sign_in_as(ADA).status_code == 303
    answer = ada.post("/me/mail", {"topic": "decisions"})
    assert ada.come_back(decided_at(answer.headers["Location"], ADA)).status_code == 303
    fleet.converge()
    assert [choice(node).address for node in fleet.nodes] == ["ada@example.com"] * 2
    fleet.advance(1)
    other.done("POST", f"/manage/bots/{BOT}/approve", {})
    eventually(lambda: mailbox.mails)
    fleet.converge()
    fleet.advance(1)
    here.done("POST", f"/manage/bots/{BOT}/withdraw", {"reason": "It is silent."})
    eventually(lambda: len(mailbox.mails) == 2)
    fleet.converge()
    assert [str(each.message["Subject"]) for each in mailbox.mails] == [
        "Test bot is approved · Votegate",
        "The approval of Test bot is withdrawn · Votegate",
    ]
