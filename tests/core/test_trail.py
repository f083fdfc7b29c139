"""core/trail.py: the same trail at all nodes, whoever heard of an act first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.actors import ERASED, OPERATOR, user_actor
from core.rows import Act, Deed
from core.trail import APART, GROUPS, KEPT, newest, struck_out
from tests.support.examples import examples
from tests.support.sample_rows import NOW_MS, OTHER_USER, USER

ME, OTHER = user_actor(USER), user_actor(OTHER_USER)
deeds: st.SearchStrategy[Deed] = st.sampled_from(["denied", "key_issued", "edited"])
nodes = st.sampled_from(["a.1", "b.1"])
acts = st.builds(
    # Of one moment, node and deed there is one act.
    lambda at_ms, deed, node: Act(at_ms, (ME, OTHER, OPERATOR)[at_ms % 3], deed, node=node),
    st.integers(0, 30),
    deeds,
    nodes,
)
trails = st.integers(0, KEPT + 20).flatmap(
    lambda length: st.lists(acts, min_size=length, max_size=length).map(newest)
)


@examples(200)
@given(trails, trails, trails)
def test_trails_are_joined_alike_in_any_order_and_however_often(
    one: tuple[Act, ...], two: tuple[Act, ...], three: tuple[Act, ...]
) -> None:
    joined = newest((*newest((*one, *two)), *three))
    assert joined == newest((*three, *newest((*two, *one)), *one))
    assert newest(joined) == joined
    assert len(joined) <= KEPT + APART * len(GROUPS)


@examples(200)
@given(trails, trails, st.integers(0, 30))
def test_a_user_is_struck_out_alike_before_and_after_two_trails_are_joined(
    one: tuple[Act, ...], two: tuple[Act, ...], until_ms: int
) -> None:
    def struck(trail: tuple[Act, ...]) -> tuple[Act, ...]:
        return struck_out(trail, ME, until_ms)

    assert struck(newest((*struck(one), *two))) == struck(newest((*one, *struck(two))))


@pytest.mark.parametrize(
    "deed",
    [
        *("submitted", "approved", "denied", "votes_struck", "handed_over"),
        *("key_issued", "key_rotated", "key_deleted"),
    ],
)
def test_no_other_acts_push_out_what_was_decided_and_done_with_keys_and_owners(deed: Deed) -> None:
    kept = [Act(NOW_MS + number, OTHER, deed) for number in range(APART + 1)]
    edits = [Act(NOW_MS + 100 + number, ME, "edited") for number in range(KEPT + 5)]
    assert newest((*kept, *edits)) == (*kept[1:], *edits[5:])


@examples(100)
@given(st.lists(acts, max_size=KEPT, unique_by=lambda act: (act.at_ms, act.node, act.deed)))
def test_a_trail_of_older_versions_is_as_it_was(trail: list[Act]) -> None:
    assert newest(trail) == tuple(sorted(trail, key=lambda act: (act.at_ms, act.node, act.deed)))


def test_the_oldest_acts_are_forgotten() -> None:
    trail = newest(Act(NOW_MS + number, OPERATOR, "edited") for number in range(KEPT + 5))
    assert [act.at_ms - NOW_MS for act in trail] == list(range(5, KEPT + 5))


def test_a_user_is_struck_out_and_the_act_stays() -> None:
    trail = (Act(NOW_MS, ME, "submitted"), Act(NOW_MS + 1, OTHER, "edited"), Act(NOW_MS + 2, ME, "edited"))
    assert [act.by for act in struck_out(trail, ME, None)] == [ERASED, OTHER, ERASED]
    assert [act.by for act in struck_out(trail, ME, NOW_MS)] == [ERASED, OTHER, ME]
    assert struck_out(trail, OPERATOR, None) is trail
