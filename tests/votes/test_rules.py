"""votes/rules.py: who may vote when, and what a vote brings with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.actors import OPERATOR, user_actor
from core.events import CooldownsKept, DeliveryQueued, Event, NodeNamed, UserErased, VoteCast
from core.ledger import Ledger
from core.refusals import Conflict, NotFound, VotedTooSoon
from core.rows import Review
from core.state import State
from tests.support.committed_rows import a_listing, a_webhook
from tests.support.examples import examples
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.sample_rows import BOT_REF, DAY_MS, NOW_MS, OTHER_REF, OTHER_USER, SERVER_REF, USER
from votes.rules import cast_vote, drop_cooldowns, erase_user, keep_cooldowns


def cast(
    ledger: Ledger,
    ref: str = BOT_REF,
    user: str = USER,
    *,
    now_ms: int = NOW_MS,
    pending_most: int = 10,
    kept_until_ms: int = 0,
) -> VoteCast:
    """Casts a vote and commits it."""
    events = cast_vote(
        ledger.state,
        ref,
        user,
        now_ms=now_ms,
        cooldown_ms=DAY_MS,
        delivery_id=f"delivery {ref} {now_ms}",
        pending_most=pending_most,
        kept_until_ms=kept_until_ms,
    )
    ledger.commit(events)
    return events[0]


@pytest.mark.parametrize("ref", [BOT_REF, SERVER_REF])
def test_a_first_vote_counts_one(ledger: Ledger, state: State, ref: str) -> None:
    a_listing(ledger, ref)
    assert cast(ledger, ref) == VoteCast(ref, USER, 1, NOW_MS, of_day=1, of_month=1)
    assert state.votes.get(ref, int(USER)) == (1, NOW_MS)


def test_nobody_votes_for_what_is_not_listed(ledger: Ledger) -> None:
    with pytest.raises(NotFound) as refusal:
        cast(ledger)
    assert refusal.value.thing == "listing"


@pytest.mark.parametrize("review", ["in_review", "denied"])
def test_only_an_approved_listing_is_voted_for(ledger: Ledger, review: Review) -> None:
    a_listing(ledger, review=review)
    with pytest.raises(Conflict) as refusal:
        cast(ledger)
    assert refusal.value.reason == "votes_need_approval"


def test_a_user_votes_again_once_the_cooldown_has_passed(ledger: Ledger) -> None:
    a_listing(ledger)
    cast(ledger)
    assert cast(ledger, now_ms=NOW_MS + DAY_MS).count == 2
    assert cast(ledger, now_ms=NOW_MS + 5 * DAY_MS).count == 3


@pytest.mark.parametrize("passed_ms", [0, 1, DAY_MS - 1])
def test_a_vote_inside_the_cooldown_is_told_when_to_come_back(
    ledger: Ledger, state: State, passed_ms: int
) -> None:
    a_listing(ledger)
    cast(ledger)
    with pytest.raises(VotedTooSoon) as refusal:
        cast(ledger, now_ms=NOW_MS + passed_ms)
    assert refusal.value.next_vote_ms == NOW_MS + DAY_MS
    assert refusal.value.wait_ms == DAY_MS - passed_ms
    assert state.votes.get(BOT_REF, int(USER)) == (1, NOW_MS)


@examples(50)
@given(st.integers(0, DAY_MS - 1))
def test_the_promised_wait_is_exact(passed_ms: int) -> None:
    journal = MemoryJournal()
    ledger, asked_ms = Ledger(empty_state(), journal, head=0), NOW_MS + passed_ms
    a_listing(ledger)
    cast(ledger)
    with pytest.raises(VotedTooSoon) as refusal:
        cast(ledger, now_ms=asked_ms)
    with pytest.raises(VotedTooSoon):
        cast(ledger, now_ms=asked_ms + refusal.value.wait_ms - 1)
    assert cast(ledger, now_ms=asked_ms + refusal.value.wait_ms).count == 2
    assert fold(journal.records).digest() == ledger.state.digest()


def test_a_clock_that_was_set_back_opens_no_cooldown(ledger: Ledger) -> None:
    a_listing(ledger)
    cast(ledger)
    with pytest.raises(VotedTooSoon):
        cast(ledger, now_ms=NOW_MS - DAY_MS)


def test_the_cooldown_is_of_one_user_and_one_listing(ledger: Ledger) -> None:
    a_listing(ledger, BOT_REF)
    a_listing(ledger, OTHER_REF)
    assert cast(ledger, BOT_REF, USER).count == 1
    assert cast(ledger, OTHER_REF, USER).count == 1
    assert cast(ledger, BOT_REF, OTHER_USER).count == 1


def test_without_a_webhook_a_vote_is_told_to_nobody(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    cast(ledger)
    assert not state.deliveries.pending


def test_a_vote_and_the_webhook_that_tells_of_it_are_one_record(
    ledger: Ledger, state: State, journal: MemoryJournal
) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    before = len(journal.records)
    cast(ledger)
    assert len(journal.records) == before + 1
    (delivery,) = state.deliveries.pending.values()
    assert (delivery.ref, delivery.user, delivery.test) == (BOT_REF, USER, False)
    assert delivery.next_attempt_ms == NOW_MS


def test_a_webhook_of_another_listing_is_not_told(ledger: Ledger, state: State) -> None:
    a_listing(ledger, BOT_REF)
    a_listing(ledger, OTHER_REF)
    a_webhook(ledger, OTHER_REF)
    cast(ledger, BOT_REF)
    assert not state.deliveries.pending


def test_a_vote_for_which_too_many_wait_counts_and_is_in_the_log_but_is_not_sent(
    ledger: Ledger, state: State, journal: MemoryJournal
) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    for day in range(2):
        cast(ledger, now_ms=NOW_MS + day * DAY_MS, pending_most=2)
    waiting, before = list(state.deliveries.pending), len(journal.records)
    assert cast(ledger, now_ms=NOW_MS + 2 * DAY_MS, pending_most=2).count == 3
    assert len(journal.records) == before + 1
    assert list(state.deliveries.pending) == waiting
    (dropped,) = state.deliveries.finished[BOT_REF]
    assert (dropped.dropped, dropped.delivered, dropped.attempts) == ("overflow", False, ())
    assert dropped.queued_ms == NOW_MS + 2 * DAY_MS


def test_how_many_may_wait_is_counted_for_each_listing(ledger: Ledger, state: State) -> None:
    for ref in (BOT_REF, OTHER_REF):
        a_listing(ledger, ref)
        a_webhook(ledger, ref)
        cast(ledger, ref, pending_most=1)
    assert {row.ref for row in state.deliveries.pending.values()} == {BOT_REF, OTHER_REF}


def test_a_rule_changes_nothing_itself(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    digest = state.digest()
    events = cast_vote(
        state, BOT_REF, USER, now_ms=NOW_MS, cooldown_ms=DAY_MS, delivery_id="first", pending_most=1
    )
    assert events == (
        VoteCast(BOT_REF, USER, 1, NOW_MS, of_day=1, of_month=1),
        DeliveryQueued("first", BOT_REF, USER, test=False, at_ms=NOW_MS),
    )
    assert state.digest() == digest


def test_an_erased_user_starts_again_from_nothing(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    cast(ledger)
    events = erase_user(USER, {BOT_REF}, now_ms=NOW_MS, by=OPERATOR)
    assert events == [UserErased(USER, (BOT_REF,), at_ms=NOW_MS)]
    ledger.commit(events)
    assert len(state.votes) == 0
    assert cast(ledger).count == 1


def mark_of(ref: str, user: str) -> str:
    return f"mark of {ref} {user}"


def kept(state: State, now_ms: int) -> list[Event]:
    return keep_cooldowns(state, USER, {BOT_REF, OTHER_REF}, mark_of, now_ms=now_ms, cooldown_ms=DAY_MS)


def test_the_cooldowns_of_votes_that_their_user_erases_run_on(ledger: Ledger, state: State) -> None:
    for number, ref in enumerate((BOT_REF, OTHER_REF)):
        a_listing(ledger, ref)
        cast(ledger, ref, now_ms=NOW_MS + number)
    end_ms = NOW_MS + 1 + DAY_MS
    kept_later = kept(state, end_ms - 1)
    assert kept_later == [CooldownsKept(((mark_of(OTHER_REF, USER), end_ms),), end_ms - 1)]
    assert kept(state, end_ms) == []
    ledger.commit(
        [*kept_later, *erase_user(USER, {BOT_REF, OTHER_REF}, now_ms=end_ms - 1, by=user_actor(USER))]
    )
    assert dict(state.cooldowns) == {mark_of(OTHER_REF, USER): end_ms}
    assert drop_cooldowns(state, end_ms - 1) == []
    ledger.commit(drop_cooldowns(state, end_ms))
    assert not state.cooldowns


@pytest.mark.parametrize("has_voted", [False, True])
def test_a_cooldown_whose_vote_was_erased_is_one_like_any_other(ledger: Ledger, has_voted: bool) -> None:
    a_listing(ledger)
    if has_voted:
        cast(ledger, now_ms=NOW_MS - DAY_MS)
    with pytest.raises(VotedTooSoon) as refusal:
        cast(ledger, now_ms=NOW_MS, kept_until_ms=NOW_MS + 5)
    assert (refusal.value.next_vote_ms, refusal.value.wait_ms) == (NOW_MS + 5, 5)
    assert cast(ledger, now_ms=NOW_MS + 5, kept_until_ms=NOW_MS + 5).count == 1 + has_voted


def test_erasing_a_user_whom_nothing_knows_changes_nothing() -> None:
    assert erase_user(USER, set(), now_ms=NOW_MS, by=OPERATOR) == []


def test_in_a_fleet_an_erasure_is_told_also_when_nothing_here_knows_the_user() -> None:
    for refs, in_order in ((set[str](), ()), ({SERVER_REF, BOT_REF}, (BOT_REF, SERVER_REF))):
        events = erase_user(USER, refs, "mark", now_ms=NOW_MS, by=OPERATOR)
        assert events == [UserErased(USER, in_order, "mark", at_ms=NOW_MS)]


def test_a_vote_counts_what_was_cast_at_this_node_alone(ledger: Ledger, state: State) -> None:
    ledger.commit([NodeNamed("a.1")])
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 5, NOW_MS, "b.1")])
    assert cast(ledger, now_ms=NOW_MS + DAY_MS).count == 1
    assert cast(ledger, now_ms=NOW_MS + 2 * DAY_MS).count == 2
    assert state.votes.get(BOT_REF, int(USER)) == (7, NOW_MS + 2 * DAY_MS)
    ledger.commit([NodeNamed("a.2")])
    assert cast(ledger, now_ms=NOW_MS + 3 * DAY_MS).count == 1
    assert state.votes.get(BOT_REF, int(USER)) == (8, NOW_MS + 3 * DAY_MS)


def test_a_vote_at_another_node_is_inside_the_cooldown_here(ledger: Ledger) -> None:
    ledger.commit([NodeNamed("a.1")])
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS, "b.1")])
    with pytest.raises(VotedTooSoon):
        cast(ledger, now_ms=NOW_MS + DAY_MS - 1)
