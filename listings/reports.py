"""The rules of reports: users tell the moderators what is wrong with a public listing.

Invariant: a user has at most one open report of a listing, and one of each review of it. Another one replaces
it. A user has REPORTS_EACH of them at most: a listing keeps the newest reports, and nobody alone pushes out
those of others.

    reported -> settled by a moderator, or by the withdrawal of the approval

Invariant: a moderator settles the reports that the moderator has seen, and no other. A report that comes
meanwhile, or that a node of a fleet hears of later, stays open, however old it is.

Owners never learn who reported their listing: reports are no entries of the audit log. Who made a report gets
a notice that it was settled, without what was decided.
"""

from collections.abc import Collection

from core.actors import UNKNOWN, Actor, user_actor, user_of
from core.events import Event, ListingReported, ReportsSettled, UserSlotsSet
from core.rows import Listing, Report, ReportReason, SettledReport
from core.user_rows import AnsweredReport
from languages.refusals import Refusal

REPORT_CHARACTERS = 1_000
REPORTS_EACH = 10
"""The open reports of one user about a listing and its reviews."""


def report(
    row: Listing, user_id: str, reason: ReportReason, text: str, now_ms: int, *, rating: Actor = UNKNOWN
) -> list[Event]:
    """Report a public listing, or the review of it by the user of the ref `rating`. Raises Refusal."""
    if not row.is_public:
        raise Refusal("not_public")
    by = user_actor(user_id)
    others = [each for each in row.open_reports if each.by == by and each.rating != rating]
    if len(others) >= REPORTS_EACH:
        raise Refusal("too_many_reports", most=REPORTS_EACH)
    # Later than all that a moderator may have seen, also if the clock was set back.
    at_ms = max((now_ms, *(each.at_ms + 1 for each in row.open_reports)))
    return [ListingReported(row.ref, reason, text.strip(), at_ms, rating, by=by)]


def report_id(report: Report) -> str:
    """Return the name of a report. It is another one for another report of the same user."""
    return f"{report.at_ms}-{user_of(report.by)}"


def settle(row: Listing, seen: Collection[str] | None, now_ms: int, *, by: Actor) -> list[Event]:
    """Settle the open reports of these names, or all for None. Raises Refusal if there are none."""
    events = settled(row, seen, now_ms, by=by)
    if not events:
        raise Refusal("no_reports")
    return events


def settled(row: Listing, seen: Collection[str] | None, now_ms: int, *, by: Actor) -> list[Event]:
    """Return the events that settle open reports, and tell their users; nothing if there are none."""
    done = tuple(
        SettledReport(each.at_ms, each.by, each.node, each.rating)
        for each in row.open_reports
        if seen is None or report_id(each) in seen
    )
    if not done:
        return []
    told = AnsweredReport(now_ms, row.ref)
    return [
        ReportsSettled(row.ref, done, now_ms, by=by),
        *(UserSlotsSet(each.by, now_ms, settled=told, by=by) for each in done if each.by != by),
    ]
