"""The pages of who owns a listing."""

from collections.abc import Callable
from functools import partial
from typing import Any

from actions.listing_kinds import KINDS, Kind
from web.pages import PageRow, View


def _of(kind: Kind, pick: Callable[[Any], Callable[..., Any]]) -> Callable[[Any], View]:
    return lambda to: partial(pick(to), kind=kind)


def _rows(kind: Kind) -> tuple[PageRow, ...]:
    one = f"/{kind}/{{id}}/manage"
    return (
        PageRow("GET", f"{one}/owners", _of(kind, lambda to: to.owners.show), "signed in"),
        PageRow("POST", f"{one}/owners", _of(kind, lambda to: to.owners.save), "signed in", gives_back=True),
    )


OWNED_PAGES = tuple(row for kind in KINDS for row in _rows(kind))
