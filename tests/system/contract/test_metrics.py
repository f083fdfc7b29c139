"""GET /metrics: its readers, its formats, and its numbers."""

import re
from pathlib import Path

import pytest
import requests

from handlers.route import PAGE
from metrics.collectors import PLAIN
from operators.operator_pages import ALL_ROUTES
from serving.traffic import CLASSES, OTHER, REFUSED
from tests.support.contract import BOT_PATH, set_webhook
from tests.support.contract import refusal as refusal_of
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_BOT,
    OTHER_USER,
    USER,
    WAIT_SECONDS,
    ThreadGateway,
    eventually,
    running,
)
from tests.support.scraped import METRICS, OPENMETRICS, Scraped, read, scraped
from tests.support.webhook_receiver import Receiver

WRONG = {"Authorization": "Bearer a-guess-at-the-token"}


# -- who may read it ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer ", "Bearer a-guess", "Basic b3BlcmF0b3I6", "x" * 999]
)
def test_without_the_operator_token_it_is_401(gateway: ThreadGateway, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    assert refusal_of(gateway.request("GET", METRICS, headers=headers))[0] == 401


def test_guesses_at_it_are_counted_and_end_in_429(tmp_path: Path) -> None:
    few = {"limits.failures.requests": 3, "limits.failures.window_seconds": 300}
    with running(tmp_path / "data", **few) as gateway:
        statuses = [gateway.request("GET", METRICS, headers=WRONG).status_code for _ in range(4)]
        assert statuses == [401, 401, 401, 429]
        assert gateway.operate("GET", METRICS).status_code == 200


def test_a_key_of_a_bot_does_not_open_it(gateway: ThreadGateway, key: str) -> None:
    assert gateway.request("GET", METRICS, headers={"Authorization": f"Bearer {key}"}).status_code == 401


OPEN = "application/openmetrics-text"
ASKED_BY_PROMETHEUS = (
    f"{OPEN};version=1.0.0;escaping=underscores;q=0.6,{OPEN};version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.3,"
    "*/*;q=0.2"
)


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (None, PLAIN),
        ("", PLAIN),
        ("*/*", PLAIN),
        ("text/plain;version=0.0.4", PLAIN),
        ("text/html,application/xhtml+xml,*/*;q=0.8", PLAIN),
        ("application/json;q=,,;", PLAIN),
        ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", PLAIN),
        (OPEN, OPENMETRICS),
        (
            f"{OPEN};version=1.0.0,{OPEN};version=0.0.1;q=0.75,*/*;q=0.1",
            f"{OPENMETRICS}; escaping=underscores",
        ),
        (ASKED_BY_PROMETHEUS, f"{OPENMETRICS}; escaping=underscores"),
        (f"text/plain;version=0.0.4;q=0.4,{OPEN};version=1.0.0;q=0.3,*/*;q=0.1", PLAIN),
        (f"{OPEN};q=0", PLAIN),
        (f"{OPEN};version=2.0.0;q=0.9,{OPEN};version=1.0.0;q=0.8", f"{OPENMETRICS}; escaping=underscores"),
        (f"{OPEN};version=0.0.1", PLAIN),
        (f"{OPEN};version=x", PLAIN),
        (f"{OPEN};version=99.x y", PLAIN),
        ("text/plain;version=1.0.0", "text/plain; version=1.0.0; charset=utf-8; escaping=underscores"),
    ],
)
def test_its_format_is_the_one_that_is_accepted(
    gateway: ThreadGateway, accept: str | None, content_type: str
) -> None:
    headers = {"Authorization": f"Bearer {gateway.operator_token}", "Accept": accept}
    response = gateway.request("GET", METRICS, headers=headers)
    assert (response.status_code, response.headers["content-type"]) == (200, content_type)
    assert response.headers["vary"] == "accept"
    is_openmetrics = content_type.startswith(OPEN)
    assert response.text.endswith("# EOF\n") is is_openmetrics
    assert Scraped(response.text, is_openmetrics=is_openmetrics).value("ready") == 1


def test_head_has_the_headers_and_no_body(gateway: ThreadGateway) -> None:
    response = gateway.operate("HEAD", METRICS)
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"] == PLAIN
    assert int(response.headers["content-length"]) > 1_000


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_written_to_it(gateway: ThreadGateway, method: str) -> None:
    assert gateway.operate(method, METRICS).status_code == 405


# -- what it tells -----------------------------------------------------------------------------------------


