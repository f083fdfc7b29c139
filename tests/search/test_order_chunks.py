"""search/order_chunks.py: places stay sorted in chunks that never change."""

from bisect import bisect_left, bisect_right
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search import order_chunks
from search.order_chunks import LivingPlaces, Place, PlacesInTheMaking
from tests.support.examples import examples

places = st.sets(st.tuples(st.integers(-3, 3), st.integers(0, 40)), max_size=80)


def made(found: set[Place]) -> LivingPlaces:
    making = PlacesInTheMaking()
    making.add(found)
    return LivingPlaces(chunk for chunks in making.chunks() for chunk in chunks)


@pytest.mark.parametrize("name", [lambda number: number, "{:+04}".format], ids=["numbers", "texts"])
@examples(100)
@given(places, places, st.tuples(st.integers(-4, 4), st.integers(-1, 41)))
def test_places_come_and_go_as_in_a_sorted_list(
    name: object, before: set[tuple[int, int]], after: set[tuple[int, int]], one: tuple[int, int]
) -> None:
    assert callable(name)
    old = {(name(-key), name(id_ + 50)) for key, id_ in before}
    new = {(name(-key), name(id_ + 50)) for key, id_ in after}
    place = (name(-one[0]), name(one[1] + 50))
    with mock.patch.object(order_chunks, "MOST", 4):
        living = made(old)
        frozen = living.frozen()
        for each in old - new:
            living.remove(each)
        for each in new - old:
            living.add(each)
        for places, expected in ((frozen, sorted(old)), (living.frozen(), sorted(new))):
            assert [*places] == expected
            assert places.size == len(expected)
            assert [*places.behind(place)] == expected[bisect_right(expected, place) :]
            assert places.before(place[0]) == bisect_left([key for key, _ in expected], place[0])
            assert all(1 <= len(ids) <= 4 for _, ids in places.chunks)


def test_many_places_that_go_leave_few_chunks() -> None:
    living = made({(key, 1) for key in range(20_000)})
    for key in range(20_000):
        if key % 50:
            living.remove((key, 1))
    frozen = living.frozen()
    assert [key for key, _ in frozen] == [*range(0, 20_000, 50)]
    assert len(frozen.chunks) <= 4


@pytest.mark.parametrize("place", [(0, 1), (1, 2), (2, 1)])
def test_a_place_that_is_not_there_cannot_go(place: Place) -> None:
    living = made({(1, 1), (1, 3)})
    with pytest.raises(LookupError):
        living.remove(place)
    assert [*living.frozen()] == [(1, 1), (1, 3)]
