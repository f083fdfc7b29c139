"""core/state.py: the events by which a node merges changes of other nodes."""

import pytest
from msgspec.structs import replace

from core.actors import user_actor
from core.events import (
    DownloadCounted,
    EndpointHealthSet,
    Event,
    KeyDeleted,
    KeySaved,
    ListingMerged,
    ListingRemoved,
    Merged,
    NodeNamed,
    OwnerMessageQueued,
    StatsUpdated,
    UserErased,
    VoteCast,
    VotesMerged,
    VotesMoved,
    VotesRemoved,
)
from core.ledger import Ledger
from core.rows import (
    Key,
    KeyGrant,
    Listing,
    NodeDownloads,
    NodeWindow,
    Reviewed,
    Revocation,
    Stamp,
    Stamps,
    StatsWindow,
    Suspension,
)
from core.state import State
from core.vote_table import VoteTable
from tests.support.committed_rows import a_delivery, a_key, a_listing, a_webhook
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER
from tests.support.slots_set import actual_count_set, webhook_removed

LATER_MS = NOW_MS + 1_000
NAMED = NodeNamed("a.1")
ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))
KEY = Key("k1", "key", "d1", "d1", NOW_MS)


def state_after(*events: Event) -> State:
    state = empty_state()
    for event in events:
        state.apply(event)
    return state


def leaf_of(*votes: tuple[int, int, int, int], ref: str = BOT_REF) -> bytes:
    """Return a leaf of these votes: (user, count, last vote, node)."""
    table = VoteTable()
    for user, count, last_ms, node in votes:
        table.put(ref, user, count, last_ms, node)
    leaf = table.next_leaf(ref, -1)
    assert leaf is not None
    return leaf


# -- stamps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "event"),
    [
        ("counts", StatsUpdated(BOT_REF, 5, None, StatsWindow(NOW_MS, 1), NOW_MS, stamp_ms=LATER_MS)),
        ("actual", actual_count_set(BOT_REF, 5, stamp_ms=LATER_MS)),
        ("webhook", webhook_removed(BOT_REF, stamp_ms=LATER_MS)),
    ],
)
def test_a_part_that_is_written_is_stamped_with_its_time_and_node(
    ledger: Ledger, state: State, part: str, event: Event
) -> None:
    ledger.commit([NAMED])
    a_listing(ledger)
    ledger.commit([event])
    assert state.listings[BOT_REF].stamps == replace(Stamps(), **{part: Stamp(LATER_MS, "a.1")})
    assert state.fleet.latest_ms == LATER_MS


def test_a_key_has_a_stamp_of_its_own_and_a_deleted_one_is_remembered(ledger: Ledger, state: State) -> None:
    ledger.commit([NAMED])
    a_listing(ledger)
    ledger.commit([KeySaved(BOT_REF, KEY, stamp_ms=NOW_MS)])
    assert state.listings[BOT_REF].keys == (replace(KEY, stamp=Stamp(NOW_MS, "a.1")),)
    ledger.commit([KeyDeleted(BOT_REF, "k1", stamp_ms=LATER_MS)])
    after = state.listings[BOT_REF]
    assert (after.keys, after.revoked, after.stamps) == ((), (Revocation(LATER_MS, "k1"),), None)
    assert state.fleet.latest_ms == LATER_MS


