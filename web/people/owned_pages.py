"""The pages of listings for those who own them: submission, overview, profile, owners, removal.

Law: each asks first who may open it (`listing_access.py`).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from kinds.kind import Kind
from kinds.registry import KINDS
from web.pages import PageRow, View


def _of(kind: Kind, pick: Callable[[Any], Callable[..., Any]]) -> Callable[[Any], View]:
    return lambda to: partial(pick(to), kind=kind)


def _rows(kind: Kind) -> tuple[PageRow, ...]:
    one = f"/{kind}/{{id}}/manage"
    return (
        PageRow("GET", one, _of(kind, lambda to: to.overview.show), "signed in"),
        PageRow("GET", f"{one}.json", _of(kind, lambda to: to.overview.twin), "signed in"),
        PageRow("GET", f"{one}/profile", _of(kind, lambda to: to.profile.show), "signed in"),
        PageRow(
            "POST", f"{one}/profile", _of(kind, lambda to: to.profile.save), "signed in", gives_back=True
        ),
        PageRow("GET", f"{one}/danger", _of(kind, lambda to: to.removal.show), "signed in"),
        PageRow("POST", f"{one}/danger", _of(kind, lambda to: to.removal.remove), "signed in"),
    )


OWNED_PAGES = (
    PageRow("GET", "/bots/new", lambda to: to.submission.show, "signed in"),
    PageRow("POST", "/bots/new", lambda to: to.submission.submit, "signed in", gives_back=True),
    PageRow("POST", "/bots/{id}/manage/prove", lambda to: to.overview.prove, "signed in"),
    PageRow("GET", "/servers/new", lambda to: to.server_submission.show, "signed in"),
    PageRow("POST", "/servers/new", lambda to: to.server_submission.submit, "signed in", gives_back=True),
    PageRow("POST", "/servers/{id}/manage/check", lambda to: to.server_checks.check, "signed in"),
    *(row for kind in KINDS for row in _rows(kind)),
)
