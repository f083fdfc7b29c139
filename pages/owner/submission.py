"""The page on which a listing is submitted, for every kind.

    GET /<kind>/new -> the form; of a server, its choice -> GET /<kind>/new?id= -> the form
    POST /<kind>/new -> its overview

The form of an application has a button that looks its id up at the platform before the rest is filled in.

A `_Way` says what comes before the profile. It depends on the object of the chat platform that a listing
stands for. The form has the fields of the profile, the id if it is given, and co-owners if there can be any.

Invariants. An obstacle that the platform names refuses an application; what is unknown does not stop it,
because a moderator looks at it. A user who manages a server lists it, and it was checked. A submission that
is refused comes back with all that was typed.

The servers that a user manages came with the sign-in (`pages/platform_facts.py`). A list that is too old
sends nobody away: the form comes back, and says how to read the list again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup
from msgspec.structs import replace

from actions.listings import SUBMIT, CheckedSubmission, submit, submit_checked
from chatplatform.answers import PlatformServer, server_icon_url
from chatplatform.listing_checks import Obstacle, obstacles
from chatplatform.platform_client import PlatformAway
from core.failures import Unavailable
from core.rows import CheckOutcome, Eligibility, Listing, ServerCheck
from forms.reading import posted, read
from grammars.patterns import is_snowflake
from grammars.platform_codes import TEMPLATE
from handlers.reply import Reply
from kinds.kind import Given, Kind, ListingSubmission, Made, OfUser, PlatformObject
from languages.language_names import OWN_NAMES
from languages.refusals import Invalid, Refusal
from languages.said import plainly
from languages.texts import Text, Words
from listings.forms import WebhookSettings
from pages.owner.profile import preview
from pages.page import Again, Answer, Page, PageCall, Post, RefusedPost, Shown
from pages.platform_facts import ServerList
from pages.shared_texts import CONDITIONS, done
from ratelimit.bucket import TooManyRequests
from web.form_posts import FormPost
from web.pages import see_other

OBSTACLES: Mapping[Obstacle, Text] = {
    "no_application": Text(
        "The chat platform knows no application with this ID. Copy the application ID from its developer "
        "portal; the ID of a user or a server is another one."
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
LANGUAGES = tuple((language, name, language) for language, name in OWN_NAMES.items())
Checks = tuple[ServerCheck, ...]


class ChoosableServer(NamedTuple):
    """A server that the visitor may manage. `own_ref` leads to its listing if that is the visitor's."""

    server: PlatformServer
    icon_url: str | None
    is_listed: bool
    own_ref: str | None
    outcome: CheckOutcome


class _Way(NamedTuple):
    """The way in which people submit listings of a kind.

    Args:
        begin: returns what comes before the form, or the empty form.
        again: returns the form that was refused, or that asked for a preview.
        send: submits what was typed. Raises what the action raises, and Again.
        another: the link that begins with another listing; None if the form is the beginning.
        beside: the fields of the form that are not those of a submission.
    """

    begin: Callable[[PageCall], Awaitable[Shown[None] | Reply]]
    again: Callable[[PageCall], Shown[None]]
    send: Callable[[PageCall], Awaitable[Answer]]
    another: Text | None = None
    beside: tuple[str, ...] = ()


async def show(page: PageCall) -> Shown[None] | Reply:
    way = _way_of(page)
    return await way.begin(page) if page.refused.error is None else way.again(page)


def typed(page: PageCall, form: FormPost) -> Mapping[str, Any]:
    """Return a submission as the browser sent it."""
    kind, beside = page.call.listing_kind, _way_of(page).beside
    owners = {"extra_owners": form.lines("extra_owners")} if kind.co_owners is not None else {}
    return {**posted(kind.shown, form), **owners, **{name: form.text(name) for name in ("id", *beside)}}


def show_preview(page: PageCall, html: Markup) -> Shown[None]:
    draft = typed(page, page.visit.form())
    return _way_of(page).again(replace(page, refused=RefusedPost(typed=draft, found={"preview": html})))


def _way_of(page: PageCall) -> _Way:
    return _WAYS[page.call.listing_kind.known_as]


def _ref(page: PageCall, listing_id: str) -> str:
    return page.call.listing_kind.ref(listing_id)


