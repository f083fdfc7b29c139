"""The pages for people on a real socket, beside a stand-in for the chat platform."""

import asyncio
import io
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import cast
from urllib.parse import urlsplit

import requests
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from chatplatform.answers import PlatformUser, avatar_url
from chatplatform.platform_client import ChatPlatform, open_chat_platform
from core.failures import Unavailable
from core.rows import Policy
from handlers.route import PAGE, Resource
from handlers.visitor_limit import VisitorLimit
from languages.language_names import language_of
from languages.refusals import Refusal
from pages.account.mails import unsubscribe_seal
from pages.account.sign_in import CALLBACK, SIGN_IN_PAGES
from pages.account.sign_in_guards import SignInGuards, sign_in_seal
from pages.page_rows import rows_of
from pages.platform_facts import ServerLists
from pages.site_tools import Accounts, SigningIn
from pages.visitors import Addresses, People, Person, PersonVisit, people_audience
from serving.access_log import AccessLog
from serving.application import ApplicationPolicy, RunningRequests, make_application
from serving.loop_share import LoopShare
from serving.traffic import Traffic
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS, Client
from tests.support.logged_answers import output
from tests.support.page_visitor import PageVisitor
from tests.support.platform_stand_in import ADA, CLEO, CLIENT_ID, StandIn, decided_at, standing_in
from web.brand import Brand
from web.brand_files import BrandFiles
from web.cookies import Notices, people_cookies
from web.pages import HtmlPage, PageRow, SiteAnswer, see_other
from web.site import Site, static_resource
from web.templates import Templates

SESSION, SIGN_IN = "__Host-votegate-session", "__Host-votegate-signin"
NOTICE = "__Host-votegate-notice"
SECRET = b"a secret of the tests"
ATTEMPTS = Policy(20, 300)
SESSION_SECONDS = 7_776_000
FROM_PLATFORM = {"Sec-Fetch-Site": "cross-site"}


class PeopleInMemory:
    """Users and sessions without a journal. Cleo moderates."""

    def __init__(self, clock: FakeClock, cdn_url: str) -> None:
        self._clock = clock
        self._cdn_url = cdn_url
        self.sessions: dict[str, Person] = {}
        self.labels: list[str] = []
        self.takes_writes = True
        self.refusal: Refusal | None = None

    def known(self, value: str | None) -> Person | None:
        return self.sessions.get(value) if value is not None else None

    async def sign_in(self, user: PlatformUser, label: str, ends: str | None) -> str:
        if self.refusal is not None:
            raise self.refusal
        await self.sign_out(ends)
        value = secrets.token_urlsafe(32)
        name, picture = user.display_name or user.username, avatar_url(self._cdn_url, user.id, user.avatar)
        self.labels.append(label)
        self.sessions[value] = Person(
            user.id,
            name,
            picture,
            user.id == CLEO,
            language_of(user.locale or ""),
            "digest",
            self._clock.now_ms(),
        )
        return value

    async def sign_out(self, value: str | None) -> None:
        if not self.takes_writes:
            raise Unavailable("the disk is full")
        self.sessions.pop(value or "", None)


class SomePages:
    """Pages with each kind of access."""

    def show(self, visit: PersonVisit) -> SiteAnswer:
        words = dict.fromkeys(("what", "why", "what_to_do"), f"This is {visit.path}")
        return HtmlPage(
            "error.html",
            visit.path,
            {**words, "status": 200, "wait_seconds": None, "may_sign_in": visit.visitor is None},
        )

    def change(self, visit: PersonVisit) -> SiteAnswer:
        return see_other(f"/?by={visit.request.by}")


SOME_PAGES = (
    PageRow("GET", "/", lambda _: SomePages().show, "anyone"),
    PageRow("GET", "/me", lambda _: SomePages().show, "signed in"),
    PageRow("POST", "/me", lambda _: SomePages().change, "signed in"),
    PageRow("GET", "/review", lambda _: SomePages().show, "moderator"),
)