def test_without_a_fleet_nothing_is_stamped_or_remembered(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_key(ledger)
    ledger.commit([KeyDeleted(BOT_REF, "k1"), actual_count_set(BOT_REF, 5)])
    assert (state.listings[BOT_REF].stamps, state.listings[BOT_REF].revoked) == (None, ())
    ledger.commit([ListingRemoved(BOT_REF), UserErased(USER, (BOT_REF,))])
    assert state.fleet.row == empty_state().fleet.row


def test_a_removal_and_an_erasure_are_remembered_also_of_what_is_not_known(
    ledger: Ledger, state: State
) -> None:
    ledger.commit([NAMED, ListingRemoved(BOT_REF, stamp_ms=5), UserErased("", (), "mark", stamp_ms=6)])
    assert (state.fleet.removed, state.fleet.erased, state.fleet.latest_ms) == ({BOT_REF: 5}, {"mark": 6}, 6)


# -- names and cursors -------------------------------------------------------------------------------------


def test_own_votes_count_under_the_node_s_name_once_it_has_one(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    for label in ("a.1", "a.2"):
        ledger.commit([NodeNamed(label)])
        ledger.commit([VoteCast(BOT_REF, USER, 2, NOW_MS)])
    assert list(state.fleet.numbers) == ["a.1", "a.2"]
    assert state.votes.parts(BOT_REF, int(USER)) == {0: 2, 1: 2}
    assert state.votes.get(BOT_REF, int(USER)) == (4, NOW_MS)


def test_a_window_of_updates_stays_that_of_the_name_the_node_had(ledger: Ledger, state: State) -> None:
    ledger.commit([NAMED])
    a_listing(ledger)
    ledger.commit([StatsUpdated(BOT_REF, 5, None, StatsWindow(NOW_MS, 2), NOW_MS)])
    ledger.commit([NodeNamed("a.2")])
    row = state.listings[BOT_REF]
    assert (row.window, row.windows) == (None, (NodeWindow("a.1", NOW_MS, 2),))


def test_a_first_name_leaves_the_window_of_updates_the_node_s_own(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([StatsUpdated(BOT_REF, 5, None, StatsWindow(NOW_MS, 2), NOW_MS)])
    ledger.commit([NAMED])
    assert state.listings[BOT_REF].window == StatsWindow(NOW_MS, 2)


def test_downloads_stay_those_of_the_name_the_node_had(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([DownloadCounted(BOT_REF, 2)])
    ledger.commit([NAMED])
    assert state.listings[BOT_REF].own_downloads == 2, "a first name leaves them the node's own"
    ledger.commit([NodeNamed("a.2")])
    ledger.commit([DownloadCounted(BOT_REF, 1)])
    assert state.listings[BOT_REF].downloads == (NodeDownloads("", 1), NodeDownloads("a.1", 2))


def test_a_message_stays_with_the_name_that_the_node_had_so_that_a_successor_sends_it(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    queued = OwnerMessageQueued(BOT_REF, user_actor(OWNER), "approved", None, NOW_MS)
    for label, expected in (("a.1", ""), ("a.2", "a.1")):
        ledger.commit([NodeNamed(label)])
        if label == "a.1":
            ledger.commit([queued])
        message = state.listings[BOT_REF].message
        assert message is not None
        assert message.node == expected
    assert list(state.listings.untold) == [BOT_REF]


def test_a_new_name_leaves_the_health_of_endpoints_alone(ledger: Ledger, state: State) -> None:
    ledger.commit([NAMED])
    a_listing(ledger)
    a_webhook(ledger)
    suspension = Suspension(NOW_MS, "timeout", 1, LATER_MS)
    ledger.commit([EndpointHealthSet(BOT_REF, 10, suspension)])
    ledger.commit([StatsUpdated(BOT_REF, 5, None, StatsWindow(NOW_MS, 2), NOW_MS)])
    ledger.commit([NodeNamed("a.2")])
    webhook = state.listings[BOT_REF].webhook
    assert webhook is not None
    assert (webhook.failed, webhook.suspension) == (10, suspension)


def test_a_cursor_is_kept_of_nodes_that_have_a_name(ledger: Ledger, state: State) -> None:
    ledger.commit([Merged("b.1", 7)])
    ledger.commit([Merged("b.1", 5), Merged("", 9)])
    assert state.fleet.cursors == {"b.1": 7}


# -- listings ----------------------------------------------------------------------------------------------


def test_a_merged_listing_is_the_whole_row_and_its_keys_open_it(ledger: Ledger, state: State) -> None:
    stamps = Stamps(profile=Stamp(5, "b.1"))
    row = replace(
        ROW, keys=(replace(KEY, stamp=Stamp(7, "b.1")),), revoked=(Revocation(6, "k0"),), stamps=stamps
    )
    ledger.commit([ListingMerged(row)])
    assert (state.listings[BOT_REF], list(state.listings.refs), state.listings.key_count) == (
        row,
        [BOT_REF],
        1,
    )
    assert state.listings.grants == {"d1": KeyGrant(BOT_REF, "k1", None)}
    assert state.fleet.latest_ms == 7
    ledger.commit([ListingMerged(replace(row, keys=(), revoked=(Revocation(8, "k1"),)))])
    assert (state.listings.grants, state.listings.key_count, state.fleet.latest_ms) == ({}, 0, 8)


def test_a_merged_listing_keeps_its_votes_and_deliveries(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "pending")
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    ledger.commit([ListingMerged(replace(ROW, actual=5))])
    assert (state.votes.voters(BOT_REF), list(state.deliveries.pending)) == (1, ["pending"])


# -- votes -------------------------------------------------------------------------------------------------


def test_votes_of_another_node_add_up_with_the_own_ones(ledger: Ledger, state: State) -> None:
    ledger.commit([NAMED])
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 2, NOW_MS)])
    ledger.commit([VoteCast(BOT_REF, USER, 3, LATER_MS, "b.1")])
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS, "b.1")])
    assert state.votes.get(BOT_REF, int(USER)) == (5, LATER_MS)
    assert len(state.votes) == 1


