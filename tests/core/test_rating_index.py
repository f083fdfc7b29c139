"""core/rating_index.py: the mean of a listing, its reviews in order, and those of an earlier listing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rating_index import PRIOR_COUNT, PRIOR_STARS, Entry, RatingIndex, RatingSummary
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF

entries = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 5)),
    unique_by=lambda each: each[1],  # a user has one review of a listing
)


def index_of(*given: Entry) -> RatingIndex:
    index = RatingIndex()
    for each in given:
        index.add(BOT_REF, each)
    return index


@pytest.mark.parametrize(
    ("stars", "mean"),
    [
        ((0, 0, 0, 0, 0), 3.5),
        ((0, 0, 0, 0, 1), 3.75),
        ((1, 0, 0, 0, 0), 3.08),
        ((0, 0, 0, 0, 10), 4.5),
        ((0, 0, 0, 0, 100_000), 5.0),
    ],
)
def test_the_mean_is_as_if_five_more_users_had_given_three_and_a_half_stars(
    stars: tuple[int, ...], mean: float
) -> None:
    assert RatingSummary(stars).mean == mean


def test_a_single_review_moves_a_mean_little() -> None:
    many = RatingSummary((0, 0, 0, 0, 99))
    assert many.mean - RatingSummary((1, 0, 0, 0, 99)).mean < 0.05
    assert RatingSummary((0,) * 5).mean == PRIOR_STARS
    assert PRIOR_COUNT == 5


@given(entries, st.integers(0, 5), st.integers(0, 5))
def test_the_numbers_are_those_of_the_entries_that_are_not_older(
    given: list[Entry], since_ms: int, gone: int
) -> None:
    index, kept = index_of(*given), given[gone:]
    for each in given[:gone]:
        index.discard(BOT_REF, each)
    shown = sorted((each for each in kept if each[0] >= since_ms), reverse=True)
    assert [*index.newest(BOT_REF, since_ms)] == shown
    counted = tuple(sum(each[2] == stars for each in shown) for stars in range(1, 6))
    assert index.summary(BOT_REF, since_ms).stars == counted
    assert index.summary(BOT_REF, since_ms).count == index.count_since(BOT_REF, since_ms) == len(shown)
    assert len(index) == len(kept)


def test_a_page_begins_behind_an_entry_also_if_that_is_gone() -> None:
    index = index_of((1, 7, 3), (2, 5, 4), (2, 6, 5))
    assert [*index.newest(BOT_REF, 0, (2, 6))] == [(2, 5, 4), (1, 7, 3)]
    index.discard(BOT_REF, (2, 6, 5))
    assert [*index.newest(BOT_REF, 0, (2, 6))] == [(2, 5, 4), (1, 7, 3)]
    assert [*index.newest(BOT_REF, 2, (2, 5))] == []


def test_a_listing_without_reviews_has_none() -> None:
    index = index_of((NOW_MS, 7, 3))
    assert index.summary(OTHER_REF, 0) == RatingSummary((0,) * 5)
    assert [*index.newest(OTHER_REF, 0)] == []
    assert index.count_since(OTHER_REF, 0) == 0
