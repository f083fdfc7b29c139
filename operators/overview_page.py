"""The first page: how the gateway is, at a glance and live."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict

from handlers.reply import Reply
from handlers.request import Request
from operators.operator_audience import OperatorVisit
from operators.overview import Overview, SeriesView
from web.json_answers import JsonAnswers
from web.live import Live, ended, event
from web.pages import Page, Shown
from web.sessions import OperatorSessions
from web.templates import Templates

TEMPLATE = "debug/overview.html"
CHARTS = (
    ("Requests per second", "requests_per_second", "requests", "/s"),
    ("Latency", "p50_ms p99_ms", "p50 p99", "ms"),
    ("Votes per second", "votes_per_second", "votes", "/s"),
    ("Delay of the event loop", "loop_lag_ms", "longest", "ms"),
    ("Memory", "resident_bytes", "resident", "MB"),
)
"""Name, columns of the series, their labels, and the unit."""
_NOBODY = Request("GET", "/debug", (), {}, {}, "", b"", 0)
"""The one who asks for what all viewers see."""


class OverviewPage:
    def __init__(self, answers: JsonAnswers, templates: Templates, sessions: OperatorSessions) -> None:
        self._answers = answers
        self._templates = templates
        self.viewers = Live(self.event, sessions)

    async def show(self, visit: OperatorVisit) -> Shown:
        state = await self._ask(visit.request)
        return Page(
            TEMPLATE, "Overview", {**live_values(state), "charts": CHARTS, "rows": rows_of(state.series)}
        )

    def live(self, visit: OperatorVisit) -> Reply:
        """Return the stream of what moves on the page."""
        return self.viewers.stream(visit.visitor) if visit.visitor is not None else ended()

    async def event(self) -> bytes:
        """Return the events of one moment: the part of the page that moves, and the points of the charts."""
        drawing, state = await self._templates.load(), await self._ask(_NOBODY)
        moved = drawing.fragment(TEMPLATE, live_values(state), "live")
        return event(moved) + event(msgspec.json.encode(state.series).decode(), "series")

    async def _ask(self, visitor: Request) -> Overview:
        return await self._answers.ask(Overview, "showOverview", visitor)


def live_values(state: Overview) -> Mapping[str, Any]:
    """Return the values of the part that moves. Before the first point there is nothing newest."""
    columns = asdict(state.series)
    newest = {name: column[-1] if column else None for name, column in columns.items()}
    return {"state": state, "newest": newest}


def rows_of(series: SeriesView) -> list[tuple[Any, ...]]:
    """Return the points as rows, the newest first, in the order of the columns."""
    return list(zip(*asdict(series).values(), strict=True))[::-1]
