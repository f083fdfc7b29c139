"""The overview shows what its JSON says."""

from tests.support.gateways import ThreadGateway
from tests.support.page_visitor import PageVisitor, words


def test_the_overview_shows_the_state_of_the_process(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.cast()
    visitor = PageVisitor(gateway)
    visitor.sign_in()
    shown = words(visitor.page("/debug"))
    state = gateway.done("GET", "/debug/state")
    assert "Ready yes" in shown
    assert f"Newest {state['positions']['head']}" in shown
    assert "Bots 1" in shown
    assert "Votes 1" in shown
