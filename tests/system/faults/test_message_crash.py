"""A gateway that is killed tells every owner about each decision, and nothing else.

Invariant: there is one message for each decision.

The outcome of an attempt may be lost with the process. Then the message is sent again under its nonce, and
the platform, or the stand-in for it, posts it once.
"""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH
from tests.support.failing_disk import KILLS_OF_THE_JOURNAL, Action, Fault, Moment, Point
from tests.support.gateways import BOT_SUBMISSION, Client, ProcessGateway, eventually
from tests.support.killable_gateway import Caller, KillableGateway, launched
from tests.support.people_gateway import site_settings
from tests.support.platform_stand_in import ADA, BOT_TOKEN, CHANNELS, StandIn, messages_path, standing_in

MOST_STEPS = 30
"""A journal that takes more steps for a start, a decision and its message is another one than this."""
PUBLIC_URL = "http://127.0.0.1:8080"


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@pytest.fixture
def settings(stand_in: StandIn) -> dict[str, object]:
    own = {"chat_platform.bot_token": BOT_TOKEN, "webhooks.retry_delay_seconds": 0.1}
    return {**site_settings(PUBLIC_URL, stand_in), **own}


@pytest.fixture
def served(process: ProcessGateway, settings: dict[str, object]) -> ProcessGateway:
    """A gateway with a bot in review, which is Ada's."""
    for name, value in settings.items():
        process.environment[f"VOTEGATE_{name.upper().replace('.', '__')}"] = str(value)
    process.start()
    submit(process)
    return process


def submit(gateway: Client) -> None:
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})


def approve(gateway: Client) -> None:
    gateway.done("POST", f"{BOT_PATH}/approve", {})


def message(gateway: Client) -> Any:
    return gateway.done("GET", f"{BOT_PATH}/history")["message"]


def proven(gateway: Client) -> bool:
    """Wait until no message is pending. Return true if the owner was told; the disk must say the same."""

    def over() -> str:
        state: str = (message(gateway) or {"state": "none"})["state"]
        return state if state != "pending" else ""

    state = eventually(over)
    assert gateway.done("POST", "/debug/verify")["equal"] is True
    return state == "delivered"


@pytest.mark.parametrize("fault", ["slow", "late"])
def test_a_message_is_there_once_after_a_kill_before_it_is_posted_or_before_that_is_known(
    served: ProcessGateway, stand_in: StandIn, fault: str
) -> None:
    path = CHANNELS if fault == "slow" else messages_path(ADA)
    before, asked = len(stand_in.messages(ADA)), stand_in.asked(path)
    stand_in.goes_wrong(path, fault)
    approve(served)
    eventually(lambda: stand_in.asked(path) > asked)
    eventually(lambda: len(stand_in.messages(ADA)) - before == (fault == "late"))
    assert served.signal(signal.SIGKILL) == -signal.SIGKILL

    served.start()

    assert proven(served)
    assert len(stand_in.messages(ADA)) - before == 1
    assert stand_in.asked(path) - asked == 2


class Operator(Caller):
    def approves(self) -> bool:
        """Return true if the decision is acknowledged."""
        return self.reaches(lambda: approve(self))

    def sees_it_told(self) -> bool:
        return self.sees_on_disk(lambda: bool(message(self)["state"] == "delivered"))


@pytest.mark.parametrize(("point", "moment"), KILLS_OF_THE_JOURNAL)
def test_whatever_step_of_the_journal_a_kill_hits_what_was_decided_is_told_and_nothing_else(
    tmp_path: Path, stand_in: StandIn, settings: dict[str, object], point: Point, moment: Moment
) -> None:
    prepared = KillableGateway(tmp_path / "prepared", **settings)
    with launched(prepared, Operator) as operator:
        assert operator is not None
        submit(operator)
    sent_twice = False
    for nth in range(1, MOST_STEPS):
        before, asked = len(stand_in.messages(ADA)), stand_in.asked(messages_path(ADA))
        gateway = KillableGateway(shutil.copytree(prepared.folder, tmp_path / str(nth)), **settings)
        with launched(gateway, Operator, Fault(point, Action.KILL, moment, nth)) as operator:
            acknowledged = operator is not None and operator.approves()
            if operator is not None and acknowledged and operator.sees_it_told():
                break  # all steps were taken

        with launched(gateway, Operator) as operator:
            assert operator is not None
            told = proven(operator)
            is_decided = operator.done("GET", BOT_PATH)["state"] == "approved"

        assert is_decided or not acknowledged
        assert told == is_decided
        assert len(stand_in.messages(ADA)) - before == told
        sent_twice |= stand_in.asked(messages_path(ADA)) - asked == 2
    else:
        pytest.fail("the gateway was killed at every step")
    # A kill takes what was not written: then the outcome of an attempt was lost once.
    assert sent_twice == ((point, moment) == (Point.JOURNAL_WRITE, Moment.BEFORE))
