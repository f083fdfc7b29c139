"""Signing in through the chat platform, and out. Invariant: a session opens only in the browser that asked
for it.

    GET /signin -> POST /signin -> (the user decides at the platform) -> GET /signin/callback -> page wanted

The POST seals the request into a cookie (`sign_in_cookie.py`), which the callback takes away again, whatever
becomes of it. The callback is the one GET that changes something: it counts only with a `state` that this
browser got a moment ago. A sign-in always opens a new session, and ends the one that the browser had.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from chatplatform.platform_client import ChatPlatform, PlatformAway
from core.actors import user_actor
from core.clock import Clock
from core.refusals import Refusal, Unavailable
from handlers.reply import NO_HEADERS, Reply, reply_to, too_many
from languages.texts import Text, Words
from ratelimit.address import address_key
from ratelimit.bucket import Buckets, Decision, Policy
from watchers.security_log import tell
from web.cookies import PeopleCookies, keeps_cookies
from web.error_pages import error_text
from web.json_answers import AnswerRefused
from web.links import way_back
from web.pages import Page, Shown, see_other
from web.people.browsers import browser_label
from web.people.people_audience import HOME, PersonVisit, done
from web.people.server_lists import ServerLists
from web.people.sign_in_states import SignInStates
from web.people.visitors import People
from web.sealed_values import NONCE_BYTES
from web.sign_in_cookie import SignInSeal, SignInUnderWay

CALLBACK = "/signin/callback"
MOST_ADDRESSES = 10_000
"""The addresses whose attempts are counted."""


class Outcome(NamedTuple):
    """The words of a sign-in that came to nothing."""

    status: int
    title: Text
    why: Words
    what_to_do: Text


Why = Failure | Literal["away", "unsaved", "often"]
"""Why a sign-in came to nothing: the platform's reasons, and ours."""


def _outcomes(platform: str) -> Mapping[Why, Outcome]:
    """Return the words for each outcome. `platform` is the platform's host."""
    return {
        "cancelled": Outcome(
            200,
            Text("You are not signed in"),
            Text("The sign-in was cancelled at {platform}.", platform=platform),
            Text("Nothing has changed. You can sign in whenever you like."),
        ),
        "state": Outcome(
            400,
            Text("This sign-in does not count"),
            Text("It began more than 10 minutes ago or in another browser, or it is used up."),
            Text("Start again here. If a link of somebody else led you to this page, leave it."),
        ),
        "platform": Outcome(
            400,
            Text("The sign-in did not work"),
            Text(
                "{platform} refused it, or answered with something else than who you are.", platform=platform
            ),
            Text("Try again. If it stays, tell whoever runs this site."),
        ),
        "away": Outcome(
            503,
            Text("The sign-in has to wait"),
            Text("{platform} gives no answer that can be used right now.", platform=platform),
            Text("Nothing is lost. Try again in a moment."),
        ),
        "unsaved": Outcome(
            503,
            Text("The sign-in was not saved"),
            Text("This site cannot save anything right now."),
            Text("Nothing is lost. Try again in a moment."),
        ),
        "often": Outcome(
            429,
            Text("That was too often"),
            Text("Too many sign-ins came from your address."),
            Text("Wait, then try once more."),
        ),
    }


@dataclass(frozen=True)
class SignInPlace:
    """Where people sign in, and how this deployment is known there.

    Args:
        authorize_url: the platform's page on which a user decides.
        redirect_uri: the address of the callback, as it is registered at the platform letter by letter.
    """

    platform: ChatPlatform
    authorize_url: str
    client_id: str
    redirect_uri: str

    @property
    def host(self) -> str:
        return urlsplit(self.authorize_url).hostname or ""


