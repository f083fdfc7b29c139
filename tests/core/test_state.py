"""core/state.py: the changes that each event makes to the tables. Its laws: test_state_laws.py.

For deliveries see test_state_deliveries.py.
"""

import pytest
from msgspec.structs import replace

from core.actors import ERASED, user_actor
from core.clock import day_of
from core.events import (
    DeliveryAttempted,
    Event,
    KeyDeleted,
    KeySaved,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    StatsUpdated,
    UserErased,
    VoteCast,
)
from core.ledger import Ledger
from core.push_history import with_push
from core.rows import BotCounts, BotLimits, Key, KeyGrant, Listing, Policy, Reviewed, StatsWindow, Webhook
from core.state import State
from tests.support.committed_rows import a_delivery, a_finished_delivery, a_key, a_listing, a_webhook
from tests.support.sample_rows import (
    BOT_PROFILE,
    BOT_REF,
    NOW_MS,
    OTHER_REF,
    OTHER_USER,
    OWNER,
    REFUSED,
    SERVER_REF,
    USER,
)
from tests.support.slots_set import actual_count_set, limits_set, webhook_removed, webhook_saved

LATER_MS = NOW_MS + 1_000
RENAMED = replace(BOT_PROFILE, name="Renamed")


def test_a_submitted_listing_begins_with_nothing_but_its_profile(ledger: Ledger, state: State) -> None:
    ledger.commit([ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS)])
    row = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("in_review", NOW_MS))
    assert replace(state.listings[BOT_REF], audit_log=()) == row
    assert state.listings[BOT_REF].id == "111111111111111111"


def test_an_edit_leaves_what_hangs_on_the_listing_alone(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    key, webhook = a_key(ledger), a_webhook(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS), actual_count_set(BOT_REF, 5)])
    before = state.listings[BOT_REF]
    ledger.commit([ListingSaved(BOT_REF, OTHER_USER, RENAMED, "approved", LATER_MS)])  # an edit sets no owner
    after = state.listings[BOT_REF]
    assert [act.action for act in after.audit_log if act not in before.audit_log] == ["edited"]
    assert after == replace(before, profile=RENAMED, updated_ms=LATER_MS, audit_log=after.audit_log)
    assert (after.keys, after.webhook, after.decided_ms) == ((key,), webhook, NOW_MS)
    assert state.votes.voters(BOT_REF) == 1


def test_a_denied_listing_that_is_edited_loses_its_denial(ledger: Ledger, state: State) -> None:
    assert a_listing(ledger, review="denied").reason == "Too quiet."
    ledger.commit([ListingSaved(BOT_REF, OWNER, RENAMED, "in_review", LATER_MS)])
    after = state.listings[BOT_REF]
    assert (after.state, after.reason, after.decided_ms) == ("in_review", None, None)


def test_a_review_is_kept_with_its_reason_and_time(ledger: Ledger, state: State) -> None:
    a_listing(ledger, review="in_review")
    ledger.commit([ListingReviewed(BOT_REF, "denied", "Too quiet.", LATER_MS)])
    after = state.listings[BOT_REF]
    assert (after.state, after.reason, after.decided_ms) == ("denied", "Too quiet.", LATER_MS)


