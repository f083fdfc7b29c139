"""Management of who owns a listing: co-owners, and a hand-over.

The operator may state a person's consent: on the platform's own site the person has pressed the button.
"""

from collections.abc import Callable

from actions.listing_views import listing_answer
from core.events import Event
from core.rows import Listing
from forms.fields import Nothing
from forms.reading import read
from handlers.manage import ManageContext, user_id
from handlers.reply import Reply, success
from handlers.request import Request
from listings import co_owners, hand_over
from listings.forms import Heir
from listings.rules import listing_of
from people.quarantine import refuse_of_quarantined_owner, refuse_quarantined


class ManageOwners:
    def __init__(self, context: ManageContext, ref: Callable[[Request], str]) -> None:
        self._context = context
        self._state = context.ledger.state
        self._clock = context.clock
        self._ref = ref

    async def invite(self, request: Request) -> Reply:
        row, user = self._row(request), user_id(request, 1)
        read(Nothing, request.json_object())
        new_id, now_ms = self._context.new_id(), self._clock.now_ms()
        return await self._commit(row, co_owners.invite(row, user, new_id, now_ms, by=request.by))

    async def accept(self, request: Request) -> Reply:
        row, user = self._row(request), user_id(request, 1)
        read(Nothing, request.json_object())
        return await self._commit(row, co_owners.accept(row, user, self._clock.now_ms(), by=request.by))

    async def end(self, request: Request) -> Reply:
        row, user = self._row(request), user_id(request, 1)
        return await self._commit(row, co_owners.end(row, user, self._clock.now_ms(), by=request.by))

    async def offer(self, request: Request) -> Reply:
        row = self._row(request)
        form = read(Heir, request.json_object())
        return await self._commit(row, hand_over.offer(row, form.heir, self._clock.now_ms(), by=request.by))

    async def accept_offer(self, request: Request) -> Reply:
        """Hand the listing over, unless its heir or its owner may not submit listings."""
        row = self._row(request)
        form = read(Heir, request.json_object())
        new_id, now_ms = self._context.new_id(), self._clock.now_ms()
        events = hand_over.accept(row, form.heir, new_id, now_ms, by=request.by)
        refuse_quarantined(self._state, form.heir, "submit", now_ms)
        refuse_of_quarantined_owner(self._state, row.owner_id, now_ms, by=request.by)
        return await self._commit(row, events)

    async def end_offer(self, request: Request) -> Reply:
        row = self._row(request)
        return await self._commit(row, hand_over.end(row, self._clock.now_ms(), by=request.by))

    def _row(self, request: Request) -> Listing:
        return listing_of(self._state, self._ref(request))

    async def _commit(self, row: Listing, events: list[Event]) -> Reply:
        return await self._context.commit(
            events, lambda: success(listing_answer(listing_of(self._state, row.ref)))
        )
