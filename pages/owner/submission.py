"""The pages on which a bot or a server is submitted.

    GET /bots/new -> (application id) -> GET /bots/new?id= -> (profile) -> POST /bots/new -> its overview
    GET /servers/new -> (choose) -> GET /servers/new?id= -> (profile) -> POST /servers/new -> its overview

Invariants. An obstacle that the platform names refuses a bot; what is unknown does not stop it, because a
moderator looks at it. A user who manages a server lists it, and it was checked. A submission that is refused
comes back with all that was typed.

The servers that a user manages came with the sign-in (`pages/platform_facts.py`). A list that is too old
sends nobody away: the form comes back, and says how to read the list again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from markupsafe import Markup

from actions.listings import SUBMIT, CheckedSubmission, submit, submit_checked
from actions.views import Success
from chatplatform.answers import PlatformServer, server_icon_url
from chatplatform.listing_checks import Obstacle, obstacles
from chatplatform.platform_client import PlatformAway
from core.failures import Unavailable
from core.rows import CheckOutcome, Eligibility, ServerCheck
from forms.posts import posted
from forms.reading import read
from grammars.snowflake import is_snowflake
from kinds.bots import BOTS
from kinds.kind import ListingSubmission
from kinds.registry import kind_of
from kinds.servers import SERVERS
from languages.language_names import OWN_NAMES
from languages.refusals import Refusal
from languages.said import plainly
from languages.texts import Text, Words
from listings.forms import WebhookSettings
from pages.owner.profile import preview
from pages.page import Again, Answer, Page, PageCall, Post, RefusedPost, Shown
from pages.platform_facts import ServerList
from pages.shared_texts import CONDITIONS, LABELS, done
from ratelimit.bucket import TooManyRequests
from web.form_posts import FormPost
from web.pages import see_other

SUBMIT_BOT, LIST_SERVER = Text("Submit a bot"), Text("List a server")
OBSTACLES: Mapping[Obstacle, Text] = {
    "no_application": Text(
        "The chat platform knows no application with this id. Copy the application id from its developer "
        "portal; the id of a user or a server is another one."
    ),
    "not_inviteable": Text(
        "Not everybody may add this bot to a server. Make it public at the platform, without a code grant, "
        "and look it up again."
    ),
    "no_commands": Text(
        "The bot has no slash commands that work on every server. Register one, and look it up again."
    ),
}
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


def _is_own(page: PageCall, ref: str) -> bool:
    row = page.call.state.listings.get(ref)
    return row is not None and row.owner_id == page.person.id


def _form_values(page: PageCall, values: Mapping[str, Any], ref: str) -> Mapping[str, Any]:
    """Return the values that the forms of bots and servers share."""
    return {
        "id": values["id"],
        "values": values,
        "labels": FIELD_LABELS,
        "kind": kind_of(ref),
        "usual_wait_ms": page.call.tools.ownership.usual_wait_ms,
        "is_listed": ref in page.call.state.listings,
    }


# -- Bots -------------------------------------------------------------------------------------------------


async def show_bot(page: PageCall) -> Shown[None]:
    """Ask for the application id, or show what the platform says of it with the form."""
    error, typed = page.refused.error, page.refused.typed
    if error is not None:
        is_listed = isinstance(error, Refusal) and error.code == "listing_exists"
        # A form that its owner sends twice leads to the listing. To anybody else the text is still of use.
        is_own = _is_own(page, BOTS.ref(typed["id"]))
        return _listed(page, typed["id"]) if is_listed and is_own else _bot_form(page, typed)
    bot_id = page.visit.request.query.get("id", "").strip()
    if not bot_id:
        return _ask_id(page, bot_id)
    if not is_snowflake(bot_id):
        return _ask_id(page, bot_id, plainly("no_snowflake"), 400)
    if BOTS.ref(bot_id) in page.call.state.listings:
        return _listed(page, bot_id)
    found = await _obstacles(page, bot_id)
    if found:
        return _ask_id(page, bot_id, _in_words(found), 409)
    card = page.site.submissions.applications.card(bot_id)
    name = card.application.name if card is not None else ""
    return _bot_form(page, {**BOTS.empty, "id": bot_id, "extra_owners": (), "name": name})


def read_bot(page: PageCall, form: FormPost) -> Mapping[str, Any]:
    """Return a submission as the browser sent it; its owner is the visitor."""
    profile = {**posted(BOTS.shown, form), "extra_owners": form.lines("extra_owners")}
    return {"id": form.text("id"), "owner_id": page.person.id, **profile}


async def submit_bot(page: PageCall, form: ListingSubmission) -> Success:
    """Submit the bot, unless the platform says no."""
    try:
        found = await _obstacles(page, form.id)
    except TooManyRequests as refused:
        raise Again(refused) from refused
    if found:
        raise Again(errors={"id": _in_words(found)}, status=409)
    try:
        return await submit(page.call.rechecked(), form)
    except Refusal as error:
        if error.code != "listing_exists":
            raise
        raise Again(error, errors={"id": _why_listed(page, form.id)}, status=409) from error


def show_preview(page: PageCall, html: Markup) -> Shown[None]:
    typed = read_bot(page, page.visit.form())
    return _bot_form(replace(page, refused=RefusedPost(typed=typed, found={"preview": html})), typed)


async def _obstacles(page: PageCall, bot_id: str) -> Sequence[Obstacle]:
    """Return what the platform says against the bot; nothing while it gives no answer."""
    try:
        told = await page.site.submissions.applications.ask(page.person.id, bot_id)
    except PlatformAway:
        return ()
    return obstacles(told.application)


def _why_listed(page: PageCall, bot_id: str) -> Text:
    if _is_own(page, BOTS.ref(bot_id)):
        return Text("You have submitted this bot already.")
    return Text("A bot with this id is listed already.")


def _listed(page: PageCall, bot_id: str) -> Shown[None]:
    """Say that the bot is there already."""
    return _ask_id(page, bot_id, _why_listed(page, bot_id), 409)


def _ask_id(page: PageCall, bot_id: str, problem: Words | None = None, status: int = 200) -> Shown[None]:
    """Ask for the id of an application; `problem` is what is wrong with the one that was given."""
    ref, is_own = BOTS.ref(bot_id), _is_own(page, BOTS.ref(bot_id))
    html = {
        "id": bot_id,
        "errors": {"id": problem} if problem is not None else {},
        "labels": LABELS,
        "card": page.site.submissions.applications.card(bot_id),
        "own_id": bot_id if is_own else None,
        "taken_id": bot_id if not is_own and ref in page.call.state.listings else None,
    }
    return Shown(None, SUBMIT_BOT, html, template="submit_id", status=status)


def _bot_form(page: PageCall, values: Mapping[str, Any]) -> Shown[None]:
    html = {
        **_form_values(page, values, BOTS.ref(values["id"])),
        "card": page.site.submissions.applications.card(values["id"]),
        "preview": page.refused.found.get("preview"),
    }
    return Shown(None, SUBMIT_BOT, html)


def _in_words(found: Sequence[Obstacle]) -> Words:
    """Return the words for one obstacle or two: an application that is not known has no others."""
    first, *others = (OBSTACLES[each] for each in found)
    return Text("{first} {second}", first=first, second=others[0]) if others else first


# -- Servers ----------------------------------------------------------------------------------------------


async def show_server(page: PageCall) -> Shown[None]:
    """Let the visitor choose a server, or show the check of the chosen one with the form."""
    if page.refused.error is not None:
        return _server_form(page, page.refused.typed, page.refused.found.get("checks", ()))
    server_id = page.visit.request.query.get("id", "").strip()
    server = _managed(page, server_id)
    if server is None or SERVERS.ref(server_id) in page.call.state.listings:
        return _choice(page, server_id)
    checks = await page.site.submissions.checking.check(page.person.id, server_id)
    empty = {**SERVERS.empty, "webhook_url": "", "language": "en"}
    return _server_form(page, {**empty, "id": server_id, "name": server.name}, checks)


def read_server(_: PageCall, form: FormPost) -> Mapping[str, Any]:
    beside = {name: form.text(name) for name in ("id", "webhook_url", "language")}
    return {**posted(SERVERS.shown, form), **beside}


async def list_server(page: PageCall, _: None) -> Any:
    """List the server that the visitor manages, if it meets the conditions. None for one that the visitor has
    listed already: a form that is sent twice leads to the listing."""
    typed, checks = read_server(page, page.visit.form()), Checks()
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
    except (Refusal, Unavailable, TooManyRequests) as error:
        if not (isinstance(error, Refusal) and error.code == "listing_exists"):
            raise Again(error, found={"checks": checks}) from error
        if _is_own(page, SERVERS.ref(server_id)):
            return None
        raise Again(error, errors={"": LISTED}, status=409, found={"checks": checks}) from error


def listed(page: PageCall, server: Any) -> Answer:
    here = f"/{SERVERS.ref(page.visit.form().text('id'))}/manage"
    if server is None:
        return see_other(here)
    return done(here, "listed" if server.state == "approved" else "submitted")


def _managed(page: PageCall, server_id: str) -> PlatformServer | None:
    """Return a server that the visitor manages, as far as the list that was just read says so."""
    known = page.site.submissions.server_lists.of(page.person.id)
    return known.of(server_id) if known is not None else None


def _choice(page: PageCall, wanted: str) -> Shown[None]:
    known = page.site.submissions.server_lists.of(page.person.id)
    back = f"/servers/new?id={wanted}" if wanted.isascii() and wanted.isdigit() else "/servers/new"
    servers = [_choosable(page, each, known) for each in known.servers] if known is not None else []
    html = {"known": known, "servers": servers, "back": back}
    return Shown(None, LIST_SERVER, html, template="choose_server")


def _choosable(page: PageCall, server: PlatformServer, known: ServerList) -> ChoosableServer:
    ref = SERVERS.ref(server.id)
    checks = page.site.submissions.checking.glance(server, known.at_ms)
    return ChoosableServer(
        server,
        server_icon_url(page.site.addresses.cdn_url, server),
        ref in page.call.state.listings,
        ref if _is_own(page, ref) else None,
        Eligibility(0, checks).outcome,
    )


def _server_form(page: PageCall, values: Mapping[str, Any], checks: Checks) -> Shown[None]:
    server_id, site = values["id"], page.site
    server = _managed(page, server_id)
    html = {
        **_form_values(page, values, SERVERS.ref(server_id)),
        "server": server,
        "icon_url": server_icon_url(site.addresses.cdn_url, server) if server is not None else None,
        "checks": checks,
        "conditions": CONDITIONS,
        "outcome": Eligibility(0, checks).outcome,
        "bot_link": site.submissions.checking.bot_link(server_id) if server is not None else None,
        "languages": LANGUAGES,
    }
    return Shown(None, LIST_SERVER, html)


def _webhook(typed: Mapping[str, Any]) -> WebhookSettings | None:
    """Return the settings of the webhook that a form names; None if it names none. Raises Invalid."""
    url, language = typed["webhook_url"], typed["language"] or "en"
    return read(WebhookSettings, {"url": url, "language": language}) if url else None


SUBMISSIONS = (
    Page(
        path=f"/{BOTS}/new",
        kind=BOTS,
        template="submit",
        access=SUBMIT.access,
        show=show_bot,
        has_json=False,
        posts=(
            Post(
                action=SUBMIT,
                reads=read_bot,
                run=submit_bot,
                then=lambda page, _: done(f"/{BOTS.ref(page.visit.form().text('id'))}/manage", "submitted"),
            ),
            Post(reads=read_bot, run=preview, then=show_preview, button="preview"),
        ),
        gives_back=True,
    ),
    Page(
        path=f"/{SERVERS}/new",
        kind=SERVERS,
        template="submit_server",
        access=SUBMIT.access,
        show=show_server,
        has_json=False,
        posts=(
            Post(
                access=SUBMIT.access,
                reads=read_server,
                run=list_server,
                then=listed,
                fields={"url": "webhook_url"},
            ),
        ),
        gives_back=True,
    ),
)
