"""direct_messages/reminder_notifier.py: when users get reminders, over a platform, a journal and a clock in
memory."""

import asyncio
from typing import Any

import pytest

from chatplatform.platform_client import PlatformAway
from core.events import (
    Event,
    ListingRemoved,
    ListingReviewed,
    Merged,
    ReminderSet,
    SlotsSet,
    UserErased,
    UserMerged,
    VotesMerged,
    VotesRemoved,
)
from core.user_rows import ReminderMessage, user_ref
from core.vote_table import VoteTable
from direct_messages.reminder_notifier import SLICE_REMINDERS, ReminderNotifier
from tests.support.coroutines import run, turns, until
from tests.support.fake_messenger import POLICY, URL, MessageStage
from tests.support.memory_ledger import fold
from tests.support.people import signed_in
from tests.support.sample_rows import (
    BOT_REF,
    DAY_MS,
    HOUR_MS,
    NOW_MS,
    OTHER_REF,
    SERVER_REF,
    USER,
    listed,
    voted,
)
from tests.support.slots_set import eligibility_checked
from tests.support.warned import warned

REF = user_ref(USER)
CLOSED = PlatformAway("refused", status=403, code=50_007)


class Stage(MessageStage[ReminderNotifier]):
    def new_notifier(self) -> ReminderNotifier:
        return ReminderNotifier(self.ledger, self.messenger, POLICY, URL, DAY_MS, self.clock)

    def has_more(self) -> bool:
        return self.notifier._timers.has_looks or super().has_more()

    def commit(self, *events: Event, is_durable: bool = True) -> None:
        self.ledger.commit(events)
        if is_durable:
            self.journal.durable_position = self.ledger.head

    def reminded(self, ref: str = BOT_REF, user: str = USER) -> None:
        """Commit a vote of a user with a reminder of the listing."""
        events = [] if user_ref(user) in self.ledger.state.users else [signed_in(user, f"d{user}")]
        at_ms = self.clock.now_ms()
        vote = voted(int(user), 1, at_ms, ref)
        self.commit(*listed(ref), *events, ReminderSet(user_ref(user), ref, at_ms), vote)

    def message(self, ref: str = BOT_REF) -> ReminderMessage:
        reminder = self.ledger.state.users[REF].reminder(ref)
        assert reminder is not None
        assert reminder.message is not None
        return reminder.message


def test_a_user_is_reminded_once_when_the_cooldown_is_over() -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.clock.advance_ms(DAY_MS - 1)
        assert await stage.asked() == 0
        stage.clock.advance_ms(1)
        assert await stage.asked() == 1
        ((channel, text),) = stage.messenger.posted.values()
        assert channel == f"channel of {USER}"
        assert "You can vote for the bot Test bot again" in text
        assert f"{URL}/{BOT_REF}/vote" in text
        assert f"{URL}/me/reminders/{BOT_REF}" in text
        assert stage.message().next_attempt_ms is None
        stage.clock.advance_ms(9 * DAY_MS)
        assert await stage.asked() == 0
        stage.assert_folds()

    run(main())


def test_a_wall_clock_that_is_a_moment_behind_loses_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.clock.advance_ms(DAY_MS)
        stage.clock.set_wall(-0.001)
        read = stage.clock.now_ms

        def passing() -> int:
            now_ms = read()
            stage.clock.set_wall(0.001)
            return now_ms

        monkeypatch.setattr(stage.clock, "now_ms", passing)
        assert await stage.asked() == 1

    run(main())


def test_after_each_vote_there_is_one_message() -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        for number in range(2, 5):
            stage.clock.advance_ms(DAY_MS)
            assert await stage.asked() == 1
            stage.commit(voted(int(USER), number, stage.clock.now_ms()))
            assert await stage.asked() == 0
        assert len(stage.messenger.posted) == 3
        stage.assert_folds()

    run(main())