def test_requests_and_decisions_of_the_limits_are_counted(gateway: ThreadGateway, key: str) -> None:
    for _ in range(3):
        assert gateway.voters(key).status_code == 200
    gateway.voters(None)
    gateway.request("GET", "/no/such/path")
    gateway.raw(b"no request\r\n\r\n")
    gateway.done("PUT", f"{BOT_PATH}/limits", {"voters": {"requests": 3, "window_seconds": 300}})
    assert gateway.voters(key).status_code == 429

    told = scraped(gateway)
    assert told.value("requests_total", endpoint="checkVote", status="2xx") == 3
    assert told.value("requests_total", endpoint="checkVote", status="4xx") == 2
    assert told.value("request_duration_seconds_count", endpoint="checkVote", status="2xx") == 3
    assert told.value("requests_total", endpoint=OTHER, status="4xx") == 1
    assert told.value("requests_total", endpoint=REFUSED, status="4xx") == 1
    assert told.value("limiter_decisions_total", limit="voters", outcome="allowed") == 3
    assert told.value("limiter_decisions_total", limit="voters", outcome="refused") == 1
    assert told.value("limiter_decisions_total", limit="failures", outcome="counted") == 1
    assert told.value("limiter_keys", limit="voters") == 1


def test_a_limit_of_stats_and_refused_addresses_are_counted(tmp_path: Path) -> None:
    few = {"limits.failures.requests": 1, "limits.failures.window_seconds": 300}
    with running(tmp_path / "data", **few, **{"server.trusted_proxies": "127.0.0.1"}) as gateway:
        key = gateway.list_bot()
        pushes = [gateway.stats(key, {"command_count": 1}).status_code for _ in range(3)]
        assert pushes == [200, 200, 429]
        for _ in range(2):
            gateway.voters(None, **{"X-Forwarded-For": "192.0.2.1"})
        gateway.request("POST", f"/bots/{BOT}/stats", headers={"X-Forwarded-For": "192.0.2.1"})  # 405 else
        told = scraped(gateway)
    assert told.value("limiter_decisions_total", limit="stats", outcome="allowed") == 2
    assert told.value("limiter_decisions_total", limit="stats", outcome="refused") == 1
    assert told.value("limiter_decisions_total", limit="failures", outcome="counted") == 1
    assert told.value("limiter_decisions_total", limit="failures", outcome="refused") == 2


def test_votes_listings_and_the_journal_have_metrics(gateway: ThreadGateway, key: str) -> None:
    del key
    gateway.list_server()
    gateway.cast()
    gateway.cast(OTHER_USER)
    gateway.clock.advance(90)
    told = scraped(gateway)
    head = gateway.gateway.ledger.head
    assert (told.value("votes"), told.value("votes_cast_total", place="here")) == (2, 2)
    assert told.value("listing_uses_total", kind="bots", use="votes") == 2
    assert told.value("listing_uses_total", kind="servers", use="reviews") == 0
    assert told.value("listings", kind="bots", review="approved") == 1
    assert told.value("listings", kind="servers", review="approved") == 1
    assert told.value("listings", kind="bots", review="denied") == 0
    assert told.value("changes_waiting", kind="bots") == 0
    form = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
    gateway.done("PUT", f"/manage/bots/{BOT}", {**form, "name": "Renamed"})
    told, head = scraped(gateway), gateway.gateway.ledger.head
    assert told.value("listings", kind="bots", review="approved") == 1
    assert told.value("changes_waiting", kind="bots") == 1
    assert told.value("changes_waiting", kind="servers") == 0
    assert told.value("api_keys") == 1
    assert told.value("journal_head_position") == told.value("journal_durable_position") == head
    assert told.value("journal_records_total") == head
    assert 1 <= told.value("journal_batches_total") <= told.value("journal_fsync_seconds_count")
    assert told.value("journal_pending_bytes") == 0
    assert told.value("journal_pending_limit_bytes") == 64 << 20
    assert told.value("journal_writable") == told.value("ready") == 1
    assert told.value("snapshot_position") == 0
    assert told.value("snapshot_age_seconds") == 90


def test_the_age_of_a_snapshot_outlives_a_restart(gateway: ThreadGateway, key: str) -> None:
    del key
    taken = gateway.done("POST", "/debug/snapshot")
    told = scraped(gateway)
    assert told.value("snapshot_position") == taken["position"]
    assert told.value("snapshot_size_bytes") == taken["bytes"]
    assert told.value("snapshot_age_seconds") == 0
    gateway.restart(seconds_down=120)
    told = scraped(gateway)
    assert told.value("snapshot_age_seconds") == 120
    assert told.value("journal_records_total") == 0, "a counter begins with its process"
    eventually(lambda: "votegate_listings" in {name for name, _ in scraped(gateway).series})
    assert scraped(gateway).value("listings", kind="bots", review="approved") == 1


