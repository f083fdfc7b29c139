"""The rows of the table of people's pages that are for everybody: the first page, lists, listings, badges."""

from collections.abc import Callable
from functools import partial
from typing import Any

from kinds.kind import Kind
from kinds.registry import KINDS
from web.pages import PageRow, View


def _of(kind: Kind, pick: Callable[[Any], Callable[..., Any]]) -> Callable[[Any], View]:
    return lambda to: partial(pick(to), kind=kind)


def _rows(kind: Kind) -> tuple[PageRow, ...]:
    one = f"/{kind}/{{id}}"
    return (
        PageRow("GET", f"/{kind}", _of(kind, lambda to: to.lists.show), "anyone"),
        PageRow("GET", f"/{kind}.json", _of(kind, lambda to: to.lists.twin), "anyone"),
        PageRow("GET", f"{one}/badge.svg", _of(kind, lambda to: to.listing.badge), "anyone"),
        PageRow("GET", f"{one}.json", _of(kind, lambda to: to.listing.twin), "anyone"),
        PageRow("GET", one, _of(kind, lambda to: to.listing.show), "anyone"),
    )


PUBLIC_PAGES = (
    PageRow("GET", "/", lambda to: to.lists.home, "anyone"),
    PageRow("GET", "/index.json", lambda to: to.lists.home_twin, "anyone"),
    *(row for kind in KINDS for row in _rows(kind)),
)
"""The page of a listing comes after every page of a fixed address, such as `/bots/new`."""
