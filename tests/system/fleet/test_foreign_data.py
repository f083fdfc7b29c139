"""Data from outside the fleet are refused, not merged; the state stays, and pages show the refusal."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import redis

from kinds.bots import BOTS
from replication.facts import KeyedDigests, VoteFact
from replication.members import Status
from replication.publisher import Entry
from replication.redis_link import Envelopes
from storage.folder import DIGEST_SECRET, KEYS, kept_keys
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_processes import Edge
from tests.support.fleet_visitors import LOOPS, Visitors, failing, told, unknown, wired, with_secrets_of
from tests.support.gateways import BOT, OTHER_BOT, USER, eventually

NODES, USES = "votegate:nodes", "votegate:uses"
LONE_VOTER = "888888888888888888"
STRANGER = "999999999999999999"
GARBAGE = [b"", b"garbage", b"\x00" * 64, b"\xff" * 5_000]


def stream_of(name: str) -> str:
    return f"votegate:stream:{name}"


class Place(NamedTuple):
    proxy: CuttingProxy
    client: "redis.Redis"
    visitors: Visitors

    @property
    def nodes(self) -> list[Edge]:
        return self.visitors.fleet.edges[:2]

    @property
    def digests(self) -> KeyedDigests:
        return KeyedDigests((self.nodes[0].folder / DIGEST_SECRET).read_bytes().strip())

    def newest(self, name: str) -> tuple[str, bytes]:
        """The last entry of a node's stream."""
        entries: Any = self.client.xrevrange(stream_of(name), count=1)
        (id_, fields), *_ = entries
        return id_.decode(), fields[b"e"]

    def refused(self, name: str) -> list[str]:
        """Why nodes refuse the one of the name, as far as they do."""
        found = [edge.replication["refused"].get(name) for edge in self.nodes]
        return [reason for reason in found if reason is not None]

    def goes_on(self) -> None:
        """The nodes hear of each other, whatever else there is."""
        for edge in self.nodes:
            self.visitors.visit(edge)
        self.visitors.all_known(*self.nodes)
        for edge in self.nodes:
            assert unknown(edge, [STRANGER, LONE_VOTER]) == [STRANGER, LONE_VOTER]
            assert edge.operate("GET", f"/manage/bots/{OTHER_BOT}").status_code == 404


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with wired(tmp_path_factory.mktemp("fleet")) as (server, proxy, visitors), server.client() as client:
        yield Place(proxy, client, visitors)


@pytest.fixture
def untouched(place: Place) -> Iterator[None]:
    """The fleet's content is what it was."""
    before = place.visitors.fleet.converge(*place.nodes)
    yield
    assert {edge.fleet_digest for edge in place.nodes} == {before}


class Player:
    """A node that the test plays: its word is the fleet's own, what it tells is up to the test."""

    def __init__(self, place: Place, name: str, keys: Path | None = None) -> None:
        folder = place.nodes[0].folder
        self.stream = stream_of(name)
        self.name = name
        self._client = place.client
        self._envelopes = Envelopes(kept_keys(keys or folder, needed=keys is None))
        self._status = Status(f"{name}.7", place.digests.fleet, 1, 0, {})

    def appears(self) -> None:
        place = f"{NODES}/{self.name}"
        self._client.hset(NODES, self.name, self._envelopes.seal(self._status, place))

    def entry(self, user: str, id_: str) -> bytes:
        vote = VoteFact(BOTS.prefix + BOT, user, 1, round(time.time() * 1_000))
        return self._envelopes.seal(Entry(0, b"proof", [vote]), f"{self.stream}/{id_}")

    def tells(self, envelope: bytes, id_: str, field: str = "e") -> None:
        self._client.xadd(self.stream, {field: envelope}, id=id_)

    def leaves(self) -> None:
        self._client.hdel(NODES, self.name)
        self._client.delete(self.stream)


