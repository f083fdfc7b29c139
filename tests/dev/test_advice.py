"""The advice for refusals."""

import re

import pytest

from dev.advice import ADVICE, advice_for_delivery, advice_for_request
from dev.watching import OF_BOTS
from handlers.request import Request
from handlers.routes import ROUTES
from languages.said import Code
from tests.support.gateways import ROOT


def test_each_refusal_of_a_bot_has_its_advice() -> None:
    routes = [route for route in ROUTES if route.access == "bot key"]
    assert {route.name for route in routes} == OF_BOTS
    refusals = {code for route in routes for code in route.refusals}
    assert refusals <= ADVICE.keys()


def test_each_anchor_is_a_heading_of_the_guide() -> None:
    guide = (ROOT / "docs/bots.md").read_text()
    headings = re.findall(r"^#+ (.+)$", guide, re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    advice = [*ADVICE.values(), advice_for_delivery("http_500")]
    assert {each.anchor for each in advice} <= anchors


def request(body: bytes = b"", authorization: str = "") -> Request:
    headers = {"Authorization": authorization}
    return Request("PATCH", "/bots/1/stats", ("1",), {}, headers, "127.0.0.1", body, 65_536)


@pytest.mark.parametrize(
    ("code", "sent", "limit", "said"),
    [
        ("command_count_out_of_range", request(b'{"command_count": 5000}'), 1_000, "not their uses"),
        ("server_count_out_of_range", request(b'{"server_count": 99999999}'), 1_000, "how many servers"),
        ("server_count_out_of_range", request(b'{"server_count": "3"}'), 1_000, "not as text"),
        ("server_count_out_of_range", request(b'{"server_count": true}'), 1_000, "not as text"),
        ("invalid_key", request(authorization='"vg_x"'), 1_000, "in quotes"),
        ("invalid_key", request(authorization="vg_x"), 1_000, "Send API_KEY"),
        ("too_many_requests", request(), 2, "without --real-limits"),
        ("too_many_requests", request(), 1_000, "retry-after says."),
    ],
)
def test_the_advice_follows_from_the_request(code: Code, sent: Request, limit: int, said: str) -> None:
    advice = advice_for_request(code, sent, sent.path, limit)
    assert advice is not None
    assert said in advice.text


@pytest.mark.parametrize(
    ("path", "said"), [("/", "press v"), ("/bots/1/vote", "press v"), ("/bot/1/stats", "Check")]
)
def test_a_page_that_is_not_here_has_advice_of_its_own(path: str, said: str) -> None:
    advice = advice_for_request("no_such_path", None, path, None)
    assert advice is not None
    assert said in advice.text


def test_a_receiver_that_fails_is_asked_for_its_own_log() -> None:
    assert "log of your receiver" in advice_for_delivery("http_500").text
    assert "200 to 299" in advice_for_delivery("http_302").text
