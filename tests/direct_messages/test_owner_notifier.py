"""direct_messages/owner_notifier.py: when owners get messages, over a platform, a journal and a clock in
memory."""

import asyncio

import pytest
from msgspec.structs import replace

from chatplatform.platform_client import PlatformAway
from core.actors import OPERATOR, user_actor
from core.events import ListingMerged, OwnerMessageTaken, UserErased
from core.rows import OwnerMessage
from direct_messages.owner_notifier import OwnerNotifier
from listings import rules
from tests.support.committed_rows import a_listing
from tests.support.coroutines import run, turns, until
from tests.support.fake_messenger import POLICY, URL, MessageStage
from tests.support.memory_ledger import fold
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, OWNER, SERVER_REF
from tests.support.warned import warned

CHANNEL = f"channel of {OWNER}"


class Stage(MessageStage[OwnerNotifier]):
    def new_notifier(self) -> OwnerNotifier:
        return OwnerNotifier(self.ledger.state, self.messenger, POLICY, URL, self.clock)

    def decided(self, ref: str = BOT_REF, *, is_durable: bool = True) -> None:
        """Commit an approval that its owner gets a message about."""
        a_listing(self.ledger, ref, review="in_review")
        now_ms = self.clock.now_ms()
        self.ledger.commit(
            rules.decide(
                self.ledger.state, ref, rules.Verdict("approved"), now_ms, by=OPERATOR, tells_owner=True
            )
        )
        if is_durable:
            self.sync()

    def message(self, ref: str = BOT_REF) -> OwnerMessage:
        message = self.ledger.state.listings[ref].message
        assert message is not None
        return message


def test_an_owner_is_told_once_of_a_decision() -> None:
    async def main() -> None:
        stage = Stage()
        stage.decided()
        assert await stage.asked() == 1
        ((channel, text),) = stage.messenger.posted.values()
        assert channel == CHANNEL
        assert text.startswith("Your bot Test bot was approved")
        message = stage.message()
        assert (message.delivered, message.made, message.next_attempt_ms) == (True, 1, None)
        assert await stage.asked() == 0
        stage.assert_folds()

    run(main())


def test_a_message_leaves_after_the_record_of_its_decision_is_on_disk() -> None:
    async def main() -> None:
        stage = Stage()
        stage.decided(is_durable=False)
        assert await stage.asked() == 0
        stage.sync()
        assert await stage.asked() == 1

    run(main())


def test_failures_are_tried_again_at_their_times_and_the_log_says_when_they_begin_and_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = Stage()
        stage.messenger.failures = [PlatformAway("timeout"), PlatformAway("refused", status=500)]
        stage.decided()
        assert await stage.asked() == 1
        assert warned(caplog) == ["no owner can be told of a decision (timeout): it is tried again"]
        stage.clock.advance_ms(4_999)
        assert await stage.asked() == 0
        stage.clock.advance_ms(1)
        assert await stage.asked() == 1
        assert stage.message().tries == 2
        stage.clock.advance_ms(59_999)
        assert await stage.asked() == 0
        stage.clock.advance_ms(1)
        assert await stage.asked() == 1
        assert warned(caplog) == ["owners get messages about decisions again"]
        assert stage.message().delivered
        assert len(stage.messenger.posted) == 1
        stage.assert_folds()

    run(main())


