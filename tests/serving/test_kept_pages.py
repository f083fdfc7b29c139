"""serving/kept_pages.py: what is kept, how long, and what drops it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, ParamSpec, get_args

import pytest
from tornado.httputil import HTTPHeaders

from core import events as ev
from handlers.reply import Reply
from handlers.request import Request
from handlers.route import AnswerKeeping, AnswerVariant, Resource
from serving.kept_pages import DROPS, FRESH_NS, MOST_REFS, OLDEST_NS, KeptPages
from serving.traffic import Traffic
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.sample_rows import BOT_REF, NOW_MS, SERVER_REF

PUBLIC = {"cache-control": "public, max-age=10", "vary": "Cookie"}
ROOM = 1_000_000
BODY = b"x" * 10_000
JUST_OLD = (FRESH_NS + 1) / 1e9
TOO_OLD = (OLDEST_NS + 1) / 1e9


P = ParamSpec("P")


def ran(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test that is a coroutine."""

    @wraps(test)
    def running(*given: P.args, **named: P.kwargs) -> None:
        run(test(*given, **named))

    return running


class Pages:
    """Kept pages around an endpoint that counts its answers, and can be held up."""

    def __init__(self, room: int = ROOM) -> None:
        self.clock = FakeClock()
        self.kept = KeptPages(room, self.clock, Traffic([]))
        self.made = 0
        self.reply = Reply(200, BODY, PUBLIC, content_type="text/html", shows=(BOT_REF,))
        self.gate: asyncio.Event | None = None
        keeping = AnswerKeeping(("q",), self.variant)
        (resource,) = self.kept.keeping([Resource("/{x*}", {"GET": self._make}, keeping=keeping)])
        self._serve: Any = resource.endpoints["GET"]

    def variant(self, headers: Mapping[str, str]) -> AnswerVariant | None:
        cookie = headers.get("Cookie", "")
        return AnswerVariant(is_packed=False, others=cookie) if cookie != "session" else None

    async def _make(self, _: Request) -> Reply:
        self.made += 1
        number, reply = self.made, self.reply
        if self.gate is not None:
            await self.gate.wait()
        return Reply(
            reply.status, reply.body + b"%d" % number, reply.headers, shows=reply.shows, cookies=reply.cookies
        )

    async def get(self, path: str = "/a", query: Mapping[str, str] | None = None, **headers: str) -> Reply:
        sent = HTTPHeaders({name.replace("_", "-"): value for name, value in headers.items()})
        answer: Reply = await self._serve(Request("GET", path, (), query or {}, sent, "192.0.2.1", b"", 0))
        return answer

    async def number(self, path: str = "/a", **headers: str) -> int:
        """Return the number of the answer that was made for a request."""
        return int((await self.get(path, None, **headers)).body.removeprefix(BODY))

    def commit(self, *events: ev.Event) -> None:
        self.kept.on_record(1, events)


@pytest.fixture
def pages() -> Pages:
    return Pages()


def _types(union: Any) -> set[type]:
    return {each for part in get_args(union) for each in (_types(part) or {part})}


def test_each_event_says_what_it_drops() -> None:
    assert DROPS.keys() == _types(ev.Event)


def test_an_event_that_drops_what_shows_a_listing_or_a_user_names_it() -> None:
    assert [kind for kind, drop in DROPS.items() if drop == "shown" and not hasattr(kind, "ref")] == []


@ran
async def test_an_answer_is_made_once_and_kept_for_two_seconds(pages: Pages) -> None:
    assert [await pages.number() for _ in range(3)] == [1, 1, 1]
    pages.clock.advance(FRESH_NS / 1e9 - 0.001)
    assert await pages.number() == 1
    pages.clock.advance(0.001)
    assert await pages.number() == 2


@ran
async def test_variants_and_queries_are_kept_apart(pages: Pages) -> None:
    assert [await pages.number(Cookie=each) for each in ("de", "en", "de")] == [1, 2, 1]
    assert (await pages.get(query={"q": "a"})).body.endswith(b"3")
    assert (await pages.get(query={"q": "b"})).body.endswith(b"4")
    assert (await pages.get(query={"q": "a"})).body.endswith(b"3")


@ran
async def test_what_is_made_for_one_visitor_is_not_kept(pages: Pages) -> None:
    assert [await pages.number(Cookie="session") for _ in range(2)] == [1, 2]
    assert (await pages.get(query={"p": "a"})).body != (await pages.get(query={"p": "a"})).body
    assert not pages.kept.addresses


