"""Signing in through the chat platform, and out. Invariant: a session opens only in the browser that asked
for it.

    GET /signin -> POST /signin -> (the user decides at the platform) -> GET /signin/callback -> page wanted

The POST seals the request into a cookie, which the callback takes away again, whatever becomes of it. The
callback is the one GET that changes something: it counts only with a `state` that this browser got a moment
ago. A sign-in always opens a new session, and ends the one that the browser had.
"""

import contextlib
from math import ceil
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from chatplatform.authorization import (
    RANDOM_BYTES,
    Failure,
    SignInFailed,
    is_answer_to,
    new_sign_in,
    read_callback,
    sign_in_url,
    token_form,
)
from chatplatform.platform_client import PlatformAway
from core.actors import user_actor
from core.failures import Unavailable
from handlers.reply import NO_HEADERS, Reply, reply_to
from languages.refusals import Refusal
from languages.texts import Text, Words
from pages.account.browsers import browser_label
from pages.account.sign_in_guards import SignInUnderWay
from pages.page import Again, Answer, AnyPage, Page, PageCall, Post, Shown
from pages.shared_texts import done
from pages.visitors import HOME, SIGN_IN
from ratelimit.address import address_key
from ratelimit.bucket import Decision
from watchers.security_log import tell
from web.cookies import keeps_cookies
from web.error_pages import error_text
from web.other_sites import way_back
from web.pages import Done, see_other

CALLBACK = "/signin/callback"


class Outcome(NamedTuple):
    """The texts for a sign-in that failed, and when the next attempt is possible."""

    status: int
    title: Text
    why: Words
    what_to_do: Text
    limits: Decision | None = None
    retry_seconds: float | None = None


Why = Failure | Literal["away", "unsaved", "often"]
"""The reasons of a failed sign-in: the platform's, and ours."""
AGAIN = Text("Nothing is lost. Try again in a moment.")


def _outcome(page: PageCall, why: Why) -> Outcome:
    """Return the texts for an outcome, and log it."""
    tell("sign_in_failed", why=why)
    platform = _host(page)
    match why:
        case "cancelled":
            return Outcome(
                200,
                Text("You are not signed in"),
                Text("The sign-in was cancelled at {platform}.", platform=platform),
                Text("Nothing has changed. You can sign in whenever you like."),
            )
        case "state":
            return Outcome(
                400,
                Text("This sign-in cannot be used"),
                Text("It began more than 10 minutes ago, began in another browser, or was already used."),
                Text("Start again here. If a link of somebody else led you to this page, leave it."),
            )
        case "platform":
            refused = Text("{platform} refused it, or did not say who you are.", platform=platform)
            tell_us = Text("Try again. If it happens again, tell the team of this site.")
            return Outcome(400, Text("The sign-in did not work"), refused, tell_us)
        case "away":
            silent = Text("{platform} gives no answer that can be used right now.", platform=platform)
            return Outcome(503, Text("The sign-in has to wait"), silent, AGAIN)
        case "unsaved":
            unsaved = Text("This site cannot save anything right now.")
            return Outcome(503, Text("The sign-in was not saved"), unsaved, AGAIN)
        case "often":
            often = Text("Too many sign-ins came from your address.")
            return Outcome(429, Text("One moment, please"), often, Text("Nothing is lost."))


def show(page: PageCall) -> Shown[None] | Reply:
    """Show the button, or lead a visitor on who is signed in already."""
    is_refused = page.refused.error is not None
    to = _wanted(page.visit.form().text("to") if is_refused else page.visit.request.query.get("to", HOME))
    if page.visit.visitor is not None and not is_refused:
        return see_other(to)
    listing = _voted_for(page, to)
    values = {
        "to": to,
        "listing": listing,
        "platform": _host(page),
        "can_sign_in": _can_sign_in(page),
        "keeps_email": page.call.tools.keeps_email,
        "site": page.site.sign_in.redirect_uri.removesuffix(CALLBACK),
    }
    return Shown(None, Text("Sign in to vote") if listing else Text("Sign in"), values)


def _voted_for(page: PageCall, to: str) -> str:
    """Return the name of the listing if the sign-in leads to its vote page; else an empty text."""
    path = to.partition("?")[0]
    row = page.call.state.listings.get(path[1:].removesuffix("/vote")) if path.endswith("/vote") else None
    return row.profile.name if row is not None and row.is_public else ""


def start(page: PageCall, _: object) -> Reply:
    """Send the browser to the platform, also for a user who is signed in already.

    A user who is signed in here passes without a question, if the platform still knows the user. After a
    failed attempt the platform asks, because it would refuse to let the user pass again and again.
    """
    form = page.visit.form()
    if not _can_sign_in(page):
        raise Again(status=400)  # the page says that the browser would not keep the cookie
    asks_again = page.visit.visitor is None or form.text("ask") == "again"
    return to_platform(page, _wanted(form.text("to")), asks_again=asks_again)


