"""Reports: users tell moderators what is wrong with a listing, and moderators settle it.

Invariant: owners never see a report, and never learn who made it.
"""

from collections.abc import Mapping
from typing import Annotated, get_args

from actions.action import Access, Action, Call, Command, Option
from actions.query_forms import AFTER, IS_CURSOR, PAGE, PageLimit
from actions.review import QUEUE_CURSOR_PATTERN, QueueCursor, cursor_of, place_of
from actions.views import (
    NEXT,
    ActorName,
    Count,
    KindName,
    ListingId,
    ListingName,
    Moment,
    NoMore,
    Success,
    UserId,
    View,
    described,
)
from core.actors import user_of
from core.audit_log import REPORTS_KEPT
from core.rows import Listing, ReportReason
from forms.fields import Form, Snowflake
from forms.rules import IN_TEXT, About, Size, matching
from kinds.registry import KINDS, SAMPLE_REF, kind_of
from languages.texts import Text
from listings import reports
from listings.rules import listing_of
from people.quarantine import refuse_quarantined
from search.paging import page_of

REASON_NAMES: Mapping[ReportReason, Text] = {
    "does_not_work": Text("It does not work"),
    "not_as_described": Text("It is not what its page says"),
    "breaks_rules": Text("It breaks the rules"),
    "broken_invite": Text("Its invite is broken"),
    "other": Text("Something else"),
}
"""The texts of the reasons. Each kind offers all of them, but `broken_invite` only those with invites."""
SAMPLE_ID = "1750000000000-444444444444444444"
ReportId = Annotated[str, matching(r"^[0-9]{1,16}-[0-9]{1,20}$")]
REASONS = ", ".join(f"`{name}`" for name in get_args(ReportReason))


class NewReport(Form, frozen=True):
    """A report of a listing by a user. Moderators read it; the owner of the listing never does."""

    user: Snowflake
    reason: Annotated[ReportReason, About(f"One of {REASONS}.", "does_not_work")]
    text: Annotated[
        str,
        Size(0, reports.REPORT_CHARACTERS),
        About("The details, in the words of the user.", "It joins, but answers no command."),
        IN_TEXT,
    ] = ""


class ReportsSeen(Form, frozen=True):
    """The reports to settle."""

    seen: Annotated[
        tuple[ReportId, ...] | None,
        Size(0, REPORTS_KEPT),
        About("The ids of the reports to settle; all open ones if left out.", [SAMPLE_ID]),
    ] = None


class ReportsQuery(Form, frozen=True):
    """The query of the reported listings. A parameter that is None was left out."""

    after: Annotated[
        Annotated[str, matching(QUEUE_CURSOR_PATTERN)] | None,
        IS_CURSOR,
        About(AFTER, "1750000000000-bots-123456789012345678"),
    ] = None
    limit: PageLimit = PAGE


class ReportView(View):
    """A report of a listing."""

    id: Annotated[str, described("The id of the report: its time and its user.", SAMPLE_ID)]
    at: Moment
    by: ActorName
    reason: ReportReason
    rating: Annotated[
        UserId | None,
        described("The author of the review that it is about; null for a report of the listing.", None),
    ]
    text: Annotated[
        str, described("The words of the user; empty if there are none.", "It answers no command.")
    ]


class ReportList(Success):
    """The open reports of a listing."""

    reports: Annotated[
        tuple[ReportView, ...], described(f"The last {REPORTS_KEPT} users' reports, the newest first.")
    ]
    next: NoMore = None


class ReportedListing(View):
    """A listing with open reports."""

    ref: Annotated[str, described("Its path in the API: the kind, a slash, the id.", SAMPLE_REF)]
    kind: KindName
    id: ListingId
    name: ListingName
    reports: Annotated[Count, described("The number of open reports.", 2)]
    reasons: Annotated[
        tuple[ReportReason, ...],
        described("The reasons of the reports, the most frequent first.", ["does_not_work"]),
    ]
    newest_at: Moment


class ReportedPage(Success):
    """The listings with open reports, the one with the newest report first."""

    listings: tuple[ReportedListing, ...]
    next: Annotated[QueueCursor | None, described(NEXT, None)]


