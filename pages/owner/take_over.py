"""The page on which a claimant takes over a listing. `listings/owners.py` says which proof is enough.

    application   GET -> (the code goes into the public description) -> POST -> its management
    server        GET -> (the list of servers comes with a sign-in) -> POST -> its management

Invariant: it shows nothing that the owner wrote. The listing may be in review, and the claimant a stranger.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from actions.owners import take_over
from chatplatform.answers import PlatformServer
from chatplatform.platform_client import PlatformAway
from core.rows import Listing
from handlers.reply import Reply
from kinds.registry import kind_of
from languages.said import plainly
from languages.texts import Text
from listings.owners import Evidence, take_over_refusal
from listings.rules import listing_of
from pages.page import Again, Answer, Page, PageCall, Post, Shown
from web.json_answers import AnswerRefused
from web.pages import see_other
from web.people.overview_pages import AWAY, NO_APPLICATION
from web.people.people_audience import done

NOT_IN_LIST = Text(
    "You do not manage this server, or the list of your servers is too old. You need the permission Manage "
    "Server there. Read the list again."
)
NO_CODE = Text("The description at the chat platform does not hold the code.")


class NotProven(Exception):
    """The platform does not prove that the listing is the claimant's."""


class _Proof(NamedTuple):
    """A way in which the platform proves who owns a listing.

    Args:
        evidence: returns the evidence that can be had now, without asking the platform.
        look: returns the evidence of a claimant who has pressed the button. Raises Again without one.
        html: the values of the template that are the kind's own.
    """

    title: Text
    template: str
    evidence: Callable[[PageCall], Evidence | None]
    look: Callable[[PageCall], Awaitable[Evidence]]
    html: Callable[[PageCall], Mapping[str, Any]]


def show(page: PageCall) -> Shown[None] | Reply:
    row, user = _listing(page), page.person.id
    if row.owner_id == user:
        return _managed(row)
    proof = _proof_of(page)
    evidence = proof.evidence(page)
    reason = take_over_refusal(row, user, evidence) if evidence is not None else None
    html = {
        "id": row.id,
        "here": f"/{row.ref}/take-over",
        "refused": plainly(reason) if reason is not None else None,
        "problem": page.refused.errors.get(""),
        **proof.html(page),
    }
    return Shown(None, proof.title, html, proof.template)


async def take(page: PageCall, _: object) -> Answer:
    """Take the listing over if the platform proves that it is the visitor's."""
    row, user = _listing(page), page.person.id
    if row.owner_id == user:
        return _managed(row)
    evidence = await _proof_of(page).look(page)
    await take_over(page.call.rechecked(), user, evidence)
    is_denied = _listing(page).state == "denied"
    return done(f"/{row.ref}/manage{'/profile' if is_denied else ''}", "taken-over")


def _proof_of(page: PageCall) -> _Proof:
    facts = kind_of(page.call.ref).facts
    if facts is None:
        raise TypeError("the platform knows nothing of this kind of listing")
    return _PROOFS[facts.question]


def _listing(page: PageCall) -> Listing:
    return listing_of(page.call.state, page.call.ref)


def _managed(row: Listing) -> Reply:
    return see_other(f"/{row.ref}/manage")


async def _look_for_code(page: PageCall) -> Evidence:
    """Ask the platform for the bot's description, and look for the visitor's code in it."""
    asked, ref, (bot, *_), user = page.site.submissions, page.call.ref, page.call.ids, page.person.id
    try:
        told = await asked.applications.ask(user, bot, anew=True)
    except PlatformAway as away:
        raise Again(away, errors={"": AWAY}, status=503) from away
    except AnswerRefused as refused:
        raise Again(refused) from refused
    if told.application is None:
        raise _not_proven(NO_APPLICATION)
    if asked.code_of(ref, user) not in told.application.description:
        raise _not_proven(NO_CODE)
    return "code"


async def _look_into_list(page: PageCall) -> Evidence:
    """Look for the server in the list of servers that the visitor manages."""
    evidence = _evidence_of_list(page)
    if evidence is None:
        raise _not_proven(NOT_IN_LIST)
    return evidence


def _not_proven(why: Text) -> Again:
    return Again(NotProven(), errors={"": why}, status=409)


def _evidence_of_list(page: PageCall) -> Evidence | None:
    server = _server(page)
    if server is None:
        return None
    return "server owner" if server.is_owned else "server manager"


def _server(page: PageCall) -> PlatformServer | None:
    known = page.site.submissions.server_lists.of(page.person.id)
    return known.of(page.call.ids[0]) if known is not None else None


def _html_of_code(page: PageCall) -> Mapping[str, Any]:
    asked = page.site.submissions
    return {
        "card": asked.applications.card(page.call.ids[0]),
        "code": asked.code_of(page.call.ref, page.person.id),
    }


def _html_of_list(page: PageCall) -> Mapping[str, Any]:
    return {"known": page.site.submissions.server_lists.of(page.person.id), "server": _server(page)}


_PROOFS: Mapping[str, _Proof] = {
    "application": _Proof(
        Text("Take this bot over"), "take_over_bot", lambda _: "code", _look_for_code, _html_of_code
    ),
    "server": _Proof(
        *(Text("Take this server over"), "take_over_server", _evidence_of_list),
        *(_look_into_list, _html_of_list),
    ),
}
"""The proofs by the question that the platform answers (`FactsPart`)."""
TAKE_OVER = Page(
    path="/{kind}/{id}/take-over",
    of="facts",
    show=show,
    has_json=False,
    posts=(Post(run=take, then=lambda _, answer: answer),),
)
