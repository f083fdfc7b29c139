"""A change at one node is seen at the other, and a user who is erased at one is erased at both."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.support.fleet_processes import Edge, FleetOfEdges, fleet_of
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_USER,
    SERVER,
    SERVER_SUBMISSION,
    USER,
    eventually,
)
from tests.support.redis_server import RedisServer
from tests.support.webhook_receiver import Receiver
from webhook.messages import signed_headers

BOT_PATH = f"/manage/bots/{BOT}"
KEYS_PATH = f"{BOT_PATH}/keys"
KINDS = pytest.mark.parametrize(
    ("kind", "submission"), [("bots", BOT_SUBMISSION), ("servers", SERVER_SUBMISSION)], ids=["bot", "server"]
)


class Pair(NamedTuple):
    fleet: FleetOfEdges
    server: RedisServer
    here: Edge
    there: Edge

    def alike(self, path: str) -> Any:
        """Waits until both nodes have the same content, and returns what both show."""
        self.fleet.converge(self.here, self.there)
        shown = self.here.kept(path)
        assert self.there.kept(path) == shown
        return shown

    def statuses(self, key: str) -> list[int]:
        """Wait until the nodes are alike, and return their answers to the key."""
        self.fleet.converge(self.here, self.there)
        return [edge.voters(key).status_code for edge in (self.here, self.there)]

    def vote_at(self, edge: Edge, user: str = USER) -> bool:
        status = edge.done("POST", f"{BOT_PATH}/votes/check", {"users": [user]})["votes"][0]
        return status["voted"] or status["vote"] > 0 or status["lastVote"] is not None


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "redis").mkdir()
    server = RedisServer(folder / "redis")
    try:
        server.start()
        with fleet_of(folder, server.url) as fleet:
            yield Pair(fleet, server, fleet.edge("rome"), fleet.edge("oslo"))
    finally:
        server.close()


@pytest.fixture
def pair(started: Pair) -> Iterator[Pair]:
    """Two nodes without a listing."""
    yield started
    for path in (BOT_PATH, f"/manage/servers/{SERVER}"):
        started.here.operate("DELETE", path)
    started.fleet.converge(started.here, started.there)


@pytest.fixture
def key(pair: Pair) -> str:
    """The API key of an approved bot that both nodes know."""
    key = pair.here.list_bot()
    pair.fleet.converge(pair.here, pair.there)
    return key


def test_a_vote_counts_at_both_nodes(pair: Pair, key: str) -> None:
    pair.here.cast(USER)
    pair.there.cast(OTHER_USER)
    pair.fleet.converge(pair.here, pair.there)

    for user in (USER, OTHER_USER):
        seen = [edge.voters(key, user=user).json() for edge in (pair.here, pair.there)]
        assert seen[0] == seen[1]
        assert (seen[0]["voted"], seen[0]["vote"]) == (True, 1)
    assert pair.there.operate("POST", f"{BOT_PATH}/votes", {"user": USER}).status_code == 409


def test_a_key_opens_and_closes_at_both_nodes(pair: Pair, key: str) -> None:
    assert pair.statuses(key) == [200, 200]
    key_id = pair.alike(KEYS_PATH)["keys"][0]["id"]

    rotated = pair.there.done("POST", f"{KEYS_PATH}/{key_id}/rotate", {})["key"]
    assert (pair.statuses(key), pair.statuses(rotated)) == ([401, 401], [200, 200])

    again = pair.here.done("POST", f"{KEYS_PATH}/{key_id}/rotate", {"overlap_seconds": 3_600})["key"]
    assert (pair.statuses(rotated), pair.statuses(again)) == ([200, 200], [200, 200])

    other = pair.there.done("POST", KEYS_PATH, {"name": "other"})["key"]
    assert len(pair.alike(KEYS_PATH)["keys"]) == 2
    pair.there.done("DELETE", f"{KEYS_PATH}/{key_id}")
    assert [pair.statuses(each) for each in (rotated, again, other)] == [[401, 401], [401, 401], [200, 200]]


@KINDS
def test_a_listing_is_submitted_reviewed_edited_and_removed_at_both_nodes(
    pair: Pair, kind: str, submission: dict[str, Any]
) -> None:
    path = f"/manage/{kind}/{submission['id']}"
    pair.here.done("POST", f"/manage/{kind}", submission)
    assert pair.alike(path)["state"] == "in_review"

    pair.there.done("POST", f"{path}/deny", {"reason": "not yet"})
    assert {"state": "denied", "reason": "not yet"}.items() <= pair.alike(path).items()

    fields = {name: value for name, value in submission.items() if name != "id"}
    pair.here.done("PUT", path, {**fields, "name": "Another name"})
    assert {"state": "in_review", "name": "Another name"}.items() <= pair.alike(path).items()

    pair.there.done("POST", f"{path}/approve", {})
    assert pair.alike(path)["state"] == "approved"
    assert len(pair.alike(f"/manage/{kind}")[kind]) == 1

    pair.here.done("DELETE", path)
    eventually(lambda: pair.there.operate("GET", path).status_code == 404)
    assert pair.alike(f"/manage/{kind}")[kind] == []


def test_a_change_is_decided_and_an_approval_withdrawn_at_another_node(pair: Pair, key: str) -> None:
    fields = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
    pair.here.done("PUT", BOT_PATH, {**fields, "name": "Free Nitro"})
    change = pair.alike(BOT_PATH)["change"]
    assert (change["agreed"]["name"], change["proposed"]["name"]) == (fields["name"], "Free Nitro")
    assert [each["what"] for each in pair.there.done("GET", "/manage/queue")["queue"]] == ["change"]

    body = {"version": change["version"], "reason": "Spam."}
    pair.there.done("POST", f"{BOT_PATH}/change/refuse", body)
    assert {"name": fields["name"], "change": None}.items() <= pair.alike(BOT_PATH).items()

    assert pair.statuses(key) == [200, 200]
    pair.there.done("POST", f"{BOT_PATH}/withdraw", {"reason": "Spam."})
    assert pair.statuses(key) == [401, 401]
    pair.here.done("PUT", BOT_PATH, fields)
    pair.fleet.converge(pair.here, pair.there)
    pair.there.done("POST", f"{BOT_PATH}/approve", {})
    assert pair.statuses(key) == [200, 200]


@pytest.mark.usefixtures("key")
def test_webhook_settings_and_their_secret_are_those_of_both_nodes(pair: Pair, receiver: Receiver) -> None:
    path = f"{BOT_PATH}/webhook"
    pair.here.done("PUT", path, {"url": receiver.url, "token": "of-the-owner"})
    assert pair.alike(path)["has_token"] is True

    secret = pair.there.done("POST", f"{path}/secret/rotate", {})["secret"]
    pair.alike(path)
    for edge in (pair.here, pair.there):
        edge.done("POST", f"{path}/test", {"user": USER})
        received = receiver.received[-1]
        signed = signed_headers(
            received.headers["webhook-id"],
            int(received.headers["webhook-timestamp"]),
            received.body,
            [secret],
        )
        assert received.headers["webhook-signature"] == signed["webhook-signature"]

    pair.there.done("DELETE", path)
    eventually(lambda: pair.here.operate("GET", path).status_code == 404)
    assert pair.alike(BOT_PATH)["has_webhook"] is False


def test_limits_hold_at_both_nodes_and_count_what_either_has_taken(pair: Pair, key: str) -> None:
    stats = {"requests": 3, "window_seconds": 3_600}
    pair.here.done("PUT", f"{BOT_PATH}/limits", {"stats": stats})
    assert pair.alike(BOT_PATH)["limits"] == {"stats": stats, "voters": None}

    taken = [pair.here, pair.there, pair.here]
    for left, edge in zip((2, 1, 0), taken, strict=True):
        answer = edge.stats(key, {"command_count": 1})
        assert (answer.headers["ratelimit-limit"], answer.headers["ratelimit-remaining"]) == ("3", str(left))
        pair.fleet.converge(pair.here, pair.there)
    assert [edge.stats(key, {"command_count": 1}).status_code for edge in taken] == [429] * 3


def test_counts_are_those_of_both_nodes(pair: Pair, key: str) -> None:
    pair.here.done("PUT", f"{BOT_PATH}/actual-server-count", {"server_count": 5_000})
    assert pair.alike(BOT_PATH)["actual_server_count"] == 5_000
    assert pair.there.stats(key, {"server_count": 1_000}).status_code == 400

    assert pair.there.stats(key, {"server_count": 5_010, "command_count": 7}).status_code == 200
    assert {"server_count": 5_010, "command_count": 7}.items() <= pair.alike(BOT_PATH).items()


@pytest.mark.usefixtures("key")
def test_a_user_who_is_erased_at_one_node_is_erased_at_both(pair: Pair) -> None:
    pair.here.cast(USER)
    pair.there.cast(OTHER_USER)
    pair.fleet.converge(pair.here, pair.there)

    pair.there.done("DELETE", f"/manage/users/{USER}")

    eventually(lambda: not pair.vote_at(pair.here))
    pair.fleet.converge(pair.here, pair.there)
    assert [pair.vote_at(edge) for edge in (pair.here, pair.there)] == [False, False]
    assert [pair.vote_at(edge, OTHER_USER) for edge in (pair.here, pair.there)] == [True, True]


@pytest.mark.usefixtures("key")
def test_an_erased_user_does_not_come_back_from_a_node_that_was_away(pair: Pair) -> None:
    """Neither from its journal, nor from its stream, nor from a copy; but may vote again."""
    for edge, user in ((pair.here, USER), (pair.there, OTHER_USER)):
        edge.cast(user)
    pair.fleet.converge(pair.here, pair.there)
    pair.here.close()
    for user in (USER, OTHER_USER):
        pair.there.done("DELETE", f"/manage/users/{user}")
    pair.server.flush()
    pair.here.start()

    pair.here.cast("777777777777777777")
    pair.fleet.converge(pair.here, pair.there)

    for edge in (pair.here, pair.there):
        assert not pair.vote_at(edge, USER)
        assert not pair.vote_at(edge, OTHER_USER)
        assert pair.vote_at(edge, "777777777777777777")
    assert pair.here.cast(USER)["vote"] == 1
    eventually(lambda: pair.vote_at(pair.there))
