"""The page on which a bot is submitted. Invariant: an obstacle that the platform names refuses it.

What is unknown does not stop it: a moderator looks at the bot.

    GET /bots/new -> (application id) -> GET /bots/new?id= -> (profile) -> POST /bots/new -> its overview

A preview is a POST that saves nothing. A submission that is refused comes back with all that was typed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from actions.listings import SUBMIT, submit
from actions.views import Success
from chatplatform.listing_checks import Obstacle, obstacles
from chatplatform.platform_client import PlatformAway
from core.refusals import Refusal
from forms.posts import posted
from grammars.snowflake import is_snowflake
from kinds.bots import BOTS
from kinds.kind import ListingSubmission
from languages.said import plainly
from languages.texts import Text, Words
from pages.owner.profile import preview
from pages.page import Again, Page, PageCall, Post, RefusedPost, Shown
from web.form_posts import FormPost
from web.json_answers import AnswerRefused
from web.people.listing_forms import LABELS
from web.people.people_audience import done

TITLE = Text("Submit a bot")
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


async def show(page: PageCall) -> Shown[None]:
    """Ask for the application id, or show what the platform says of it with the form."""
    error, typed = page.refused.error, page.refused.typed
    if error is not None:
        is_listed = isinstance(error, Refusal) and error.code == "listing_exists"
        # A form that its owner sends twice leads to the listing. To anybody else the text is still of use.
        return _listed(page, typed["id"]) if is_listed and _is_own(page, typed["id"]) else _form(page, typed)
    bot_id = page.visit.request.query.get("id", "").strip()
    if not bot_id:
        return _ask(page, bot_id)
    if not is_snowflake(bot_id):
        return _ask(page, bot_id, plainly("no_snowflake"), 400)
    if _is_listed(page, bot_id):
        return _listed(page, bot_id)
    found = await _obstacles(page, bot_id)
    if found:
        return _ask(page, bot_id, _in_words(found), 409)
    card = page.site.submissions.applications.card(bot_id)
    name = card.application.name if card is not None else ""
    return _form(page, {**BOTS.empty, "id": bot_id, "extra_owners": (), "name": name})


def read_form(page: PageCall, form: FormPost) -> Mapping[str, Any]:
    """Return a submission as the browser sent it; its owner is the visitor."""
    profile = {**posted(BOTS.shown, form), "extra_owners": form.lines("extra_owners")}
    return {"id": form.text("id"), "owner_id": page.person.id, **profile}


async def send(page: PageCall, form: ListingSubmission) -> Success:
    """Submit the bot, unless the platform says no."""
    try:
        found = await _obstacles(page, form.id)
    except AnswerRefused as refused:
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
    typed = read_form(page, page.visit.form())
    return _form(replace(page, refused=RefusedPost(typed=typed, found={"preview": html})), typed)


async def _obstacles(page: PageCall, bot_id: str) -> Sequence[Obstacle]:
    """Return what the platform says against the bot; nothing while it gives no answer."""
    try:
        told = await page.site.submissions.applications.ask(page.person.id, bot_id)
    except PlatformAway:
        return ()
    return obstacles(told.application)


def _is_listed(page: PageCall, bot_id: str) -> bool:
    return BOTS.ref(bot_id) in page.call.state.listings


def _is_own(page: PageCall, bot_id: str) -> bool:
    row = page.call.state.listings.get(BOTS.ref(bot_id))
    return row is not None and row.owner_id == page.person.id


def _why_listed(page: PageCall, bot_id: str) -> Text:
    if _is_own(page, bot_id):
        return Text("You have submitted this bot already.")
    return Text("A bot with this id is listed already.")


def _listed(page: PageCall, bot_id: str) -> Shown[None]:
    """Say that the bot is there already."""
    return _ask(page, bot_id, _why_listed(page, bot_id), 409)


def _ask(page: PageCall, bot_id: str, problem: Words | None = None, status: int = 200) -> Shown[None]:
    """Ask for the id of an application; `problem` is what is wrong with the one that was given."""
    is_own = _is_own(page, bot_id)
    html = {
        "id": bot_id,
        "errors": {"id": problem} if problem is not None else {},
        "labels": LABELS,
        "card": page.site.submissions.applications.card(bot_id),
        "own_id": bot_id if is_own else None,
        "taken_id": bot_id if not is_own and _is_listed(page, bot_id) else None,
    }
    return Shown(None, TITLE, html, template="submit_id", status=status)


def _form(page: PageCall, values: Mapping[str, Any]) -> Shown[None]:
    bot_id = values["id"]
    html = {
        "id": bot_id,
        "values": values,
        "labels": LABELS,
        "its_kind": BOTS,
        "card": page.site.submissions.applications.card(bot_id),
        "preview": page.refused.found.get("preview"),
        "usual_wait_ms": page.site.ownership.usual_wait_ms,
        "is_listed": _is_listed(page, bot_id),
    }
    return Shown(None, TITLE, html)


def _in_words(found: Sequence[Obstacle]) -> Words:
    """Return the words for one obstacle or two: an application that is not known has no others."""
    first, *others = (OBSTACLES[each] for each in found)
    return Text("{first} {second}", first=first, second=others[0]) if others else first


BOT_SUBMISSION = Page(
    path=f"/{BOTS}/new",
    kind="bots",
    template="submit",
    access=SUBMIT.access,
    show=show,
    has_json=False,
    posts=(
        Post(
            action=SUBMIT,
            reads=read_form,
            run=send,
            then=lambda page, _: done(f"/{BOTS.ref(page.visit.form().text('id'))}/manage", "submitted"),
        ),
        Post(reads=read_form, run=preview, then=show_preview, button="preview"),
    ),
    gives_back=True,
)
