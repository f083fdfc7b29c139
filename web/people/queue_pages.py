"""The lists of moderators: what waits, what one has claimed, what was decided. Law: a list shows its JSON.

The log keeps the queue and the last decisions, so no list walks through all listings.
"""

from collections.abc import Set

from actions.review import QueuePage, waiting_listing
from core.state import State
from handlers.reply import Reply, success
from languages.texts import Text
from listings.ownership import Ownership
from web.json_answers import JsonAnswers
from web.pages import Page, Shown
from web.people.people_audience import PersonVisit
from web.people.review_views import DecidedList, ReviewViews

LISTS = ("waiting", "mine", "decided")


class QueuePages:
    def __init__(self, state: State, ownership: Ownership, views: ReviewViews, answers: JsonAnswers) -> None:
        self._state = state
        self._ownership = ownership
        self._views = views
        self._answers = answers

    async def show(self, visit: PersonVisit) -> Shown:
        shown = await self._list(visit, {"after"})
        values = {
            "at": _at(visit),
            "usual_wait_ms": self._ownership.usual_wait_ms,
            "waiting": len(self._ownership.queue),
            "is_complete": self._ownership.is_complete,
            "entries": shown.queue if isinstance(shown, QueuePage) else (),
            "next": shown.next if isinstance(shown, QueuePage) else None,
            "decided": shown.decided if isinstance(shown, DecidedList) else (),
            "me": visit.request.by,
        }
        return Page("people/review_queue.html", Text("Review"), values)

    async def twin(self, visit: PersonVisit) -> Reply:
        return success(await self._list(visit, {"after", "limit"}))

    async def _list(self, visit: PersonVisit, asked: Set[str]) -> QueuePage | DecidedList:
        """Return a list.

        Args:
            asked: the parts of the address that the endpoint gets.
        """
        at = _at(visit)
        if at == "decided":
            return DecidedList(decided=self._views.decided())
        if at == "mine":
            rows = (self._state.listings[ref] for _, ref in self._ownership.claimed(visit.request.by))
            mine = tuple(waiting_listing(row) for row in rows)
            return QueuePage(usual_wait_ms=self._ownership.usual_wait_ms, queue=mine, next=None)
        query = {name: value for name, value in visit.request.query.items() if name in asked}
        return await self._answers.ask(QueuePage, "showQueue", visit.request, query=query)


def _at(visit: PersonVisit) -> str:
    """Return the list that the address names; the first one if it names none."""
    show = visit.request.query.get("show", "")
    return show if show in LISTS else LISTS[0]
