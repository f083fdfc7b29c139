"""mail/mail_notifier.py: who gets which mail and when, over a mail server, a journal and a clock in
memory."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from core.actors import OPERATOR, Actor, user_actor
from core.events import (
    CoOwnerSaved,
    EndpointHealthSet,
    Event,
    ListingRemoved,
    ListingReported,
    ListingReviewed,
    ListingSaved,
    ReportsSettled,
    UserErased,
    UserSlotsSet,
)
from core.rows import CoOwner, SettledReport, Suspension
from core.user_changes import MAILS_KEPT
from core.user_rows import MailChoice, MailSent, MailTopic, user_ref
from direct_messages.message_attempts import Failure, NotSent
from languages.language_names import Language
from languages.texts import in_english
from listings.ownership import Ownership
from mail.mail_notifier import MailNotifier
from mail.mail_text import Letterhead, Mail, Say
from tests.support.coroutines import run
from tests.support.fake_messenger import POLICY, URL, MessageStage
from tests.support.memory_ledger import fold
from tests.support.people import signed_in
from tests.support.sample_rows import BOT_REF, DAY_MS, NOW_MS, OTHER_REF, OWNER, USER, listed
from tests.support.warned import warned

OWNER_REF = user_ref(OWNER)
MODERATOR_ID = "900000000000000009"
MODERATOR = user_actor(MODERATOR_ID)
ALL: tuple[MailTopic, ...] = ("decisions", "webhooks", "reports")


class Stage(MessageStage[MailNotifier]):
    """A notifier of mails. Its server fails as `failures` says, and then accepts."""

    def new_notifier(self) -> MailNotifier:
        self.moderators = {MODERATOR_ID}
        self.sent: list[Mail] = []
        self.failures: list[Failure] = []
        self.spoken: list[Language] = []
        self.ownership = Ownership(self.ledger.state)
        self.ledger.subscribe(self.ownership.on_record)
        head = Letterhead(
            "Bots & Co", URL, lambda user_id: f"{URL}/unsubscribe?user={user_id}", self.speaking
        )
        return MailNotifier(
            *(self.ledger, self.ownership, lambda user: user in self.moderators, self),
            *(POLICY, head, self.clock),
        )

    async def speaking(self, language: Language) -> Say:
        self.spoken.append(language)
        return in_english

    async def send(self, _: str, compose: Callable[[], Mail | None]) -> bool:
        self.messenger.asked += 1
        self.messenger.opened()
        if self.failures:
            raise NotSent(self.failures.pop(0))
        mail = compose()
        if mail is not None:
            self.sent.append(mail)
        return mail is not None

    def has_more(self) -> bool:
        return self.notifier._timers.has_looks or super().has_more()

    def commit(self, *events: Event, is_durable: bool = True) -> None:
        self.ledger.commit(events)
        if is_durable:
            self.sync()

    def wanted(self, user: str = OWNER, *topics: MailTopic, address: str | None = "ada@example.com") -> None:
        """Let a user choose mails."""
        events: list[Event] = []
        if user_ref(user) not in self.ledger.state.users:
            events.append(signed_in(user, f"d{user}"))
        choice = MailChoice(self.clock.now_ms(), topics or ALL, address=address)
        self.commit(*events, UserSlotsSet(user_ref(user), choice.set_ms, mail=choice))
        self.clock.advance_ms(1)

    def decided(self, review: Any = "denied", ref: str = BOT_REF, by: Actor = MODERATOR) -> None:
        reason = "It is silent." if review == "denied" else None
        self.commit(ListingReviewed(ref, review, reason, self.clock.now_ms(), by=by))

    def suspended(self, since_ms: int, ref: str = BOT_REF) -> None:
        suspension = Suspension(since_ms, "http_500", 1, since_ms + 60_000)
        self.commit(EndpointHealthSet(ref, 10, suspension))

    def mails(self, user: str = OWNER) -> tuple[MailSent, ...]:
        return self.ledger.state.users[user_ref(user)].mails


def staged() -> Stage:
    stage = Stage()
    stage.commit(*listed(url="https://hooks.example/"))
    return stage


def test_an_owner_who_wants_it_gets_one_mail_about_a_decision() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted()
        stage.decided()
        assert await stage.asked() == 1
        (mail,) = stage.sent
        assert (mail.to, mail.subject) == ("ada@example.com", "Test bot is denied · Bots & Co")
        assert "It is silent." in mail.text
        assert f"{URL}/{BOT_REF}/manage" in mail.text
        assert mail.unsubscribe_url == f"{URL}/unsubscribe?user={OWNER}"
        assert mail.unsubscribe_url in mail.text
        stage.clock.advance_ms(9 * DAY_MS)
        assert await stage.asked() == 0
        stage.assert_folds()

    run(main())


@pytest.mark.parametrize("review", ["approved", "denied"])
def test_nobody_gets_a_mail_without_having_chosen_to(review: str) -> None:
    async def main() -> None:
        stage = staged()
        stage.commit(signed_in(OWNER, "d1"))
        stage.decided(review)
        assert await stage.asked() == 0
        stage.wanted(address=None)
        stage.decided(review)
        assert await stage.asked() == 0, "the platform has told no address"
        stage.wanted(OWNER, "webhooks")
        stage.decided(review)
        assert await stage.asked() == 0, "another topic was chosen"

    run(main())


def test_what_happened_before_the_choice_is_not_told() -> None:
    async def main() -> None:
        stage = staged()
        stage.decided()
        stage.clock.advance_ms(1)
        stage.wanted()
        assert await stage.asked() == 0

    run(main())


def test_co_owners_are_told_and_one_s_own_decisions_are_not() -> None:
    async def main() -> None:
        stage = staged()
        joined = CoOwner("c1", user_actor(USER), NOW_MS, NOW_MS)
        stage.commit(CoOwnerSaved(BOT_REF, joined, NOW_MS))
        stage.wanted(OWNER, address="ada@example.com")
        stage.wanted(USER, address="ben@example.com")
        stage.decided(by=user_actor(OWNER))
        assert await stage.asked() == 1
        stage.clock.advance_ms(1)
        stage.decided("approved", by=OPERATOR)
        assert await stage.asked() == 2
        assert stage.sent[0].to == "ben@example.com"
        assert {each.to for each in stage.sent[1:]} == {"ada@example.com", "ben@example.com"}
        stage.assert_folds()

    run(main())


def test_a_decision_from_before_a_co_owner_joined_is_not_theirs() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted(USER)
        stage.decided()
        stage.clock.advance_ms(1)
        now_ms = stage.clock.now_ms()
        joined = CoOwner("c1", user_actor(USER), NOW_MS, now_ms)
        stage.commit(CoOwnerSaved(BOT_REF, joined, now_ms))
        stage.suspended(now_ms)
        assert await stage.asked() == 1
        assert "webhook" in stage.sent[0].subject

    run(main())


def test_a_suspended_endpoint_is_told_once_a_day_at_most() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted()
        stage.suspended(stage.clock.now_ms())
        assert await stage.asked() == 1
        assert stage.sent[0].subject == "The webhook of Test bot fails · Bots & Co"
        assert "http_500" in stage.sent[0].text
        stage.commit(EndpointHealthSet(BOT_REF, 0, None))
        stage.clock.advance_ms(DAY_MS // 2)
        stage.suspended(stage.clock.now_ms())
        assert await stage.asked() == 0
        stage.clock.advance_ms(DAY_MS // 2)
        assert await stage.asked() == 1
        stage.commit(EndpointHealthSet(BOT_REF, 0, None))
        stage.suspended(stage.clock.now_ms())
        stage.commit(EndpointHealthSet(BOT_REF, 0, None))
        stage.clock.advance_ms(9 * DAY_MS)
        assert await stage.asked() == 0, "it works again"
        stage.assert_folds()

    run(main())


def reported(stage: Stage, by: str, ref: str = BOT_REF) -> None:
    at_ms = stage.clock.now_ms()
    stage.commit(ListingReported(ref, "breaks_rules", "", at_ms, by=user_actor(by)))


def test_moderators_get_a_mail_about_new_reports_once_an_hour_at_most() -> None:
    async def main() -> None:
        stage = staged()
        stage.commit(*listed(OTHER_REF))
        stage.wanted(MODERATOR_ID, "reports")
        stage.wanted(USER, "reports")
        reported(stage, "1")
        assert await stage.asked() == 1, "the other one is no moderator"
        assert stage.sent[0].subject == "New reports · Bots & Co"
        assert "* Test bot" in stage.sent[0].text
        assert f"{URL}/review?show=reported" in stage.sent[0].text
        for number in range(2, 5):
            stage.clock.advance_ms(1)
            reported(stage, str(number), OTHER_REF)
            assert await stage.asked() == 0
        stage.clock.advance_ms(3_600_000)
        assert await stage.asked() == 1
        assert "Listings with open reports: 2" in stage.sent[1].text
        stage.clock.advance_ms(9 * DAY_MS)
        assert await stage.asked() == 0
        stage.assert_folds()

    run(main())


def test_reports_that_are_settled_and_a_moderator_who_is_none_any_more_cause_no_mail() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted(MODERATOR_ID, "reports")
        reported(stage, "1")
        (report,) = stage.ledger.state.listings[BOT_REF].open_reports
        closed = (SettledReport(report.at_ms, report.by),)
        stage.commit(ReportsSettled(BOT_REF, closed, stage.clock.now_ms(), by=MODERATOR))
        assert await stage.asked() == 0
        stage.clock.advance_ms(1)
        reported(stage, "2")
        stage.moderators.clear()
        assert await stage.asked() == 0

    run(main())


def test_a_moderator_gets_no_mail_about_reports_of_an_own_listing() -> None:
    async def main() -> None:
        stage = staged()
        stage.commit(*listed(OTHER_REF))
        joined = CoOwner("c1", MODERATOR, stage.clock.now_ms(), stage.clock.now_ms())
        stage.commit(CoOwnerSaved(BOT_REF, joined, stage.clock.now_ms(), by=MODERATOR))
        another = "900000000000000010"
        stage.moderators |= {OWNER, another}
        for moderator in (OWNER, MODERATOR_ID):
            stage.wanted(moderator, "reports")
        reported(stage, "1")
        assert await stage.asked() == 0
        stage.wanted(another, "reports")
        stage.clock.advance_ms(1)
        reported(stage, "2")
        assert await stage.asked() == 1, "another moderator hears of it"
        stage.clock.advance_ms(1)
        reported(stage, "1", OTHER_REF)
        assert await stage.asked() >= 1
        (mail,) = [each for each in stage.sent if each.unsubscribe_url.endswith(f"?user={MODERATOR_ID}")]
        assert "Listings with open reports: 1" in mail.text

    run(main())


def test_a_newer_report_takes_the_place_of_a_mail_that_could_not_be_sent() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted(MODERATOR_ID, "reports")
        stage.failures = [Failure("timeout")]
        reported(stage, "1")
        assert await stage.asked() == 1
        stage.clock.advance_ms(1)
        reported(stage, "2")
        assert await stage.asked() == 0
        stage.clock.advance_ms(5_000)
        assert await stage.asked() == 1
        assert len(stage.sent) == 1

    run(main())


def test_a_mail_leaves_after_the_record_of_its_decision_is_on_disk() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted()
        await stage.asked()
        stage.commit(
            ListingReviewed(BOT_REF, "denied", "No.", stage.clock.now_ms(), by=MODERATOR), is_durable=False
        )
        assert await stage.asked() == 0
        stage.sync()
        assert await stage.asked() == 1

    run(main())


def test_failures_are_tried_again_at_their_times_also_after_a_restart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        before = staged()
        before.wanted()
        before.failures = [Failure("timeout")]
        before.decided()
        assert await before.asked() == 1
        assert warned(caplog) == ["no mail can be sent (timeout): it is tried again"]
        stage = Stage(fold(before.journal.records), before.clock.now_ms())
        stage.failures = [Failure("mail_refused", 452)]
        assert await stage.asked() == 0
        stage.clock.advance_ms(4_999)
        assert await stage.asked() == 0
        stage.clock.advance_ms(1)
        assert await stage.asked() == 1
        stage.clock.advance_ms(60_000)
        assert await stage.asked() == 1
        assert len(stage.sent) == 1
        (sent,) = stage.mails()
        assert (sent.made, sent.tries, sent.next_attempt_ms, sent.last.error) == (3, 3, None, None)

    run(main())


def test_a_refusal_for_good_ends_a_mail_and_not_the_next_one() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted()
        stage.failures = [Failure("recipient_refused", 550, is_final=True)]
        stage.decided()
        assert await stage.asked() == 1
        stage.clock.advance_ms(9 * DAY_MS)
        assert await stage.asked() == 0
        stage.decided("approved")
        assert await stage.asked() == 1
        assert [each.subject for each in stage.sent] == ["Test bot is approved · Bots & Co"]

    run(main())


def test_an_attempt_without_an_outcome_is_made_again_as_the_same_mail() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted()
        stage.decided()
        records = list(stage.journal.records)
        assert await stage.asked() == 1
        again = Stage(fold(records), stage.clock.now_ms())  # the process died before it wrote the outcome
        assert await again.asked() == 1
        assert again.sent[0].key == stage.sent[0].key

    run(main())


@pytest.mark.parametrize("how", ["erased", "unsubscribed", "removed", "decided again"])
def test_a_mail_that_is_not_due_any_more_when_the_server_answers_is_not_sent(how: str) -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted()
        stage.decided()
        now_ms = stage.clock.now_ms()
        ends: dict[str, Event] = {
            "erased": UserErased(OWNER, (OWNER_REF, BOT_REF), at_ms=now_ms),
            "unsubscribed": UserSlotsSet(OWNER_REF, now_ms, mail=MailChoice(now_ms)),
            "removed": ListingRemoved(BOT_REF),
            "decided again": ListingReviewed(BOT_REF, "approved", None, now_ms + 1, by=MODERATOR),
        }

        def end() -> None:
            stage.messenger.opened = lambda: None
            stage.clock.advance_ms(1)
            stage.commit(ends[how])

        stage.messenger.opened = end
        await stage.asked()
        assert [each.subject for each in stage.sent] == (
            ["Test bot is approved · Bots & Co"] if how == "decided again" else []
        )
        stage.assert_folds()

    run(main())


def test_a_later_decision_replaces_a_mail_that_has_not_left() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted()
        stage.failures = [Failure("timeout")]
        stage.decided()
        assert await stage.asked() == 1
        stage.clock.advance_ms(1)
        stage.decided("approved")
        assert await stage.asked() == 1
        stage.clock.advance_ms(DAY_MS)
        assert await stage.asked() == 0
        assert [each.subject for each in stage.sent] == ["Test bot is approved · Bots & Co"]

    run(main())


def test_what_happened_long_ago_is_not_told_by_mail() -> None:
    async def main() -> None:
        before = staged()
        before.wanted()
        before.decided()
        for late_ms, asked in ((POLICY.kept_ms - 1, 1), (POLICY.kept_ms, 0)):
            stage = Stage(fold(before.journal.records), before.clock.now_ms() + late_ms)
            assert await stage.asked() == asked

    run(main())


def test_a_row_that_has_forgotten_mails_sends_none_of_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.user_changes.MAILS_KEPT", 2)
    assert MAILS_KEPT > 2

    async def main() -> None:
        stage = staged()
        stage.commit(*listed(OTHER_REF), *listed("bots/7"))
        stage.wanted()
        for ref in (BOT_REF, OTHER_REF, "bots/7"):
            stage.decided(ref=ref)
            assert await stage.asked() == 1
            stage.clock.advance_ms(1)
        assert [each.listing for each in stage.mails()] == [OTHER_REF, "bots/7"]
        again = Stage(fold(stage.journal.records), stage.clock.now_ms())
        assert await again.asked() == 0
        stage.assert_folds()

    run(main())


def test_a_mail_is_in_the_language_of_the_choice_or_else_of_the_account() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted()
        stage.decided()
        await stage.asked()
        stage.clock.advance_ms(1)
        now_ms = stage.clock.now_ms()
        german = MailChoice(now_ms - 1, ALL, "de", "ada@example.com")
        stage.commit(UserSlotsSet(OWNER_REF, now_ms, mail=german))
        stage.decided("approved")
        await stage.asked()
        assert stage.spoken == ["en", "de"]

    run(main())


def test_a_hostile_name_stays_on_one_line_of_the_subject() -> None:
    async def main() -> None:
        stage = staged()
        stage.wanted()
        row = stage.ledger.state.listings[BOT_REF]
        profile = replace(row.profile, name="Evil\r\nBcc: eve@example.com\u2028\u202e")
        stage.commit(ListingSaved(BOT_REF, OWNER, profile, "approved", stage.clock.now_ms()))
        stage.decided()
        await stage.asked()
        assert stage.sent[0].subject == "Evil Bcc: eve@example.com is denied · Bots & Co"

    run(main())
