"""The pages on which a server is listed. Law: only who manages a server lists it, and the check is made here.

    GET /servers/new -> (choose) -> GET /servers/new?id= -> (profile) -> POST /servers/new -> its overview

Who manages it says the list of servers that came with the sign-in (`server_lists.py`). A list that is too old
sends nobody away: the form comes back with all that was typed, and says how to read the list again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from actions.action import Call
from actions.listings import CheckedSubmission, submit_checked
from actions.tools import Tools
from chatplatform.answers import PlatformServer, server_icon_url
from core.clock import Clock
from core.refusals import Invalid, Refusal
from core.rows import CheckOutcome, Eligibility, ServerCheck
from core.state import State
from forms.posts import posted
from forms.reading import read
from handlers.reply import SPOKEN, Reply, reply_to
from handlers.request import Request
from kinds.servers import SERVERS
from languages.language_names import OWN_NAMES
from languages.texts import NO_ERRORS, Text, Words
from listings.forms import WebhookSettings
from listings.ownership import Ownership
from people.quarantine import refuse_quarantined
from web.error_pages import error_text, field_texts
from web.json_answers import AnswerRefused
from web.pages import Page, Shown, see_other
from web.people.listing_forms import LABELS, by_field
from web.people.people_audience import PersonVisit, done, signed_in
from web.people.server_checking import CONDITIONS, ServerChecking
from web.people.server_lists import ServerList, ServerLists
from web.people.visitors import Person

TITLE = Text("List a server")
EMPTY: Mapping[str, Any] = {**SERVERS.empty, "webhook_url": "", "language": "en"}
NOT_MANAGED = Text(
    "You do not manage this server, or the list of your servers is too old. You need the permission Manage "
    "Server there. Read the list again in another window, and send this once more."
)
NOT_ELIGIBLE = Text(
    "The server does not meet every condition yet. Change what fails, and send this once more."
)
LISTED = Text("This server is listed already.")
LANGUAGES = tuple((language, name, language) for language, name in OWN_NAMES.items())


class ChoosableServer(NamedTuple):
    """A server that the visitor may manage. `own_ref` leads to its listing if that is the visitor's."""

    server: PlatformServer
    icon_url: str | None
    is_listed: bool
    own_ref: str | None
    outcome: CheckOutcome


