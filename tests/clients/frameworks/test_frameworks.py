"""The receiver in each web framework, as a process with the framework's real server."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.clients.frameworks.processes import SECRET, Receiving, send, vote, with_repeats
from tests.clients.frameworks.server import FRAMEWORKS, HUNG
from tests.support.contract import BOT_PATH, attempted, deliveries, set_webhook
from tests.support.gateways import OTHER_USER, USER, ThreadGateway, eventually
from votegate_client.testing import sign

KIB_64 = 64 * 1024
FEW, MANY = 180, 9_000
"""Votes: with one repeat for nine of them, 200 and 10,000 webhooks."""


@pytest.fixture(scope="module", params=FRAMEWORKS)
def receiving(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Receiving]:
    started = Receiving(request.param, tmp_path_factory.mktemp(request.param)).start()
    yield started
    started.stop()


def padded(size: int) -> dict[str, str]:
    """An event whose body has so many bytes."""
    return {"type": "listing.noted", "note": "x" * (size - len('{"type":"listing.noted","note":""}'))}


def test_a_vote_that_comes_twice_is_rewarded_once(receiving: Receiving) -> None:
    first, second = vote(1), vote(2)
    assert send(receiving.url, [first, first, second]) == [204, 204, 204]
    rewards = receiving.rewarded(2)
    assert [rewards.count(each.headers["webhook-id"]) for each in (first, second)] == [1, 1]


def test_a_webhook_that_is_not_genuine_is_refused(receiving: Receiving) -> None:
    headers, body = vote(3)
    answer = requests.post(receiving.url, body.replace(b"3", b"4"), headers=headers, timeout=60)
    assert answer.status_code == 401
    assert "No signature is right" in answer.text
    assert answer.headers["content-type"].startswith("text/plain")


def test_a_genuine_body_that_is_no_event_is_refused(receiving: Receiving) -> None:
    headers, body = sign({}, SECRET)
    assert requests.post(receiving.url, body, headers=headers, timeout=60).status_code == 400


def test_a_body_of_64_kib_is_accepted_and_one_byte_more_is_not(receiving: Receiving) -> None:
    for size, status in ((KIB_64, 204), (KIB_64 + 1, 413)):
        headers, body = sign(padded(size), SECRET)
        assert len(body) == size
        assert requests.post(receiving.url, body, headers=headers, timeout=60).status_code == status


def test_a_body_in_chunks_is_read_as_well_and_refused_beyond_64_kib(receiving: Receiving) -> None:
    for size, status in ((KIB_64, 204), (KIB_64 + 1, 413)):
        headers, body = sign(padded(size), SECRET)
        pieces = iter([body[:1_000], body[1_000:]])
        assert requests.post(receiving.url, pieces, headers=headers, timeout=60).status_code == status


def test_a_method_but_post_is_refused(receiving: Receiving) -> None:
    assert requests.get(receiving.url, timeout=60).status_code == 405


def test_the_answer_comes_before_the_handler_ends(receiving: Receiving) -> None:
    headers, body = sign({"user": "333333333333333333", "test": True}, SECRET)
    assert requests.post(receiving.url, body, headers=headers, timeout=60).status_code == 204
    receiving.answered.touch()
    eventually(lambda: HUNG in receiving.lines())


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_of_webhooks_that_come_at_once_and_after_a_restart_each_is_rewarded_once(
    framework: str, count: int, tmp_path: Path
) -> None:
    receiving = Receiving(framework, tmp_path).start()
    votes = [vote(number) for number in range(count)]
    sent = with_repeats(votes)
    half = len(sent) // 2
    assert len(sent) == count * 10 // 9
    try:
        assert set(send(receiving.url, sent[:half])) == {204}
        receiving.rewarded(len({each.headers["webhook-id"] for each in sent[:half]}))
        receiving.stop(signal.SIGKILL)
        receiving.start()
        assert set(send(receiving.url, sent[half:])) == {204}
        receiving.rewarded(count)
    finally:
        receiving.stop()
    assert sorted(receiving.lines()) == sorted(each.headers["webhook-id"] for each in votes)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_votes_of_a_gateway_are_rewarded_once_also_during_a_rotation(
    framework: str, gateway: ThreadGateway, tmp_path: Path
) -> None:
    gateway.set_wall(time.time() - gateway.clock.now_ms() / 1_000)  # the receiver has the real time
    gateway.list_bot()
    secret = gateway.done("PUT", f"{BOT_PATH}/webhook", {"url": "http://127.0.0.1:9000/votes"})["secret"]
    receiving = Receiving(framework, tmp_path, secret).start()
    try:
        set_webhook(gateway, receiving.url)
        gateway.cast(USER)
        first = attempted(gateway, 1)
        gateway.done("POST", f"{BOT_PATH}/webhook/secret/rotate", {"overlap_seconds": 3_600})
        gateway.done("POST", f"{BOT_PATH}/webhook/deliveries/{first['id']}/redeliver")
        gateway.cast(OTHER_USER)
        second = attempted(gateway, 1)
        assert receiving.rewarded(2) == [first["id"], second["id"]]
    finally:
        receiving.stop()
    assert [each["state"] for each in deliveries(gateway)] == ["delivered", "delivered"]
