"""The pages on which a user reports a public listing, or a review of it, to the moderators.

Invariant: only the moderators and the user see a report.
"""

from collections.abc import Mapping
from typing import Any

from actions.action import Action
from actions.ratings import REPORT_RATING, known_rating
from actions.ratings import report as report_rating
from actions.reports import REASON_NAMES, REPORT, NewReport, report
from actions.views import Success
from core.actors import UNKNOWN, Actor, user_actor
from core.rows import Listing, Policy, ReportReason
from kinds.kind import PartName
from languages.refusals import Refusal
from languages.texts import Text
from listings.reports import REPORT_CHARACTERS
from pages.page import Again, AnyPage, Page, PageCall, Post, Shown
from pages.shared_texts import done
from ratelimit.bucket import TooManyRequests
from web.form_posts import FormPost

REPORTS = Policy(10, 3_600)
"""The limit of a user's reports."""
NO_REASON = Text("Choose a reason.")
NO_WORDS = Text("Say in a few words what is wrong.")


def show(page: PageCall) -> Shown[None]:
    row, rating = _public(page), _rating(page)
    mine = (each for each in row.open_reports if (each.by, each.rating) == (page.call.by, rating))
    known = next(mine, None)
    html = {
        "row": row,
        "here": page.visit.path,
        "back": _back(page),
        "rating": rating,
        "known": known,
        "reasons": _reasons(page),
        "reason": page.typed("reason", known.reason if known is not None else ""),
        "text": page.typed("text", known.text if known is not None else ""),
        "most": REPORT_CHARACTERS,
    }
    if rating:
        return Shown(None, Text("Report a review of {listing}", listing=row.profile.name), html)
    return Shown(None, Text("Report {listing}", listing=row.profile.name), html)


def _rating(page: PageCall) -> Actor:
    """Return the author of the review of the path; nobody for a report of the listing. Raises Refusal."""
    return user_actor(known_rating(page.call)[0].id) if page.call.ids[1:] else UNKNOWN


def _back(page: PageCall) -> str:
    return f"/{page.call.ref}/reviews" if page.call.ids[1:] else f"/{page.call.ref}"


def _public(page: PageCall) -> Listing:
    row = page.call.state.listings.get(page.call.ref)
    if row is None or not row.is_public:
        raise Refusal("no_such_listing")
    return row


def _reasons(page: PageCall) -> Mapping[ReportReason, Text]:
    """Return the reasons that the page offers."""
    if page.call.ids[1:]:
        return {name: REASON_NAMES[name] for name in ("breaks_rules", "other")}
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
    return await (report_rating if page.call.ids[1:] else report)(page.call, form)


def _page(path: str, of: PartName, action: Action[NewReport, Success]) -> AnyPage:
    return Page(
        path=path,
        of=of,
        template="report",
        show=show,
        has_json=False,
        posts=(
            Post(
                action=action,
                guard=_guard,
                reads=_read,
                run=_send,
                then=lambda page, _: done(_back(page), "reported"),
            ),
        ),
        gives_back=True,
    )


REPORT_PAGES = (
    _page("/{kind}/{id}/report", "review", REPORT),
    _page("/{kind}/{id}/reviews/{user_id}/report", "ratings", REPORT_RATING),
)
