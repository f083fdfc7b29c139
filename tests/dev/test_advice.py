"""The advice for refusals."""

import re

from dev.advice import ADVICE, advice_for_delivery
from dev.watching import OF_BOTS
from handlers.routes import ROUTES
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
