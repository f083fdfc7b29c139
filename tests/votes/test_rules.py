"""votes/rules.py: casting and removing votes, and the events beside them."""

from collections import Counter
from itertools import count
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.actors import OPERATOR, user_actor
from core.clock import day_of, month_of
from core.events import CooldownsKept, DeliveryQueued, Event, NodeNamed, UserErased, VoteCast, VotesRemoved
from core.ledger import Ledger
from core.rows import Review
from core.state import State
from core.webhook_events import NewDeliveries
from languages.refusals import Refusal
from tests.support.committed_rows import a_listing, a_webhook
from tests.support.examples import examples
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.sample_rows import BOT_REF, DAY_MS, NOW_MS, OTHER_REF, OTHER_USER, SERVER_REF, USER
from votes.rules import (
    KeptCooldowns,
    VoteRemoval,
    cast_vote,
    drop_cooldowns,
    erase_user,
    keep_cooldowns,
    remove_votes,
)


def cast(
    ledger: Ledger,
    ref: str = BOT_REF,
    user: str = USER,
    *,
    now_ms: int = NOW_MS,
    pending_most: int = 10,
    kept_until_ms: int = 0,
) -> VoteCast:
    """Cast a vote and commit it."""
    events = cast_vote(
        ledger.state,
        ref,
        user,
        NewDeliveries(lambda: f"delivery {ref} {now_ms}", pending_most),
        now_ms=now_ms,
        cooldown_ms=DAY_MS,
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
    with pytest.raises(Refusal) as refusal:
        cast(ledger)
    assert refusal.value.code == "no_such_listing"


@pytest.mark.parametrize("review", ["in_review", "denied"])
def test_only_an_approved_listing_is_voted_for(ledger: Ledger, review: Review) -> None:
    a_listing(ledger, review=review)
    with pytest.raises(Refusal) as refusal:
        cast(ledger)
    assert refusal.value.code == "votes_need_approval"


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
    with pytest.raises(Refusal, match="voted_too_soon") as refusal:
        cast(ledger, now_ms=NOW_MS + passed_ms)
    assert refusal.value.facts["next_vote_ms"] == NOW_MS + DAY_MS
    assert refusal.value.facts["retry_seconds"] == ceil((DAY_MS - passed_ms) / 1_000)
    assert state.votes.get(BOT_REF, int(USER)) == (1, NOW_MS)


@examples(50)
@given(st.integers(0, DAY_MS - 1))
def test_the_promised_wait_is_exact(passed_ms: int) -> None:
    journal = MemoryJournal()
    ledger, asked_ms = Ledger(empty_state(), journal, head=0), NOW_MS + passed_ms
    a_listing(ledger)
    cast(ledger)
    with pytest.raises(Refusal, match="voted_too_soon") as refusal:
        cast(ledger, now_ms=asked_ms)
    with pytest.raises(Refusal, match="voted_too_soon"):
        cast(ledger, now_ms=refusal.value.facts["next_vote_ms"] - 1)
    assert cast(ledger, now_ms=refusal.value.facts["next_vote_ms"]).count == 2
    assert refusal.value.facts["next_vote_ms"] <= asked_ms + refusal.value.facts["retry_seconds"] * 1_000
    assert fold(journal.records).digest() == ledger.state.digest()


def test_a_clock_that_was_set_back_opens_no_cooldown(ledger: Ledger) -> None:
    a_listing(ledger)
    cast(ledger)
    with pytest.raises(Refusal, match="voted_too_soon"):
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
    deliveries = NewDeliveries(lambda: "first", 1)
    events = cast_vote(state, BOT_REF, USER, deliveries, now_ms=NOW_MS, cooldown_ms=DAY_MS)
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


def pseudonym_of(ref: str, user: str) -> str:
    return f"mark of {ref} {user}"


def kept(state: State, now_ms: int) -> list[Event]:
    return keep_cooldowns(state, USER, {BOT_REF, OTHER_REF}, pseudonym_of, now_ms=now_ms, cooldown_ms=DAY_MS)


def test_the_cooldowns_of_votes_that_their_user_erases_run_on(ledger: Ledger, state: State) -> None:
    for number, ref in enumerate((BOT_REF, OTHER_REF)):
        a_listing(ledger, ref)
        cast(ledger, ref, now_ms=NOW_MS + number)
    end_ms = NOW_MS + 1 + DAY_MS
    kept_later = kept(state, end_ms - 1)
    assert kept_later == [CooldownsKept(((pseudonym_of(OTHER_REF, USER), end_ms),), end_ms - 1)]
    assert kept(state, end_ms) == []
    ledger.commit(
        [*kept_later, *erase_user(USER, {BOT_REF, OTHER_REF}, now_ms=end_ms - 1, by=user_actor(USER))]
    )
    assert dict(state.cooldowns) == {pseudonym_of(OTHER_REF, USER): end_ms}
    assert drop_cooldowns(state, end_ms - 1) == []
    ledger.commit(drop_cooldowns(state, end_ms))
    assert not state.cooldowns


@pytest.mark.parametrize("has_voted", [False, True])
def test_a_cooldown_whose_vote_was_erased_is_one_like_any_other(ledger: Ledger, has_voted: bool) -> None:
    a_listing(ledger)
    if has_voted:
        cast(ledger, now_ms=NOW_MS - DAY_MS)
    with pytest.raises(Refusal, match="voted_too_soon") as refusal:
        cast(ledger, now_ms=NOW_MS, kept_until_ms=NOW_MS + 5)
    assert refusal.value.facts == {"next_vote_ms": NOW_MS + 5, "retry_seconds": 1}
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
    with pytest.raises(Refusal, match="voted_too_soon"):
        cast(ledger, now_ms=NOW_MS + DAY_MS - 1)


# -- Striking out --------------------------------------------------------------------------------------


def strike(ledger: Ledger, *users: str, now_ms: int = NOW_MS, goes_on: bool = False) -> list[Event]:
    """Remove votes and commit the removal."""
    numbers = count(1)
    events = remove_votes(
        ledger.state,
        BOT_REF,
        VoteRemoval(users, "Bought.", goes_on),
        NewDeliveries(lambda: f"d{next(numbers)}", 10),
        KeptCooldowns(DAY_MS, lambda ref, user: f"{ref} {user}"),
        now_ms=now_ms,
        by=OPERATOR,
    )
    ledger.commit(events)
    return events


def test_striking_votes_that_no_day_has_counted_takes_none_of_those_that_are_counted(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    old = [str(int(USER) + number) for number in range(1, 4)]  # votes of a version that counted no days
    ledger.commit([VoteCast(BOT_REF, user, 1, NOW_MS) for user in old])
    strike(ledger, *old[:2])
    cast(ledger)
    cast(ledger, user=OTHER_USER)
    assert [*state.vote_counts.days(BOT_REF).values()] == [2]
    assert [*state.vote_counts.months(BOT_REF).values()] == [2]
    assert state.vote_counts.summed(BOT_REF).removed == 2
    strike(ledger, USER)
    assert [*state.vote_counts.days(BOT_REF).values()] == [1]


def test_a_strike_takes_all_votes_of_a_user_and_keeps_the_cooldown_of_the_last(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    cast(ledger)
    cast(ledger, now_ms=NOW_MS + DAY_MS)
    cast(ledger, user=OTHER_USER)
    now_ms = NOW_MS + DAY_MS + 5
    assert strike(ledger, USER, now_ms=now_ms) == [
        CooldownsKept(((f"{BOT_REF} {USER}", NOW_MS + 2 * DAY_MS),), now_ms),
        VotesRemoved(
            *(BOT_REF, (USER,), "Bought.", now_ms, ((day_of(NOW_MS + DAY_MS), 1, 1),), 2), by=OPERATOR
        ),
    ]
    assert state.votes.get(BOT_REF, int(USER)) is None
    assert state.vote_counts.total(BOT_REF) == 1
    assert dict(state.vote_counts.days(BOT_REF)) == {day_of(NOW_MS): 2}


def test_who_has_no_vote_is_struck_out_in_a_fleet_alone(ledger: Ledger) -> None:
    a_listing(ledger)
    assert strike(ledger, USER) == []
    ledger.commit([NodeNamed("a.1")])
    (event,) = strike(ledger, USER)
    assert isinstance(event, VotesRemoved)
    assert (event.users, event.days, event.of_all) == ((USER,), (), 0)


def test_what_is_not_listed_has_no_votes_to_strike_out(ledger: Ledger) -> None:
    with pytest.raises(Refusal, match="no_such"):
        strike(ledger, USER)


def test_a_strike_counts_on_from_those_before(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    users = [str(10**17 + number) for number in range(5)]
    for user in users:
        cast(ledger, user=user)
    for number, user in enumerate(users, 1):
        struck = next(event for event in strike(ledger, user) if isinstance(event, VotesRemoved))
        assert (struck.days, struck.of_all) == (((day_of(NOW_MS), number, number),), number)
        assert state.vote_counts.in_month(BOT_REF, month_of(NOW_MS)) == 5 - number
    assert state.vote_counts.summed(BOT_REF).removed == 5


def test_the_endpoint_is_told_of_each_user_who_had_a_vote(ledger: Ledger) -> None:
    a_listing(ledger)
    cast(ledger)
    a_webhook(ledger, events=("vote.struck",))
    told = [event for event in strike(ledger, USER, OTHER_USER) if isinstance(event, DeliveryQueued)]
    assert told == [DeliveryQueued("d1", BOT_REF, USER, False, NOW_MS, "vote.struck", "Bought.")]


def test_an_action_in_several_records_is_one_entry_in_the_audit_log(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    cast(ledger)
    cast(ledger, user=OTHER_USER)
    strike(ledger, USER)
    strike(ledger, OTHER_USER, now_ms=NOW_MS + 1, goes_on=True)
    acts = [act for act in state.listings[BOT_REF].audit_log if act.action == "votes_struck"]
    assert [(act.at_ms, act.about, act.by) for act in acts] == [(NOW_MS, "Bought.", OPERATOR)]
    assert state.vote_counts.total(BOT_REF) == 0


@examples(60)
@given(st.data())
def test_the_counts_are_those_of_the_votes_that_are_left(choice: st.DataObject) -> None:
    """Each user votes once, so every vote that is removed has a day."""
    journal = MemoryJournal()
    ledger = Ledger(empty_state(), journal, 0)
    a_listing(ledger)
    left: dict[str, int] = {}
    for number in range(choice.draw(st.integers(0, 20))):
        now_ms = NOW_MS + choice.draw(st.integers(0, 70)) * DAY_MS
        if choice.draw(st.booleans()) and left:
            users = choice.draw(st.lists(st.sampled_from(sorted(left)), unique=True, max_size=3))
            strike(ledger, *users, now_ms=now_ms)
            left = {user: at_ms for user, at_ms in left.items() if user not in users}
        else:
            user = str(10**17 + number)
            cast(ledger, user=user, now_ms=now_ms)
            left[user] = now_ms
    for state in (ledger.state, fold(journal.records)):
        counts = state.vote_counts
        assert counts.total(BOT_REF) == len(left)
        assert dict(counts.days(BOT_REF)) == Counter(map(day_of, left.values()))
        assert dict(counts.months(BOT_REF)) == Counter(map(month_of, left.values()))
