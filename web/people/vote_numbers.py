"""The numbers of a listing's votes: charts, tables, downloads. Law: the page says what its twin says.

.../votes         three charts as SVG, drawn here, each with its numbers as a table
.../votes.json    the answer of the API
.../votes.csv     its numbers, a line for each
"""

import csv
import io
from collections.abc import Iterable
from typing import NamedTuple

from actions.listing_kinds import Kind
from handlers.reply import Reply
from handlers.vote_views import ListingNumbers
from web.json_answers import JsonAnswers
from web.pages import PageRow, Shown
from web.people.listing_access import Access, ListingAccess
from web.people.listing_tabs import tab_page
from web.people.people_audience import PersonVisit

WIDTH, HEIGHT = 720, 120
"""Of a chart, in units of its own: the page scales it."""
GAP = 0.2
"""Between two bars, of the width of one with its gap."""


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


class VoteNumbers:
    """The pages of one kind of listing."""

    def __init__(self, kind: Kind, access: ListingAccess, answers: JsonAnswers) -> None:
        self._kind: Kind = kind
        self._name = f"count{kind[:-1].capitalize()}Votes"
        self._access = access
        self._answers = answers

    async def show(self, visit: PersonVisit) -> Shown:
        access = self._of(visit)
        counts = await self._counts(visit, access)
        values = {
            "total": counts.total,
            "days": chart_of((each.day, each.votes) for each in counts.days),
            "months": chart_of((each.month, each.votes) for each in counts.months),
            "hours": chart_of((f"{each.hour:02}:00", each.voters) for each in counts.hours),
            "pushes": _pushed(counts) if counts.pushes else None,
            "pushed": counts.pushes[::-1],
            "top": counts.top_voters,
            "size": (WIDTH, HEIGHT),
        }
        return tab_page(access, "votes", values)

    async def twin(self, visit: PersonVisit) -> Shown:
        access = self._of(visit)
        return await self._answers.reply(self._name, visit.request, access.row.id)

    async def table(self, visit: PersonVisit) -> Shown:
        access = self._of(visit)
        counts, text = await self._counts(visit, access), io.StringIO()
        lines = csv.writer(text)
        lines.writerow(("what", "when", "count"))
        lines.writerows(("votes_of_day", each.day, each.votes) for each in counts.days)
        lines.writerows(("votes_of_month", each.month, each.votes) for each in counts.months)
        lines.writerows(("last_votes_in_hour", f"{each.hour:02}:00", each.voters) for each in counts.hours)
        for each in counts.pushes:
            both = (("server_count", each.server_count), ("command_count", each.command_count))
            lines.writerows((name, each.day, count) for name, count in both if count is not None)
        headers = {"content-disposition": f'attachment; filename="votes-{access.row.id}.csv"'}
        return Reply(200, text.getvalue().encode(), headers, content_type="text/csv; charset=utf-8")

    def _of(self, visit: PersonVisit) -> Access:
        return self._access.of(visit, self._kind, "see")

    async def _counts(self, visit: PersonVisit, access: Access) -> ListingNumbers:
        return await self._answers.ask(ListingNumbers, self._name, visit.request, access.row.id)


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


def _rows(kind: Kind) -> tuple[PageRow, ...]:
    one = f"/{kind}/{{id}}/manage/votes"
    return (
        PageRow("GET", one, lambda to: to.numbers[kind].show, "signed in"),
        PageRow("GET", f"{one}.json", lambda to: to.numbers[kind].twin, "signed in"),
        PageRow("GET", f"{one}.csv", lambda to: to.numbers[kind].table, "signed in"),
    )


NUMBER_PAGES = (*_rows("bots"), *_rows("servers"))
