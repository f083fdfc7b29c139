"""The first page of a listing: how it stands, and what is missing. Law: the page and its JSON say the same.

Here its owner proves to control the bot, too: the public description of the application at the platform must
hold a code that this deployment alone can make.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from actions.history import ActView, act_views
from actions.listing_views import listing_view
from actions.views import KindName, View
from chatplatform.platform_client import PlatformAway
from core.clock import Clock
from core.ledger import Ledger
from core.refusals import Refusal
from core.rows import AuditAction, Listing
from handlers.reply import Reply, encode_json
from kinds.kind import Kind
from kinds.registry import kind_of
from languages.texts import Text, Words
from listings.owners import CodeOf, is_proven, prove_ownership
from listings.ownership import Ownership
from listings.review import review_of, waiting_since, waits
from listings.rules import listing_of
from people.permissions import Right
from web.error_pages import error_text
from web.json_answers import AnswerRefused
from web.pages import Page, Shown
from web.people.applications import Applications
from web.people.listing_access import Access, ListingAccess
from web.people.listing_tabs import tab_page
from web.people.people_audience import PersonVisit, done
from web.people.questions import refused_by
from web.people.server_check_pages import ServerCheckPages
from web.people.server_checking import CONDITIONS
from web.people.user_names import names_of

Gap = Literal["ownership", "key", "webhook", "counts"]
"""What a listing could have, and has not."""
_WHO_FILLS: Mapping[Gap, Right] = {
    "ownership": "prove",
    "key": "keys",
    "webhook": "webhook",
    "counts": "keys",
}
AWAY = Text("The chat platform gives no answer that can be used right now. Try again in a moment.")
NO_APPLICATION = Text("The chat platform knows no application with this id any more.")
DEEDS: Mapping[AuditAction, Text] = {
    "submitted": Text("submitted"),
    "edited": Text("edited"),
    "approved": Text("approved"),
    "denied": Text("denied"),
    "withdrawn": Text("approval withdrawn"),
    "change_agreed": Text("change agreed to"),
    "change_refused": Text("change refused"),
    "key_issued": Text("key issued"),
    "key_rotated": Text("key rotated"),
    "key_deleted": Text("key deleted"),
    "webhook_saved": Text("webhook saved"),
    "secret_rotated": Text("secret rotated"),
    "webhook_removed": Text("webhook removed"),
    "suspension_lifted": Text("suspension lifted"),
    "endpoint_probed": Text("endpoint probed"),
    "limits_set": Text("limits set"),
    "actual_count_set": Text("actual count set"),
    "ownership_proven": Text("ownership proven"),
    "co_owner_invited": Text("co-owner invited"),
    "invitation_withdrawn": Text("invitation withdrawn"),
    "invitation_declined": Text("invitation declined"),
    "co_owner_joined": Text("co-owner joined"),
    "co_owner_left": Text("co-owner left"),
    "co_owner_removed": Text("co-owner removed"),
    "hand_over_offered": Text("hand-over offered"),
    "hand_over_withdrawn": Text("hand-over withdrawn"),
    "hand_over_declined": Text("hand-over declined"),
    "handed_over": Text("handed over"),
    "votes_struck": Text("votes struck out"),
    "found_failing": Text("found failing"),
    "hidden": Text("hidden"),
    "shown_again": Text("shown again"),
    "taken_over": Text("taken over"),
}


class ListingStanding(Struct, frozen=True):
    """How a listing stands.

    Args:
        place: its place in the queue, from 1.
        waiting_since: since when it, or a change of it, waits for a decision (Unix milliseconds).
        usual_wait_ms: how long a decision usually takes; None while too few are known.
        may: what the visitor may do with it.
        history: the newest act first.
    """

    kind: KindName
    listing: View
    place: int | None
    waiting_since: int | None
    usual_wait_ms: int | None
    is_proven: bool
    missing: tuple[Gap, ...]
    may: tuple[Right, ...]
    history: tuple[ActView, ...]
    success: bool = True


class OverviewPages:
    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        access: ListingAccess,
        ownership: Ownership,
        applications: Applications,
        code_of: CodeOf,
        server_checks: ServerCheckPages,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._access = access
        self._ownership = ownership
        self._applications = applications
        self._code_of = code_of
        self._server_checks = server_checks

    def show(self, visit: PersonVisit, kind: Kind) -> Shown:
        return self._page(self._access.of(visit, kind, "see"))

    def twin(self, visit: PersonVisit, kind: Kind) -> Shown:
        """Return the same as JSON."""
        return Reply(200, encode_json(self._standing(self._access.of(visit, kind, "see"))))

    async def prove(self, visit: PersonVisit) -> Shown:
        """Ask the platform for the bot's description, and look for the code in it."""
        access = self._access.of(visit, "bots", "prove")
        try:
            told = await self._applications.ask(access.person.id, access.row.id, anew=True)
        except PlatformAway:
            return self._page(access, AWAY, 503)
        except AnswerRefused as refused:
            page = self._page(access, error_text(refused.reply), refused.reply.status)
            return page._replace(limits=refused.reply.limits)
        if told.application is None:
            return self._page(access, NO_APPLICATION, 409)
        description, now_ms = told.application.description, self._clock.now_ms()
        ref, code = access.row.ref, self._code(access.row)
        try:
            row = listing_of(self._ledger.state, ref)
            events = prove_ownership(row, description, code, now_ms, by=visit.request.by)
        except Refusal as error:
            why = refused_by(error)
            return self._page(access, why.errors[""], why.status)
        await self._ledger.durable(self._ledger.commit(events))
        return done(f"/{ref}/manage", "proven")

    def _code(self, row: Listing) -> str:
        return self._code_of(row.ref, row.owner_id)

    def _page(self, access: Access, problem: Words | None = None, status: int = 200) -> Page:
        row = access.row
        standing = self._standing(access)
        owners = row.owner_id, *row.extra_owners
        values = {
            "standing": standing,
            "is_withdrawn": (decision := review_of(row)) is not None and decision.action == "withdrawn",
            "problem": problem,
            "gaps": [gap for gap in standing.missing if _WHO_FILLS[gap] in access.rights],
            "owners": owners,
            "names": names_of(self._ledger.state, owners),
            "deeds": DEEDS,
            "me": f"users/{access.person.id}",
            "eligibility": row.eligibility,
            "conditions": CONDITIONS,
            "hides_ms": self._server_checks.hides_ms(row),
            "bot_link": self._server_checks.bot_link(row),
            "code": self._code(row) if "prove" in access.rights and "ownership" in standing.missing else None,
        }
        return tab_page(access, "overview", values, status)

    def _standing(self, access: Access) -> ListingStanding:
        row = access.row
        return ListingStanding(
            kind=kind_of(row.ref).plural,
            listing=listing_view(row),
            place=self._ownership.place(row.ref),
            waiting_since=waiting_since(row) if waits(row) else None,
            usual_wait_ms=self._ownership.usual_wait_ms,
            is_proven=is_proven(row),
            missing=gaps_of(kind_of(row.ref), row),
            may=tuple(sorted(access.rights)),
            history=act_views(row, names_moderators=access.person.is_moderator),
        )


def gaps_of(kind: Kind, row: Listing) -> tuple[Gap, ...]:
    """Return what is missing to a listing, the most urgent first."""
    is_approved = row.state == "approved"
    found: tuple[tuple[Gap, bool], ...] = (
        ("ownership", kind.is_a("application") and not is_proven(row)),
        ("key", kind.has("keys") and is_approved and not row.keys),
        ("webhook", is_approved and row.webhook is None),
        ("counts", kind.has("stats") and is_approved and row.counts is None),
    )
    return tuple(gap for gap, is_missing in found if is_missing)
