"""core/vote_flags.py: the same flags at all nodes, and old rows as they were."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from core.actors import ERASED, user_actor
from core.events import ListingSaved, VoteCast, VoteFlagged, decode_record, encode_record
from core.rows import Stamp, VoteFlag
from core.state import State
from core.vote_flags import KEPT, Flags, flagged, joined_flags
from tests.support.examples import examples
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER, USER
from votes.table import VoteTable

EVENT = VoteFlagged(BOT_REF, USER, "burst", "f1", NOW_MS)
many_flags = st.just(UNSET) | st.lists(
    st.builds(
        VoteFlag,
        st.integers(0, 40),
        st.sampled_from([user_actor(USER), ERASED]),
        st.just("burst"),
        st.sampled_from(["f1", "f2", "f3"]),
        st.sampled_from("ab"),
    ),
    min_size=1,
    max_size=KEPT + 10,
).map(lambda flags: joined_flags(tuple(flags), ()))


@examples(200)
@given(many_flags, many_flags, many_flags)
def test_flags_are_joined_alike_in_any_order_and_however_often(one: Flags, two: Flags, three: Flags) -> None:
    joined = joined_flags(joined_flags(one, two), three)
    assert joined == joined_flags(three, joined_flags(two, joined_flags(one, two)))
    assert joined is UNSET or len(joined) <= KEPT


def test_the_oldest_flags_are_forgotten() -> None:
    flags: Flags = UNSET
    for number in range(KEPT + 5):
        flags = flagged(
            flags, msgspec.structs.replace(EVENT, flag_id=f"f{number}", at_ms=NOW_MS + number), None
        )
    assert flags is not UNSET
    assert [flag.at_ms - NOW_MS for flag in flags] == list(range(5, KEPT + 5))


def test_two_votes_of_one_moment_are_two_flags() -> None:
    second = msgspec.structs.replace(EVENT, flag_id="f2")
    assert len(flagged(flagged(UNSET, EVENT, None), second, None) or ()) == 2


def test_a_flag_bears_the_time_and_node_of_its_stamp() -> None:
    stamp = Stamp(NOW_MS + 7, "a.1")
    assert flagged(UNSET, EVENT, stamp) == (VoteFlag(NOW_MS + 7, user_actor(USER), "burst", "f1", "a.1"),)


def test_a_vote_and_its_flag_are_one_record_that_may_come_again() -> None:
    state = State(VoteTable(), deliveries_kept=10)
    state.apply(ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "approved", NOW_MS))
    bare = msgspec.json.encode(state.listings[BOT_REF])
    record = encode_record([VoteCast(BOT_REF, USER, 1, NOW_MS), EVENT])
    for _ in range(2):
        for event in decode_record(record):
            state.apply(event)
    assert state.listings[BOT_REF].flags == (VoteFlag(NOW_MS, user_actor(USER), "burst", "f1"),)
    assert state.votes.get(BOT_REF, int(USER)) == (1, NOW_MS)
    assert b"flags" not in bare  # a row without flags has the bytes that it had before there were any


def test_a_flag_of_what_is_gone_changes_nothing() -> None:
    state = State(VoteTable(), deliveries_kept=10)
    state.apply(EVENT)
    assert BOT_REF not in state.listings
