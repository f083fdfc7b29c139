"""The overview shows what its JSON says, and goes on showing it."""

import json
from typing import Any

from tests.support.gateways import ThreadGateway, eventually
from tests.support.page_visitor import PageVisitor, check_html, words


def test_the_overview_shows_the_process(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_bot()
    gateway.cast()
    shown = words(visitor.page("/debug"))
    positions = gateway.done("GET", "/debug/overview.json")["positions"]
    assert f"Newest {positions['head']} 0" in shown
    assert "Bots 1 1 keys" in shown
    assert "1 users voted" in shown


def test_a_banner_says_what_is_wrong_now_as_the_api_does(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    assert "Concerns" not in words(visitor.page("/debug"))
    for _ in range(301):
        gateway.voters("vg_" + "k" * 43)
    (concern,) = gateway.done("GET", "/debug/overview.json")["concerns"]
    assert f"Concerns {concern['text']} {concern['action']}" in words(visitor.page("/debug"))
    assert gateway.done("GET", "/debug/overview.json")["concerns"] == [concern]


def test_the_json_of_a_page_takes_the_session_as_it_takes_the_token(visitor: PageVisitor) -> None:
    answer = visitor.get("/debug/overview.json")
    assert (answer.status_code, answer.json()["success"]) == (200, True)
    visitor.post("/debug/sign-out")
    assert visitor.get("/debug/overview.json").status_code == 401
    visitor.cookie = "x" * 43
    assert visitor.get("/debug/overview.json").status_code == 401


def test_a_wrong_token_is_refused_although_there_is_a_session(visitor: PageVisitor) -> None:
    answer = visitor.get("/debug/overview.json", Authorization="Bearer wrong")
    assert answer.status_code == 401


def test_what_moves_is_streamed_as_html_with_the_points_of_the_charts(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    response = visitor.request("GET", "/debug/live", stream=True)
    assert response.headers["Content-Type"].startswith("text/event-stream")
    lines = response.iter_lines(decode_unicode=True)
    assert next(lines).startswith(":")
    html, series = [], ""
    for line in lines:
        if line == "event: series":
            series = next(lines).removeprefix("data: ")
            break
        html.append(line.removeprefix("data: "))
    response.close()
    check_html("\n".join(html))
    assert "Requests per second" in words("\n".join(html))
    assert json.loads(series).keys() == gateway.done("GET", "/debug/overview.json")["series"].keys()


def test_the_stream_ends_with_the_sign_out(visitor: PageVisitor) -> None:
    response = visitor.request("GET", "/debug/live", stream=True)
    lines = response.iter_lines(decode_unicode=True)
    assert next(lines).startswith(":")
    visitor.post("/debug/sign-out")
    assert "event: signed-out" in list(lines)


def test_a_page_that_asks_again_after_its_session_learns_that_it_is_over(visitor: PageVisitor) -> None:
    visitor.post("/debug/sign-out")
    response = visitor.get("/debug/live")
    assert response.headers["Content-Type"].startswith("text/event-stream")
    assert response.text == "event: signed-out\ndata: .\n\n"


def test_a_stop_ends_the_streams_and_waits_for_none(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    response = visitor.request("GET", "/debug/live", stream=True)
    lines = response.iter_lines(decode_unicode=True)
    assert next(lines).startswith(":")
    gateway.stop()
    for _ in lines:
        pass


def test_how_long_somebody_watches_is_no_latency(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    response = visitor.request("GET", "/debug/live", stream=True)
    lines = response.iter_lines(decode_unicode=True)
    assert next(lines).startswith(":")
    gateway.advance(30)
    visitor.post("/debug/sign-out")
    assert "event: signed-out" in list(lines)

    def pages() -> list[Any]:
        endpoints = gateway.done("GET", "/debug/overview.json")["endpoints"]
        return [each for each in endpoints if (each["endpoint"], each["status_class"]) == ("page", "2xx")]

    (seen,) = eventually(pages)
    assert seen["p99_ms"] < 1_000
