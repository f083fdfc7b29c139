"""The numbers of a listing's votes: charts, tables, downloads. Invariant: the page and its JSON say the same.

.../votes         three charts as SVG, drawn here, each with its numbers as a table
.../votes.json    the answer of the API
.../votes.csv     its numbers, a line for each
"""

import csv
import io
from collections.abc import Iterable
from typing import NamedTuple

from actions.votes import COUNT_VOTES, ListingNumbers, count_votes
from handlers.reply import Reply
from pages.page import AnyPage, Page, PageCall, Shown

WIDTH, HEIGHT = 720, 120
"""The size of a chart, in units of its own: the page scales it."""
GAP = 0.2
"""The gap between two bars, as a part of the width of a bar and its gap."""


class Bar(NamedTuple):
    """A bar of a chart, and what it stands for."""

    x: float
    y: float
    width: float
    height: float
    name: str
    votes: int


class Chart(NamedTuple):
    bars: tuple[Bar, ...]
    most: int
    """The count of the highest bar."""

    @property
    def total(self) -> int:
        return sum(bar.votes for bar in self.bars)


async def show(page: PageCall) -> Shown[ListingNumbers]:
    counts = await count_votes(page.call, None)
    return Shown(
        counts,
        html={
            "days": chart_of((each.day, each.votes) for each in counts.days),
            "months": chart_of((each.month, each.votes) for each in counts.months),
            "hours": chart_of((f"{each.hour:02}:00", each.voters) for each in counts.hours),
            "pushes": _pushed(counts) if counts.pushes else None,
            "size": (WIDTH, HEIGHT),
        },
    )


async def table(page: PageCall) -> Reply:
    """Return the numbers as a file."""
    counts, text = await count_votes(page.call, None), io.StringIO()
    lines = csv.writer(text)
    lines.writerow(("what", "when", "count"))
    lines.writerows(("votes_of_day", each.day, each.votes) for each in counts.days)
    lines.writerows(("votes_of_month", each.month, each.votes) for each in counts.months)
    lines.writerows(("last_votes_in_hour", f"{each.hour:02}:00", each.voters) for each in counts.hours)
    for each in counts.pushes:
        both = (("server_count", each.server_count), ("command_count", each.command_count))
        lines.writerows((name, each.day, number) for name, number in both if number is not None)
    headers = {"content-disposition": f'attachment; filename="votes-{page.row.id}.csv"'}
    return Reply(200, text.getvalue().encode(), headers, content_type="text/csv; charset=utf-8")


def chart_of(counts: Iterable[tuple[str, int]]) -> Chart:
    """Return a bar for each (name, count), from left to right. A count above none is never without height."""
    named = list(counts)
    most, step = max((count for _, count in named), default=0), WIDTH / max(len(named), 1)
    bars = []
    for number, (name, count) in enumerate(named):
        height = max(round(HEIGHT * count / most, 1), 1.0) if count else 0.0
        width = round(step * (1 - GAP), 2)
        bars.append(Bar(round(step * number, 2), round(HEIGHT - height, 1), width, height, name, count))
    return Chart(tuple(bars), most)


def _pushed(counts: ListingNumbers) -> Chart:
    """Return the server counts of the days that the chart of votes has; a day without a push has no bar."""
    servers = {each.day: each.server_count or 0 for each in counts.pushes}
    return chart_of((each.day, servers.get(each.day, 0)) for each in counts.days)


_VOTES, _ACCESS = "/{kind}/{id}/manage/votes", COUNT_VOTES.access
NUMBER_PAGES: tuple[AnyPage, ...] = (
    Page(path=_VOTES, tab="votes", access=_ACCESS, show=show),
    Page(path=f"{_VOTES}.csv", of="votes", access=_ACCESS, show=table, has_json=False),
)
