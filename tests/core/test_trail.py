"""core/trail.py: the same trail at all nodes, whoever heard of an act first."""

from hypothesis import given
from hypothesis import strategies as st

from core.actors import ERASED, OPERATOR, user_actor
from core.rows import Act, Deed
from core.trail import KEPT, newest, struck_out
from tests.support.examples import examples
from tests.support.sample_rows import NOW_MS, OTHER_USER, USER

ME, OTHER = user_actor(USER), user_actor(OTHER_USER)
deeds: st.SearchStrategy[Deed] = st.sampled_from(["approved", "denied"])
nodes = st.sampled_from(["a.1", "b.1"])
acts = st.builds(
    # Of one moment, node and deed there is one act.
    lambda at_ms, deed, node: Act(at_ms, (ME, OTHER, OPERATOR)[at_ms % 3], deed, node=node),
    st.integers(0, 15),
    deeds,
    nodes,
)
trails = st.lists(acts, max_size=KEPT + 10).map(newest)


@examples(200)
@given(trails, trails, trails)
def test_trails_are_joined_alike_in_any_order_and_however_often(
    one: tuple[Act, ...], two: tuple[Act, ...], three: tuple[Act, ...]
) -> None:
    joined = newest((*newest((*one, *two)), *three))
    assert joined == newest((*three, *newest((*two, *one)), *one))
    assert newest(joined) == joined
    assert len(joined) <= KEPT


@examples(200)
@given(trails, trails, st.integers(0, 30))
def test_a_user_is_struck_out_alike_before_and_after_two_trails_are_joined(
    one: tuple[Act, ...], two: tuple[Act, ...], until_ms: int
) -> None:
    def struck(trail: tuple[Act, ...]) -> tuple[Act, ...]:
        return struck_out(trail, ME, until_ms)

    assert struck(newest((*struck(one), *two))) == struck(newest((*one, *struck(two))))


def test_the_oldest_acts_are_forgotten() -> None:
    trail = newest(Act(NOW_MS + number, OPERATOR, "edited") for number in range(KEPT + 5))
    assert [act.at_ms - NOW_MS for act in trail] == list(range(5, KEPT + 5))


def test_a_user_is_struck_out_and_the_act_stays() -> None:
    trail = (Act(NOW_MS, ME, "submitted"), Act(NOW_MS + 1, OTHER, "edited"), Act(NOW_MS + 2, ME, "edited"))
    assert [act.by for act in struck_out(trail, ME, None)] == [ERASED, OTHER, ERASED]
    assert [act.by for act in struck_out(trail, ME, NOW_MS)] == [ERASED, OTHER, ME]
    assert struck_out(trail, OPERATOR, None) is trail