def test_a_removed_listing_takes_everything_with_it(ledger: Ledger, state: State) -> None:
    nothing = state.digest()
    a_listing(ledger)
    a_key(ledger, "k1", digest="d1")
    ledger.commit([KeySaved(BOT_REF, Key("k2", "rotated", "d3", "d3", NOW_MS, NOW_MS, "d2", LATER_MS))])
    a_webhook(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    a_finished_delivery(ledger, "finished")
    a_delivery(ledger, "pending")
    ledger.commit([ListingRemoved(BOT_REF)])
    assert not any(
        [
            state.listings,
            state.listings.refs,
            state.listings.grants,
            state.deliveries.pending,
            state.deliveries.finished,
        ]
    )
    assert len(state.votes) == 0
    assert state.deliveries.newest_first(BOT_REF) == []
    assert state.digest() == nothing


def test_a_removed_listing_leaves_the_others_alone(ledger: Ledger, state: State) -> None:
    a_listing(ledger, BOT_REF)
    digest = state.digest()
    a_listing(ledger, OTHER_REF)
    a_key(ledger, ref=OTHER_REF)
    ledger.commit([VoteCast(OTHER_REF, USER, 1, NOW_MS)])
    ledger.commit([ListingRemoved(OTHER_REF)])
    assert list(state.listings.refs) == [BOT_REF]
    assert state.digest() == digest


def test_a_listing_that_comes_back_has_nothing_of_its_past(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_key(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    ledger.commit([ListingRemoved(BOT_REF)])
    a_listing(ledger)
    assert state.listings[BOT_REF].keys == ()
    assert state.votes.get(BOT_REF, int(USER)) is None


def test_refs_are_sorted(ledger: Ledger, state: State) -> None:
    for ref in (SERVER_REF, OTHER_REF, BOT_REF):
        a_listing(ledger, ref)
    assert list(state.listings.refs) == [BOT_REF, OTHER_REF, SERVER_REF]


def test_a_key_opens_its_listing_until_it_is_deleted(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    first, second = a_key(ledger, "k1", digest="d1"), a_key(ledger, "k2", digest="d2")
    assert state.listings[BOT_REF].keys == (first, second)
    ledger.commit([KeyDeleted(BOT_REF, "k1")])
    assert state.listings[BOT_REF].keys == (second,)
    assert dict(state.listings.grants) == {"d2": KeyGrant(BOT_REF, "k2", None)}


def test_a_rotated_key_keeps_its_place_and_opens_by_both_values(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    first, second = a_key(ledger, "k1", digest="d1"), a_key(ledger, "k2", digest="d2")
    rotated = replace(first, digest="d3", old_digest="d1", old_until_ms=LATER_MS)
    ledger.commit([KeySaved(BOT_REF, rotated)])
    assert state.listings[BOT_REF].keys == (rotated, second)
    assert state.listings.grants["d3"] == KeyGrant(BOT_REF, "k1", None)
    assert state.listings.grants["d1"] == KeyGrant(BOT_REF, "k1", LATER_MS)


def test_a_second_rotation_ends_the_overlap_of_the_first(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    key = a_key(ledger, "k1", digest="d1")
    ledger.commit([KeySaved(BOT_REF, replace(key, digest="d2", old_digest="d1", old_until_ms=LATER_MS))])
    ledger.commit([KeySaved(BOT_REF, replace(key, digest="d3", old_digest="d2", old_until_ms=LATER_MS))])
    assert set(state.listings.grants) == {"d2", "d3"}


def test_counts_limits_and_webhook_are_as_the_event_says(ledger: Ledger, state: State) -> None:
    before = a_listing(ledger)
    window, limit, webhook = StatsWindow(NOW_MS, 2), Policy(5, 60), Webhook("https://r.example/", LATER_MS)
    ledger.commit([StatsUpdated(BOT_REF, 7, None, window, LATER_MS)])
    ledger.commit(
        [actual_count_set(BOT_REF, 9), limits_set(BOT_REF, limit, None), webhook_saved(BOT_REF, webhook)]
    )
    counted = replace(
        before,
        counts=BotCounts(7, None, LATER_MS),
        pushed=with_push(b"", day_of(LATER_MS), 7, None),
        window=window,
        actual=9,
        webhook=webhook,
        audit_log=(),
    )
    assert replace(state.listings[BOT_REF], audit_log=()) == replace(counted, limits=BotLimits(limit))
    ledger.commit([limits_set(BOT_REF, None, limit)])
    assert replace(state.listings[BOT_REF], audit_log=()) == replace(counted, limits=BotLimits(None, limit))


def test_an_erased_user_is_struck_out_of_the_listings_that_the_event_names(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    ledger.commit([limits_set(BOT_REF, None, None, at_ms=LATER_MS, by=user_actor(USER))])
    ledger.commit([UserErased(USER, ())])
    assert state.listings.naming([BOT_REF], user_actor(USER)) == [BOT_REF]
    ledger.commit([UserErased(USER, (BOT_REF,))])
    assert state.listings.naming([BOT_REF], user_actor(USER)) == []
    assert [act.by for act in state.listings[BOT_REF].audit_log if act.action == "limits_set"] == [ERASED]


def test_a_removed_webhook_takes_its_deliveries_with_it(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    a_finished_delivery(ledger, "finished")
    a_delivery(ledger, "pending")
    ledger.commit([webhook_removed(BOT_REF)])
    assert state.listings[BOT_REF].webhook is None
    assert not any(
        [state.deliveries.newest_first(BOT_REF), state.deliveries.pending, state.deliveries.finished]
    )


def test_a_later_vote_replaces_count_and_time(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    ledger.commit([VoteCast(BOT_REF, USER, 2, LATER_MS)])
    assert state.votes.get(BOT_REF, int(USER)) == (2, LATER_MS)
    assert len(state.votes) == 1


def test_an_erased_user_is_named_nowhere(ledger: Ledger, state: State) -> None:
    for ref in (BOT_REF, SERVER_REF):
        a_listing(ledger, ref)
        ledger.commit([VoteCast(ref, OTHER_USER, 1, NOW_MS)])
        a_delivery(ledger, f"{ref} other", ref, user=OTHER_USER)
    digest = state.digest()
    for ref in (BOT_REF, SERVER_REF):
        ledger.commit([VoteCast(ref, USER, 1, NOW_MS)])
        a_finished_delivery(ledger, f"{ref} finished", ref)
        a_delivery(ledger, f"{ref} pending", ref)
    ledger.commit([UserErased(USER, (BOT_REF, SERVER_REF))])
    assert {row.user for ref in (BOT_REF, SERVER_REF) for row in state.deliveries.newest_first(ref)} == {
        OTHER_USER
    }
    assert state.votes.get(BOT_REF, int(USER)) is None
    assert state.votes.get(SERVER_REF, int(USER)) is None
    assert state.digest() == digest


def test_erasing_a_user_keeps_what_others_finished(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_finished_delivery(ledger, "theirs", user=OTHER_USER)
    a_finished_delivery(ledger, "ours")
    ledger.commit([UserErased(USER, (BOT_REF,))])
    assert [row.id for row in state.deliveries.newest_first(BOT_REF)] == ["theirs"]


@pytest.mark.parametrize(
    "event",
    [
        ListingReviewed(BOT_REF, "approved", None, NOW_MS),
        ListingRemoved(BOT_REF),
        KeySaved(BOT_REF, Key("k1", "key", "d1", "d1", NOW_MS)),
        KeyDeleted(BOT_REF, "k1"),
        StatsUpdated(BOT_REF, 7, None, StatsWindow(NOW_MS, 1), NOW_MS),
        actual_count_set(BOT_REF, 9),
        limits_set(BOT_REF, Policy(5, 60), None),
        webhook_saved(BOT_REF, Webhook("https://r.example/", NOW_MS)),
        webhook_removed(BOT_REF),
        VoteCast(BOT_REF, USER, 1, NOW_MS),
        UserErased(USER, (BOT_REF,)),
        DeliveryAttempted("first", BOT_REF, 1, REFUSED, "retry", NOW_MS),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_about_something_gone_is_a_no_op(ledger: Ledger, state: State, event: Event) -> None:
    nothing = state.digest()
    ledger.commit([event])
    assert state.digest() == nothing
    assert not any(
        [
            state.listings,
            state.listings.grants,
            state.deliveries.pending,
            state.deliveries.finished,
            len(state.votes),
        ]
    )


def test_a_delivery_for_a_listing_that_is_gone_is_not_queued(ledger: Ledger, state: State) -> None:
    a_delivery(ledger, "first")
    assert not state.deliveries.pending
