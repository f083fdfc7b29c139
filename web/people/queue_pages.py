"""The lists of moderators: what waits, what one has claimed, what was decided. Law: a list shows its JSON.

The log keeps the queue and the last decisions, so no list walks through all listings.
"""

from collections.abc import Iterator

from core.state import State
from handlers.manage_review import QueuePage, WaitingListing, waiting_listing
from handlers.reply import Reply, success
from handlers.slices import in_slices
from listings.finding import SLICE
from listings.ownership import Ownership
from listings.review import claim_of
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
        shown = await self._list(visit)
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
        return Page("people/review_queue.html", "Review", values)

    async def twin(self, visit: PersonVisit) -> Reply:
        return success(await self._list(visit))

    async def _list(self, visit: PersonVisit) -> QueuePage | DecidedList:
        at = _at(visit)
        if at == "decided":
            return DecidedList(decided=self._views.decided())
        if at == "mine":
            mine: list[WaitingListing] = []
            await in_slices(self._claimed(visit.request.by, mine))
            return QueuePage(usual_wait_ms=self._ownership.usual_wait_ms, queue=tuple(mine), next=None)
        query = {name: value for name, value in visit.request.query.items() if name in {"after", "limit"}}
        return await self._answers.ask(QueuePage, "showQueue", visit.request, query=query)

    def _claimed(self, by: str, found: list[WaitingListing]) -> Iterator[None]:
        """Look for the claims of a moderator, in slices."""
        refs = [ref for _, ref in self._ownership.queue]
        for start in range(0, len(refs), SLICE):
            for ref in refs[start : start + SLICE]:
                row = self._state.listings.get(ref)
                claim = claim_of(row) if row is not None else None
                if row is not None and claim is not None and claim.by == by:
                    found.append(waiting_listing(row))
            yield


def _at(visit: PersonVisit) -> str:
    """Return the list that the address names; the first one if it names none."""
    show = visit.request.query.get("show", "")
    return show if show in LISTS else LISTS[0]