@pytest.mark.parametrize(
    "reply",
    [
        Reply(404, BODY, PUBLIC),
        Reply(303, BODY, PUBLIC),
        Reply(200, BODY, {"cache-control": "no-store"}),
        Reply(200, BODY, {"cache-control": "private, max-age=10"}),
        Reply(200, BODY),
        Reply(200, BODY, PUBLIC, cookies=("a=b",)),
        Reply(200, b"x" * (ROOM // 5), PUBLIC),
    ],
)
@ran
async def test_only_a_short_success_that_every_cache_may_keep_is_kept(pages: Pages, reply: Reply) -> None:
    pages.reply = reply
    await pages.get()
    await pages.get()
    assert (pages.made, pages.kept.size) == (2, 0)


@ran
async def test_while_one_request_makes_an_old_answer_again_the_others_get_it(pages: Pages) -> None:
    await pages.get()
    pages.clock.advance(JUST_OLD)
    pages.gate = asyncio.Event()
    maker = asyncio.create_task(pages.number())
    await asyncio.sleep(0)
    assert [await pages.number() for _ in range(3)] == [1, 1, 1]
    pages.gate.set()
    assert await maker == 2
    assert await pages.number() == 2


@ran
async def test_no_answer_is_older_than_ten_seconds(pages: Pages) -> None:
    await pages.get()
    pages.clock.advance(JUST_OLD)
    pages.gate = asyncio.Event()
    maker = asyncio.create_task(pages.number())
    await asyncio.sleep(0)
    pages.clock.advance(TOO_OLD)
    other = asyncio.create_task(pages.number())
    await asyncio.sleep(0)
    pages.gate.set()
    assert {await maker, await other} == {2, 3}


@ran
async def test_a_maker_that_fails_leaves_its_work_to_the_next(pages: Pages) -> None:
    await pages.get()
    pages.clock.advance(JUST_OLD)
    pages.reply = Reply(404, BODY)
    assert (await pages.get()).status == 404
    assert pages.kept.size == 0


REMOVAL = ev.ListingRemoved(BOT_REF)
OF_ANOTHER = ev.ListingRemoved(SERVER_REF)
ERASURE = ev.UserErased("1", ())
VOTE = ev.VoteCast(BOT_REF, "1", 1, NOW_MS)


@pytest.mark.parametrize(
    ("event", "now"),
    [(REMOVAL, 2), (ERASURE, 2), (OF_ANOTHER, 1), (VOTE, 1)],
    ids=lambda each: str(each)[:20],
)
@ran
async def test_an_event_drops_the_answers_that_show_its_listing(
    pages: Pages, event: ev.Event, now: int
) -> None:
    await pages.get()
    pages.commit(event)
    assert await pages.number() == now


@pytest.mark.parametrize(("event", "now"), [(REMOVAL, 2), (ERASURE, 2), (OF_ANOTHER, 1), (VOTE, 1)])
@ran
async def test_an_answer_that_was_begun_before_an_event_is_not_kept_behind_it(
    pages: Pages, event: ev.Event, now: int
) -> None:
    pages.gate = asyncio.Event()
    maker = asyncio.create_task(pages.get())
    await asyncio.sleep(0)
    pages.commit(event)
    pages.gate.set()
    await maker
    assert await pages.number() == now


@ran
async def test_an_answer_with_very_many_listings_is_dropped_with_any(pages: Pages) -> None:
    shows = tuple(f"bots/{number}" for number in range(MOST_REFS + 1))
    pages.reply = Reply(200, BODY, PUBLIC, shows=shows)
    await pages.get()
    pages.commit(OF_ANOTHER)
    assert await pages.number() == 2


@ran
async def test_a_client_that_has_the_answer_is_told_so(pages: Pages) -> None:
    tag = (await pages.get()).headers["etag"]
    same = await pages.get(If_None_Match=tag)
    assert (same.status, same.body, same.headers["etag"]) == (304, b"", tag)
    pages.clock.advance(JUST_OLD)
    assert (await pages.get(If_None_Match=tag)).status == 200  # it is another one by now


@ran
async def test_a_condition_does_not_keep_an_answer_from_being_kept(pages: Pages) -> None:
    assert (await pages.get(If_None_Match='"a"')).status == 200
    assert (await pages.get(If_None_Match="*")).status == 304
    assert pages.made == 1


@ran
async def test_the_answers_take_no_more_than_their_room(pages: Pages) -> None:
    for number in range(500):
        for _ in range(1 + number % 4):
            await pages.get(f"/{number}")
        assert pages.kept.size <= ROOM
    assert pages.kept.size > ROOM / 2
    pages.commit(ERASURE)
    assert (pages.kept.size, pages.kept.addresses) == (0, {})


@ran
async def test_long_addresses_take_of_the_room_too(pages: Pages) -> None:
    pages.reply = Reply(200, b"", PUBLIC)
    for number in range(500):
        await pages.get(query={"q": f"{number}" + "x" * 8_000})
    assert sum(map(len, pages.kept.addresses)) < ROOM / 5


@ran
async def test_nonsense_pushes_out_nothing_that_is_asked_for_often(pages: Pages) -> None:
    for _ in range(3):
        await pages.get("/popular")
    for number in range(1_000):
        await pages.get(f"/nonsense/{number}")
    assert await pages.number("/popular") == 1


@ran
async def test_requests_and_the_reasons_for_dropping_are_counted() -> None:
    pages = Pages(room=len(BODY) * 10)
    for _ in range(3):
        await pages.get()
    await pages.get(Cookie="session")
    assert (len(pages.kept), pages.kept.requests) == (1, {"kept": 2, "made": 1})
    pages.commit(ev.ListingRemoved(BOT_REF))
    assert (len(pages.kept), pages.kept.dropped) == (0, {"event": 1, "room": 0})
    for number in range(5):
        await pages.get(f"/{number}")
    assert (pages.kept.requests["made"], pages.kept.dropped["event"]) == (6, 1)
    assert len(pages.kept) + pages.kept.dropped["room"] == 5
    assert pages.kept.dropped["room"] > 0
    assert 0 < pages.kept.size <= pages.kept.room


@ran
async def test_of_the_popular_ones_the_least_recently_used_leaves_first(pages: Pages) -> None:
    for number in range(200):
        for _ in range(3):
            await pages.get(f"/{number}")
        await pages.get("/0")
    made = pages.made
    await pages.get("/0")
    await pages.get("/199")
    assert pages.made == made
    await pages.get("/1")
    assert pages.made == made + 1


@ran
async def test_without_room_every_answer_is_made_for_its_request() -> None:
    pages = Pages(room=0)
    tag = (await pages.get()).headers["etag"]
    assert await pages.number() == 2
    assert (await pages.get(If_None_Match=tag)).status == 200
    assert not pages.kept.addresses
