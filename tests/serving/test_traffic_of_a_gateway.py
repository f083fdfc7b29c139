"""Counts of answers, on every path of a request through a gateway."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from core.clock import NS_PER_MS
from core.durations import Durations
from handlers.reply import Reply, refused
from serving.traffic import OTHER, REFUSED, Series, Traffic
from tests.support.gateways import BOT, OTHER_BOT, USER, ThreadGateway, eventually, running

VOTERS = f"/bots/{BOT}/voters/{USER}"


class Watched:
    """A gateway and its counts."""

    def __init__(self, gateway: ThreadGateway, traffic: Traffic) -> None:
        self.gateway = gateway
        self.key = gateway.list_bot()
        self._traffic = traffic

    def counts(self) -> dict[Series, Durations]:
        look = self.gateway.on_loop(lambda: self._traffic.look(0))
        return {series: each for series, each in look.by_series.items() if each.count}

    def counted(self, ask: Callable[[], object]) -> dict[tuple[str, str], int]:
        """Return the answers that a request adds."""
        before = self.counts()
        ask()
        eventually(lambda: self.counts() != before)
        return {
            (series.endpoint, series.status_class): each.count
            - (before[series].count if series in before else 0)
            for series, each in self.counts().items()
            if each != before.get(series)
        }


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    made: list[Traffic] = []

    def making(names: Iterable[str]) -> Traffic:
        made.append(Traffic(names))
        return made[-1]

    monkeypatch.setattr("gateway.parts.Traffic", making)
    with running(tmp_path / "data") as gateway:
        yield Watched(gateway, made[-1])


def test_a_vote_check_is_counted_once_whichever_way_it_goes(watched: Watched) -> None:
    gateway, key = watched.gateway, watched.key
    authorization = {"Authorization": key}
    for method in ("GET", "GET", "HEAD"):  # its head is parsed, then known; and Tornado answers
        asked = watched.counted(lambda: gateway.request(method, VOTERS, headers=authorization))  # noqa: B023
        assert asked == {("checkVote", "2xx"): 1}
    assert watched.counted(lambda: gateway.voters(None)) == {("checkVote", "4xx"): 1}
    assert watched.counted(lambda: gateway.voters(key, user="1")) == {("checkVote", "4xx"): 1}


def test_every_other_request_is_counted_by_its_operation(watched: Watched) -> None:
    gateway = watched.gateway
    one = f"/manage/bots/{OTHER_BOT}"
    assert watched.counted(lambda: gateway.request("GET", "/healthz")) == {("isAlive", "2xx"): 1}
    assert watched.counted(lambda: gateway.operate("GET", one)) == {("showBot", "4xx"): 1}
    assert watched.counted(lambda: gateway.operate("DELETE", one)) == {("removeBot", "4xx"): 1}
    assert watched.counted(lambda: gateway.operate("GET", "/debug/snapshot")) == {("backUp", "2xx"): 1}


def test_what_no_operation_answers_is_counted_together(watched: Watched) -> None:
    gateway = watched.gateway
    for method, path in (
        ("GET", "/no/such/path"),
        ("DELETE", VOTERS),
        ("OPTIONS", VOTERS),
        ("PROPFIND", "/healthz"),
    ):
        status_class = "2xx" if method == "OPTIONS" else "4xx"
        asked = watched.counted(lambda: gateway.request(method, path))  # noqa: B023
        assert asked == {(OTHER, status_class): 1}, (method, path)


def test_what_the_server_refuses_is_counted_without_an_endpoint(watched: Watched) -> None:
    gateway = watched.gateway
    assert watched.counted(lambda: gateway.raw(b"GET /healthz\r\n\r\n")) == {(REFUSED, "4xx"): 1}
    long = {"X-Long": "x" * 20_000}
    assert watched.counted(lambda: gateway.request("GET", "/healthz", headers=long)) == {(REFUSED, "4xx"): 1}


def test_a_duration_is_of_the_monotonic_clock(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = watched.gateway.clock

    def slowly() -> Reply:
        clock.set_wall(-3_600)
        clock.advance_ms(300)
        return refused("cut_off")

    monkeypatch.setattr("handlers.routes.success", slowly)
    asked = watched.counted(lambda: watched.gateway.request("GET", "/healthz"))
    assert asked == {("isAlive", "5xx"): 1}
    assert watched.counts()[Series("isAlive", "5xx")].total_ns == 300 * NS_PER_MS
