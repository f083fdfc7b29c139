"""Flags of votes in the state: each flag is there once."""

import msgspec

from core.actors import user_actor
from core.events import ListingSaved, NodeNamed, VoteCast, VoteFlagged, decode_record, encode_record
from core.rows import VoteFlag
from core.state import State
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER, USER

EVENT = VoteFlagged(BOT_REF, USER, "burst", "f1", NOW_MS)


def test_a_flag_bears_the_time_and_node_of_its_stamp() -> None:
    state = State(deliveries_kept=10)
    for event in (NodeNamed("a.1"), ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "approved", NOW_MS)):
        state.apply(event)
    state.apply(msgspec.structs.replace(EVENT, stamp_ms=NOW_MS + 7))
    (flag,) = state.listings[BOT_REF].flags
    assert flag == VoteFlag(NOW_MS + 7, user_actor(USER), "burst", "f1", "a.1")


def test_a_vote_and_its_flag_are_one_record_that_may_come_again() -> None:
    state = State(deliveries_kept=10)
    state.apply(ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "approved", NOW_MS))
    record = encode_record([VoteCast(BOT_REF, USER, 1, NOW_MS), EVENT])
    for _ in range(2):
        for event in decode_record(record):
            state.apply(event)
    assert state.listings[BOT_REF].flags == (VoteFlag(NOW_MS, user_actor(USER), "burst", "f1"),)
    assert state.votes.get(BOT_REF, int(USER)) == (1, NOW_MS)


def test_a_flag_of_what_is_gone_changes_nothing() -> None:
    state = State(deliveries_kept=10)
    state.apply(EVENT)
    assert BOT_REF not in state.listings