@pytest.fixture
def players(place: Place, tmp_path: Path) -> Iterator[dict[str, tuple[Player, bytes]]]:
    """Nodes whose next entry, under 7-1, is not to be merged, by what is wrong with it."""
    names = ("garbled", "elsewhere", "moved", "strange", "unlike")
    by_name = {name: Player(place, name) for name in names}
    stranger = Player(place, "strange", tmp_path)
    status = Envelopes(kept_keys(place.nodes[0].folder, needed=True))
    wrong = {
        "garbled": b"garbage",
        "elsewhere": by_name["garbled"].entry(STRANGER, "7-1"),
        "moved": by_name["moved"].entry(STRANGER, "7-2"),
        "strange": stranger.entry(STRANGER, "7-1"),
        "unlike": status.seal(["another", "version"], f"{by_name['unlike'].stream}/7-1"),
    }
    yield {name: (by_name[name], envelope) for name, envelope in wrong.items()}
    for player in by_name.values():
        player.leaves()


@pytest.mark.usefixtures("untouched")
def test_an_entry_that_does_not_belong_where_it_stands_is_refused_and_shown(
    place: Place, players: dict[str, tuple[Player, bytes]]
) -> None:
    for player, envelope in players.values():
        player.tells(envelope, "7-1")
        player.tells(player.entry(STRANGER, "7-2"), "7-2")  # right, but not to be reached past the wrong one
        player.appears()

    eventually(lambda: all(len(place.refused(name)) == 2 for name in players))
    eventually(lambda: not any(map(failing, place.nodes)))
    for edge in place.nodes:
        assert unknown(edge, [STRANGER]) == [STRANGER]


def test_a_stream_is_read_on_when_it_is_mended(place: Place) -> None:
    player = Player(place, "mended")
    player.tells(b"garbage", "7-1")
    player.appears()
    eventually(lambda: len(place.refused("mended")) == 2)

    place.client.delete(player.stream)
    player.tells(player.entry(USER, "7-1"), "7-1")

    eventually(lambda: not any(unknown(edge, [USER]) for edge in place.nodes))
    eventually(lambda: not place.refused("mended"))
    place.goes_on()


def test_a_node_begins_its_stream_anew_when_somebody_else_has_written_there(place: Place) -> None:
    for edge in place.nodes:
        place.visitors.vote(edge)
    for edge, envelope in zip(place.nodes, (b"garbage", place.newest("rome")[1]), strict=True):
        epoch, _, position = place.newest(edge.name)[0].partition("-")
        place.client.xadd(stream_of(edge.name), {"e": envelope}, id=f"{epoch}-{int(position) + 100}")

    for edge in place.nodes:
        place.visitors.visit(edge)

    place.goes_on()
    for edge in place.nodes:
        assert "this node begins a new stream" in edge.log


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("word", GARBAGE)
def test_the_word_of_somebody_else_is_refused_until_it_is_gone(place: Place, word: bytes) -> None:
    place.client.hset(NODES, "lima", word)
    eventually(lambda: len(place.refused("lima")) == 2)
    place.client.hdel(NODES, "lima")
    eventually(lambda: not place.refused("lima"))


@pytest.mark.usefixtures("untouched")
def test_the_word_of_a_node_is_not_that_of_another(place: Place) -> None:
    place.client.hset(NODES, "lima", place.client.hget(NODES, "rome") or b"")
    place.client.hset(NODES, b"\xff\xfe", b"garbage")
    eventually(lambda: len(place.refused("lima")) == 2)
    place.client.hdel(NODES, "lima", b"\xff\xfe")


def test_a_node_says_its_own_word_again_over_garbage(place: Place) -> None:
    place.client.hset(NODES, "rome", b"garbage")
    eventually(lambda: place.client.hget(NODES, "rome") != b"garbage")
    eventually(lambda: not place.refused("rome"))
    place.goes_on()


