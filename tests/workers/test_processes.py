"""Processes end, and the supervisor goes on; the workers share limits and secrets."""

import os
import signal
from collections import Counter
from pathlib import Path

import requests

from storage.folder import DIGEST_SECRET, KEYS
from tests.support.gateways import BOT, USER, ProcessGateway, eventually
from tests.support.raw_http_client import Caller, request
from tests.support.redis_server import RedisServer
from tests.support.worker_processes import Load, Workers, workers_of

LIMIT = 100
UNLIMITED = 1_000_000_000


def test_a_worker_that_is_killed_under_load_is_started_again_and_no_acknowledged_vote_is_lost(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    with workers_of(tmp_path, redis_server, limit=UNLIMITED) as workers:
        key = workers.list_bot()
        workers.session.close()
        before = workers.pids
        with Load(workers.base_url, key, goes_on=True) as load:
            load.ask_on()
            os.kill(before[1], signal.SIGKILL)
            eventually(lambda: workers.log.count("worker 2 is ready") == 2)
            goal = load.answered + 200
            eventually(lambda: load.answered > goal)
        assert len(load.lost) <= load.clients  # each client at most one request, which was under way
        assert "worker 2 was ended by SIGKILL; it starts again in 0.5 s" in workers.log
        assert before[0] in workers.pids
        eventually(lambda: all_know(workers, load.voted))
        assert workers.signal(signal.SIGTERM) == 0


def test_workers_stop_in_an_orderly_way_when_the_supervisor_is_killed(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    with workers_of(tmp_path, redis_server) as workers:
        workers.list_bot()
        workers.cast()
        workers.session.close()
        left = workers.pids
        workers.signal(signal.SIGKILL)
        eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))
        assert workers.log.count("the supervisor is gone, so this worker stops") == 2
        assert workers.log.count("stopped at position") == 2
        workers.start()  # nothing of the first ones is in the way
        workers.until_ready(2)
        assert workers.done("POST", f"/manage/bots/{BOT}/votes/check", {"users": [USER]})["votes"][0]["voted"]
        workers.session.close()
        assert workers.signal(signal.SIGTERM) == 0


def test_a_limit_is_that_of_all_workers_together(tmp_path: Path, redis_server: RedisServer) -> None:
    with workers_of(tmp_path, redis_server) as workers:
        check = request("GET", f"/bots/{BOT}/voters/{USER}", f"Authorization: {workers.list_bot()}")
        workers.session.close()
        callers = [Caller(workers.base_url) for _ in range(8)]
        statuses: Counter[int] = Counter()
        remaining = []
        for _ in range(25):  # at once, so that both workers are asked at the same moment
            for caller in callers:
                caller.send(check)
            for caller in callers:
                answer = caller.answer()
                statuses[answer.status] += 1
                remaining.append(int(answer.headers["ratelimit-remaining"]))
        for caller in callers:
            caller.close()
        assert statuses == {200: LIMIT, 429: 100}
        assert sorted(remaining[:LIMIT], reverse=True)[0] == LIMIT - 1


def test_a_restart_gives_nobody_new_tokens(tmp_path: Path, redis_server: RedisServer) -> None:
    with workers_of(tmp_path, redis_server) as workers:
        key = workers.list_bot()
        assert [workers.voters(key).status_code for _ in range(LIMIT + 1)].count(200) == LIMIT
        workers.session.close()
        workers.process.send_signal(signal.SIGHUP)
        workers.until_ready(2)
        assert workers.voters(key).status_code == 429


def test_each_worker_has_a_folder_and_a_node_of_its_own_and_the_secrets_of_the_first(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    with workers_of(tmp_path, redis_server, workers=3) as workers:
        folders = [tmp_path / "data", *(tmp_path / "data" / f"worker-{number}" for number in (2, 3))]
        for name in (KEYS, DIGEST_SECRET):
            assert len({(folder / name).read_bytes() for folder in folders}) == 1
        replication = workers.done("GET", "/debug/overview.json")["replication"]
        for number in (1, 2, 3):
            assert f"INFO votegate@{number}: one of 3, at position " in workers.log
        names = {replication["node"].partition(".")[0], *replication["nodes"]}
        assert names == {"node", "node-2", "node-3"}


def test_the_number_of_workers_can_change_from_start_to_start(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    alone = ProcessGateway(tmp_path / "data")
    alone.start()
    alone.list_bot()
    alone.session.close()
    assert alone.signal(signal.SIGTERM) == 0
    alone.close()
    with workers_of(tmp_path, redis_server) as workers:
        for _ in range(4):  # at both workers
            assert requests.get(f"{workers.base_url}/readyz", timeout=60).ok
            assert workers.done("GET", f"/manage/bots/{BOT}")["id"] == BOT
            workers.session.close()
        assert workers.signal(signal.SIGTERM) == 0


def test_without_redis_several_workers_are_refused_with_the_reason(tmp_path: Path) -> None:
    gateway = Workers(tmp_path / "data", "")
    for name in ("URL", "NODE", "BEAT_SECONDS"):
        del gateway.environment[f"VOTEGATE_REDIS__{name}"]
    process = gateway.opened((), gateway.output)
    assert process.wait(60) == 2
    assert "server.workers: is 2, and workers tell each other of votes through Redis" in gateway.log
    assert not (tmp_path / "data").exists()


def test_a_start_that_fails_says_why_and_ends(tmp_path: Path, redis_server: RedisServer) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / "letter.txt").write_text("hello")
    gateway = Workers(folder, redis_server.url)
    process = gateway.opened((), gateway.output)
    assert process.wait(60) == 1
    assert "letter.txt is not a file of Votegate's" in gateway.log
    assert "worker 1 did not start, and so nothing is served" in gateway.log


def test_while_redis_is_away_under_load_the_workers_serve_and_then_have_the_same_again(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    with workers_of(tmp_path, redis_server, limit=UNLIMITED) as workers:
        key = workers.list_bot()
        workers.session.close()
        with Load(workers.base_url, key) as load:
            load.ask_on()
            redis_server.kill()
            load.ask_on()
            redis_server.start()
            load.ask_on()
        assert load.lost == []
        eventually(lambda: all_know(workers, load.voted))
        assert workers.signal(signal.SIGTERM) == 0


def all_know(workers: Workers, users: list[str]) -> bool:
    """Return true if each worker knows a vote of all these users, and all of them have the same content."""
    digests: dict[int, str] = {}
    while len(digests) < workers.workers:  # a connection stays with its worker
        number = workers.done("GET", "/debug/overview.json")["worker"]
        for start in range(0, len(users), 100):
            asked = {"users": users[start : start + 100]}
            votes = workers.done("POST", f"/manage/bots/{BOT}/votes/check", asked)["votes"]
            if not all(vote["voted"] for vote in votes):
                return False
        digests[number] = workers.done("GET", "/debug/data.json")["fleet_digest"]
        workers.session.close()
    return len(set(digests.values())) == 1
