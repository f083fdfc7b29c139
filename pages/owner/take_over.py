"""The page on which a claimant takes over a listing. `listings/owners.py` says which proof is enough.

    application   GET -> (the code goes into the public description) -> POST -> its management
    server        GET -> (the list of servers comes with a sign-in) -> POST -> its management
    template      GET -> POST -> its management

Invariant: it shows nothing that the owner wrote. The listing may be in review, and the claimant a stranger.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from actions.owners import take_over
from chatplatform.platform_client import PlatformAway
from core.rows import Listing
from handlers.reply import Reply
from kinds.kind import PlatformObject
from languages.said import plainly
from languages.texts import Text
from listings.owners import Evidence, take_over_refusal
from listings.rules import listing_of
from pages.page import Again, Answer, Page, PageCall, Post, Shown
from pages.shared_texts import AWAY, NOT_IN_LIST, done
from ratelimit.bucket import TooManyRequests
from web.pages import see_other

NO_APPLICATION = Text("The chat platform knows no application with this id any more.")
NO_CODE = Text("The description at the chat platform does not contain the code.")


NOT_CREATOR = Text("The chat platform does not say that you made this template.")


class _Proof(NamedTuple):
    """A way in which the platform proves who owns a listing.

    Args:
        title: the title of the page.
        known: returns the evidence without a question to the platform, if any, and values of the template.
        look: returns the evidence of a claimant who has pressed the button. Raises Again without one.
    """

    title: Text
    known: Callable[[PageCall], tuple[Evidence | None, Mapping[str, Any]]]
    look: Callable[[PageCall], Awaitable[Evidence]]


def _show(proof: _Proof, page: PageCall) -> Shown[None] | Reply:
    row, user = _listing(page), page.person.id
    if row.owner_id == user:
        return see_other(f"/{row.ref}/manage")
    evidence, own = proof.known(page)
    reason = take_over_refusal(row, user, evidence) if evidence is not None else None
    html = {
        "kind": page.call.listing_kind,
        "id": row.id,
        "here": f"/{row.ref}/take-over",
        "refused": plainly(reason) if reason is not None else None,
        "problem": page.refused.errors.get(""),
        **own,
    }
    return Shown(None, proof.title, html)


async def _take(proof: _Proof, page: PageCall, _: object) -> Answer:
    """Take the listing over if the platform proves that it is the visitor's."""
    row, user = _listing(page), page.person.id
    if row.owner_id == user:
        return see_other(f"/{row.ref}/manage")
    evidence = await proof.look(page)
    await take_over(page.call.rechecked(), user, evidence)
    is_denied = _listing(page).state == "denied"
    return done(f"/{row.ref}/manage{'/profile' if is_denied else ''}", "taken-over")


def _listing(page: PageCall) -> Listing:
    return listing_of(page.call.state, page.call.ref)


def _code(page: PageCall) -> tuple[Evidence, Mapping[str, Any]]:
    asked, call = page.site.submissions, page.call
    code = asked.code_of(call.ref, page.person.id)
    return "code", {"card": asked.applications.card(call.ids[0]), "code": code}


async def description_now(page: PageCall) -> str:
    """Ask the platform for the description of the page's bot. Raises Again without one."""
    try:
        told = await page.site.submissions.applications.ask(page.person.id, page.call.ids[0], refresh=True)
    except PlatformAway as away:
        raise Again(errors={"": AWAY}, status=503) from away
    except TooManyRequests as refused:
        raise Again(refused) from refused
    if told.application is None:
        raise _not_proven(NO_APPLICATION)
    return told.application.description


async def _look_for_code(page: PageCall) -> Evidence:
    """Look for the visitor's code in the bot's description."""
    code = page.site.submissions.code_of(page.call.ref, page.person.id)
    if code not in await description_now(page):
        raise _not_proven(NO_CODE)
    return "code"


def _servers(page: PageCall) -> tuple[Evidence | None, Mapping[str, Any]]:
    lists, user_id = page.site.submissions.server_lists, page.person.id
    known, server = lists.of(user_id), lists.server(user_id, page.call.ids[0])
    evidence: Evidence | None = None
    if server is not None:
        evidence = "server owner" if server.is_owned else "server manager"
    return evidence, {"known": known, "server": server}


async def _look_for_server(page: PageCall) -> Evidence:
    evidence, _ = _servers(page)
    if evidence is None:
        raise _not_proven(NOT_IN_LIST)
    return evidence


async def _look_for_creator(page: PageCall) -> Evidence:
    """Ask the platform who made the template."""
    page.site.submissions.checking.limit.take(page.person.id)
    asked = page.call.tools.templates
    told = await asked.ask(page.call.ids[0]) if asked is not None else None
    if told is None:
        raise Again(errors={"": AWAY}, status=503)
    if told[1] != page.person.id:
        raise _not_proven(NOT_CREATOR)
    return "template creator"


def _not_proven(why: Text) -> Again:
    return Again(errors={"": why}, status=409)


def _page(known_as: PlatformObject, proof: _Proof) -> Page[None]:
    return Page(
        path="/{kind}/{id}/take-over",
        known_as=known_as,
        template=f"take_over_{known_as}",
        show=partial(_show, proof),
        has_json=False,
        posts=(Post(run=partial(_take, proof), then=lambda _, answer: answer),),
    )


TAKE_OVER_PAGES = (
    _page("application", _Proof(Text("Take this bot over"), _code, _look_for_code)),
    _page("server", _Proof(Text("Take this server over"), _servers, _look_for_server)),
    _page("template", _Proof(Text("Take this template over"), lambda _: (None, {}), _look_for_creator)),
)