def test_votes_that_are_moved_are_counted_under_the_new_label_and_stay_at_one_node_if_they_can(
    ledger: Ledger, state: State
) -> None:
    ledger.commit([NAMED])
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, "1", 3, NOW_MS), VoteCast(BOT_REF, "2", 2, NOW_MS)])
    ledger.commit([NodeNamed("a.2")])
    ledger.commit([VoteCast(BOT_REF, "2", 1, LATER_MS)])
    for _ in range(2):  # a record may be applied again
        ledger.commit([VotesMoved(BOT_REF, "a.1", ((1, 1, 2), (2, 0, 3), (9, 1, 1)))])
    old, new = state.fleet.numbers["a.1"], state.fleet.numbers["a.2"]
    assert [state.votes.parts(BOT_REF, user) for user in (1, 2, 9)] == [{old: 1, new: 2}, {new: 3}, {}]
    assert [*state.votes.several[BOT_REF]] == [1]
    assert [state.votes.get(BOT_REF, user) for user in (1, 2)] == [(3, NOW_MS), (3, LATER_MS)]


def test_merged_votes_are_counted_under_the_labels_that_their_numbers_stand_for(
    ledger: Ledger, state: State
) -> None:
    ledger.commit([NAMED])
    a_listing(ledger)
    ledger.commit([VoteCast(BOT_REF, "1", 2, NOW_MS)])
    leaf = leaf_of((1, 5, NOW_MS, 1), (2, 1, NOW_MS, 0), (3, 4, LATER_MS, 1))
    parts = ((4, "a.1", 1, NOW_MS), (4, "c.1", 2, LATER_MS))
    ledger.commit([VotesMerged(BOT_REF, ("b.1", "a.1"), leaf, parts)])
    numbers = state.fleet.numbers
    assert set(numbers) == {"a.1", "b.1", "c.1"}
    assert [state.votes.parts(BOT_REF, user) for user in (1, 2, 3, 4)] == [
        {numbers["a.1"]: 5},
        {numbers["b.1"]: 1},
        {numbers["a.1"]: 4},
        {numbers["a.1"]: 1, numbers["c.1"]: 2},
    ]
    assert list(state.votes.votes(BOT_REF)) == [
        (1, 5, NOW_MS),
        (2, 1, NOW_MS),
        (3, 4, LATER_MS),
        (4, 3, LATER_MS),
    ]


@pytest.mark.parametrize(
    "votes",
    [
        VoteCast(BOT_REF, USER, 3, NOW_MS, "b.1"),
        VotesMerged(BOT_REF, ("b.1",), leaf_of((int(USER), 3, NOW_MS, 0))),
    ],
    ids=["cast", "merged"],
)
def test_votes_that_come_before_their_listing_wait_for_it(ledger: Ledger, state: State, votes: Event) -> None:
    ledger.commit([NAMED, votes, votes])
    assert (list(state.listings.unlisted), list(state.listings.refs)) == ([BOT_REF], [])
    ledger.commit([ListingMerged(ROW)])
    assert (list(state.listings.unlisted), list(state.listings.refs)) == ([], [BOT_REF])
    assert state.votes.get(BOT_REF, int(USER)) == (3, NOW_MS)


def test_a_removal_takes_votes_that_came_before_their_listing_too(ledger: Ledger, state: State) -> None:
    ledger.commit([NAMED])
    for user, label in ((USER, "b.1"), (USER, "c.1"), (OTHER_USER, "b.1")):
        ledger.commit([VoteCast(BOT_REF, user, 3, NOW_MS, label)])
    ledger.commit([ListingRemoved(BOT_REF, stamp_ms=NOW_MS)])
    assert (list(state.listings.unlisted), len(state.votes), state.votes.several) == ([], 0, {})


@pytest.mark.parametrize(
    "end",
    [UserErased(USER, (BOT_REF,)), VotesRemoved(BOT_REF, (USER,), "Bought.", NOW_MS)],
    ids=["erased", "struck out"],
)
def test_what_has_lost_its_only_vote_before_it_came_waits_for_nothing(
    ledger: Ledger, state: State, end: Event
) -> None:
    ledger.commit([NAMED, VoteCast(BOT_REF, USER, 3, NOW_MS, "b.1"), end])
    assert not state.listings.unlisted


def test_an_own_vote_for_what_is_not_listed_is_none(ledger: Ledger, state: State) -> None:
    ledger.commit([NAMED, VoteCast(BOT_REF, USER, 1, NOW_MS)])
    assert (len(state.votes), list(state.listings.unlisted)) == (0, [])
