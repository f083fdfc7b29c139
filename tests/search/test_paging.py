"""search/paging.py: a walk through the pages of a list."""

from bisect import insort

from hypothesis import given
from hypothesis import strategies as st

from search.paging import ListPage, page_of, rows_behind, rows_from
from tests.support.examples import examples

refs = st.sets(st.text("ab", min_size=1, max_size=4), max_size=12)


def first_page(rows: list[str], after: str, limit: int) -> ListPage[str]:
    return page_of(rows_behind(rows, after), limit, lambda ref: ref)


@examples(300)
@given(refs, refs, refs, st.integers(1, 5))
def test_whatever_comes_and_goes_no_other_row_is_left_out_or_shown_twice(
    stay: set[str], gone: set[str], come: set[str], limit: int
) -> None:
    rows = sorted(stay | gone)
    leaving, coming = iter(sorted(gone - stay)), iter(sorted(come - stay - gone))
    shown, cursor = list[str](), ""
    while True:
        page = first_page(rows, cursor, limit)
        assert len(page.rows) <= limit
        shown += page.rows
        if page.next is None:
            break
        cursor = page.next
        if (left := next(leaving, None)) is not None:
            rows.remove(left)
        if (new := next(coming, None)) is not None:
            insort(rows, new)
    assert shown == sorted(set(shown))
    assert stay <= set(shown) <= stay | gone | come


def test_a_page_looks_at_one_row_more_than_it_shows() -> None:
    rows = iter(range(10))
    assert page_of(rows, 3, str) == ([0, 1, 2], "2")
    assert next(rows) == 4


def test_a_list_that_ends_with_a_page_has_no_further_one() -> None:
    assert page_of(rows_from(["a", "b", "c"], 1), 2, str) == (["b", "c"], None)
    assert page_of(rows_from(["a"], 1), 2, str) == ([], None)