async def report(call: Call, form: NewReport) -> Success:
    """Report the listing in the name of a user. The gateway checks the invite of the listing again."""
    row, invites = listing_of(call.state, call.ref), call.tools.invites
    refuse_quarantined(call.state, form.user, "report", call.now_ms)
    done = await call.done(reports.report(row, form.user, form.reason, form.text, call.now_ms))
    if invites is not None and call.listing_kind.invite_code(row.profile) is not None:
        invites.ask_soon(call.ref)
    return done


def show_reports(call: Call, _: None) -> ReportList:
    """Return the open reports of the listing, the newest first."""
    return ReportList(reports=report_views(listing_of(call.state, call.ref)))


def report_views(row: Listing) -> tuple[ReportView, ...]:
    return tuple(
        ReportView(
            id=reports.report_id(each),
            at=each.at_ms,
            by=each.by,
            reason=each.reason,
            rating=user_of(each.rating),
            text=each.text,
        )
        for each in reversed(row.open_reports)
    )


async def settle(call: Call, form: ReportsSeen) -> ReportList:
    """Settle the reports that the caller has seen, and return the others."""
    row = listing_of(call.state, call.ref)
    events = reports.settle(row, form.seen, call.now_ms, by=call.by)
    return await call.commit(events, lambda: show_reports(call, None))


async def list_reported(call: Call, form: ReportsQuery) -> ReportedPage:
    """Return a page of the listings with open reports, the newest report first."""
    ownership = call.tools.ownership
    await call.tools.in_slices(ownership.survey())
    before = place_of(form.after) if form.after is not None else None
    found = (place for place in reversed(ownership.reported) if before is None or place < before)
    shown = page_of(found, form.limit, cursor_of)
    listings = tuple(reported_listing(call.state.listings[ref]) for _, ref in shown.rows)
    return ReportedPage(listings=listings, next=shown.next)


def reported_listing(row: Listing) -> ReportedListing:
    """Return a listing with open reports, as lists show it."""
    given = [each.reason for each in row.open_reports]
    return ReportedListing(
        ref=row.ref,
        kind=kind_of(row.ref).plural,
        id=row.id,
        name=row.profile.name,
        reports=len(given),
        reasons=tuple(sorted({*given}, key=lambda reason: (-given.count(reason), reason))),
        newest_at=row.open_reports[-1].at_ms,
    )


REPORT = Action(
    name="report{Thing}",
    run=report,
    route="POST /manage/{kind}/{id}/reports",
    of="review",
    summary="Report a {thing} to the moderators",
    about={
        kind.plural: "The report replaces an open one of the same user."
        + (" An invite of the {thing} is checked again." if kind.invites else "")
        + " The owner never sees a report. A user under a quarantine for `report` is refused, with the "
        "reason."
        for kind in KINDS
    },
    outcome="Confirmation that the moderators have the report.",
    refuses=("quarantined", "not_public"),
    status=201,
    command=Command(
        "review report",
        "Report a listing to the moderators in the name of a user.",
        {
            "user": Option(argument="user_id"),
            "reason": Option(choices=get_args(ReportReason)),
            "text": Option("--text", help="The details, in the words of the user."),
        },
    ),
)
SHOW_REPORTS = Action(
    name="show{Thing}Reports",
    run=show_reports,
    access=Access("decide"),
    route="GET /manage/{kind}/{id}/reports",
    of="review",
    summary="Show the open reports of a {thing}",
    about="Only moderators and the operator see reports. Settled ones are deleted.",
    outcome="The open reports.",
    command=Command("review reports"),
)
SETTLE_REPORTS = Action(
    name="settle{Thing}Reports",
    run=settle,
    access=Access("decide"),
    route="POST /manage/{kind}/{id}/reports/settle",
    of="review",
    summary="Settle the reports of a {thing}",
    about=(
        "The {thing} stays as it is, and the reports are deleted. To act on them, withdraw the approval: "
        "that settles them, too."
    ),
    outcome="The reports that are left.",
    refuses=("no_reports",),
    command=Command(
        "review settle",
        "Settle the reports of a listing, which stays as it is.",
        {"seen": Option("--report", reads="texts", help="Settle the report of this id; others stay open.")},
    ),
)
LIST_REPORTED = Action(
    name="listReported",
    run=list_reported,
    route="GET /manage/reports",
    summary="List the reported listings",
    about="The listing with the newest report comes first.",
    outcome="A page of the listings with open reports.",
    command=Command("review reported"),
)
REPORT_ACTIONS = (LIST_REPORTED, REPORT, SHOW_REPORTS, SETTLE_REPORTS)
