"""core/push_history.py: the greatest count of each day stays, in any order of pushes."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from core.clock import day_of
from core.push_history import (
    KEPT,
    MAX_COMMANDS,
    MAX_DAY,
    MAX_SERVERS,
    Pushed,
    joined_histories,
    on_day,
    pushes_of,
    with_push,
)
from tests.support.examples import examples
from tests.support.sample_rows import NOW_MS

TODAY = day_of(NOW_MS)
Push = tuple[int, int | None, int | None]

counts = st.none() | st.integers(0, 3) | st.integers(0, MAX_SERVERS)
commands = st.none() | st.integers(0, 3) | st.integers(0, MAX_COMMANDS)
days = st.integers(TODAY - 2, TODAY) | st.integers(TODAY - 200, TODAY) | st.integers(0, MAX_DAY)
pushes = st.lists(st.tuples(days, counts, commands), max_size=120)


def pushed(found: Sequence[Push]) -> bytes:
    history: bytes = b""
    for each in found:
        history = with_push(history, *each)
    return history


def greatest(found: Sequence[Push]) -> dict[int, Pushed]:
    by_day: dict[int, Pushed] = {}
    for day, servers, commands_ in found:
        known = by_day.get(day, Pushed(None, None))
        both = ((known.servers, servers), (known.commands, commands_))
        by_day[day] = Pushed(
            *(max((each for each in pair if each is not None), default=None) for pair in both)
        )
    return {day: by_day[day] for day in sorted(by_day)[-KEPT:]}


@examples(150)
@given(pushes, st.data())
def test_the_greatest_of_each_day_stands_in_any_order_and_again(
    found: list[Push], choice: st.DataObject
) -> None:
    again = choice.draw(st.lists(st.sampled_from(found), max_size=20)) if found else []
    history = pushed(choice.draw(st.permutations([*found, *again])))
    assert dict(pushes_of(history)) == greatest(found)
    assert list(pushes_of(history)) == sorted(pushes_of(history))
    assert history == pushed(found)


@examples(150)
@given(pushes, pushes, pushes)
def test_histories_join_into_that_of_all_pushes(
    one: list[Push], other: list[Push], third: list[Push]
) -> None:
    joined = joined_histories(pushed(one), pushed(other))
    assert joined == pushed([*one, *other]) == joined_histories(pushed(other), pushed(one))
    assert joined_histories(joined, pushed(third)) == joined_histories(
        pushed(one), joined_histories(pushed(other), pushed(third))
    )
    assert joined_histories(joined, joined) == joined


@examples(100)
@given(pushes)
def test_a_history_is_that_of_its_days_joined(found: list[Push]) -> None:
    history, joined = pushed(found), pushed([])
    for day in [*pushes_of(history), MAX_DAY + 9]:
        joined = joined_histories(on_day(history, day), joined)
    assert joined == history


def test_a_day_without_a_push_has_no_history() -> None:
    assert on_day(pushed([(TODAY, 5, None), (TODAY - 2, 7, None)]), TODAY - 1) == b""
    assert on_day(b"", TODAY) == b""


def test_a_count_that_does_not_fit_stays_at_its_end() -> None:
    history = with_push(b"", MAX_DAY + 1, MAX_SERVERS + 1, MAX_COMMANDS + 9)
    assert dict(pushes_of(history)) == {MAX_DAY: Pushed(MAX_SERVERS, MAX_COMMANDS)}


def test_a_listing_that_pushes_each_day_takes_little() -> None:
    """Its server count goes up and down by hundreds, and its command count changes every week."""
    history = pushed([(TODAY - ago, 50_000 + ago * 131 % 700, 40 + ago // 7) for ago in range(200)])
    assert len(pushes_of(history)) == KEPT
    assert history
    assert history.__sizeof__() <= 400