class SignInPages:
    """The pages.

    Args:
        attempts: how often an address may start a sign-in or come back from one.
        random: returns so many random bytes.
        lists: keep the servers of a user who comes to list one.
        states: the states of sign-ins that came back.
    """

    def __init__(
        self,
        people: People,
        place: SignInPlace,
        cookies: PeopleCookies,
        seal: SignInSeal,
        attempts: Policy,
        clock: Clock,
        random: Callable[[int], bytes],
        lists: ServerLists,
        states: SignInStates,
    ) -> None:
        self._people = people
        self._place = place
        self._outcomes = _outcomes(place.host)
        self._cookies = cookies
        self._seal = seal
        self._policy = attempts
        self._started = Buckets(MOST_ADDRESSES)
        self._finished = Buckets(MOST_ADDRESSES)
        self._clock = clock
        self._random = random
        self._lists = lists
        self._states = states

    def show(self, visit: PersonVisit) -> Shown:
        to = way_back(visit.request.query.get("to", HOME), HOME)
        return see_other(to) if visit.visitor is not None else self._form(visit, to)

    def start(self, visit: PersonVisit) -> Shown:
        """Send the browser to the platform. For a user who is signed in already it is a new sign-in.

        The platform lets users pass who are signed in here, if it still knows them. After an attempt that
        failed it asks them, because a refusal to let them pass would be repeated for ever.
        """
        to = way_back(visit.form().text("to"), HOME)
        if not self._can_sign_in(visit):
            return self._form(visit, to, 400)
        attempt = self._attempt(self._started, visit)
        if not attempt.allowed:
            raise AnswerRefused(too_many(attempt))
        request = new_sign_in(self._random(2 * RANDOM_BYTES))
        under_way = SignInUnderWay(request, to, self._clock.now_ms())
        value = self._seal.sealed(under_way, self._random(NONCE_BYTES))
        place = self._place
        asks = visit.visitor is None or visit.form().text("ask") == "again"
        at_platform = sign_in_url(
            place.authorize_url, place.client_id, place.redirect_uri, request, asks_again=asks
        )
        return see_other(at_platform, cookies=(self._cookies.sign_in.opened(value),))

    async def finish(self, visit: PersonVisit) -> Shown:
        """Sign in a user who comes back from the platform."""
        value = self._cookies.sign_in.value(visit.request.headers)
        under_way = self._seal.opened(value, self._clock.now_ms())
        to = under_way.return_to if under_way is not None else HOME
        cleared = (self._cookies.sign_in.cleared(),)
        if under_way is not None:  # any page of the web can send a browser here without one
            attempt = self._attempt(self._finished, visit)
            if not attempt.allowed:
                return self._failed("often", to, cleared, attempt)
        try:
            session = await self._session(visit, under_way)
        except SignInFailed as failed:
            return self._failed(failed.why, to, cleared)
        except PlatformAway as away:
            return self._failed("away", to, cleared, retry_seconds=away.retry_seconds)
        except Unavailable:
            return self._failed("unsaved", to, cleared)
        except Refusal as refusal:  # of the rules on users
            return _failure(_refused(reply_to(refusal)), to, cleared)
        return see_other(to, cookies=(self._cookies.session.opened(session), *cleared))

    async def sign_out(self, visit: PersonVisit) -> Shown:
        session = self._cookies.session
        await self._people.sign_out(session.value(visit.request.headers))
        return done(HOME, "signed-out", {"clear-site-data": '"cache", "storage"'}, (session.cleared(),))

    async def _session(self, visit: PersonVisit, under_way: SignInUnderWay | None) -> str:
        """Open a session and return its value.

        Raises SignInFailed, PlatformAway, Unavailable, and the refusals of the rules on users.
        """
        headers = visit.request.headers
        request = under_way.request if under_way is not None else None
        query = visit.request.query
        if request is None or not (is_answer_to(query, request) and await self._states.take(request.state)):
            raise SignInFailed("state")
        code = read_callback(query, request)  # after that: a refusal uses the state up, too
        platform = self._place.platform
        token = await platform.token(token_form(code, self._place.redirect_uri, request))
        user = await platform.user(token)
        servers, is_wanted = None, under_way is not None and self._lists.is_wanted(under_way.return_to)
        if is_wanted:
            with contextlib.suppress(PlatformAway):  # the page says so, and the sign-in counts
                servers = await platform.servers(token)
        label = browser_label(headers.get("User-Agent"))
        try:
            session = await self._people.sign_in(user, label, self._cookies.session.value(headers))
        except Refusal:
            tell("sign_in_failed", why="refused", user=user_actor(user.id))
            raise
        if is_wanted:
            self._lists.keep(user.id, servers)
        return session

    def _attempt(self, attempts: Buckets, visit: PersonVisit) -> Decision:
        key = address_key(visit.request.address)
        return attempts.take(key, self._policy, self._clock.monotonic_ns())

    def _can_sign_in(self, visit: PersonVisit) -> bool:
        return not self._cookies.are_secure or keeps_cookies(visit.request.headers)

    def _form(self, visit: PersonVisit, to: str, status: int = 200) -> Page:
        values = {
            "to": to,
            "platform": self._place.host,
            "can_sign_in": self._can_sign_in(visit),
            "site": self._place.redirect_uri.removesuffix(CALLBACK),
        }
        return Page("people/sign_in.html", Text("Sign in"), values, status)

    def _failed(
        self,
        why: Why,
        to: str,
        cookies: tuple[str, ...],
        limits: Decision | None = None,
        retry_seconds: float | None = None,
    ) -> Page:
        tell("sign_in_failed", why=why)
        return _failure(self._outcomes[why], to, cookies, limits, retry_seconds)


def _failure(
    outcome: Outcome,
    to: str,
    cookies: tuple[str, ...],
    limits: Decision | None = None,
    retry_seconds: float | None = None,
) -> Page:
    values = {
        "why": outcome.why,
        "what_to_do": outcome.what_to_do,
        "wait_seconds": limits.reset_seconds if limits is not None else retry_seconds,
        "to": to,
    }
    headers = {"retry-after": str(ceil(retry_seconds))} if retry_seconds is not None else NO_HEADERS
    return Page("people/sign_in_failed.html", outcome.title, values, outcome.status, headers, limits, cookies)


def _refused(refused: Reply) -> Outcome:
    why = error_text(refused)
    return Outcome(refused.status, Text("You cannot sign in"), why, Text("Nothing has changed."))
