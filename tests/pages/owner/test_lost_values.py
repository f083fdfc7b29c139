"""A listing whose unique values belong to another: its owner reads it in the notices and in the overview."""

from core.events import ListingSaved
from kinds.themes import THEMES
from listings.unique_values import UniqueValues, tell_loser
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, BEN

EARLIER, LATER = "0badc0ffee01", "0badc0ffee02"


def tell(gateway: PeopleGateway) -> int:
    """Tell losers as a node does after a merge; return how many were told."""

    def told() -> int:
        ledger = gateway.gateway.ledger
        unique = UniqueValues(ledger.state)
        for _ in unique.survey():
            pass
        events = [event for each in unique.losses() for event in tell_loser(*each, gateway.clock.now_ms())]
        ledger.commit(events)
        return len(events)

    return gateway.on_loop(told)


def test_the_loser_reads_what_to_do_and_is_told_once(gateway: PeopleGateway) -> None:
    ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
    rows = [(THEMES.ref(EARLIER), ADA, now_ms), (THEMES.ref(LATER), BEN, now_ms + 1)]
    saved = [ListingSaved(ref, user, THEMES.sample, "in_review", at_ms) for ref, user, at_ms in rows]
    gateway.on_loop(lambda: ledger.commit(saved))
    gateway.clock.advance(1)
    assert [tell(gateway), tell(gateway)] == [1, 0]
    ada, ben = gateway.person(ADA), gateway.person(BEN)
    page = ben.page("/me/notices")
    assert "has a value that only one listing may have, and another listing had it first." in words(page)
    assert f'href="/themes/{LATER}/manage"' in page
    assert "had it first" not in words(ada.page("/me/notices"))
    overview = words(ben.page(f"/themes/{LATER}/manage"))
    assert "Choose others for: Primary colour, Secondary colour." in overview
    assert "values lost to another listing" in overview
    fields = {"name": "Dusk", "primary": "#000", "secondary": "#fff", "categories": "Dark"}
    assert ben.post(f"/themes/{LATER}/manage/profile", fields).status_code == 303
    assert tell(gateway) == 0
    assert "Choose others for" not in words(ben.page(f"/themes/{LATER}/manage"))