class ServerSubmissionPages:
    """The pages.

    Args:
        tools: the tools of actions.
        known: returns who sends a request, as far as one is signed in now.
        approves: true if the gateway itself approves a server that meets every condition.
    """

    def __init__(
        self,
        state: State,
        clock: Clock,
        lists: ServerLists,
        checking: ServerChecking,
        tools: Tools,
        ownership: Ownership,
        known: Callable[[Request], Person | None],
        cdn_url: str,
        *,
        approves: bool,
    ) -> None:
        self._state = state
        self._clock = clock
        self._lists = lists
        self._checking = checking
        self._tools = tools
        self._ownership = ownership
        self._known = known
        self._cdn_url = cdn_url
        self._approves = approves

    async def show(self, visit: PersonVisit) -> Shown:
        """Let the visitor choose a server, or show the check of the chosen one with the form."""
        self._refuse_quarantined(visit)
        server_id = visit.request.query.get("id", "").strip()
        server = self._managed(visit, server_id)
        if server is None or SERVERS.ref(server_id) in self._state.listings:
            return self._choice(visit)
        checks = await self._checking.check(signed_in(visit).id, server_id)
        return self._form(server, server_id, checks, {**EMPTY, "name": server.name})

    async def submit(self, visit: PersonVisit) -> Shown:
        form, user_id = visit.form(), signed_in(visit).id
        server_id = form.text("id")
        url, language = form.text("webhook_url"), form.text("language")
        profile = posted(SERVERS.shown, form)
        typed = {**profile, "webhook_url": url, "language": language}
        server, checks = self._managed(visit, server_id), tuple[ServerCheck, ...]()
        if server is None:
            return self._form(None, server_id, checks, typed, {"": NOT_MANAGED}, 409)
        try:
            # Before anybody is asked, which may take seconds.
            submission = read(SERVERS.submission, {"id": server_id, "owner_id": user_id, **profile})
            webhook = _webhook(url, language)
            checks = await self._checking.check(user_id, server_id)
            if Eligibility(0, checks).outcome == "fail":
                return self._form(server, server_id, checks, typed, {"": NOT_ELIGIBLE}, 409)
            if self._known(visit.request) is None:  # signed out, or forgotten, while the platform was asked
                raise Refusal("sign_in_required")
            self._refuse_quarantined(visit)
            call = Call(self._tools, visit.request.by, self._clock.now_ms(), SERVERS)
            await submit_checked(call, CheckedSubmission(submission, checks, webhook, self._approves))
        except Invalid as refused:
            return self._form(server, server_id, checks, typed, _errors(refused), 400)
        except AnswerRefused as refused:
            return self._again(server, server_id, checks, typed, refused.reply)
        except SPOKEN as error:
            if not (isinstance(error, Refusal) and error.code == "listing_exists"):
                return self._again(server, server_id, checks, typed, reply_to(error))
            if self._is_own(user_id, server_id):  # somebody who sends a form twice is led on
                return see_other(f"/{SERVERS.ref(server_id)}/manage")
            return self._form(server, server_id, checks, typed, {"": LISTED}, 409)
        row = self._state.listings.get(SERVERS.ref(server_id))  # others went on while it was written
        notice = "listed" if row is not None and row.state == "approved" else "submitted"
        return done(f"/{SERVERS.prefix}{server_id}/manage", notice)

    def _managed(self, visit: PersonVisit, server_id: str) -> PlatformServer | None:
        """Return a server that the visitor manages, as far as the list that was just read says so."""
        known = self._lists.of(signed_in(visit).id)
        return known.of(server_id) if known is not None else None

    def _is_own(self, user_id: str, server_id: str) -> bool:
        row = self._state.listings.get(SERVERS.ref(server_id))
        return row is not None and row.owner_id == user_id

    def _refuse_quarantined(self, visit: PersonVisit) -> None:
        refuse_quarantined(self._state, signed_in(visit).id, "submit", self._clock.now_ms())

    def _choice(self, visit: PersonVisit) -> Page:
        user_id = signed_in(visit).id
        known = self._lists.of(user_id)
        servers = [self._choosable(each, known, user_id) for each in known.servers] if known else []
        wanted = visit.request.query.get("id", "").strip()
        values = {
            "known": known,
            "servers": servers,
            "back": f"/servers/new?id={wanted}" if wanted.isascii() and wanted.isdigit() else "/servers/new",
        }
        return Page("people/choose_server.html", TITLE, values)

    def _choosable(self, server: PlatformServer, known: ServerList, user_id: str) -> ChoosableServer:
        ref = SERVERS.ref(server.id)
        checks = self._checking.glance(server, known.at_ms)
        return ChoosableServer(
            server,
            server_icon_url(self._cdn_url, server),
            ref in self._state.listings,
            ref if self._is_own(user_id, server.id) else None,
            Eligibility(0, checks).outcome,
        )

    def _form(
        self,
        server: PlatformServer | None,
        server_id: str,
        checks: Sequence[ServerCheck],
        values: Mapping[str, Any],
        errors: Mapping[str, Words] = NO_ERRORS,
        status: int = 200,
    ) -> Page:
        shown = {
            "id": server_id,
            "server": server,
            "icon_url": server_icon_url(self._cdn_url, server) if server is not None else None,
            "checks": checks,
            "conditions": CONDITIONS,
            "outcome": Eligibility(0, tuple(checks)).outcome,
            "bot_link": self._checking.bot_link(server_id) if server is not None else None,
            "values": values,
            "errors": errors,
            "labels": {**LABELS, "webhook_url": Text("Webhook"), "language": Text("Language")},
            "its_kind": SERVERS,
            "languages": LANGUAGES,
            "usual_wait_ms": self._ownership.usual_wait_ms,
            "is_listed": SERVERS.ref(server_id) in self._state.listings,
        }
        return Page("people/submit_server.html", TITLE, shown, status)

    def _again(
        self,
        server: PlatformServer,
        server_id: str,
        checks: Sequence[ServerCheck],
        values: Mapping[str, Any],
        refused: Reply,
    ) -> Page:
        page = self._form(server, server_id, checks, values, {"": error_text(refused)}, refused.status)
        return page._replace(headers=refused.headers, limits=refused.limits)


def _webhook(url: str, language: str) -> WebhookSettings | None:
    """Return the settings of the webhook that a form names; None if it names none. Raises Invalid."""
    return read(WebhookSettings, {"url": url, "language": language or "en"}) if url else None


def _errors(refused: Invalid) -> Mapping[str, Words]:
    """Return what is wrong by the fields of the form, which calls the webhook's URL by a name of its own."""
    return {
        "webhook_url" if name == "url" else name: why for name, why in by_field(field_texts(refused)).items()
    }
