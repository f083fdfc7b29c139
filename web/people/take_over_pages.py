"""The pages on which somebody takes over a listing that is theirs. Which proof is enough, the rule says
(`listings/take_over.py`).

    GET /bots/{id}/take-over -> (the code goes into the public description) -> POST -> its management
    GET /servers/{id}/take-over -> (the list of servers comes with a sign-in) -> POST -> its management

They show nothing that the listing's owner wrote: it may be in review, and the claimant may be nobody.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from listings.take_over import Evidence, refusal, take_over

from chatplatform.answers import PlatformServer
from chatplatform.platform_client import PlatformAway
from core.clock import Clock
from core.ledger import Ledger
from core.refusals import Refusal
from core.rows import Listing
from handlers.request import Request
from kinds.bots import BOTS
from kinds.servers import SERVERS
from languages.said import plainly
from languages.texts import Text, Words
from listings.rules import listing_of
from people.quarantine import refuse_quarantined
from web.error_pages import error_text
from web.json_answers import AnswerRefused
from web.pages import Page, PageRow, Shown, see_other
from web.people.applications import Applications
from web.people.overview_pages import AWAY, NO_APPLICATION
from web.people.ownership_code import CodeOf
from web.people.people_audience import PersonVisit, done, signed_in
from web.people.questions import REFUSALS, refused_by
from web.people.server_lists import ServerList, ServerLists
from web.people.visitors import Person

NOT_IN_LIST = Text(
    "You do not manage this server, or the list of your servers is too old. You need the permission Manage "
    "Server there. Read the list again."
)
NO_CODE = Text("The description at the chat platform does not hold the code.")


@dataclass(frozen=True)
class TakeOverPages:
    """The pages.

    Args:
        known: returns who sends a request, as far as one is signed in now.
    """

    ledger: Ledger
    clock: Clock
    applications: Applications
    lists: ServerLists
    code_of: CodeOf
    known: Callable[[Request], Person | None]

    def show_bot(self, visit: PersonVisit) -> Shown:
        row, user_id = self._row(visit, BOTS.prefix), signed_in(visit).id
        return _managed(row) if row.owner_id == user_id else self._bot(row, user_id)

    async def take_bot(self, visit: PersonVisit) -> Shown:
        """Ask the platform for the bot's description, and look for the visitor's code in it."""
        row, user_id = self._row(visit, BOTS.prefix), signed_in(visit).id
        if row.owner_id == user_id:
            return _managed(row)
        try:
            told = await self.applications.ask(user_id, row.id, anew=True)
        except PlatformAway:
            return self._bot(row, user_id, AWAY, 503)
        except AnswerRefused as refused:
            page = self._bot(row, user_id, error_text(refused.reply), refused.reply.status)
            return page._replace(headers=refused.reply.headers, limits=refused.reply.limits)
        if told.application is None:
            return self._bot(row, user_id, NO_APPLICATION, 409)
        if self.code_of(row.ref, user_id) not in told.application.description:
            return self._bot(row, user_id, NO_CODE, 409)
        try:
            return await self._taken(visit, row.ref, "code")
        except REFUSALS as error:
            why = refused_by(error)
            return self._bot(self._row(visit, BOTS.prefix), user_id, why.errors[""], why.status)

    def show_server(self, visit: PersonVisit) -> Shown:
        row, user_id = self._row(visit, SERVERS.prefix), signed_in(visit).id
        return _managed(row) if row.owner_id == user_id else self._server(row, user_id)

    async def take_server(self, visit: PersonVisit) -> Shown:
        """Take the listing over if the list of servers that was just read says that the visitor may."""
        row, user_id = self._row(visit, SERVERS.prefix), signed_in(visit).id
        if row.owner_id == user_id:
            return _managed(row)
        known = self.lists.of(user_id)
        server = known.of(row.id) if known is not None else None
        if server is None:
            return self._server(row, user_id, NOT_IN_LIST, 409)
        try:
            return await self._taken(visit, row.ref, _evidence(server))
        except REFUSALS as error:
            why = refused_by(error)
            return self._server(self._row(visit, SERVERS.prefix), user_id, why.errors[""], why.status)

    async def _taken(self, visit: PersonVisit, ref: str, evidence: Evidence) -> Shown:
        """Take the listing over. Raises Refusal and Unavailable."""
        if self.known(visit.request) is None:  # signed out, or forgotten, while the platform was asked
            raise Refusal("sign_in_required")
        state, now_ms, user_id = self.ledger.state, self.clock.now_ms(), signed_in(visit).id
        refuse_quarantined(state, user_id, "submit", now_ms)
        if listing_of(state, ref).owner_id != user_id:  # a form that was sent twice
            position = self.ledger.commit(take_over(state, ref, user_id, evidence, now_ms))
            await self.ledger.durable(position)
        row = listing_of(state, ref)
        return done(f"/{ref}/manage{'/profile' if row.state == 'denied' else ''}", "taken-over")

    def _row(self, visit: PersonVisit, kind: str) -> Listing:
        return listing_of(self.ledger.state, kind + visit.request.params[0])

    def _bot(self, row: Listing, user_id: str, problem: Words | None = None, status: int = 200) -> Page:
        values = {
            "card": self.applications.card(row.id),
            "code": self.code_of(row.ref, user_id),
            **_common(row, user_id, "code", problem),
        }
        return Page("people/take_over_bot.html", Text("Take this bot over"), values, status)

    def _server(self, row: Listing, user_id: str, problem: Words | None = None, status: int = 200) -> Page:
        known: ServerList | None = self.lists.of(user_id)
        server = known.of(row.id) if known is not None else None
        values = {
            "known": known,
            "server": server,
            **_common(row, user_id, _evidence(server) if server is not None else None, problem),
        }
        return Page("people/take_over_server.html", Text("Take this server over"), values, status)


def _common(
    row: Listing, user_id: str, evidence: Evidence | None, problem: Words | None
) -> Mapping[str, Any]:
    reason = refusal(row, user_id, evidence) if evidence is not None else None
    return {
        "id": row.id,
        "here": f"/{row.ref}/take-over",
        "refused": plainly(reason) if reason is not None else None,
        "problem": problem,
    }


def _evidence(server: PlatformServer) -> Evidence:
    return "server owner" if server.is_owned else "server manager"


def _managed(row: Listing) -> Shown:
    return see_other(f"/{row.ref}/manage")


TAKE_OVER_PAGES = (
    PageRow("GET", "/bots/{id}/take-over", lambda to: to.take_over.show_bot, "signed in"),
    PageRow("POST", "/bots/{id}/take-over", lambda to: to.take_over.take_bot, "signed in"),
    PageRow("GET", "/servers/{id}/take-over", lambda to: to.take_over.show_server, "signed in"),
    PageRow("POST", "/servers/{id}/take-over", lambda to: to.take_over.take_server, "signed in"),
)