@pytest.mark.parametrize(
    ("secrets", "reason"),
    [pytest.param((), "this node's sealing.keys lack", marks=pytest.mark.long), ((KEYS,), DIGEST_SECRET)],
    ids=["keys", "secret"],
)
def test_a_node_of_another_fleet_is_refused_and_refuses_until_it_gets_the_secrets(
    place: Place, secrets: tuple[str, ...], reason: str
) -> None:
    fleet, rome, folder = place.visitors.fleet, place.nodes[0], place.visitors.fleet.folder / "bern"
    bern = fleet.edge("bern")  # known to all by now
    fleet.converge(*place.nodes, bern)
    eventually(lambda: all("bern" in edge.replication["nodes"] for edge in place.nodes))
    bern.close()

    with_secrets_of(rome, folder, *secrets)
    bern.start()
    bern.list_bot(OTHER_BOT)
    bern.cast(LONE_VOTER, f"/manage/bots/{OTHER_BOT}")
    eventually(lambda: len(place.refused("bern")) == 2)
    assert all(reason in told for told in place.refused("bern"))
    eventually(lambda: bern.replication["refused"].keys() >= {"rome", "oslo"})
    eventually(lambda: bern.replication["stream_position"] and not bern.replication["unsent"])
    place.goes_on()
    assert bern.operate("GET", f"/manage/bots/{BOT}").status_code == 404
    bern.close()

    with_secrets_of(rome, folder, KEYS, DIGEST_SECRET)
    bern.start()
    eventually(lambda: not place.refused("bern"))
    place.goes_on()
    eventually(lambda: bern.operate("GET", f"/manage/bots/{BOT}").json().get("state") == "approved")
    place.visitors.vote(bern)
    place.visitors.all_known(*place.nodes, bern)
    bern.close()


@pytest.mark.usefixtures("untouched")
def test_allowed_requests_are_heard_past_garbage(place: Place) -> None:
    for garbage in GARBAGE:
        place.client.xadd(USES, {"e": garbage})
        place.client.xadd(USES, {"other": garbage})
    first, second = place.nodes
    used = remaining(second, place.visitors.key)
    for _ in range(5):
        remaining(first, place.visitors.key)
    eventually(lambda: used - remaining(second, place.visitors.key) > 5)
    assert not any(map(failing, place.nodes))


def remaining(edge: Edge, key: str) -> int:
    return int(edge.voters(key).headers["ratelimit-remaining"])


@pytest.mark.parametrize("key", [USES, "votegate:alive:rome"])
def test_a_key_of_another_type_is_told_and_lived_with(place: Place, key: str) -> None:
    logs = [len(edge.log) for edge in place.nodes]

    def has_failed(edge: Edge, log: int) -> bool:
        return any(told(edge.log[log:], loop)[0] for loop in LOOPS)

    def is_noticed() -> bool:
        with place.client.pipeline() as at_once:  # or a node puts something there in between
            at_once.delete(key)
            at_once.hset(key, "of another", "type")
            at_once.execute()
        return any(map(has_failed, place.nodes, logs))

    # A node may write over it, even before any has read it: so it comes again and again. The node that finds
    # it keeps the line in its log.
    place.visitors.visiting_until(is_noticed, *place.nodes)
    place.client.delete(key)
    place.goes_on()
    eventually(lambda: not any(map(failing, place.nodes)))


@pytest.mark.parametrize("claim", [*GARBAGE, b"1", b"-5 x", b"9" * 40, None])
def test_a_claim_that_nobody_of_the_fleet_made_keeps_no_user_from_voting(
    place: Place, claim: bytes | None
) -> None:
    user = place.visitors.next_user
    key = f"votegate:vote:{place.digests.vote(BOTS.prefix + BOT, user)}"
    if claim is None:
        place.client.hset(key, "of another", "type")
    else:
        place.client.set(key, claim)

    assert place.visitors.vote(place.nodes[0]) == user

    place.client.delete(key)


@pytest.mark.long
def test_a_copy_with_garbage_in_it_is_given_up_and_taken_again(place: Place) -> None:
    rome, oslo = place.nodes
    oslo.close()
    for _ in range(3):
        place.visitors.vote(rome)
    eventually(lambda: not rome.replication["unsent"])
    place.client.xtrim(stream_of("rome"), maxlen=1, approximate=False)
    place.proxy.delay(answers=0.05)
    oslo.start()
    log = len(oslo.log)

    def spoiled() -> bool:
        for key in place.client.scan_iter("votegate:copy:oslo:*"):
            with contextlib.suppress(redis.ResponseError):  # it is there already
                place.client.xadd(key, {"e": b"garbage"}, id="1-999")
        return "no copy of node rome" in oslo.log[log:]

    eventually(spoiled)
    place.proxy.restore()
    place.goes_on()
    assert "took a copy of node rome" in oslo.log[log:]
