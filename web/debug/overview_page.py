"""The first page: how the gateway is, at a glance and live."""

from collections.abc import Mapping
from typing import Any

from handlers.debug_process import DebugState
from handlers.request import Request
from web.json_answers import JsonAnswers
from web.pages import Page, Shown, Visit

TEMPLATE = "debug/overview.html"


class OverviewPage:
    def __init__(self, answers: JsonAnswers) -> None:
        self._answers = answers

    async def show(self, visit: Visit) -> Shown:
        return Page(TEMPLATE, "Overview", await self.values(visit.request))

    async def values(self, visitor: Request) -> Mapping[str, Any]:
        return {"state": await self._answers.ask(DebugState, "showState", visitor)}