def test_another_vote_before_the_end_moves_the_message() -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.clock.advance_ms(HOUR_MS)
        stage.commit(voted(int(USER), 2, stage.clock.now_ms()))
        stage.clock.advance_ms(DAY_MS - 1)
        assert await stage.asked() == 0
        stage.clock.advance_ms(1)
        assert await stage.asked() == 1

    run(main())


@pytest.mark.parametrize(
    "event",
    [
        ReminderSet(REF, BOT_REF, NOW_MS, is_on=False),
        ListingRemoved(BOT_REF),
        UserErased(USER, (BOT_REF, REF)),
        VotesRemoved(BOT_REF, (USER,), "Bought.", NOW_MS),
    ],
    ids=["turned off", "removed", "erased", "struck out"],
)
def test_what_does_not_hold_any_more_is_never_sent(event: Event) -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.commit(event)
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 0
        stage.assert_folds()

    run(main())


@pytest.mark.parametrize(
    "event",
    [ReminderSet(REF, BOT_REF, NOW_MS, is_on=False), UserErased(USER, (BOT_REF, REF))],
    ids=["off", "erased"],
)
def test_what_ends_in_the_midst_of_an_attempt_is_not_sent(event: Event) -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.messenger.opened = lambda: stage.commit(event)
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 1
        assert stage.messenger.posted == {}
        stage.assert_folds()

    run(main())


@pytest.mark.parametrize(
    "event",
    [ListingReviewed(BOT_REF, "denied", "No.", NOW_MS), voted(int(USER), 2, NOW_MS + DAY_MS)],
    ids=["hidden", "voted"],
)
def test_what_is_overtaken_in_the_midst_of_an_attempt_waits_for_its_time_without_an_outcome(
    event: Event,
) -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.messenger.opened = lambda: stage.commit(event)
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 1
        assert stage.messenger.posted == {}
        stage.messenger.opened = lambda: None
        stage.commit(ListingReviewed(BOT_REF, "approved", None, NOW_MS))
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 1
        assert len(stage.messenger.posted) == 1
        assert stage.message().made == 1
        stage.assert_folds()

    run(main())


def test_what_another_node_has_told_in_the_midst_of_an_attempt_is_not_told_again() -> None:
    async def main() -> None:
        stage, other = Stage(), Stage()
        for each in (stage, other):
            each.reminded()
            each.clock.advance_ms(DAY_MS)
        assert await other.asked() == 1
        told = UserMerged(other.ledger.state.users[REF])
        stage.messenger.opened = lambda: stage.commit(Merged("b.1", 1), told)
        assert await stage.asked() == 1
        assert stage.messenger.posted == {}
        assert stage.message() == other.message()

    run(main())


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        (
            ListingReviewed(BOT_REF, "denied", "No.", NOW_MS),
            ListingReviewed(BOT_REF, "approved", None, NOW_MS),
        ),
        (
            eligibility_checked(SERVER_REF, (), NOW_MS, NOW_MS, NOW_MS),
            eligibility_checked(SERVER_REF, (), NOW_MS),
        ),
    ],
    ids=["a bot", "a server"],
)
def test_of_a_listing_that_is_hidden_for_a_while_it_is_sent_when_it_is_shown_again(
    hidden: ListingReviewed | SlotsSet, shown: Event
) -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded(hidden.ref)
        stage.commit(hidden)
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 0
        stage.commit(shown)
        assert await stage.asked() == 1

    run(main())


def test_who_is_erased_while_the_listing_is_hidden_is_not_told_after_coming_back() -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.commit(ListingReviewed(BOT_REF, "denied", "No.", NOW_MS))
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 0
        stage.commit(UserErased(USER, (BOT_REF, REF)), signed_in(USER, "d2"))
        assert not any(stage.notifier._hidden.values())
        stage.commit(ListingReviewed(BOT_REF, "approved", None, NOW_MS))
        assert await stage.asked() == 0

    run(main())


