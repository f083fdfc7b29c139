"""Decisions about listings. Invariant: parse, rule, commit, reply.

The class serves bots and servers alike: `kind` names the plural in paths and answers.
"""

from collections.abc import Callable

from msgspec.structs import asdict

from actions.listing_views import VIEWS, listing_answer, listing_view
from core.events import Event
from forms.fields import Nothing
from forms.reading import read
from handlers.manage import ManageContext
from handlers.reply import Reply, success
from handlers.request import Request
from kinds.kind import Kind
from listings import rules
from listings.forms import ChangeAgreement, ChangeRefusal, Denial


class ManageListings:
    def __init__(self, context: ManageContext, kind: Kind, ref: Callable[[Request], str]) -> None:
        self._context = context
        self._state = context.ledger.state
        self._clock = context.clock
        self.kind = kind
        self._ref = ref

    async def approve(self, request: Request) -> Reply:
        ref = self._ref(request)
        rules.listing_of(self._state, ref)
        read(Nothing, request.json_object())
        events = rules.approve(
            self._state,
            ref,
            self._clock.now_ms(),
            by=request.by,
            tells_owner=self._context.tells_owners,
            deliveries=self._context.new_deliveries(),
        )

        def approved() -> Reply:
            if self.kind.keys is None:
                return self._show(ref)
            view = listing_view(rules.listing_of(self._state, ref))
            return success(VIEWS[str(self.kind)].approved(**asdict(view), hint=self._context.hint(ref)))

        return await self._context.commit(events, approved)

    async def deny(self, request: Request) -> Reply:
        """Deny the listing."""
        return await self._decide_against(request, rules.deny)

    async def withdraw(self, request: Request) -> Reply:
        """Withdraw the approval of the listing."""
        return await self._decide_against(request, rules.withdraw)

    async def _decide_against(self, request: Request, rule: Callable[..., list[Event]]) -> Reply:
        ref = self._ref(request)
        rules.listing_of(self._state, ref)
        form = read(Denial, request.json_object())
        events = rule(
            self._state,
            ref,
            form.reason,
            self._clock.now_ms(),
            by=request.by,
            tells_owner=self._context.tells_owners,
            deliveries=self._context.new_deliveries(),
        )
        return await self._context.commit(events, lambda: self._show(ref))

    async def agree(self, request: Request) -> Reply:
        """Agree to the change of the listing."""
        ref = self._ref(request)
        rules.listing_of(self._state, ref)
        form = read(ChangeAgreement, request.json_object())
        tells_owner, now_ms = self._context.tells_owners, self._clock.now_ms()
        events = rules.agree(self._state, ref, form.version, now_ms, by=request.by, tells_owner=tells_owner)
        return await self._context.commit(events, lambda: self._show(ref))

    async def refuse(self, request: Request) -> Reply:
        """Refuse the change of the listing."""
        ref = self._ref(request)
        rules.listing_of(self._state, ref)
        form = read(ChangeRefusal, request.json_object())
        tells_owner, now_ms = self._context.tells_owners, self._clock.now_ms()
        events = rules.refuse(
            self._state, ref, form.version, form.reason, now_ms, by=request.by, tells_owner=tells_owner
        )
        return await self._context.commit(events, lambda: self._show(ref))

    def _show(self, ref: str) -> Reply:
        return success(listing_answer(rules.listing_of(self._state, ref)))