def test_a_refusal_ends_it_and_the_log_says_why(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = Stage()
        stage.messenger.failures = [PlatformAway("refused", status=403, code=50_007)]
        stage.decided()
        assert await stage.asked() == 1
        assert warned(caplog) == [f"the owner of {BOT_REF} is not told of the decision: cannot_message"]
        message = stage.message()
        assert (message.delivered, message.next_attempt_ms) == (False, None)
        assert message.last is not None
        assert message.last.error == "cannot_message"
        stage.clock.advance(86_400)
        assert await stage.asked() == 0

    run(main())


def test_a_bug_in_one_message_stops_no_other_and_the_log_has_its_place_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = Stage()
        stage.messenger.failures = [RuntimeError("a secret")]
        stage.decided(BOT_REF)
        stage.decided(OTHER_REF)
        assert await stage.asked() == 2
        assert [stage.message(ref).delivered for ref in (BOT_REF, OTHER_REF)] == [False, True]
        assert "RuntimeError" in caplog.text
        assert "a secret" not in caplog.text

    run(main())


def test_what_waits_longest_goes_first_and_one_at_a_time() -> None:
    async def main() -> None:
        stage = Stage()
        for ref in (SERVER_REF, BOT_REF, OTHER_REF):
            stage.decided(ref)
            stage.clock.advance_ms(10)
        assert await stage.asked() == 3
        texts = [text for _, text in stage.messenger.posted.values()]
        assert [ref for text in texts for ref in (SERVER_REF, BOT_REF, OTHER_REF) if ref in text] == [
            SERVER_REF,
            BOT_REF,
            OTHER_REF,
        ]

    run(main())


def test_a_start_goes_on_where_the_process_before_has_ended() -> None:
    async def main() -> None:
        before = Stage()
        before.messenger.failures = [PlatformAway("timeout")]
        before.decided()
        assert await before.asked() == 1
        stage = Stage(fold(before.journal.records))
        assert await stage.asked() == 0, "the wait after the failure goes on"
        stage.clock.advance_ms(5_000)
        assert await stage.asked() == 1
        assert stage.message().made == 2

    run(main())


def test_an_attempt_without_an_outcome_is_made_again_under_its_nonce() -> None:
    async def main() -> None:
        stage = Stage()
        stage.decided()
        records = list(stage.journal.records)
        assert await stage.asked() == 1
        again = Stage(fold(records))  # the process died before it wrote the outcome
        again.messenger.posted = stage.messenger.posted
        assert await again.asked() == 1
        assert len(stage.messenger.posted) == 1

    run(main())


def test_while_the_journal_takes_no_writes_an_outcome_waits_and_no_attempt_starts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = Stage()
        for ref in (BOT_REF, OTHER_REF):
            stage.decided(ref)
        stage.journal.full = True
        assert await stage.asked() == 1
        assert await stage.asked() == 0
        assert stage.messenger.asked == 1
        assert warned(caplog) == [
            "no owner gets a message about a decision until the outcome of the last one can be written"
        ]
        stage.journal.full = False
        assert await stage.asked() == 1
        assert warned(caplog) == ["owners get messages about decisions again: the last outcome is written"]
        assert stage.messenger.asked == 2
        assert all(stage.message(ref).delivered for ref in (BOT_REF, OTHER_REF))
        stage.assert_folds()

    run(main())


def test_a_message_of_an_erased_user_is_never_sent() -> None:
    async def main() -> None:
        stage = Stage()
        stage.decided()
        stage.ledger.commit([UserErased(OWNER, (BOT_REF,), at_ms=NOW_MS)])
        assert await stage.asked() == 0
        assert stage.messenger.asked == 0

    run(main())


def test_an_erasure_in_the_midst_of_an_attempt_stops_it() -> None:
    async def main() -> None:
        stage = Stage()
        stage.decided()
        erased = UserErased(OWNER, (BOT_REF,), at_ms=NOW_MS)
        stage.messenger.opened = lambda: stage.ledger.commit([erased])
        assert await stage.asked() == 1
        assert stage.messenger.posted == {}
        assert stage.ledger.state.listings[BOT_REF].message is None
        stage.assert_folds()

    run(main())


def test_a_decision_in_the_midst_of_an_attempt_is_told_instead() -> None:
    async def main() -> None:
        stage = Stage()
        stage.decided()

        def denied() -> None:
            stage.messenger.opened = lambda: None
            a_listing(stage.ledger, review="in_review")
            later_ms = NOW_MS + 1
            state = stage.ledger.state
            stage.ledger.commit(
                rules.decide(
                    state, BOT_REF, rules.Verdict("denied", "No."), later_ms, by=OPERATOR, tells_owner=True
                )
            )
            stage.sync()

        stage.messenger.opened = denied
        stage.clock.advance_ms(10)
        assert await stage.asked() == 2
        ((_, text),) = stage.messenger.posted.values()
        assert "was denied" in text
        assert stage.message().delivered

    run(main())


def test_a_node_sends_neither_what_is_of_others_nor_while_it_may_not() -> None:
    async def main() -> None:
        stage = Stage()
        stage.decided()
        stage.may_send = False
        assert await stage.asked() == 0
        stage.may_send = True
        row = stage.ledger.state.listings[BOT_REF]
        elsewhere = replace(row, message=replace(stage.message(), node="b.1"))
        stage.ledger.commit([ListingMerged(elsewhere)])
        assert await stage.asked() == 0

    run(main())


def test_a_takeover_is_sent_at_once() -> None:
    async def main() -> None:
        stage = Stage()
        stage.decided()
        row = stage.ledger.state.listings[BOT_REF]
        stage.ledger.commit([ListingMerged(replace(row, message=replace(stage.message(), node="b.1")))])
        stage.ledger.commit([OwnerMessageTaken(BOT_REF, NOW_MS, NOW_MS)])
        assert await stage.asked() == 0, "its record is not on disk"
        stage.sync()
        assert await stage.asked() == 1

    run(main())


@pytest.mark.parametrize("set_seconds", [-86_400, 86_400])
def test_a_clock_that_is_set_moves_no_attempt(set_seconds: int) -> None:
    async def main() -> None:
        stage = Stage()
        stage.messenger.failures = [PlatformAway("timeout")]
        stage.decided()
        assert await stage.asked() == 1
        stage.clock.set_wall(set_seconds)
        stage.clock.advance_ms(4_999)
        assert await stage.asked() == 0
        stage.clock.advance_ms(1)
        assert await stage.asked() == 1

    run(main())


def test_it_runs_until_it_is_stopped_and_ends_the_attempt_that_runs() -> None:
    async def main() -> None:
        stage = Stage()
        stage.messenger.may_answer.clear()
        running = stage.running()
        await turns()
        stage.decided()
        stage.notifier.on_durable()
        await until(lambda: stage.messenger.asked)
        stage.sender.stop()
        idle = asyncio.create_task(stage.sender.idle())
        await turns()
        assert not idle.done()
        stage.messenger.may_answer.set()
        await idle
        await running
        assert stage.message().delivered

    run(main())


def test_an_attempt_that_takes_too_long_at_the_end_is_broken_off_and_made_again() -> None:
    async def main() -> None:
        stage = Stage()
        stage.messenger.may_answer.clear()
        stage.decided()
        running = stage.running()
        await until(lambda: stage.messenger.asked)
        stage.sender.stop()
        stage.sender.abandon()
        await running
        assert stage.message().made == 0
        assert stage.messenger.posted == {}
        stage.sender.abandon()  # with nothing that runs

    run(main())


def test_it_wakes_by_itself_when_an_attempt_is_due_or_may_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("webhook.sender.UNRECORDED_SECONDS", 0.01)
    monkeypatch.setattr("webhook.sender.HELD_BACK_SECONDS", 0.01)

    async def main() -> None:
        stage = Stage()
        stage.decided()
        stage.journal.full, stage.may_send = True, False
        running = stage.running()
        await turns()
        stage.may_send = True
        await until(lambda: stage.messenger.asked)
        stage.journal.full = False
        await until(lambda: stage.message().delivered)
        stage.sender.stop()
        await running

    run(main())


def test_whom_it_tells_is_the_owner_at_the_decision() -> None:
    async def main() -> None:
        stage = Stage()
        stage.decided()
        assert stage.message().to == user_actor(OWNER)
        row = stage.ledger.state.listings[BOT_REF]
        stage.ledger.commit([ListingMerged(replace(row, owner_id="777777777777777777"))])
        assert await stage.asked() == 1
        assert [channel for channel, _ in stage.messenger.posted.values()] == [CHANNEL]

    run(main())
