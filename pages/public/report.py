"""The page on which a user reports a public listing to the moderators.

Invariant: only the moderators and the user see a report.
"""

from collections.abc import Mapping
from typing import Any

from actions.reports import REASON_NAMES, REPORT, NewReport, report
from actions.views import Success
from core.rows import Listing, Policy, ReportReason
from languages.refusals import Refusal
from languages.texts import Text
from listings.reports import REPORT_CHARACTERS
from pages.page import Again, Page, PageCall, Post, Shown
from pages.shared_texts import done
from ratelimit.bucket import TooManyRequests
from web.form_posts import FormPost

REPORTS = Policy(10, 3_600)
"""The limit of a user's reports."""
NO_REASON = Text("Choose a reason.")
NO_WORDS = Text("Say in a few words what is wrong.")


def show(page: PageCall) -> Shown[None]:
    row = _public(page)
    known = next((each for each in row.open_reports if each.by == page.call.by), None)
    html = {
        "row": row,
        "here": f"/{row.ref}/report",
        "known": known,
        "reasons": _reasons(page),
        "reason": page.typed("reason", known.reason if known is not None else ""),
        "text": page.typed("text", known.text if known is not None else ""),
        "most": REPORT_CHARACTERS,
    }
    return Shown(None, Text("Report {listing}", listing=row.profile.name), html)


def _public(page: PageCall) -> Listing:
    row = page.call.state.listings.get(page.call.ref)
    if row is None or not row.is_public:
        raise Refusal("no_such_listing")
    return row


def _reasons(page: PageCall) -> Mapping[ReportReason, Text]:
    """Return the reasons that the page offers."""
    has_invites = page.call.listing_kind.has("invites")
    return {name: text for name, text in REASON_NAMES.items() if has_invites or name != "broken_invite"}


def _guard(page: PageCall) -> None:
    """Raise Again for a form without a reason, or without words for the reason "Something else"."""
    _public(page)
    form = page.visit.form()
    if form.text("reason") not in _reasons(page):
        raise Again(errors={"reason": NO_REASON}, status=400)
    if form.text("reason") == "other" and not form.text("text").strip():
        raise Again(errors={"text": NO_WORDS}, status=400)


def _read(page: PageCall, form: FormPost) -> Mapping[str, Any]:
    return {"user": page.person.id, "reason": form.text("reason"), "text": form.text("text")}


async def _send(page: PageCall, form: NewReport) -> Success:
    try:
        page.site.accounts.reports.take(page.person.id)
    except TooManyRequests as error:
        raise Again(error) from None
    return await report(page.call, form)


REPORT_PAGE = Page(
    path="/{kind}/{id}/report",
    of="review",
    template="report",
    show=show,
    has_json=False,
    posts=(
        Post(
            action=REPORT,
            guard=_guard,
            reads=_read,
            run=_send,
            then=lambda page, _: done(f"/{page.call.ref}", "reported"),
        ),
    ),
    gives_back=True,
)
