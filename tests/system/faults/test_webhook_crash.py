"""A gateway that is killed forgets no webhook.

Invariant: a delivery that was not recorded as delivered is sent again, under the same id, so that a receiver
that has seen it already can tell.
"""

import os
import shutil
import signal
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.support.contract import BOT_PATH, attempted, deliveries, idle, pending, users, voters_of, webhook
from tests.support.failing_disk import KILLS_OF_THE_JOURNAL, Action, Fault, Moment, Point
from tests.support.gateways import USER, Client, ProcessGateway, eventually
from tests.support.killable_gateway import Caller, KillableGateway, launched
from tests.support.webhook_receiver import Receiver, status

WEBHOOK = f"{BOT_PATH}/webhook"
SETTINGS: dict[str, object] = {"webhooks.allow_private_targets": True}
MOST_STEPS = 30
"""A journal that takes more steps for a start, a vote and its delivery is another one than this."""


@pytest.fixture
def served(process: ProcessGateway, receiver: Receiver) -> ProcessGateway:
    """A gateway with a bot whose webhook goes to the receiver."""
    process.environment |= {
        "VOTEGATE_WEBHOOKS__RETRY_DELAY_SECONDS": "1",
        "VOTEGATE_WEBHOOKS__SUSPEND_AFTER": "1",
        "VOTEGATE_WEBHOOKS__SUSPENSION_SECONDS": "2",
    }
    process.start()
    process.list_bot()
    process.done("PUT", WEBHOOK, {"url": receiver.url})
    return process


def kill(gateway: ProcessGateway) -> None:
    assert gateway.signal(signal.SIGKILL) == -signal.SIGKILL


def ids(receiver: Receiver) -> list[str]:
    return [call.headers["webhook-id"] for call in receiver.received]


def all_delivered(gateway: Client) -> bool:
    """Return true if no delivery waits, and the disk has that."""
    return pending(gateway) == 0 and idle(gateway)


def proven(gateway: Client) -> list[str]:
    """Whose events were delivered, once all are; the disk says so too."""
    eventually(lambda: all_delivered(gateway))
    assert gateway.done("POST", "/debug/verify")["equal"] is True
    return [row["user"] for row in reversed(deliveries(gateway)) if row["state"] == "delivered"]


def test_events_are_sent_after_a_kill_before_their_first_attempt_and_during_it(
    served: ProcessGateway, receiver: Receiver
) -> None:
    receiver.default = receiver.hang
    voters = users(4)
    for user in voters:
        served.cast(user)
    eventually(lambda: receiver.received)
    first, *others = [row["id"] for row in reversed(deliveries(served))]
    kill(served)
    assert ids(receiver) == [first]
    receiver.default = status(204)

    served.start()

    assert proven(served) == voters
    assert ids(receiver) == [first, first, *others]


def test_an_event_is_tried_again_after_a_kill_between_its_attempts(
    served: ProcessGateway, receiver: Receiver
) -> None:
    receiver.answers = [status(500)]
    served.cast()
    attempted(served, 1)
    eventually(lambda: idle(served))
    kill(served)

    served.start()

    assert proven(served) == [USER]
    (row,) = deliveries(served)
    assert [attempt["status"] for attempt in row["attempts"]] == [500, 204]
    assert ids(receiver) == [row["id"]] * 2


def test_an_event_that_was_accepted_by_then_is_sent_again_when_the_gateway_could_not_hear_it(
    served: ProcessGateway, receiver: Receiver
) -> None:
    answered: list[int] = []

    def accept_from_the_frozen(handler: BaseHTTPRequestHandler) -> None:
        os.kill(served.process.pid, signal.SIGSTOP)
        status(204)(handler)
        answered.append(204)

    receiver.answers = [status(500), accept_from_the_frozen]
    served.cast()
    eventually(lambda: answered)
    kill(served)

    served.start()

    assert proven(served) == [USER]
    assert len(receiver.received) == 3
    assert len(set(ids(receiver))) == 1


def test_a_suspension_and_what_it_holds_are_there_after_a_kill(
    served: ProcessGateway, receiver: Receiver
) -> None:
    voters = users(3)
    receiver.default = status(410)
    for user in voters:
        served.cast(user)
    suspension = eventually(lambda: webhook(served)["suspension"])
    eventually(lambda: idle(served))
    kill(served)
    receiver.received.clear()
    receiver.default = status(204)

    served.start()

    assert proven(served) == voters
    assert voters_of(receiver) == voters
    probe = deliveries(served)[-1]["attempts"][-1]
    assert probe["at"] >= suspension["next_probe_at"]


class Owner(Caller):
    def votes(self, user: str) -> bool:
        """Return true if the vote is acknowledged."""
        return self.reaches(lambda: self.cast(user))

    def sees_all_delivered(self) -> bool:
        return self.reaches(lambda: eventually(lambda: all_delivered(self)))


@pytest.fixture
def prepared(tmp_path: Path, receiver: Receiver) -> Path:
    """The folder of a gateway with a bot whose webhook goes to the receiver."""
    gateway = KillableGateway(tmp_path / "prepared", **SETTINGS)
    with launched(gateway, Owner) as owner:
        assert owner is not None
        owner.list_bot()
        owner.done("PUT", WEBHOOK, {"url": receiver.url})
    return gateway.folder


@pytest.mark.parametrize(("point", "moment"), KILLS_OF_THE_JOURNAL)
def test_whatever_step_of_the_journal_a_kill_hits_a_vote_that_was_acknowledged_is_told(
    tmp_path: Path, prepared: Path, receiver: Receiver, point: Point, moment: Moment
) -> None:
    told_twice = told_unacknowledged = False
    for nth in range(1, MOST_STEPS):
        receiver.received.clear()
        gateway = KillableGateway(shutil.copytree(prepared, tmp_path / str(nth)), **SETTINGS)
        with launched(gateway, Owner, Fault(point, Action.KILL, moment, nth)) as owner:
            acknowledged = owner is not None and owner.votes(USER)
            if owner is not None and owner.sees_all_delivered():
                break  # all steps were taken

        with launched(gateway, Owner) as owner:
            assert owner is not None
            delivered = proven(owner)

        assert delivered == [USER] if acknowledged else delivered in ([], [USER])
        assert len(set(ids(receiver))) == len(delivered)
        told_twice |= len(receiver.received) == 2
        told_unacknowledged |= bool(delivered) and not acknowledged
    else:
        pytest.fail("the gateway was killed at every step")
    # A kill loses only bytes that were not written. Written records are there, acknowledged or not.
    is_written = (point, moment) != (Point.JOURNAL_WRITE, Moment.BEFORE)
    assert (told_twice, told_unacknowledged) == (not is_written, is_written)
