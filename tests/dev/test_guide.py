"""The advice for refusals."""

from dev.guide import ADVICE
from dev.watching import OF_BOTS
from handlers.routes import ROUTES


def test_each_refusal_of_a_bot_has_its_advice() -> None:
    routes = [route for route in ROUTES if route.access == "bot key"]
    assert {route.name for route in routes} == OF_BOTS
    refusals = {code for route in routes for code in route.refusals}
    assert refusals <= ADVICE.keys()
