"""A gateway that is killed reminds a user of each vote that it has kept, and of nothing else.

Invariant: there is one message for each vote. The outcome of an attempt may be lost with the process. Then
the message is sent again under its nonce, and the platform, or the stand-in for it, posts it once.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.failing_disk import KILLS_OF_THE_JOURNAL, Action, Fault, Moment, Point
from tests.support.gateways import BOT, eventually
from tests.support.killable_gateway import Caller, KillableGateway, launched
from tests.support.people_gateway import Person, site_settings
from tests.support.platform_stand_in import BEN, BOT_TOKEN, StandIn, messages_path, standing_in

MOST_STEPS = 30
"""A journal that takes more steps for a start, a vote and its message is another one than this."""
PUBLIC_URL = "http://127.0.0.1:8080"
BOT_REF = f"bots/{BOT}"


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@pytest.fixture
def settings(stand_in: StandIn) -> dict[str, object]:
    own = {"chat_platform.bot_token": BOT_TOKEN, "votes.cooldown_seconds": 0.1}
    return {**site_settings(PUBLIC_URL, stand_in), **own}


class Operator(Caller):
    """Lists a bot, and sees the messages to Ben about it."""

    def prepare(self) -> None:
        """List a bot, of which Ben wants to be reminded."""
        self.list_bot()
        ben = Person(self)
        assert ben.sign_in_as(BEN).status_code == 303
        assert ben.post("/me/reminders", {"listing": BOT_REF, "remind": "on"}).status_code == 303
        # Its owner is unknown to the platform, and no message is under way any more.
        eventually(lambda: self.done("GET", f"/manage/{BOT_REF}/history")["message"]["state"] == "failed")

    def vote(self) -> bool:
        """Ben votes. Return true if that is acknowledged."""
        return self.reaches(lambda: self.cast(BEN))

    def message(self) -> str:
        (reminder,) = self.done("GET", f"/manage/users/{BEN}/reminders")["reminders"]
        state: str = reminder["message"]
        return state

    def sees_it_told(self) -> bool:
        return self.sees_on_disk(lambda: self.message() == "delivered")

    def votes(self) -> Any:
        checked = self.done("POST", f"/manage/{BOT_REF}/votes/check", {"users": [BEN]})
        return checked["votes"][0]["vote"]


@pytest.mark.parametrize(("point", "moment"), KILLS_OF_THE_JOURNAL)
def test_whatever_step_of_the_journal_a_kill_hits_a_user_is_reminded_of_a_vote_that_is_kept_and_once(
    tmp_path: Path, stand_in: StandIn, settings: dict[str, object], point: Point, moment: Moment
) -> None:
    prepared = KillableGateway(tmp_path / "prepared", **settings)
    with launched(prepared, Operator) as operator:
        assert operator is not None
        operator.prepare()
    sent_twice = False
    for nth in range(1, MOST_STEPS):
        before, asked = len(stand_in.messages(BEN)), stand_in.asked(messages_path(BEN))
        gateway = KillableGateway(shutil.copytree(prepared.folder, tmp_path / str(nth)), **settings)
        with launched(gateway, Operator, Fault(point, Action.KILL, moment, nth)) as operator:
            acknowledged = operator is not None and operator.vote()
            if operator is not None and acknowledged and operator.sees_it_told():
                break  # all steps were taken

        with launched(gateway, Operator) as operator:
            assert operator is not None
            votes = operator.votes()
            if votes:
                assert operator.sees_it_told()
            assert operator.done("POST", "/debug/verify")["equal"] is True
            assert operator.message() == ("delivered" if votes else "none")

        assert votes or not acknowledged
        assert len(stand_in.messages(BEN)) - before == votes
        sent_twice |= stand_in.asked(messages_path(BEN)) - asked == 2
    else:
        pytest.fail("the gateway was killed at every step")
    # A kill takes what was not written: then the outcome of an attempt was lost once.
    assert sent_twice == ((point, moment) == (Point.JOURNAL_WRITE, Moment.BEFORE))
