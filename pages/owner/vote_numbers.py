"""The numbers of a listing's votes: charts, tables, downloads. Invariant: the page and its JSON say the same.

.../votes         charts as SVG, drawn here, each with its numbers as a table; `range` chooses that of the
                  long one
.../votes.json    the answer of the API
.../votes.csv     its numbers, a line for each
"""

import csv
import io
from collections.abc import Mapping
from typing import Literal

from actions.votes import COUNT_VOTES, ListingNumbers, count_votes
from handlers.reply import Reply
from languages.texts import Text
from pages.charts import Chart, chart_of
from pages.page import AnyPage, Page, PageCall, Shown

Range = Literal["30", "90", "months"]
RANGES: Mapping[Range, Text] = {
    "30": Text("30 days"),
    "90": Text("90 days"),
    "months": Text("12 months"),
}
"""The ranges of the long chart, by their names in the query."""
YEAR = 12


async def show(page: PageCall) -> Shown[ListingNumbers]:
    counts, asked = await count_votes(page.call, None), page.visit.request.query.get("range", "")
    shown: Range = next((each for each in RANGES if each == asked), "30")
    chart, before = _long_chart(counts, shown)
    return Shown(
        counts,
        html={
            "ranges": RANGES,
            "chosen": shown,
            "chart": chart,
            "before": before,
            "hours": chart_of((f"{each.hour:02}:00", each.voters) for each in counts.hours),
            "voters": sum(each.voters for each in counts.hours),
            "pushes": _pushed(counts) if counts.pushes else None,
            "commands": {each.day: each.command_count for each in counts.pushes},
        },
    )


def _long_chart(counts: ListingNumbers, shown: Range) -> tuple[Chart, int | None]:
    """Return the chart of a range, and the votes of the same span before it; None if they are not kept."""
    if shown == "months":
        months, earlier = counts.months[-YEAR:], [each.votes for each in counts.months[:-YEAR]]
        chart = chart_of(((each.month, each.votes) for each in months), earlier if any(earlier) else ())
        return chart, sum(earlier)
    days = int(shown)
    chart = chart_of((each.day, each.votes) for each in counts.days[-days:])
    earlier = [each.votes for each in counts.days[-2 * days : -days]]
    return chart, sum(earlier) if len(earlier) == days else None


async def table(page: PageCall) -> Reply:
    """Return the numbers as a file."""
    counts, text, tally = await count_votes(page.call, None), io.StringIO(), page.call.listing_kind.tally
    lines = csv.writer(text)
    lines.writerow(("what", "when", "count"))
    lines.writerows((f"{tally}_of_day", each.day, each.votes) for each in counts.days)
    lines.writerows((f"{tally}_of_month", each.month, each.votes) for each in counts.months)
    lines.writerows((f"last_{tally}_in_hour", f"{each.hour:02}:00", each.voters) for each in counts.hours)
    for each in counts.pushes:
        both = (("server_count", each.server_count), ("command_count", each.command_count))
        lines.writerows((name, each.day, number) for name, number in both if number is not None)
    headers = {"content-disposition": f'attachment; filename="{tally}-{page.row.id}.csv"'}
    return Reply(200, text.getvalue().encode(), headers, content_type="text/csv; charset=utf-8")


def _pushed(counts: ListingNumbers) -> Chart:
    """Return the server counts of the days that the chart of votes has; a day without a push has no bar."""
    servers = {each.day: each.server_count or 0 for each in counts.pushes}
    return chart_of((each.day, servers.get(each.day, 0)) for each in counts.days)


_VOTES, _ACCESS = "/{kind}/{id}/manage/votes", COUNT_VOTES.access
NUMBER_PAGES: tuple[AnyPage, ...] = (
    Page(path=_VOTES, tab="votes", access=_ACCESS, show=show),
    Page(path=f"{_VOTES}.csv", of="tally", access=_ACCESS, show=table, has_json=False),
)