def _is_own(page: PageCall, ref: str) -> bool:
    row = page.call.state.listings.get(ref)
    return row is not None and row.owner_id == page.person.id


def _empty(page: PageCall, listing_id: str = "", **known: Any) -> Mapping[str, Any]:
    """Return the values of a form that nobody has filled in."""
    return {**page.call.listing_kind.empty, "id": listing_id, "extra_owners": (), **known}


def _form(page: PageCall, values: Mapping[str, Any], **html: Any) -> Shown[None]:
    kind = page.call.listing_kind
    status = html.pop("status", None)
    listing_id = TEMPLATE.of(values["id"]) if kind.known_as == "template" else values["id"]
    html = {
        "id": listing_id,
        "values": values,
        "labels": {**kind.labels, "webhook_url": Text("Webhook"), "webhook_language": Text("Language")},
        "kind": kind,
        "another": _way_of(page).another,
        "may_send": True,
        "usual_wait_ms": page.call.tools.ownership.usual_wait_ms,
        "is_listed": _ref(page, listing_id) in page.call.state.listings,
        "own_id": listing_id if _is_own(page, _ref(page, listing_id)) else None,
        "preview": page.refused.found.get("preview"),
        **html,
    }
    return Shown(None, kind.nouns.submit_one, html, status=status)


def _read(page: PageCall, draft: Mapping[str, Any]) -> ListingSubmission:
    """Return the submission of the visitor. Raises Invalid."""
    form = page.call.listing_kind.submission
    fields = {name: draft[name] for name in form.__struct_fields__ if name in draft}
    return read(form, {"owner_id": page.person.id, **fields})


def _sent(page: PageCall, listing: Any) -> Answer:
    """Lead to a listing that was submitted, or has even been approved."""
    here = f"/{_ref(page, listing.id)}/manage"
    listed = "listed" if page.call.listing_kind.has("votes") else "seen"
    return done(here, listed if listing.state == "approved" else "submitted")


# -- Listings that need nothing before the form --------------------------------------------------------------


async def begin_plainly(page: PageCall) -> Shown[None] | Reply:
    """Show the empty form, or the listing of a user who can have no second one."""
    ref = _ref(page, page.person.id)
    if page.call.listing_kind.is_of_user and ref in page.call.state.listings:
        return see_other(f"/{ref}/manage")
    is_of_user = page.call.listing_kind.is_of_user
    return _form(page, _empty(page, **({"name": page.person.name} if is_of_user else {})))


async def send_plainly(page: PageCall) -> Answer:
    """Submit the listing. A form that is sent twice leads to the listing."""
    form = _read(page, typed(page, page.visit.form()))
    listings = page.call.state.listings
    own = [ref for ref in page.call.tools.ownership.refs_of(page.person.id) if _is_own(page, ref)]
    same = next((ref for ref in own if _is_same(page.call.listing_kind, listings[ref], form)), None)
    if same is not None:
        return see_other(f"/{same}/manage")
    try:
        return _sent(page, await submit(page.call, form))
    except Refusal as error:
        if error.code != "listing_exists":
            raise
        raise Again(error, errors={"id": plainly("listing_exists")}, status=409) from error


def _is_same(kind: Kind, row: Listing, form: ListingSubmission) -> bool:
    """Return true if a form submits a listing of its owner once more."""
    if not row.ref.startswith(kind.prefix):
        return False
    match kind.id:
        case Given():
            return row.id == form.id
        case Made():
            return kind.written(row.latest) == kind.written(form)
        case OfUser():
            return True


# -- Applications -------------------------------------------------------------------------------------------


async def begin_application(page: PageCall) -> Shown[None]:
    """Show the form: empty, or with the platform's facts about the application in the query."""
    application_id = page.visit.request.query.get("id", "").strip()
    draft = _empty(page, application_id)
    if not application_id:
        return _application_form(page, draft)
    try:
        return await _looked_up(page, draft)
    except Again as again:
        return _application_form(page, draft, errors=again.errors, status=again.status)