def to_platform(page: PageCall, to: str, *, asks_again: bool) -> Reply:
    """Send the browser to the platform, and from there to the page `to`."""
    sign_in, random = page.site.sign_in, page.call.tools.random
    sign_in.guards.started.take(address_key(page.visit.request.address))
    request = new_sign_in(random(2 * RANDOM_BYTES))
    under_way = SignInUnderWay(request, to)
    value = sign_in.seal.sealed(under_way, page.call.now_ms)
    at_platform = sign_in_url(
        *(page.site.addresses.authorize_url, sign_in.client_id, sign_in.redirect_uri, request),
        asks_again=asks_again,
    )
    return see_other(at_platform, cookies=(page.site.accounts.cookies.sign_in.opened(value),))


async def finish(page: PageCall) -> Shown[None] | Reply:
    """Sign in a user who comes back from the platform."""
    cookies, sign_in, request = page.site.accounts.cookies, page.site.sign_in, page.visit.request
    under_way = sign_in.seal.opened(cookies.sign_in.value(request.headers), page.call.now_ms)
    if under_way is not None:  # any page of the web can send a browser here without one
        attempt = sign_in.guards.finished.count(address_key(request.address))
        if not attempt.allowed:
            return _failed(page, under_way, _outcome(page, "often")._replace(limits=attempt))
    try:
        session = await _session(page, under_way)
    except SignInFailed as failed:
        return _failed(page, under_way, _outcome(page, failed.why))
    except PlatformAway as away:
        return _failed(page, under_way, _outcome(page, "away")._replace(retry_seconds=away.retry_seconds))
    except Unavailable:
        return _failed(page, under_way, _outcome(page, "unsaved"))
    except Refusal as refusal:  # of the rules on users
        refused, nothing = reply_to(refusal), Text("Nothing has changed.")
        outcome = Outcome(refused.status, Text("You cannot sign in"), error_text(refused), nothing)
        return _failed(page, under_way, outcome)
    opened = cookies.session.opened(session)
    return see_other(_return_to(under_way), cookies=(opened, cookies.sign_in.cleared()))


async def _session(page: PageCall, under_way: SignInUnderWay | None) -> str:
    """Open a session and return its value.

    Raises SignInFailed, PlatformAway, Unavailable, and the refusals of the rules on users.
    """
    sign_in, lists, came = page.site.sign_in, page.site.submissions.server_lists, page.visit.request
    request = under_way.request if under_way is not None else None
    if request is None or not (
        is_answer_to(came.query, request) and await sign_in.guards.is_first(request.state)
    ):
        raise SignInFailed("state")
    code = read_callback(came.query, request)  # after that: a refusal uses the state up, too
    token = await page.site.platform.token(token_form(code, sign_in.redirect_uri, request))
    user = await page.site.platform.user(token)
    servers, is_wanted = None, lists.is_wanted(_return_to(under_way))
    if is_wanted:
        with contextlib.suppress(PlatformAway):  # the page says so, and the sign-in counts
            servers = await page.site.platform.servers(token)
    accounts, label = page.site.accounts, browser_label(came.headers.get("User-Agent"))
    try:
        session = await accounts.people.sign_in(user, label, accounts.cookies.session.value(came.headers))
    except Refusal:
        tell("sign_in_failed", why="refused", user=user_actor(user.id))
        raise
    if is_wanted:
        lists.keep(user.id, servers)
    return session


def _failed(page: PageCall, under_way: SignInUnderWay | None, outcome: Outcome) -> Shown[None]:
    limits, retry_seconds = outcome.limits, outcome.retry_seconds
    values = {
        "why": outcome.why,
        "what_to_do": outcome.what_to_do,
        "wait_seconds": limits.reset_seconds if limits is not None else retry_seconds,
        "to": _return_to(under_way),
    }
    headers = {"retry-after": str(ceil(retry_seconds))} if retry_seconds is not None else NO_HEADERS
    return Shown(
        None,
        outcome.title,
        values,
        headers=headers,
        status=outcome.status,
        limits=limits,
        cookies=(page.site.accounts.cookies.sign_in.cleared(),),
    )


def _return_to(under_way: SignInUnderWay | None) -> str:
    return under_way.return_to if under_way is not None else HOME


def _wanted(to: str) -> str:
    return way_back(to, HOME)


def _host(page: PageCall) -> str:
    return urlsplit(page.site.addresses.authorize_url).hostname or ""


def _can_sign_in(page: PageCall) -> bool:
    return not page.site.accounts.cookies.are_secure or keeps_cookies(page.visit.request.headers)


async def sign_out(page: PageCall, _: object) -> Done:
    """End the session of this browser."""
    session = page.site.accounts.cookies.session
    await page.site.accounts.people.sign_out(session.value(page.visit.request.headers))
    return done(HOME, "signed-out", {"clear-site-data": '"cache", "storage"'}, (session.cleared(),))


def _as_made(_: PageCall, made: Answer) -> Answer:
    return made


SIGN_IN_PAGES: tuple[AnyPage, ...] = (
    Page(
        path=SIGN_IN,
        template="sign_in",
        visitors="anyone",
        has_json=False,
        show=show,
        posts=(Post(run=start, then=_as_made),),
    ),
    Page(path=CALLBACK, template="sign_in_failed", visitors="anyone", has_json=False, show=finish),
    Page(path="/signout", visitors="anyone", posts=(Post(run=sign_out, then=_as_made),)),
)
