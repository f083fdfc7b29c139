"""core/digest.py: the digest that all nodes of a fleet share once they have heard of the same changes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.events import (
    DeliveryMerged,
    EndpointHealthSet,
    Event,
    KeySaved,
    ListingMerged,
    ListingRemoved,
    Merged,
    NodeNamed,
    StatsUpdated,
    UserErased,
    VoteCast,
    VotesMerged,
)
from core.rows import Delivery, Key, Listing, NodeWindow, Reviewed, StatsWindow, Webhook
from core.state import State
from tests.support.examples import examples
from tests.support.generated_events import OF_TYPE, sequences
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER, SERVER_REF, USER
from tests.support.state_invariants import picture

NAMED = NodeNamed("a.1")
ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))
KEY = Key("k1", "key", "d1", "d1", NOW_MS)
ELSEWHERE = Delivery("d", BOT_REF, USER, False, NOW_MS, NOW_MS, owner="b.1")


def state_after(*events: Event) -> State:
    state = empty_state()
    for event in events:
        state.apply(event)
    return state


def two_nodes(*of_a: Event, of_b: tuple[Event, ...]) -> tuple[str, str]:
    """Return the shared digests of nodes a and b after the events that each has heard."""
    first, second = state_after(NAMED, *of_a), state_after(NodeNamed("b.1"), *of_b)
    return first.shared_digest(), second.shared_digest()


def test_nodes_that_number_each_other_differently_share_a_digest() -> None:
    listed = ListingMerged(ROW)
    votes = {label: VoteCast(BOT_REF, USER, 2, NOW_MS, label) for label in ("a.1", "b.1", "c.1")}
    own = VoteCast(BOT_REF, USER, 2, NOW_MS)
    one, other = two_nodes(
        listed, own, votes["b.1"], votes["c.1"], of_b=(listed, votes["c.1"], votes["a.1"], own)
    )
    assert one == other
    fewer, _ = two_nodes(listed, own, votes["b.1"], of_b=())
    assert fewer != one


def test_a_window_is_the_same_whosever_it_is() -> None:
    update = StatsUpdated(BOT_REF, 5, None, StatsWindow(NOW_MS, 2), NOW_MS, stamp_ms=5)
    heard = state_after(NAMED, ListingMerged(ROW), update).listings[BOT_REF]
    told = replace(heard, window=None, windows=(NodeWindow("a.1", NOW_MS, 2),))
    one, other = two_nodes(ListingMerged(ROW), update, of_b=(ListingMerged(told),))
    assert one == other


def test_how_sending_goes_at_a_node_and_in_which_order_keys_came_does_not_show() -> None:
    webhooked = replace(ROW, webhook=Webhook("https://receiver.example/votes", NOW_MS))
    keys = (KEY, replace(KEY, id="k2", digest="d2"))
    row, turned = replace(webhooked, keys=keys), replace(webhooked, keys=keys[::-1])
    one, other = two_nodes(
        ListingMerged(row), EndpointHealthSet(BOT_REF, 3, None), of_b=(ListingMerged(turned),)
    )
    assert one == other


@pytest.mark.parametrize(
    "event",
    [
        ListingMerged(replace(ROW, actual=5)),
        ListingRemoved(BOT_REF, stamp_ms=NOW_MS),
        ListingRemoved(SERVER_REF, stamp_ms=NOW_MS),
        UserErased("", (), "mark", stamp_ms=NOW_MS),
        VoteCast(BOT_REF, USER, 1, NOW_MS, "b.1"),
        KeySaved(BOT_REF, KEY),
    ],
    ids=lambda event: type(event).__name__,
)
def test_whatever_nodes_share_shows_in_the_digest(event: Event) -> None:
    state = state_after(NAMED, ListingMerged(ROW))
    before = state.shared_digest()
    state.apply(event)
    assert state.shared_digest() != before


def test_what_is_of_one_node_alone_does_not_show_in_the_shared_digest() -> None:
    state = state_after(NAMED, ListingMerged(ROW))
    before = state.shared_digest()
    for event in (DeliveryMerged(ELSEWHERE), Merged("b.1", 7), VoteCast(SERVER_REF, USER, 1, NOW_MS, "b.1")):
        state.apply(event)
    assert state.shared_digest() == before


@examples(100)
@given(sequences, st.data())
def test_a_shared_digest_is_of_the_state_and_not_of_when_it_was_asked_for(
    sequence: list[Event], choice: st.DataObject
) -> None:
    asked, state = state_after(NAMED), state_after(NAMED, *sequence)
    for event in sequence:
        asked.apply(event)
        if choice.draw(st.booleans()):
            asked.shared_digest()
    assert picture(asked) == picture(state)
    assert asked.shared_digest() == state.shared_digest()
    for _ in state.refresh_shared_digest():
        pass
    assert asked.shared_digest() == state.shared_digest()


merges = st.one_of(OF_TYPE[VotesMerged], OF_TYPE[VoteCast], OF_TYPE[DeliveryMerged])


@examples(100)
@given(st.lists(merges, max_size=12), st.randoms(use_true_random=False))
def test_votes_of_others_commute(merged: list[Event], chance: random.Random) -> None:
    told = [
        replace(event, node=event.node or "c.1") if isinstance(event, VoteCast) else event for event in merged
    ]
    turned = [*told, *told]
    chance.shuffle(turned)
    listed = [ListingMerged(ROW), ListingMerged(replace(ROW, ref=SERVER_REF))]
    one, other = two_nodes(*listed, *told, of_b=(*turned, *listed))
    assert one == other