async def look_up(page: PageCall, _: None) -> Shown[None]:
    """Ask the platform about the application of a form, and keep what was typed. Raises Again."""
    draft = typed(page, page.visit.form())
    if page.call.listing_kind.known_as != "application":
        return _way_of(page).again(replace(page, refused=RefusedPost(typed=draft)))
    try:
        return await _looked_up(page, draft)
    except TooManyRequests as refused:
        raise Again(refused) from refused


async def _looked_up(page: PageCall, draft: Mapping[str, Any]) -> Shown[None]:
    """Return the form with the platform's facts about the application. Raises Again, TooManyRequests."""
    application_id = draft["id"]
    if not is_snowflake(application_id):
        raise Again(errors={"id": plainly("no_snowflake")}, status=400)
    if _ref(page, application_id) in page.call.state.listings:
        raise Again(errors={"id": _why_listed(page, application_id)}, status=409)
    found = await _obstacles(page, application_id)
    if found:
        raise Again(errors={"id": _in_words(found)}, status=409)
    card = page.site.submissions.applications.card(application_id)
    name = draft["name"] or (card.application.name if card is not None else "")
    return _application_form(page, {**draft, "name": name}, is_away=card is None)


def show_application_again(page: PageCall) -> Shown[None]:
    return _application_form(page, page.refused.typed)


async def send_application(page: PageCall) -> Answer:
    """Submit the application's listing, unless the platform says no."""
    form = _read(page, typed(page, page.visit.form()))
    try:
        found = await _obstacles(page, form.id)
    except TooManyRequests as refused:
        raise Again(refused) from refused
    if found:
        raise Again(errors={"id": _in_words(found)}, status=409)
    try:
        return _sent(page, await submit(page.call.rechecked(), form))
    except Refusal as error:
        if error.code != "listing_exists":
            raise
        raise Again(error, errors={"id": _why_listed(page, form.id)}, status=409) from error


async def _obstacles(page: PageCall, application_id: str) -> Sequence[Obstacle]:
    """Return what the platform says against the application; nothing while it gives no answer."""
    try:
        told = await page.site.submissions.applications.ask(page.person.id, application_id)
    except PlatformAway:
        return ()
    return obstacles(told.application)


def _why_listed(page: PageCall, application_id: str) -> Text:
    if _is_own(page, _ref(page, application_id)):
        return Text("You have submitted this bot already.")
    return Text("A bot with this id is listed already.")


def _application_form(page: PageCall, values: Mapping[str, Any], **html: Any) -> Shown[None]:
    """Show the form, with the platform's facts about the application."""
    card = page.site.submissions.applications.card(values["id"])
    return _form(page, values, **{"card": card, "is_away": False, **html})


def _in_words(found: Sequence[Obstacle]) -> Words:
    """Return the words for one obstacle or two: an application that is not known has no others."""
    first, *others = (OBSTACLES[each] for each in found)
    return Text("{first} {second}", first=first, second=others[0]) if others else first


# -- Servers ------------------------------------------------------------------------------------------------


async def begin_server(page: PageCall) -> Shown[None]:
    """Let the visitor choose a server, or show the check of the chosen one with the form."""
    server_id = page.visit.request.query.get("id", "").strip()
    server = _managed(page, server_id)
    if server is None or _ref(page, server_id) in page.call.state.listings:
        return _choice(page, server_id)
    checks = await page.site.submissions.checking.check(page.person.id, server_id)
    values = _empty(page, server_id, name=server.name, webhook_url="", webhook_language="en")
    return _server_form(page, values, checks)


async def send_server(page: PageCall) -> Answer:
    """List the server that the visitor manages, if it meets the conditions. A form that is sent twice leads
    to the listing."""
    draft, checks = typed(page, page.visit.form()), Checks()
    server_id, user_id = draft["id"], page.person.id
    if _managed(page, server_id) is None:
        raise Again(errors={"": NOT_MANAGED}, status=409)
    try:
        form, webhook = _read(page, draft), _webhook(draft)  # before a question that may take seconds
        checks = await page.site.submissions.checking.check(user_id, server_id)
        if Eligibility(0, checks).outcome == "fail":
            raise Again(errors={"": NOT_ELIGIBLE}, status=409, found={"checks": checks})
        checked = CheckedSubmission(form, checks, webhook, page.site.submissions.approves_servers)
        return _sent(page, await submit_checked(page.call.rechecked(), checked))
    except (Refusal, Unavailable, TooManyRequests) as error:
        if isinstance(error, Invalid):
            error = _by_fields_of_form(error)
        if not (isinstance(error, Refusal) and error.code == "listing_exists"):
            raise Again(error, found={"checks": checks}) from error
        ref = _ref(page, server_id)
        if _is_own(page, ref):
            return see_other(f"/{ref}/manage")
        raise Again(error, errors={"": LISTED}, status=409, found={"checks": checks}) from error


