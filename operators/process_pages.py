"""The pages about parts of the process: webhooks, limiter, errors, journal, data on disk."""

from operators.all_webhooks import WebhooksInside
from operators.journal_pages import JournalPage
from operators.limiter_use import LimiterInside
from operators.logged_errors import ErrorLines
from operators.operator_audience import OperatorVisit
from operators.process import StoredData
from web.json_answers import JsonAnswers
from web.pages import Page, Shown


class ProcessPages:
    def __init__(self, answers: JsonAnswers) -> None:
        self._answers = answers

    async def webhooks(self, visit: OperatorVisit) -> Shown:
        inside = await self._answers.ask(WebhooksInside, "showWebhooksInside", visit.request)
        return Page("debug/webhooks.html", "Webhooks", {"inside": inside})

    async def limiter(self, visit: OperatorVisit) -> Shown:
        limiter = await self._answers.ask(LimiterInside, "showLimiter", visit.request)
        return Page("debug/limiter.html", "Limiter", {"limiter": limiter})

    async def errors(self, visit: OperatorVisit) -> Shown:
        lines = await self._answers.ask(ErrorLines, "showErrors", visit.request)
        return Page("debug/errors.html", "Errors", {"lines": lines.errors})

    async def journal(self, visit: OperatorVisit) -> Shown:
        before = visit.request.query.get("before")
        query = {"before": before} if before is not None else {}
        page = await self._answers.ask(JournalPage, "showJournal", visit.request, query=query)
        return Page(
            "debug/journal.html", "Journal", {"events": page.events, "next": page.next, "before": before}
        )

    async def data(self, visit: OperatorVisit) -> Shown:
        stored = await self._answers.ask(StoredData, "showData", visit.request)
        return Page("debug/data.html", "Data on disk", {"stored": stored})
