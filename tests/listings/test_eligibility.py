"""listings/eligibility.py: the changes that a check of a server makes."""

import pytest

from core.actors import GATEWAY, user_actor
from core.events import ListingReviewed, OwnerMessageQueued, SlotsSet
from core.ledger import Ledger
from core.rows import CheckOutcome, Listing, ServerCheck
from core.state import State
from core.webhook_events import NewDeliveries
from forms.reading import read
from kinds.kind import ListingSubmission
from kinds.servers import SERVERS
from languages.refusals import Refusal
from listings import rules
from listings.eligibility import check, checked_at_submission, renewed
from listings.owners import is_proven
from listings.ownership import Ownership
from tests.support.sample_rows import DAY_MS, NOW_MS, OWNER, SERVER_REF, USER
from votes.rules import cast_vote

BODY = {"owner_id": OWNER, "name": "Test", "description": "", "keywords": [], "category": "Gaming"}
FORM = read(SERVERS.submission, {**BODY, "id": "333333333333333333"})
OTHER = read(SERVERS.submission, {**BODY, "id": "333333333333333334"})
GRACE_MS = 3 * DAY_MS


def a_check(outcome: CheckOutcome, at_ms: int = NOW_MS, need: int = 100) -> ServerCheck:
    return ServerCheck("members", outcome, {"pass": 250, "fail": 12, "unknown": None}[outcome], need, at_ms)


def submitted(ledger: Ledger, outcome: CheckOutcome, form: ListingSubmission = FORM, **more: bool) -> Listing:
    ref, by = f"servers/{form.id}", user_actor(OWNER)
    events = rules.submit(ledger.state, ref, form, NOW_MS, by=by)
    approving = {"approves": False, **more}
    events += checked_at_submission(ref, OWNER, (a_check(outcome),), NOW_MS, by=by, **approving)
    ledger.commit(events)
    return ledger.state.listings[ref]


def checked(ledger: Ledger, outcome: CheckOutcome, at_ms: int) -> Listing:
    now = (a_check(outcome, at_ms),)
    ledger.commit(check(ledger.state, SERVER_REF, now, at_ms, GRACE_MS, by=GATEWAY))
    return ledger.state.listings[SERVER_REF]


def vote(state: State) -> None:
    cast_vote(state, SERVER_REF, USER, NewDeliveries(lambda: "d", 9), now_ms=NOW_MS, cooldown_ms=1)


@pytest.mark.parametrize("outcome", ["pass", "unknown"])
def test_a_submitted_server_is_in_review_with_its_checks(ledger: Ledger, outcome: CheckOutcome) -> None:
    row = submitted(ledger, outcome)
    assert row.state == "in_review"
    assert row.eligibility
    assert (row.eligibility.outcome, row.eligibility.at_ms) == (outcome, NOW_MS)
    assert [(act.by, act.action) for act in row.audit_log] == [
        (user_actor(OWNER), "ownership_proven"),
        (user_actor(OWNER), "submitted"),
    ]
    assert is_proven(row)


def test_a_server_that_meets_every_condition_waits_before_all_others(ledger: Ledger) -> None:
    ownership = Ownership(ledger.state)
    ledger.subscribe(ownership.on_record)
    submitted(ledger, "unknown")
    submitted(ledger, "pass", OTHER)
    assert [ref for _, ref in ownership.queue] == [f"servers/{OTHER.id}", SERVER_REF]
    assert (ownership.place(f"servers/{OTHER.id}"), ownership.place(SERVER_REF)) == (1, 2)


def test_the_gateway_approves_what_passes_where_the_settings_say_so(ledger: Ledger) -> None:
    row = submitted(ledger, "pass", approves=True)
    assert row.state == "approved"
    assert (row.audit_log[-1].by, row.audit_log[-1].action) == (GATEWAY, "approved")


@pytest.mark.parametrize("outcome", ["fail", "unknown"])
def test_the_gateway_approves_nothing_else(ledger: Ledger, outcome: CheckOutcome) -> None:
    assert submitted(ledger, outcome, approves=True).state == "in_review"