class PeopleSite(Client):
    """A server in a thread, with a clock that stands still."""

    stand_in: StandIn
    people: PeopleInMemory

    def __init__(self, *, are_secure: bool = True) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.are_secure = are_secure
        self.seal = sign_in_seal(SECRET, secrets.token_bytes)
        self.sockets = bind_sockets(0, "127.0.0.1")
        self.base_url = f"http://127.0.0.1:{self.sockets[0].getsockname()[1]}"
        self.redirect_uri = self.base_url + CALLBACK
        self.log = io.BytesIO()
        self._ready = threading.Event()

    def visitor(self) -> "PeopleVisitor":
        return PeopleVisitor(self)

    def logged(self) -> str:
        """The access log so far."""
        asyncio.run_coroutine_threadsafe(self._access.step(), self._loop).result(WAIT_SECONDS)
        return self.log.getvalue().decode()

    def run(self) -> None:
        asyncio.run(self._serve())

    def wait(self) -> None:
        assert self._ready.wait(WAIT_SECONDS)

    def stop(self) -> None:
        self.session.close()
        self._loop.call_soon_threadsafe(self._stop.set)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._access = AccessLog(self.clock, output(self.log))
        opening = open_chat_platform(
            self.stand_in.access, self.clock, deadline_seconds=WAIT_SECONDS, cache_seconds=0
        )
        async with opening as platform:
            policy = ApplicationPolicy(
                65_536,
                (),
                RunningRequests(),
                LoopShare(self.clock.monotonic_ns),
                self.clock,
                Traffic([PAGE]),
                self._access.answered,
            )
            server = HTTPServer(make_application(self._resources(platform), policy))
            server.add_sockets(self.sockets)
            self._ready.set()
            await self._stop.wait()
            server.stop()
            await server.close_all_connections()

    def _resources(self, platform: ChatPlatform) -> list[Resource]:
        cookies = people_cookies(SESSION_SECONDS, are_secure=self.are_secure)
        self.people = PeopleInMemory(self.clock, self.stand_in.url)
        addresses = Addresses(self.base_url, self.stand_in.authorize_url, self.stand_in.url)
        guards = SignInGuards(ATTEMPTS, self.clock)
        acts = VisitorLimit(Policy(1_000, 60), self.clock)
        notices = Notices(cookies.notice, SECRET, self.clock, secrets.token_bytes)
        audience = people_audience(
            *(cookies, notices, self.people.known, acts),
            *(addresses, Brand(), 65_536),
        )
        templates = Templates()
        site = Site(templates, audience, self.clock)
        tools = SimpleNamespace(
            actions=SimpleNamespace(clock=self.clock, random=secrets.token_bytes, keeps_email=False),
            addresses=addresses,
            accounts=Accounts(
                cast(People, self.people), cookies, acts, acts, unsubscribe_seal(SECRET, secrets.token_bytes)
            ),
            platform=platform,
            sign_in=SigningIn(CLIENT_ID, self.redirect_uri, self.seal, guards),
            submissions=SimpleNamespace(server_lists=ServerLists(self.clock)),
        )
        rows = (*rows_of(SIGN_IN_PAGES), *SOME_PAGES)
        return [static_resource(BrandFiles()), *site.resources(rows, tools)]


class PeopleVisitor(PageVisitor):
    """A browser that signs in at the stand-in."""

    def __init__(self, site: PeopleSite) -> None:
        super().__init__(site)
        self._site = site

    def started(self, to: str = "/") -> str:
        """The address at the platform to which a new sign-in leads."""
        answer = self.post("/signin", {"to": to})
        assert answer.status_code == 303, answer.text
        return answer.headers["Location"]

    def come_back(self, address: str) -> requests.Response:
        """Come back from the platform."""
        parts = urlsplit(address)
        return self.request("GET", f"{parts.path}?{parts.query}", FROM_PLATFORM)

    def sign_in_as(self, user: str = ADA, to: str = "/", decision: str = "approve") -> requests.Response:
        return self.come_back(decided_at(self.started(to), user, decision))


@contextmanager
def serving_people(*, are_secure: bool = True) -> Iterator[PeopleSite]:
    site = PeopleSite(are_secure=are_secure)
    with standing_in(site.redirect_uri) as site.stand_in:
        thread = threading.Thread(target=site.run)
        thread.start()
        site.wait()
        try:
            yield site
        finally:
            site.stop()
            thread.join(WAIT_SECONDS)
            assert not thread.is_alive()
