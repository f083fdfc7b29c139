"""Pages that are kept for strangers: the same on both ways, gone with their listings, and for nobody else."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from tornado.httputil import HTTPHeaders

from core import events as ev
from core.actors import REQUEST_ID
from core.listing_table import ListingsView
from core.rows import Eligibility
from core.user_rows import Rating, UserProfile, UserSession, user_ref
from core.user_table import UsersView
from handlers.reply import Reply
from pages.table import PEOPLE_PAGES
from serving.kept_pages import KeptAddress, KeptPages
from tests.support.gateways import OTHER_USER, USER
from tests.support.kept_answers import BROWSER, NO_SESSION, Asker
from tests.support.made_listings import MADE_IDS, list_made
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.people_scene import SESSION
from tests.support.platform_stand_in import ADA, BEN
from tests.support.public_scene import BOTS, SERVERS, list_many
from tests.support.sample_rows import BOT_PROFILE
from tests.support.scraped import METRICS, Scraped
from web.static_files import read_static_files

POPULAR = f"/bots/{BOTS[0]}"
REMOVED = f"/bots/{BOTS[1]}"
MUSIC = "/bots?category=Music&sort=name"
HTML = ("/", "/bots", "/servers", "/bots?sort=votes", MUSIC, "/bots?q=bot", "/add", POPULAR)
FILES = (
    *("/index.json", "/bots.json?limit=3", f"{POPULAR}.json", f"{POPULAR}/badge.svg", "/bots.rss"),
    *("/robots.txt", "/sitemap.xml", "/sitemap/pages.xml", "/sitemap/bots/1.xml", "/docs", "/openapi.json"),
    *("/manifest.webmanifest", "/favicon.ico", read_static_files().address("site.css")),
)
HEADS: tuple[Mapping[str, str], ...] = (
    BROWSER,
    {**BROWSER, "Accept-Encoding": "identity"},
    {**BROWSER, "Accept-Language": "de-AT, de;q=0.9", "Sec-Fetch-Site": "same-origin"},
    {**BROWSER, "Accept-Language": "xx", "Sec-Fetch-Site": "none", "Cookie": "_ga=1; other=2"},
    {**BROWSER, "Cookie": "__Host-votegate-look=dark; __Host-votegate-language=fr"},
    {**BROWSER, "X-Forwarded-For": "192.0.2.7", "If-None-Match": '"nothing"'},
    {**BROWSER, "Cookie": "_ga=1; a=b", "Referer": "http://localhost/bots", "X-Real-IP": "192.0.2.8"},
    {"Host": "a"},
)


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"server.kept_bytes": 64 << 20, "server.trusted_proxies": "127.0.0.1"}


@pytest.fixture(scope="module")
def gateway(gateway: PeopleGateway) -> PeopleGateway:
    list_many(gateway)
    list_made(gateway, ADA, is_approved=True)
    gateway.person(ADA)
    return gateway


@pytest.fixture
def asker(gateway: PeopleGateway) -> Iterator[Asker]:
    gateway.advance(600)
    asker = Asker(gateway)
    yield asker
    asker.close()


def commit(gateway: PeopleGateway, *events: ev.Event) -> None:
    gateway.on_loop(partial(gateway.gateway.ledger.commit, events))


@pytest.mark.parametrize("path", [*HTML, *FILES])
@pytest.mark.parametrize("headers", HEADS, ids=range(len(HEADS)))
def test_the_direct_route_answers_as_the_slow_way_does(
    asker: Asker, path: str, headers: Mapping[str, str]
) -> None:
    first, slow = asker.get(path, headers), asker.get(path, headers, slowly=True)
    again, known = asker.get(path, headers), asker.get(path, headers)
    assert (first.is_direct, slow.is_direct, again.is_direct, known.is_direct) == (False, False, True, True)
    assert first.same == slow.same == again.same == known.same
    assert len({each.answer.named("x-request-id") for each in (first, slow, again, known)}) == 4


@pytest.mark.parametrize("path", [*HTML, *FILES])
def test_a_client_that_has_the_answer_is_told_so_in_the_same_way(asker: Asker, path: str) -> None:
    tag = asker.get(path).answer.named("etag")
    assert tag is not None
    for condition in (tag, f'"other", W/{tag}', "*"):
        headers = {**BROWSER, "If-None-Match": condition}
        direct, slow = asker.get(path, headers), asker.get(path, headers, slowly=True)
        assert (direct.answer.status, direct.is_direct, slow.is_direct) == (304, True, False)
        assert direct.same == slow.same


@pytest.mark.parametrize("path", HTML)
def test_a_page_of_a_stranger_may_stand_in_every_cache(asker: Asker, path: str) -> None:
    answer = asker.get(path).answer
    assert answer.named("cache-control") == "public, max-age=10, stale-while-revalidate=60"
    varies = {"Accept-Encoding", "Accept-Language", "Cookie", "HX-Request"}
    assert set((answer.named("vary") or "").split(", ")) == varies


def test_no_cache_keeps_the_page_of_a_person(gateway: PeopleGateway, asker: Asker) -> None:
    ada = gateway.person(ADA)
    cookie = {**BROWSER, "Cookie": f"a=b; {SESSION}={ada.cookies[SESSION]}"}
    for path in HTML:
        asker.get(path)
        own, after = asker.get(path, cookie), asker.get(path)
        assert (own.answer.named("cache-control"), own.is_direct) == ("no-store", False)
        assert b"/signout" in own.content
        assert b"/signout" not in after.content
        assert own.answer.named("etag") is None


def test_a_notice_is_shown_to_its_visitor_alone(gateway: PeopleGateway, asker: Asker) -> None:
    visitor = Person(gateway)
    asker.get("/")
    assert visitor.post("/preferences", {"to": "/", "look": "dark", "language": "en"}).status_code == 303
    ben = gateway.person(BEN)
    ben.post("/signout")
    notice = "; ".join(f"{name}={value}" for name, value in ben.cookies.items())
    shown, after = asker.get("/", {**BROWSER, "Cookie": notice}), asker.get("/")
    assert (b'class="notice' in shown.content, shown.is_direct) == (True, False)
    assert (b'class="notice' in after.content, after.is_direct) == (False, True)
    assert shown.answer.named("cache-control") == "no-store"


@pytest.mark.parametrize(
    "headers",
    [
        {"HX-Request": "true"},
        {"Range": "bytes=0-1"},
        {"Expect": "nothing"},
        {"Connection": "close"},
        NO_SESSION,
    ],
)
def test_an_unusual_request_is_left_to_the_slow_way(
    gateway: PeopleGateway, headers: Mapping[str, str]
) -> None:
    asker = Asker(gateway)
    asker.get("/")
    assert asker.get("/").is_direct
    assert not asker.get("/", {**BROWSER, **headers}).is_direct
    asker.close()


@pytest.mark.parametrize(
    "path", ["/?a=b", "/bots?sort=newest&utm_source=a", "/nothing", "/me", "/bots/random", "/signin"]
)
def test_what_is_not_declared_is_not_kept(asker: Asker, path: str) -> None:
    assert not any(asker.get(path).is_direct for _ in range(4))


@pytest.mark.parametrize(
    "query", ["sort=name&category=Music", "category=Music&sort=name", "sort=votes&category=M%75sic&sort=name"]
)
def test_a_query_is_the_same_however_it_is_written(asker: Asker, query: str) -> None:
    first = asker.get(MUSIC)
    assert asker.get(f"/bots?{query}").same == first.same
    assert asker.get(f"/bots?{query}").is_direct


def test_answers_from_memory_are_counted_like_any_other(gateway: PeopleGateway, asker: Asker) -> None:
    def counted() -> tuple[float, float, float]:
        scraped = Scraped(gateway.operate("GET", METRICS).text)
        assert 0 < scraped.value("kept_pages_bytes") < scraped.value("kept_pages_limit_bytes")
        assert scraped.value("kept_pages") > 0
        return (
            scraped.value("requests_total", endpoint="page", status="2xx"),
            scraped.value("kept_pages_requests_total", outcome="kept"),
            scraped.value("kept_pages_requests_total", outcome="made"),
        )

    asker.get("/add")
    all_before, kept_before, made_before = counted()
    assert [asker.get("/").is_direct for _ in range(4)] == [False, True, True, True]
    assert counted() == (all_before + 4, kept_before + 3, made_before + 1)


# Events.

EVENTS: Mapping[str, Callable[[int], tuple[ev.Event, ...]]] = {
    "removed": lambda _: (ev.ListingRemoved(REMOVED[1:]),),
    "denied": lambda now_ms: (ev.ListingReviewed(REMOVED[1:], "denied", "Spam", now_ms, withdraws=True),),
    "edited": lambda now_ms: (
        ev.ListingSaved(REMOVED[1:], ADA, replace(BOT_PROFILE, name="Another"), "in_review", now_ms),
    ),
}
SHOWING = (
    *(REMOVED, f"{REMOVED}.json", f"{REMOVED}/vote", f"{REMOVED}/badge.svg", "/", "/bots", "/bots?sort=name"),
    *("/bots.json", "/bots.rss", f"/users/{ADA}", "/index.json", "/bots?q=bot", "/sitemap/bots/1.xml"),
    "/bots/suggestions.json?q=Withd",
)


@pytest.mark.parametrize("how", EVENTS)
def test_a_listing_that_is_gone_is_not_served_once_more(
    gateway: PeopleGateway, asker: Asker, how: str
) -> None:
    profile = replace(BOT_PROFILE, name="Withdrawn Bot")
    commit(gateway, ev.ListingSaved(REMOVED[1:], ADA, profile, "approved", gateway.clock.now_ms()))
    vote = ev.VoteCast(REMOVED[1:], USER, 1_000, gateway.clock.now_ms(), of_day=1_000, of_month=1_000)
    commit(gateway, vote)
    gateway.advance(600)
    for path in SHOWING:
        assert [asker.get(path).is_direct for _ in range(2)] == [False, True]
    assert sum(b"Withdrawn Bot" in asker.get(path).content for path in SHOWING) > 6

    commit(gateway, *EVENTS[how](gateway.clock.now_ms()))

    assert [path for path in SHOWING if b"Withdrawn Bot" in asker.get(path).content] == []
    assert asker.get(REMOVED).answer.status == 404


def test_a_vote_is_on_every_page_after_two_seconds(gateway: PeopleGateway, asker: Asker) -> None:
    before = asker.get(POPULAR)
    gateway.cast(OTHER_USER, f"/manage{POPULAR}")
    assert asker.get(POPULAR).same == before.same
    gateway.advance(2)
    now = asker.get(POPULAR)
    assert now.content != before.content
    assert now.content == asker.get(POPULAR, {**BROWSER, **NO_SESSION}).content


def test_a_review_that_is_gone_is_not_served_once_more(gateway: PeopleGateway, asker: Asker) -> None:
    now_ms = gateway.clock.now_ms()
    rating = Rating(POPULAR[1:], now_ms, 5, "What a wonderful bot this is")
    profile = UserProfile("ben", None, None, None)
    session = UserSession("digest", "Firefox", now_ms, now_ms)
    commit(gateway, ev.UserSignedIn(user_ref(BEN), profile, session))
    commit(gateway, ev.RatingSet(user_ref(BEN), rating, now_ms))
    paths = (POPULAR, f"{POPULAR}/reviews", f"{POPULAR}/reviews.json")
    for path in paths:
        assert [b"wonderful" in asker.get(path).content for _ in range(2)] == [True, True]
    commit(gateway, ev.RatingSet(user_ref(BEN), replace(rating, stars=0, text="", reason="Spam"), now_ms + 1))
    assert not any(b"wonderful" in asker.get(path).content for path in paths)


def test_a_server_that_is_hidden_is_not_served_once_more(gateway: PeopleGateway, asker: Asker) -> None:
    server, now_ms = f"servers/{SERVERS[0]}", gateway.clock.now_ms()
    assert [asker.get(f"/{server}").answer.status for _ in range(2)] == [200, 200]
    commit(gateway, ev.SlotsSet(server, now_ms, eligibility=Eligibility(now_ms, (), hidden_ms=now_ms)))
    assert asker.get(f"/{server}").answer.status == 404
    assert SERVERS[0].encode() not in asker.get("/servers").content


# Declarations.


def test_only_pages_for_anyone_are_kept() -> None:
    kept = [row for row in PEOPLE_PAGES if row.kept is not None]
    assert kept
    assert {(row.method, row.access) for row in kept} == {("GET", "anyone")}


def _addresses() -> list[str]:
    ids = {"bots": BOTS[0], "servers": SERVERS[1], **MADE_IDS}
    kept = [row for row in PEOPLE_PAGES if row.kept is not None and "{month}" not in row.path]
    of = {row.path: ids[row.kind.plural] if row.kind is not None else ADA for row in kept}
    return [path.format(id=its_id, part="1.xml") for path, its_id in of.items()]


@pytest.mark.parametrize("path", _addresses())
def test_an_answer_names_every_listing_and_user_that_it_was_made_of(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """The rows that a page looks at are among those whose events drop it."""
    read, shown = set[str](), list[frozenset[str]]()

    def noting(of: type, name: str) -> None:
        method = getattr(of, name)

        def look(self: Any, ref: str) -> Any:
            if REQUEST_ID.get():  # a request, and no loop
                read.add(ref)
            return method(self, ref)

        monkeypatch.setattr(of, name, look)

    noting(ListingsView, "peek")
    noting(ListingsView, "__getitem__")
    noting(UsersView, "__getitem__")
    stored = KeptPages._store

    def store(self: KeptPages, address: KeptAddress, variant: Any, reply: Reply, began_ns: int) -> bool:
        shown.append(frozenset(reply.shows))
        return stored(self, address, variant, reply, began_ns)

    monkeypatch.setattr(KeptPages, "_store", store)
    answer = asker.get(path).answer
    if answer.status == 200:
        (names,) = shown
        assert read <= names or len(names) > 1_000
    else:
        assert answer.status in {303, 401, 404}


KEY = {"Cookie", "Accept-Language", "Accept-Encoding", "Sec-Fetch-Site"}
"""The fields by which kept answers are found."""
NEVER = {"Content-Length", "Hx-Request", "Hx-Request-Type", "Hx-Target", "If-None-Match", "X-Forwarded-For"}
"""The fields of requests that get no answer directly, of a condition, and of the address in the log."""


@pytest.mark.parametrize("path", [*_addresses(), "/docs", "/openapi.json", "/favicon.ico"])
def test_an_answer_that_is_kept_depends_on_no_other_field_of_its_request(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    read = set[str]()
    method = HTTPHeaders.__getitem__

    def look(self: HTTPHeaders, name: str) -> str:
        if REQUEST_ID.get():
            read.add(name.title())
        return method(self, name)

    monkeypatch.setattr(HTTPHeaders, "__getitem__", look)
    asker.get(path)
    assert read - NEVER <= KEY
    assert read