def test_the_owner_is_told_of_an_approval_by_the_gateway() -> None:
    events = checked_at_submission(
        *(SERVER_REF, OWNER, (a_check("pass"),), NOW_MS),
        by=user_actor(OWNER),
        approves=True,
        tells_owner=True,
    )
    assert [type(event) for event in events[-2:]] == [ListingReviewed, OwnerMessageQueued]


def test_a_server_is_listed_once(ledger: Ledger) -> None:
    submitted(ledger, "pass")
    with pytest.raises(Refusal):
        submitted(ledger, "pass")
    with pytest.raises(Refusal, match="no_such"):
        check(ledger.state, f"servers/{OTHER.id}", (), NOW_MS, GRACE_MS, by=GATEWAY)


def test_what_fails_is_told_then_hidden_after_the_grace_period_and_shown_again_when_it_passes(
    ledger: Ledger,
) -> None:
    submitted(ledger, "pass", approves=True)
    failing_ms = NOW_MS + DAY_MS
    row = checked(ledger, "fail", failing_ms)
    assert row.is_public
    assert row.audit_log[-1].action == "found_failing"
    row = checked(ledger, "fail", failing_ms + GRACE_MS - 1)
    assert row.is_public
    vote(ledger.state)
    row = checked(ledger, "fail", failing_ms + GRACE_MS)
    assert (row.is_public, row.state) == (False, "approved")
    assert (row.audit_log[-1].action, row.audit_log[-1].about) == ("hidden", "members")
    with pytest.raises(Refusal):
        vote(ledger.state)
    assert not checked(ledger, "fail", failing_ms + GRACE_MS + DAY_MS).is_public
    row = checked(ledger, "pass", failing_ms + GRACE_MS + 2 * DAY_MS)
    assert row.is_public
    assert row.audit_log[-1].action == "shown_again"
    vote(ledger.state)
    assert [act.action for act in row.audit_log].count("hidden") == 1


def test_a_listing_that_is_not_approved_is_not_hidden(ledger: Ledger) -> None:
    submitted(ledger, "unknown")
    row = checked(ledger, "fail", NOW_MS + 9 * GRACE_MS)
    assert not row.is_hidden
    ledger.commit(
        rules.decide(ledger.state, SERVER_REF, rules.Verdict("approved"), NOW_MS + 9 * GRACE_MS, by=GATEWAY)
    )
    assert checked(ledger, "fail", NOW_MS + 9 * GRACE_MS).is_public


def test_what_cannot_be_seen_any_more_goes_on_as_it_was(ledger: Ledger) -> None:
    submitted(ledger, "pass", approves=True)
    checked(ledger, "fail", NOW_MS + DAY_MS)
    row = checked(ledger, "unknown", NOW_MS + DAY_MS + GRACE_MS)
    assert row.is_hidden
    assert row.eligibility
    assert row.eligibility.checks == (a_check("fail", NOW_MS + DAY_MS),)


def test_what_is_known_now_wins_and_what_is_unknown_keeps_its_time() -> None:
    before, now = a_check("pass"), a_check("fail", NOW_MS + 1)
    assert renewed((before,), (now,)) == (now,)
    assert renewed((before,), (a_check("unknown", NOW_MS + 1),)) == (before,)
    assert renewed((), (a_check("unknown"),)) == (a_check("unknown"),)


def test_a_need_that_has_changed_forgets_what_was_known() -> None:
    before, now = a_check("fail"), a_check("unknown", need=500)
    assert renewed((before,), (now,)) == (now,)
    assert renewed((before,), ()) == ()


def test_a_check_says_who_made_it(ledger: Ledger) -> None:
    submitted(ledger, "pass")
    (event,) = check(ledger.state, SERVER_REF, (), NOW_MS, GRACE_MS, by=user_actor(OWNER))
    assert isinstance(event, SlotsSet)
    assert event.by == user_actor(OWNER)