def test_attempts_of_webhooks_are_counted(gateway: ThreadGateway, key: str, receiver: Receiver) -> None:
    del key
    set_webhook(gateway, receiver.url)
    gateway.cast()
    sample = {"outcome": "delivered", "error": "none"}
    eventually(lambda: scraped(gateway).value("webhook_attempts_total", **sample) == 1)
    told = scraped(gateway)
    assert told.value("webhook_attempt_seconds_count", outcome="delivered") == 1
    assert told.value("webhooks_pending") == told.value("webhooks_in_flight") == 0
    assert told.value("webhooks_pending_limit") == 1_000_000


def test_the_process_has_metrics(gateway: ThreadGateway) -> None:
    told = scraped(gateway)
    build = told.families["votegate_build"].samples[0]
    assert (build.value, build.labels["version"], build.labels["api_version"]) == (1, "0.1.0", "1.1.0")
    assert told.value("process_resident_memory_bytes") > 1 << 20
    assert told.value("process_open_fds") > 3
    assert told.value("process_start_time_seconds") > 0
    assert told.value("connections") == 1
    assert "votegate_event_loop_delay_seconds" in told.families


def test_outside_of_a_fleet_there_are_no_metrics_of_one(gateway: ThreadGateway) -> None:
    assert not [name for name in scraped(gateway).families if "replication" in name]


# -- bounded -----------------------------------------------------------------------------------------------


def test_no_client_can_make_a_series_that_is_not_there(gateway: ThreadGateway, key: str) -> None:
    def all_series() -> set[str]:
        text = gateway.operate("GET", METRICS).text
        return {line.rpartition(" ")[0] for line in text.splitlines() if line.startswith("votegate_requests")}

    before = all_series()
    assert len(before) == (len(ALL_ROUTES) + 3) * len(CLASSES)
    hostile = ['"\n', "%22%0a", "x" * 4_000, "..%2f..", "{}", "votegate_x 1", "\\", "é", "%ff"]
    for number, path in enumerate(hostile):
        for method in ("GET", "POST", "PROPFIND", f"M{number}", "get"):
            gateway.raw(f"{method} /{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    for number in range(20):
        gateway.voters(f"{key}{number}", bot=str(int(OTHER_BOT) + number), user=str(int(USER) + number))
        gateway.request("GET", "/bots/" + "1" * (number + 1) + "/stats")
        gateway.operate("GET", f"/manage/bots/{number}/nothing")
    assert all_series() == before
    named = set(re.findall(r'endpoint="([^"]*)"', "\n".join(before)))
    assert named == {route.name for route in ALL_ROUTES} | {OTHER, REFUSED, PAGE}


# -- an address of its own ---------------------------------------------------------------------------------


def address_told(caplog: pytest.LogCaptureFixture) -> str:
    """Return the address of the metrics, from the lines of the start."""
    (url,) = re.findall(r"metrics on (http://\S+)/metrics", caplog.text)
    assert isinstance(url, str)
    return url


def test_on_an_address_of_its_own_it_needs_no_token_and_is_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    at_home = {"metrics.address": "127.0.0.1", "metrics.port": 0}
    with running(tmp_path / "data", **at_home) as gateway:
        url = address_told(caplog)

        def ask(method: str, path: str) -> requests.Response:
            return requests.request(method, url + path, timeout=WAIT_SECONDS, proxies={"http": ""})

        assert read(ask("GET", METRICS)).value("ready") == 1
        assert ask("HEAD", METRICS).status_code == 200
        for path in ("/debug/overview.json", "/manage/bots", "/healthz", f"/bots/{BOT}/voters/{USER}", "/"):
            assert ask("GET", path).status_code == 404
        assert ask("POST", METRICS).status_code == 405
        assert gateway.request("GET", METRICS).status_code == 401, "the main address still asks for it"
        gateway.list_bot()
        saved = gateway.operate("PUT", f"{BOT_PATH}/webhook", {"url": f"{url}/metrics"})
        assert saved.json()["fields"] == {"url": "must not lead to this gateway itself"}
    with pytest.raises(requests.ConnectionError):
        requests.get(url + METRICS, timeout=WAIT_SECONDS)


def test_the_text_is_what_the_library_of_python_reads(gateway: ThreadGateway, key: str) -> None:
    gateway.voters(key)
    text = gateway.operate("GET", METRICS).text
    told = Scraped(text)
    for family in told.families.values():
        assert family.name.startswith("votegate_")
        assert family.documentation.endswith("."), family.name
        assert family.unit in {"", "seconds", "bytes"}
    assert not re.search(r"\bnan\b", text.lower())  # a number; a name may have these letters
