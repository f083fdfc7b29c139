"""The page on which a server is listed. Invariant: a user who manages it lists it, and it was checked.

    GET /servers/new -> (choose) -> GET /servers/new?id= -> (profile) -> POST /servers/new -> its overview

The servers that a user manages came with the sign-in (`web/people/server_lists.py`). A list that is too old
sends nobody away: the form comes back with all that was typed, and says how to read the list again.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from actions.listings import SUBMIT, CheckedSubmission, submit_checked
from chatplatform.facts import PlatformServer, server_icon_url
from core.refusals import Invalid, Refusal, Unavailable
from core.rows import CheckOutcome, Eligibility, ServerCheck
from forms.posts import posted
from forms.reading import read
from kinds.servers import SERVERS
from languages.language_names import OWN_NAMES
from languages.texts import Text
from listings.forms import WebhookSettings
from pages.page import Again, Answer, Page, PageCall, Post, Shown
from web.form_posts import FormPost
from web.json_answers import AnswerRefused
from web.pages import see_other
from web.people.listing_forms import LABELS
from web.people.people_audience import done
from web.people.server_checking import CONDITIONS
from web.people.server_lists import ServerList

TITLE = Text("List a server")
NOT_MANAGED = Text(
    "You do not manage this server, or the list of your servers is too old. You need the permission Manage "
    "Server there. Read the list again in another window, and send this once more."
)
NOT_ELIGIBLE = Text(
    "The server does not meet every condition yet. Change what fails, and send this once more."
)
LISTED = Text("This server is listed already.")
FIELD_LABELS = {**LABELS, "webhook_url": Text("Webhook"), "language": Text("Language")}
LANGUAGES = tuple((language, name, language) for language, name in OWN_NAMES.items())
Checks = tuple[ServerCheck, ...]


class ChoosableServer(NamedTuple):
    """A server that the visitor may manage. `own_ref` leads to its listing if that is the visitor's."""

    server: PlatformServer
    icon_url: str | None
    is_listed: bool
    own_ref: str | None
    outcome: CheckOutcome


async def show(page: PageCall) -> Shown[None]:
    """Let the visitor choose a server, or show the check of the chosen one with the form."""
    if page.refused.error is not None:
        return _form(page, page.refused.typed, page.refused.found.get("checks", ()))
    server_id = page.visit.request.query.get("id", "").strip()
    server = _managed(page, server_id)
    if server is None or SERVERS.ref(server_id) in page.call.state.listings:
        return _choice(page, server_id)
    checks = await page.site.submissions.checking.check(page.person.id, server_id)
    empty = {**SERVERS.empty, "webhook_url": "", "language": "en"}
    return _form(page, {**empty, "id": server_id, "name": server.name}, checks)


def read_form(_: PageCall, form: FormPost) -> Mapping[str, Any]:
    beside = {name: form.text(name) for name in ("id", "webhook_url", "language")}
    return {**posted(SERVERS.shown, form), **beside}


async def send(page: PageCall, _: None) -> Any:
    """List the server that the visitor manages, if it meets the conditions. None for one that the visitor has
    listed already: a form that is sent twice leads to the listing."""
    typed, checks = read_form(page, page.visit.form()), Checks()
    server_id, user_id = typed["id"], page.person.id
    if _managed(page, server_id) is None:
        raise Again(errors={"": NOT_MANAGED}, status=409)
    try:
        # Before anybody is asked, which may take seconds.
        profile = {name: typed[name] for name in SERVERS.shown}
        form = read(SERVERS.submission, {"id": server_id, "owner_id": user_id, **profile})
        webhook = _webhook(typed)
        checks = await page.site.submissions.checking.check(user_id, server_id)
        if Eligibility(0, checks).outcome == "fail":
            raise Again(errors={"": NOT_ELIGIBLE}, status=409, found={"checks": checks})
        checked = CheckedSubmission(form, checks, webhook, page.site.submissions.approves_servers)
        return await submit_checked(page.call.rechecked(), checked)
    except Invalid as error:
        raise Again(_of_form(error), found={"checks": checks}) from error
    except (Refusal, Unavailable, AnswerRefused) as error:
        if not (isinstance(error, Refusal) and error.code == "listing_exists"):
            raise Again(error, found={"checks": checks}) from error
        if _is_own(page, server_id):
            return None
        raise Again(error, errors={"": LISTED}, status=409, found={"checks": checks}) from error


def sent(page: PageCall, listed: Any) -> Answer:
    here = f"/{SERVERS.ref(page.visit.form().text('id'))}/manage"
    if listed is None:
        return see_other(here)
    return done(here, "listed" if listed.state == "approved" else "submitted")


def _managed(page: PageCall, server_id: str) -> PlatformServer | None:
    """Return a server that the visitor manages, as far as the list that was just read says so."""
    known = page.site.submissions.server_lists.of(page.person.id)
    return known.of(server_id) if known is not None else None


def _is_own(page: PageCall, server_id: str) -> bool:
    row = page.call.state.listings.get(SERVERS.ref(server_id))
    return row is not None and row.owner_id == page.person.id


def _choice(page: PageCall, wanted: str) -> Shown[None]:
    known = page.site.submissions.server_lists.of(page.person.id)
    back = f"/servers/new?id={wanted}" if wanted.isascii() and wanted.isdigit() else "/servers/new"
    servers = [_choosable(page, each, known) for each in known.servers] if known is not None else []
    html = {"known": known, "servers": servers, "back": back}
    return Shown(None, TITLE, html, template="choose_server")


def _choosable(page: PageCall, server: PlatformServer, known: ServerList) -> ChoosableServer:
    ref = SERVERS.ref(server.id)
    checks = page.site.submissions.checking.glance(server, known.at_ms)
    return ChoosableServer(
        server,
        server_icon_url(page.site.addresses.cdn_url, server),
        ref in page.call.state.listings,
        ref if _is_own(page, server.id) else None,
        Eligibility(0, checks).outcome,
    )


def _form(page: PageCall, values: Mapping[str, Any], checks: Checks) -> Shown[None]:
    server_id, site = values["id"], page.site
    server = _managed(page, server_id)
    html = {
        "id": server_id,
        "server": server,
        "icon_url": server_icon_url(site.addresses.cdn_url, server) if server is not None else None,
        "checks": checks,
        "conditions": CONDITIONS,
        "outcome": Eligibility(0, checks).outcome,
        "bot_link": site.submissions.checking.bot_link(server_id) if server is not None else None,
        "values": values,
        "labels": FIELD_LABELS,
        "its_kind": SERVERS,
        "languages": LANGUAGES,
        "usual_wait_ms": site.ownership.usual_wait_ms,
        "is_listed": SERVERS.ref(server_id) in page.call.state.listings,
    }
    return Shown(None, TITLE, html)


def _webhook(typed: Mapping[str, Any]) -> WebhookSettings | None:
    """Return the settings of the webhook that a form names; None if it names none. Raises Invalid."""
    url, language = typed["webhook_url"], typed["language"] or "en"
    return read(WebhookSettings, {"url": url, "language": language}) if url else None


def _of_form(error: Invalid) -> Invalid:
    """Return the same faults by the names of the form, which has another one for the webhook's URL."""
    return Invalid({"webhook_url" if name == "url" else name: why for name, why in error.faults.items()})


SERVER_SUBMISSION = Page(
    path=f"/{SERVERS}/new",
    kind="servers",
    template="submit_server",
    access=SUBMIT.access,
    show=show,
    has_json=False,
    posts=(Post(access=SUBMIT.access, reads=read_form, run=send, then=sent),),
    gives_back=True,
)
