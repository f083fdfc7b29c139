"""What is not as it should be in a fleet is told when it begins and when it ends, and is shown meanwhile."""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from core.clock import FakeClock
from replication.members.differences import CLOCK_SECONDS, Differences
from replication.members.eviction import LOOK_BEATS, Eviction
from replication.members.warnings import Concerns
from replication.streams.lag import BEHIND_SECONDS, Chase
from replication.transport.envelopes import Status
from replication.transport.link import Link, RedisPlace
from storage.folder import DIGEST_SECRET, KEYS
from tests.support.committed_rows import HOUR_MS, NOW_MS
from tests.support.contract import users
from tests.support.fleet_processes import SHARED_SECRETS
from tests.support.fleet_threads import ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import eventually
from tests.support.journals import run
from tests.support.redis_server import RedisServer

NS = 1_000_000_000
DAY_MS = 24 * HOUR_MS
BEAT_SECONDS = 1.0
ALIKE = {"votes.cooldown_seconds": "86400", "limits.stats": "2 in 7200 s"}


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was warned of since the last call."""
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    caplog.clear()
    return lines


# -- one concern -------------------------------------------------------------------------------------------


def test_a_concern_is_told_when_it_begins_and_when_it_ends_and_shown_in_its_newest_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    concerns = Concerns()
    for words in (None, "late by 30", "late by 31", None, None, "late by 30"):
        concerns.note(("late", "b"), words, "late no more")
        assert [*concerns.current.values()] == ([words] if words else [])
    assert said(caplog) == ["late by 30", "late no more", "late by 30"]


def test_a_concern_about_a_node_goes_with_the_node_and_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    concerns = Concerns()
    for name in ("b", "c", ""):
        concerns.note(("late", name), f"late {name}", "")
    said(caplog)
    concerns.forget_all_but({"c"})
    assert [*concerns.current.values()] == ["late c", "late "]
    assert said(caplog) == []


# -- who is behind -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("looks", "behind"),
    [
        ([(0, 10, 0), (5, 20, 29), (9, 30, 29.9)], False),  # not long enough yet
        ([(0, 10, 0), (9, 30, 30)], True),
        ([(0, 10, 0), (9, 30, 30), (10, 30, 31)], True),  # it has come to where the end was 31 s ago
        ([(0, 10, 0), (9, 30, 30), (10, 30, 31), (30, 90, 45)], False),  # and to the next one in 14 s
        ([(0, 10, 0), (9, 30, 30), (10, 30, 31), (30, 90, 47)], True),  # in 16 s
        ([(0, 10, 0), (9, 30, 30), (30, 30, 31)], False),  # nothing is left
        ([(0, 10, 0), (10, 90, 29), (89, 99, 58)], False),  # each end is reached in time
        ([(0, 10, 0), (10, 10, 1), (10, 11, 1_000)], False),  # there was nothing to do for long
    ],
)
def test_who_has_not_come_in_time_to_where_the_end_was_is_behind_until_it_is_quick_again(
    looks: list[tuple[int, int, float]], behind: bool
) -> None:
    chase = Chase()
    for at, end, seconds in looks:
        chase.look(at, end, round((100 + seconds) * NS))
    assert chase.is_behind is behind


# -- clocks and settings -----------------------------------------------------------------------------------


class Words:
    """A node `b` as it tells of itself, to a node `a`."""

    def __init__(self) -> None:
        self.clock, self.concerns = FakeClock(NOW_MS), Concerns()
        self.differences = Differences("a", ALIKE, self.clock, self.concerns, BEAT_SECONDS)

    def say(self, ahead_ms: int = 0, *, is_fresh: bool = True, **settings: str) -> None:
        theirs = {name.replace("__", "."): value for name, value in settings.items()}
        at_ms = self.clock.now_ms() + ahead_ms
        status = Status("b.1", "", 1, 0, {}, "", "", at_ms, {**ALIKE, **theirs})
        self.differences.compare("b", status, is_fresh=is_fresh)


@pytest.mark.parametrize("ahead_ms", [HOUR_MS, DAY_MS, -HOUR_MS, -DAY_MS])
def test_clocks_that_are_apart_are_told_once_and_so_is_that_they_agree_again(
    ahead_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    words = Words()
    for _ in range(3):
        words.say(ahead_ms)
    side = "ahead of" if ahead_ms > 0 else "behind"
    assert said(caplog) == [
        f"the clock of node b is {abs(ahead_ms) // 1_000} s {side} that of this node (a): "
        "votes end at the wrong time; synchronise the clocks"
    ]
    words.say(int(CLOCK_SECONDS * 800))
    assert len(words.concerns.current) == 1  # nearly
    words.say(0)
    assert said(caplog) == ["the clocks of nodes a and b agree again"]


def test_a_word_of_any_age_or_one_that_was_held_up_says_nothing_about_a_clock(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = Words()
    for ahead_ms, is_fresh in ((-DAY_MS, False), (-HOUR_MS, True), (0, True), (-HOUR_MS, True)):
        words.say(ahead_ms, is_fresh=is_fresh)
    words.say(-int((CLOCK_SECONDS + BEAT_SECONDS) * 1_000))  # as old as a word can be
    assert said(caplog) == []


def test_a_setting_that_differs_is_told_with_both_nodes_and_values(caplog: pytest.LogCaptureFixture) -> None:
    words = Words()
    for _ in range(2):
        words.say(is_fresh=False, votes__cooldown_seconds="43200")
    assert said(caplog) == [
        "votes.cooldown_seconds is 86400 at this node (a) and 43200 at node b: give all nodes the same value"
    ]
    words.say()
    assert said(caplog) == ["votes.cooldown_seconds is the same at nodes a and b again"]


def test_a_node_of_an_older_version_that_tells_neither_is_no_concern(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = Words()
    for _ in range(3):
        words.differences.compare("b", Status("b.1", "", 1, 0, {}), is_fresh=True)
    assert said(caplog) == []


# -- a Redis that drops data -------------------------------------------------------------------------------


@pytest.fixture
def capped(tmp_path: Path) -> Iterator[RedisServer]:
    """One that drops what was used least when its memory is full; a user of it may not ask for that."""
    rules = ("--user", "edge", "on", ">secret", "~*", "+@all", "-info")
    server = RedisServer(tmp_path, "--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru", *rules)
    try:
        yield server.start()
    finally:
        server.close()


async def looked(url: str, concerns: Concerns, between: Callable[[], None] = lambda: None) -> None:
    """A node looks twice."""
    link = Link(RedisPlace(url, "votegate"))
    eviction = Eviction(link, concerns)
    async with aclosing(link.redis):
        await eviction.look()
        between()
        for _ in range(LOOK_BEATS):
            await eviction.look()


def test_a_redis_that_drops_data_is_told_until_it_drops_none(
    capped: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    concerns = Concerns()
    run(looked(capped.url, concerns))
    (told,) = said(caplog)
    assert told == (
        "Redis drops data when its 52428800 bytes of memory are full (maxmemory-policy allkeys-lru): users "
        "can vote twice then, and nodes take copies again and again; set it to noeviction"
    )
    run(looked(capped.url, concerns, lambda: capped.config("maxmemory-policy", "noeviction")))
    assert said(caplog) == ["Redis drops no data any more when its memory is full"]
    assert not concerns.current


def test_a_redis_whose_memory_has_no_bound_drops_nothing(
    capped: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    capped.config("maxmemory", 0)
    run(looked(capped.url, Concerns()))
    assert said(caplog) == []


def test_a_user_of_redis_who_may_not_ask_asks_once(
    capped: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    concerns = Concerns()
    run(looked(capped.url.replace("//", "//edge:secret@"), concerns))
    assert [record.getMessage() for record in caplog.records] == [
        "Redis does not say its maxmemory-policy, for want of +info; it must be noeviction"
    ]
    assert not concerns.current
    with capped.client() as client:
        assert [entry["count"] for entry in client.acl_log()] == [1]


# -- two nodes ---------------------------------------------------------------------------------------------


def passing(node: ThreadNode, condition: Callable[[], object]) -> None:
    """Lets time pass for the node until the condition is true."""

    def passed() -> object:
        node.advance(1)
        return condition()

    eventually(passed)


def state_of(node: ThreadNode, other: str) -> str:
    return str(node.replication["nodes"].get(other, {}).get("state"))


@pytest.fixture
def pair(redis_server: RedisServer, tmp_path: Path) -> Iterator[ThreadFleet]:
    """Nodes a and b that have heard of each other; the clock of b is a day ahead."""
    with threads_of(tmp_path, redis_server.url) as fleet:
        fleet.node("a").list_bot()
        fleet.node("b", NOW_MS + DAY_MS, settings={"votes.cooldown_seconds": 43_200})
        fleet.converge()
        eventually(lambda: {state_of(fleet.nodes[0], "b"), state_of(fleet.nodes[1], "a")} == {"there"})
        yield fleet


def test_two_nodes_that_differ_say_so_to_both_operators(
    pair: ThreadFleet, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = pair.nodes
    setting = (
        "votes.cooldown_seconds is {} at this node ({}) and {} at node {}: give all nodes the same value"
    )
    wanted = {
        setting.format("86400", "a", "43200", "b"),
        setting.format("43200", "b", "86400", "a"),
        "the clock of node b is 86400 s ahead of that of this node (a): votes end at the wrong time; "
        "synchronise the clocks",
        "the clock of node a is 86400 s behind that of this node (b): votes end at the wrong time; "
        "synchronise the clocks",
    }
    eventually(lambda: {*a.replication["concerns"], *b.replication["concerns"]} == wanted)
    warned = [record.getMessage() for record in caplog.get_records("setup") + caplog.get_records("call")]
    assert all(warned.count(line) == 1 for line in wanted)


@pytest.mark.parametrize(("lost", "named"), [(KEYS, "sealing.keys"), (DIGEST_SECRET, "key-digest.secret")])
def test_nodes_with_different_secrets_say_so_at_once_with_the_secret_and_both_nodes(
    redis_server: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, lost: str, named: str
) -> None:
    with threads_of(tmp_path, redis_server.url) as fleet:
        a = fleet.node("a")
        folder = tmp_path / "b"
        folder.mkdir()
        for secret in {*SHARED_SECRETS} - {lost}:
            shutil.copy(a.folder / secret, folder)
        b = fleet.node("b")
        eventually(lambda: named in a.replication["refused"].get("b", ""))
        eventually(lambda: named in b.replication["refused"].get("a", ""))
        told = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        for here, there in (("a", "b"), ("b", "a")):
            (line,) = (line for line in told if line.startswith(f"nothing is taken from node {there} "))
            assert f"at this one ({here})" in line
            assert named in line


def test_without_redis_nobody_knows_who_is_there_and_who_has_much_to_tell_is_behind(
    pair: ThreadFleet, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    a, _ = pair.nodes
    redis_server.stop()
    eventually(lambda: state_of(a, "b") == "unknown")
    assert a.replication["nodes"]["b"]["silent_ms"] is None
    a.cast(users(1)[0])
    behind = f"this node (a) is behind: what it did {BEHIND_SECONDS:g} s ago is not told yet"
    passing(a, lambda: [line for line in a.replication["concerns"] if line.startswith(behind)])

    redis_server.start()

    pair.converge()
    eventually(lambda: state_of(a, "b") == "there")
    eventually(lambda: not [line for line in a.replication["concerns"] if line.startswith(behind)])
    warned = said(caplog)
    assert [line.partition(":")[0] for line in warned if "is behind" in line] == [
        "this node (a) is behind",
        "this node (a) is behind no more",
    ]


def test_a_node_that_says_nothing_for_long_is_told_and_so_is_its_return(
    pair: ThreadFleet, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = pair.nodes
    b.stop()
    silent = f"node b has said nothing for {BEHIND_SECONDS:g} s"
    passing(a, lambda: silent in a.replication["concerns"])
    eventually(lambda: state_of(a, "b") == "silent")
    b.start()
    eventually(lambda: silent not in a.replication["concerns"])
    assert [line for line in said(caplog) if line.startswith("node b")] == [silent, "node b is there again"]
