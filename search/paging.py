"""A page of a list, and the one way to make it.

A page has up to `limit` rows and a cursor, `next`, which is None on the last page. A reader sends the cursor
back as `after` and gets the rows behind it. The cursor is the place of the last row that was shown: the id or
the time by which its list is sorted. So nothing is kept for a reader, and the place is there even when its
row is gone.

    list                              order                   place
    /manage/bots, /manage/servers     id                      id
    /manage/users                     id                      id
    /manage/.../webhook/deliveries    newest first            time and id
    /manage/queue                     longest wait first      time and ref
    /manage/reports                   newest report first     time and ref
    /me                               kind and id             ref
    /me/votes                         newest first            time and ref
    /review/votes                     newest first            time, ref and id
    /bots, /servers                   an ordering snapshot    number of the snapshot, and place in it

Invariant: whatever rows come and go between two pages, no other row is left out or shown twice.

The feed of votes (handlers/vote_feed.py) is no such list, because it has no end: its `next` is never None,
and `more` says whether to ask again at once.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

R = TypeVar("R")
P = TypeVar("P", str, tuple[int, str])
"""A row that is its own place: a ref, or a time and a ref."""


class ListPage(NamedTuple, Generic[R]):
    """A page of a list. `next` is the cursor of the page behind it."""

    rows: Sequence[R]
    next: str | None


def page_of(behind: Iterable[R], limit: int, cursor: Callable[[R], str]) -> ListPage[R]:
    """Return the first page of the rows behind a place. It takes one row more than the page shows.

    Args:
        behind: the rows of the list in its order, without those of earlier pages.
        cursor: returns the place of a row.
    """
    rows = list(islice(behind, limit + 1))
    if len(rows) <= limit:
        return ListPage(rows, None)
    return ListPage(rows[:limit], cursor(rows[limit - 1]))


def rows_behind(rows: Sequence[P], place: P) -> Iterator[P]:
    """Return the rows of a sorted list behind a place."""
    return rows_from(rows, bisect_right(rows, place))


def rows_from(rows: Sequence[R], start: int) -> Iterator[R]:
    """Return the rows of a list from an index on. It copies none, and walks through none before them."""
    return (rows[at] for at in range(start, len(rows)))
