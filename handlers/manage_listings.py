"""Management of listings: submit, show, edit, review, limits, remove. Law: parse, rule, commit, reply.

The class serves bots and servers alike: `kind` names the plural in paths and answers.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import asdict

from actions.history import History, act_views, owner_message_view
from actions.listing_kinds import Kind
from actions.listing_views import (
    ApprovedBot,
    BotPage,
    LimitsAnswer,
    ServerCount,
    ServerPage,
    ShownBot,
    bot_view,
    limits_view,
    listing_answer,
    server_view,
    stats_problem_views,
)
from actions.query_forms import ListingsQuery
from core.actors import Actor, user_of
from core.events import Event, ListingSaved
from core.rows import ServerCheck
from forms.fields import Nothing
from forms.reading import read, read_query
from handlers.manage import ManageContext
from handlers.reply import Reply, success
from handlers.request import Request
from kinds.kind import ListingSubmission
from kinds.registry import BY_PLURAL
from listings import rules
from listings.eligibility import submit_checked
from listings.forms import ActualServerCount, ChangeAgreement, ChangeRefusal, Denial, Limits, WebhookSettings
from listings.owners import invited_at_submission
from listings.queries import page
from listings.webhooks import first_chat_webhook
from people.quarantine import refuse_of_quarantined_owner, refuse_quarantined


class ManageListings:
    def __init__(self, context: ManageContext, kind: Kind, ref: Callable[[Request], str]) -> None:
        self._context = context
        self._ledger = context.ledger
        self._state = context.ledger.state
        self._clock = context.clock
        self.kind = kind
        self._ref = ref
        self._its_kind = BY_PLURAL[kind]

    async def submit(self, request: Request) -> Reply:
        kind = self._its_kind
        form = read(kind.submission, request.json_object())
        now_ms, ref = self._clock.now_ms(), kind.ref(form.id)
        events = rules.submit(self._state, form, now_ms, by=request.by)
        if kind.co_owners is not None:
            new_id = self._context.new_id
            events += invited_at_submission(ref, form.extra_owners, new_id, now_ms, by=request.by)
        return await self._context.commit(events, lambda: self._show(ref, 201))

    async def submit_checked(
        self,
        form: ListingSubmission,
        checks: Sequence[ServerCheck],
        webhook: WebhookSettings | None,
        *,
        by: Actor,
        approves: bool,
    ) -> None:
        """Take a server that was checked, with its first webhook; see `listings.eligibility`."""
        context, now_ms, ref = self._context, self._clock.now_ms(), self._its_kind.ref(form.id)
        tells_owner = context.tells_owners
        events = submit_checked(
            *(self._state, form, checks, now_ms),
            by=by,
            approves=approves,
            tells_owner=tells_owner,
        )
        if webhook is not None:
            events += first_chat_webhook(ref, webhook, context.webhooks, now_ms, by=by)
        await context.commit(events)

    def index(self, request: Request) -> Reply:
        asked = read_query(ListingsQuery, request.query)
        listings, following = page(
            self._state, self.kind + "/", after=asked.after, review=asked.state, limit=asked.limit
        )
        if self.kind == "bots":
            return success(BotPage(bots=tuple(map(bot_view, listings)), next=following))
        return success(ServerPage(servers=tuple(map(server_view, listings)), next=following))

    def show(self, request: Request) -> Reply:
        ref = self._ref(request)
        if self.kind == "servers":
            return self._show(ref)
        view = bot_view(rules.listing_of(self._state, ref))
        problems = stats_problem_views(self._context.problems.of(ref))
        return success(ShownBot(**asdict(view), stats_problems=problems))

    def history(self, request: Request) -> Reply:
        """Show who did what with the listing, the newest first."""
        listing = rules.listing_of(self._state, self._ref(request))
        return success(History(history=act_views(listing), message=owner_message_view(listing)))

    async def edit(self, request: Request) -> Reply:
        """Edit the listing, unless its owner or the person who edits it may not submit listings."""
        ref = self._ref(request)
        row = rules.listing_of(self._state, ref)
        form = read(self._its_kind.edit, request.json_object())
        now_ms, shown = self._clock.now_ms(), self._context.edits
        events = rules.edit(self._state, ref, form, now_ms, by=request.by, shown=shown)
        if any(isinstance(event, ListingSaved) for event in events):
            refuse_quarantined(self._state, user_of(request.by) or row.owner_id, "submit", now_ms)
            refuse_of_quarantined_owner(self._state, row.owner_id, now_ms, by=request.by)
        return await self._context.commit(events, lambda: self._show(ref))

    async def remove(self, request: Request) -> Reply:
        events = rules.remove(self._state, self._ref(request), self._clock.now_ms(), by=request.by)
        return await self._context.commit(events)

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
            if self.kind == "servers":
                return self._show(ref)
            view = bot_view(rules.listing_of(self._state, ref))
            return success(ApprovedBot(**asdict(view), hint=self._context.hint(ref)))

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

    async def set_actual_count(self, request: Request) -> Reply:
        ref = self._ref(request)
        rules.listing_of(self._state, ref)
        form = read(ActualServerCount, request.json_object())
        events = rules.set_actual_count(
            self._state, ref, form.server_count, self._clock.now_ms(), by=request.by
        )
        return await self._context.commit(
            events, lambda: success(ServerCount(server_count=form.server_count))
        )

    async def set_limits(self, request: Request) -> Reply:
        ref = self._ref(request)
        rules.listing_of(self._state, ref)
        form = read(Limits, request.json_object())

        def limited() -> Reply:
            view = limits_view(rules.listing_of(self._state, ref))
            return success(LimitsAnswer(**asdict(view)))

        events = rules.set_limits(self._state, ref, form, self._clock.now_ms(), by=request.by)
        return await self._context.commit(events, limited)

    def _show(self, ref: str, status: int = 200) -> Reply:
        return success(listing_answer(rules.listing_of(self._state, ref)), status)
