"""The rules of reports: users tell the moderators what is wrong with a public listing.

Invariant: a user has at most one open report of a listing. Another one replaces it.

    reported -> settled by a moderator, or by the withdrawal of the approval

Owners never learn who reported their listing: reports are no entries of the audit log. Who made a report gets
a notice that it was settled, without what was decided.
"""

from core.actors import Actor, user_actor
from core.events import Event, ListingReported, ReportsSettled, UserSlotsSet
from core.rows import Listing, ReportReason
from core.user_rows import SettledReport
from languages.refusals import Refusal

REPORT_CHARACTERS = 1_000


def report(row: Listing, user_id: str, reason: ReportReason, text: str, now_ms: int) -> list[Event]:
    """Report a public listing. Raises Refusal."""
    if not row.is_public:
        raise Refusal("not_public")
    # Later than all that a moderator may have seen, also if the clock was set back.
    at_ms = max((now_ms, *(each.at_ms + 1 for each in row.open_reports)))
    return [ListingReported(row.ref, reason, text.strip(), at_ms, by=user_actor(user_id))]


def settle(row: Listing, until_ms: int | None, now_ms: int, *, by: Actor) -> list[Event]:
    """Settle the open reports up to a time, or all for None. Raises Refusal if there are none."""
    events = settled(row, until_ms, now_ms, by=by)
    if not events:
        raise Refusal("no_reports")
    return events


def settled(row: Listing, until_ms: int | None, now_ms: int, *, by: Actor) -> list[Event]:
    """Return the events that settle the open reports, and tell their users; nothing if there are none."""
    seen = [each for each in row.open_reports if until_ms is None or each.at_ms <= until_ms]
    if not seen:
        return []
    told = SettledReport(now_ms, row.ref)
    return [
        ReportsSettled(row.ref, max(each.stamp for each in seen), now_ms, by=by),
        *(UserSlotsSet(each.by, now_ms, settled=told, by=by) for each in seen if each.by != by),
    ]
