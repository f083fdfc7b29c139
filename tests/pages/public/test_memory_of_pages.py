"""A page from memory equals one made for a request within its age, and is for strangers alone.

Events, requests, languages, waits and evictions come in any order: the memory has room for a few pages.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count
from typing import Literal, NamedTuple

import hypothesis
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from msgspec.structs import replace

from core import events as ev
from tests.support.kept_answers import BROWSER, NO_SESSION, Asker
from tests.support.people_gateway import PeopleGateway
from tests.support.people_scene import SESSION
from tests.support.platform_stand_in import ADA
from tests.support.public_scene import BOTS, list_many
from tests.support.sample_rows import BOT_PROFILE

ROOM = 150_000
AGE_NS = 2_000_000_000
SOME = BOTS[:2]
PATHS = ("/", "/bots?sort=newest", "/bots.json?sort=newest", "/bots.rss", f"/users/{ADA}")
OF_BOTS = tuple(
    f"/bots/{bot}{end}" for bot in SOME for end in ("/vote", ".json", "/badge.svg", "/reviews", "/commands")
)
"""Without the first page of a listing: it shows similar listings, which a thread finds some time later."""
LANGUAGES = ("en", "de-AT, en;q=0.5")
COOKIES = ("_ga=1", "__Host-votegate-look=dark; __Host-votegate-language=fr")
What = Literal["name", "remove", "deny", "vote"]


class Ask(NamedTuple):
    """A request, of a person if it has a session."""

    path: str
    language: str
    packing: str
    cookie: str
    is_person: bool


class Change(NamedTuple):
    bot: str
    what: What


class Wait(NamedTuple):
    seconds: float


class Again(NamedTuple):
    """One of the last requests, once more."""

    ago: int


Step = Ask | Change | Wait | Again
asks = st.builds(
    Ask,
    st.sampled_from(PATHS + OF_BOTS),
    st.sampled_from(LANGUAGES),
    st.sampled_from(["gzip", "identity"]),
    st.sampled_from(COOKIES),
    st.sampled_from([False, False, False, True]),
)
changes = st.builds(Change, st.sampled_from(SOME), st.sampled_from(["name", "remove", "deny", "vote"]))
waits = st.builds(Wait, st.sampled_from([0.1, 0.9, 1.2, 2.5, 11.0]))
agains = st.builds(Again, st.integers(1, 3))
steps = st.lists(st.one_of(asks, agains, agains, changes, waits), min_size=5, max_size=40)


class Story:
    """A gateway, the names that nobody may see any more, and the pages as they were made."""

    def __init__(self, gateway: PeopleGateway) -> None:
        self._gateway = gateway
        self._numbers = count(1)
        self.asker = Asker(gateway)
        self._session = gateway.person(ADA).cookies[SESSION]
        self._names: dict[str, str] = {}
        self._old: set[bytes] = set()
        self.made: dict[Ask, list[tuple[int, bytes]]] = defaultdict(list)
        self.direct = 0
        self._asked: list[Ask] = []

    def begin(self) -> None:
        self._gateway.advance(600)
        self.made.clear()
        self._asked.clear()
        for bot in SOME:
            self.take(Change(bot, "name"))

    def take(self, step: Step) -> None:
        match step:
            case Ask():
                self._asked.append(step)
                self._ask(step)
            case Again(ago):
                for ask in self._asked[-ago:][:1]:
                    self._ask(ask)
            case Change(bot, "vote"):
                now_ms = self._gateway.clock.now_ms()
                number = next(self._numbers)
                self._commit(ev.VoteCast(f"bots/{bot}", str(10**17 + number), 1, now_ms))
            case Change(bot, what):
                self._change(bot, what)
            case Wait(seconds):
                self._gateway.advance(seconds)

    def _change(self, bot: str, what: What) -> None:
        ref, now_ms = f"bots/{bot}", self._gateway.clock.now_ms()
        if bot in self._names:
            self._old.add(self._names.pop(bot).encode())
        if what == "remove":
            self._commit(ev.ListingRemoved(ref))
        elif what == "deny":
            self._commit(ev.ListingReviewed(ref, "denied", "Spam", now_ms, withdraws=True))
        else:
            self._names[bot] = name = f"Marked-{next(self._numbers)}-bot"
            self._commit(ev.ListingSaved(ref, ADA, replace(BOT_PROFILE, name=name), "approved", now_ms))

    def _commit(self, event: ev.Event) -> None:
        self._gateway.on_loop(partial(self._gateway.gateway.ledger.commit, [event]))

    def _ask(self, ask: Ask) -> None:
        own = {"Accept-Language": ask.language, "Accept-Encoding": ask.packing}
        headers = {**BROWSER, **own, "Cookie": ask.cookie}
        if ask.is_person:
            answer = self.asker.get(
                ask.path, {**headers, "Cookie": f"{ask.cookie}; {SESSION}={self._session}"}
            )
            assert not answer.is_direct
            return
        now_ns = self._gateway.clock.monotonic_ns()
        self._make(ask, headers, now_ns)
        answer = self.asker.get(ask.path, headers)
        self.direct += answer.is_direct
        assert answer.content in {content for at, content in self.made[ask] if now_ns - at < AGE_NS}
        assert not any(name in answer.content for name in self._old)
        assert b"/signout" not in answer.content

    def _make(self, ask: Ask, headers: Mapping[str, str], now_ns: int) -> None:
        """Make the page for a request until it is the same twice: an order of a list may be a change late."""
        before = None
        while True:
            cookie = f"{ask.cookie}; {NO_SESSION['Cookie']}"
            made = self.asker.get(ask.path, {**headers, "Cookie": cookie})
            assert not made.is_direct
            self.made[ask].append((now_ns, made.content))
            if made.content == before:
                return
            before = made.content


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"server.kept_bytes": ROOM}


@pytest.fixture(scope="module")
def story(gateway: PeopleGateway) -> Iterator[Story]:
    list_many(gateway)
    story = Story(gateway)
    yield story
    story.asker.close()


@given(taken=steps)
@hypothesis.settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_an_answer_from_memory_equals_one_made_within_its_age(story: Story, taken: list[Step]) -> None:
    story.begin()
    for step in taken:
        story.take(step)


def test_many_of_these_answers_came_from_memory(story: Story) -> None:
    """The property above says nothing about a memory that is never asked."""
    assert story.direct > 50