def _managed(page: PageCall, server_id: str) -> PlatformServer | None:
    return page.site.submissions.server_lists.server(page.person.id, server_id)


def _choice(page: PageCall, wanted: str) -> Shown[None]:
    kind, known = page.call.listing_kind, page.site.submissions.server_lists.of(page.person.id)
    back = f"/{kind}/new?id={wanted}" if wanted.isascii() and wanted.isdigit() else f"/{kind}/new"
    servers = [_choosable(page, each, known) for each in known.servers] if known is not None else []
    html = {"kind": kind, "known": known, "choosable": servers, "back": back}
    return Shown(None, kind.nouns.submit_one, html, template="choose_server")


def _choosable(page: PageCall, server: PlatformServer, known: ServerList) -> ChoosableServer:
    ref = _ref(page, server.id)
    checks = page.site.submissions.checking.glance(server, known.at_ms)
    return ChoosableServer(
        server,
        server_icon_url(page.site.addresses.cdn_url, server),
        ref in page.call.state.listings,
        ref if _is_own(page, ref) else None,
        Eligibility(0, checks).outcome,
    )


def show_server_again(page: PageCall) -> Shown[None]:
    return _server_form(page, page.refused.typed, page.refused.found.get("checks", ()))


def _server_form(page: PageCall, values: Mapping[str, Any], checks: Checks) -> Shown[None]:
    server, site, outcome = _managed(page, values["id"]), page.site, Eligibility(0, checks).outcome
    return _form(
        *(page, values),
        server=server,
        icon_url=server_icon_url(site.addresses.cdn_url, server) if server is not None else None,
        checks=checks,
        conditions=CONDITIONS,
        outcome=outcome,
        may_send=outcome != "fail",
        bot_link=site.submissions.checking.bot_link(values["id"]) if server is not None else None,
        languages=LANGUAGES,
    )


def _webhook(draft: Mapping[str, Any]) -> WebhookSettings | None:
    """Return the settings of the webhook that a form names; None if it names none. Raises Invalid."""
    url, language = draft["webhook_url"], draft["webhook_language"] or "en"
    if not url:
        return None
    try:
        return read(WebhookSettings, {"url": url, "language": language})
    except Invalid as error:
        raise Invalid({f"webhook_{name}": fault for name, fault in error.faults.items()}) from error


def _by_fields_of_form(invalid: Invalid) -> Invalid:
    """Return the faults by the fields of the form, where the `url` of a webhook is `webhook_url`."""
    return Invalid({"webhook_url" if name == "url" else name: why for name, why in invalid.faults.items()})


_PLAIN = _Way(begin_plainly, lambda page: _form(page, page.refused.typed), send_plainly)
_WAYS: Mapping[PlatformObject | None, _Way] = {
    None: _PLAIN,
    "application": _Way(begin_application, show_application_again, send_application),
    "template": _PLAIN,
    "server": _Way(
        *(begin_server, show_server_again, send_server, Text("Another server")),
        ("webhook_url", "webhook_language"),
    ),
}
"""The ways to submit, by the object at the platform (`FactsPart`). `submit_<object>.html` is in the form."""
SUBMISSION = Page(
    path="/{kind}/new",
    template="submit",
    access=SUBMIT.access,
    show=show,
    has_json=False,
    posts=(
        Post(
            access=SUBMIT.access,
            reads=typed,
            run=lambda page, _: _way_of(page).send(page),
            then=lambda _, answer: answer,
        ),
        Post(reads=typed, run=preview, then=show_preview, button="preview"),
        Post(reads=typed, run=look_up, then=lambda _, form: form, button="look"),
    ),
    gives_back=True,
    takes_files=True,
)
