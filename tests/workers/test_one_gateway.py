"""Several workers look like one gateway to clients, to the operator and to Prometheus."""

import os
import re
import signal
from collections.abc import Iterator
from functools import partial

import pytest

from tests.support.gateways import BOT, BOT_SUBMISSION, Client, eventually
from tests.support.page_visitor import PageVisitor
from tests.support.redis_server import RedisServer
from tests.support.worker_processes import Workers, workers_of

PROFILE = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, redis_of_module: RedisServer) -> Iterator[Workers]:
    with workers_of(tmp_path_factory.mktemp("workers"), redis_of_module) as workers:
        yield workers


@pytest.fixture
def workers(started: Workers) -> Workers:
    """The workers; each request of the test comes over a connection of its own."""
    started.session.close()
    started.session.headers["Connection"] = "close"
    return started


def test_a_change_is_known_to_every_worker_once_it_is_answered(workers: Workers) -> None:
    key = workers.list_bot()
    for number in range(10):
        name = f"Name {number}"
        workers.done("PUT", f"/manage/bots/{BOT}", {**PROFILE, "name": name})
        assert [workers.done("GET", f"/manage/bots/{BOT}")["name"] for _ in range(4)] == [name] * 4
    assert {workers.voters(key).status_code for _ in range(8)} == {200}


def test_one_address_gives_the_metrics_of_all_workers(workers: Workers) -> None:
    for _ in range(2):
        text = workers.operate("GET", "/metrics").text
        for number in (1, 2):
            assert f'votegate_ready{{worker="{number}"}} 1.0' in text
            assert f'votegate_worker_ready{{worker="{number}"}} 1.0' in text
            assert re.search(rf'^votegate_process_resident_memory_bytes{{worker="{number}"}} \d', text, re.M)
        assert len(re.findall(r"^# TYPE votegate_requests_total ", text, re.M)) <= 1


def test_the_overview_names_the_worker_and_adds_up_all_of_them(workers: Workers) -> None:
    answered = set()

    def both_have_answered() -> bool:
        overview = workers.done("GET", "/debug/overview.json")
        answered.add(overview["worker"])
        assert [each["worker"] for each in overview["workers"]] == [1, 2]
        assert [each["state"] for each in overview["workers"]] == ["ready", "ready"]
        assert overview["connections"]["open"] == sum(each["connections"] for each in overview["workers"])
        assert overview["memory"]["resident_bytes"] == sum(
            each["resident_bytes"] for each in overview["workers"]
        )
        return answered == {1, 2}

    eventually(both_have_answered)


def test_the_operator_is_signed_in_at_every_worker_and_signs_out_at_every_worker(workers: Workers) -> None:
    def statuses(visitor: PageVisitor) -> set[int]:
        return {visitor.get("/debug").status_code for _ in range(8)}

    visitor = PageVisitor(workers)
    visitor.sign_in()
    assert statuses(visitor) == {200}
    kept = visitor.cookie
    visitor.post("/debug/sign-out")
    visitor.cookie = kept
    assert statuses(visitor) == {303}


def test_admin_restart_replaces_all_workers(workers: Workers) -> None:
    before = workers.pids
    assert workers.done("POST", "/debug/restart") == {"success": True, "workers": 2}
    workers.until_ready(2)
    eventually(lambda: "all 2 workers are new" in workers.log)
    assert not set(before) & set(workers.pids)


def test_a_worker_that_is_missing_is_named_by_readyz_metrics_overview_and_concerns(workers: Workers) -> None:
    def has_ended(times: int) -> bool:
        return workers.log.count("worker 2 was ended") == times

    for failures in range(1, 5):  # until the pause before the next start is long
        os.kill(eventually(lambda: workers.pid_of(2)) or 0, signal.SIGKILL)
        eventually(partial(has_ended, failures))
    ready = workers.request("GET", "/readyz")
    assert (ready.status_code, ready.json()) == (200, {"success": True, "missing_workers": [2]})
    overview = workers.done("GET", "/debug/overview.json")
    assert overview["workers"][1]["why"] == "worker 2 was ended by SIGKILL"
    assert workers.concerns("workers") == [
        "Worker 2 was ended by SIGKILL. The other workers answer all requests."
    ]
    text = workers.operate("GET", "/metrics").text
    assert 'votegate_worker_ready{worker="2"} 0.0' in text
    assert 'votegate_worker_failures_total{worker="2"} 4.0' in text


def test_a_gateway_alone_has_no_workers_to_restart(gateway: Client) -> None:
    refused = gateway.operate("POST", "/debug/restart")
    assert refused.status_code == 409
    assert refused.json()["error"].startswith("This gateway is one process.")