def test_it_leaves_after_the_record_that_it_is_about_is_on_disk() -> None:
    async def main() -> None:
        stage = Stage()
        stage.commit(*listed(), signed_in(USER, "d1"), voted(int(USER), 1, NOW_MS - DAY_MS + 5))
        stage.commit(ReminderSet(REF, BOT_REF, NOW_MS), is_durable=False)
        stage.clock.advance_ms(5)
        assert await stage.asked() == 0
        stage.journal.durable_position = stage.ledger.head
        assert await stage.asked() == 1

    run(main())


def test_failures_are_tried_again_at_their_times(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = Stage()
        stage.messenger.failures = [PlatformAway("timeout"), PlatformAway("refused", status=500)]
        stage.reminded()
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 1
        assert warned(caplog) == ["no user can be reminded by a message (timeout): it is tried again"]
        stage.clock.advance_ms(4_999)
        assert await stage.asked() == 0
        stage.clock.advance_ms(1)
        assert await stage.asked() == 1
        stage.clock.advance_ms(60_000)
        assert await stage.asked() == 1
        assert warned(caplog) == ["users are reminded by messages again"]
        assert (stage.message().made, stage.message().tries) == (3, 3)
        assert len(stage.messenger.posted) == 1
        stage.assert_folds()

    run(main())


def test_who_takes_no_messages_is_not_asked_again_before_turning_one_on_anew() -> None:
    async def main() -> None:
        stage = Stage()
        stage.messenger.failures = [CLOSED]
        stage.reminded()
        stage.reminded(OTHER_REF)
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 1
        for number in (2, 3):
            stage.commit(voted(int(USER), number, stage.clock.now_ms()))
            stage.clock.advance_ms(DAY_MS)
            assert await stage.asked() == 0
        again_ms = stage.clock.now_ms()
        off = ReminderSet(REF, OTHER_REF, again_ms, is_on=False)
        stage.commit(off, ReminderSet(REF, OTHER_REF, again_ms), voted(int(USER), 2, again_ms, OTHER_REF))
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 2

    run(main())


def test_a_bug_in_one_stops_no_other_and_the_log_has_its_place_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = Stage()
        stage.messenger.failures = [RuntimeError("a secret")]
        stage.reminded()
        stage.reminded(OTHER_REF)
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 2
        assert len(stage.messenger.posted) == 1
        assert "RuntimeError" in caplog.text
        assert "a secret" not in caplog.text

    run(main())


def test_while_the_journal_takes_no_writes_an_outcome_waits_and_no_attempt_starts() -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.reminded(OTHER_REF)
        stage.clock.advance_ms(DAY_MS)
        stage.journal.full = True
        assert await stage.asked() == 1
        stage.journal.full = False
        stage.commit(voted(7, 1, NOW_MS))
        assert await stage.asked() == 1
        assert len(stage.messenger.posted) == 2
        stage.assert_folds()

    run(main())


def test_a_start_finds_all_that_waits_and_goes_on_where_the_process_before_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("direct_messages.reminder_notifier.SLICE_REMINDERS", 10)

    async def main() -> None:
        before = Stage()
        before.messenger.failures = [PlatformAway("timeout")]
        before.reminded()
        users = [str(700_000_000_000_000_000 + number) for number in range(25)]
        for user in users:
            before.reminded(user=user)
        before.clock.advance_ms(DAY_MS)
        before.notifier._timers._heap = before.notifier._timers._heap[:1]
        assert await before.asked() == 1, "the process ends after one attempt"
        stage = Stage(fold(before.journal.records), NOW_MS + DAY_MS)
        assert await stage.asked() == len(users)
        stage.clock.advance_ms(5_000)
        assert await stage.asked() == 1
        assert stage.message().made == 2

    run(main())


def test_a_start_with_many_reminders_lets_others_run_after_each_slice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("direct_messages.reminder_notifier.SLICE_REMINDERS", 1)

    async def main() -> None:
        before, turn, looked = Stage(), 0, list[int]()
        users = [str(700_000_000_000_000_000 + number) for number in range(5)]
        for user in users:
            before.reminded(user=user)
        stage = Stage(fold(before.journal.records))
        time = stage.notifier._time

        def counted(*given: Any) -> None:
            looked.append(turn)
            time(*given)

        monkeypatch.setattr(stage.notifier, "_time", counted)
        running = stage.running()
        while len(looked) < len(users):
            turn += 1
            await asyncio.sleep(0)
        assert len({*looked}) == len(users)
        stage.sender.stop()
        await running

    run(main())


def test_no_listing_that_comes_back_holds_the_loop_however_many_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    users, looked = 2 * SLICE_REMINDERS + 1, list[Any]()

    async def main() -> None:
        stage = Stage()
        for number in range(users):
            stage.reminded(user=str(700_000_000_000_000_000 + number))
        stage.commit(ListingReviewed(BOT_REF, "denied", "No.", NOW_MS))
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 0
        time = stage.notifier._time

        def counted(*given: Any) -> None:
            looked.append(given)
            time(*given)

        monkeypatch.setattr(stage.notifier, "_time", counted)
        stage.commit(ListingReviewed(BOT_REF, "approved", None, NOW_MS))
        assert looked == []
        stage.notifier._timers.run_slice(stage.clock.steady_ms(), stage.ledger.head)
        assert len(looked) == SLICE_REMINDERS
        assert await stage.asked() == users

    run(main())


def test_what_is_over_already_lets_others_run() -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.commit(ListingRemoved(BOT_REF))
        stage.clock.advance_ms(DAY_MS)
        running = stage.running()
        await until(lambda: not stage.notifier._timers._timers)
        stage.sender.stop()
        await running

    run(main())


def test_an_attempt_without_an_outcome_is_made_again_under_its_nonce() -> None:
    async def main() -> None:
        stage = Stage()
        stage.reminded()
        stage.clock.advance_ms(DAY_MS)
        records = list(stage.journal.records)
        assert await stage.asked() == 1
        again = Stage(fold(records), NOW_MS + DAY_MS)  # the process died before it wrote the outcome
        again.messenger.posted = stage.messenger.posted
        assert await again.asked() == 1
        assert len(stage.messenger.posted) == 1

    run(main())


def test_what_was_due_long_before_nobody_is_told_of_any_more() -> None:
    async def main() -> None:
        before = Stage()
        before.reminded()
        stage = Stage(fold(before.journal.records), NOW_MS + DAY_MS + POLICY.kept_ms)
        assert await stage.asked() == 0

    run(main())


def test_another_node_may_have_sent_it() -> None:
    async def main() -> None:
        stage, other = Stage(), Stage()
        stage.reminded()
        stage.may_send = False
        other.reminded()
        for each in (stage, other):
            each.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 0
        assert await other.asked() == 1
        stage.commit(Merged("b.1", 1), UserMerged(other.ledger.state.users[REF]))
        stage.may_send = True
        assert await stage.asked() == 0
        assert stage.message() == other.message()

    run(main())


def test_votes_that_come_with_a_copy_are_reminded_of() -> None:
    async def main() -> None:
        stage, elsewhere = Stage(), VoteTable()
        stage.commit(*listed(), signed_in(USER, "d1"), ReminderSet(REF, BOT_REF, NOW_MS))
        elsewhere.put(BOT_REF, int(USER), 1, NOW_MS)
        leaf = elsewhere.next_leaf(BOT_REF, -1) or b""
        stage.commit(Merged("b.1", 1), VotesMerged(BOT_REF, ("b.1",), leaf))
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 1

    run(main())


def test_it_runs_until_it_is_stopped_and_what_is_abandoned_is_made_again() -> None:
    async def main() -> None:
        stage = Stage()
        running = stage.running()
        stage.reminded()
        stage.clock.advance_ms(DAY_MS)
        stage.messenger.may_answer.clear()
        stage.notifier.on_durable()
        await until(lambda: stage.messenger.asked == 1)
        stage.sender.stop()
        stage.sender.abandon()
        await stage.sender.idle()
        await running
        assert stage.messenger.posted == {}
        again = Stage(fold(stage.journal.records), stage.clock.now_ms())
        assert await again.asked() == 1
        await turns()

    run(main())
