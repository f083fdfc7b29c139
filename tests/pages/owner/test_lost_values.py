"""The overview of a listing whose unique values another listing has: two nodes of a fleet took both."""

from core.events import ListingSaved
from kinds.themes import THEMES
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, BEN

FIRST, SECOND = "themes/000000000001", "themes/000000000002"
ASKED = "Choose others for: Primary colour, Secondary colour."


def test_the_owner_of_the_later_listing_is_asked_for_other_values(gateway: PeopleGateway) -> None:
    ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
    both = [
        ListingSaved(ref, owner, THEMES.sample, "in_review", now_ms)
        for ref, owner in ((SECOND, BEN), (FIRST, ADA))
    ]
    gateway.on_loop(lambda: ledger.commit(both))
    ada, ben = gateway.person(ADA), gateway.person(BEN)
    assert ASKED not in words(ada.page(f"/{FIRST}/manage")), "the lesser ref, of two in one millisecond"
    assert ASKED in words(ben.page(f"/{SECOND}/manage"))
    chosen = {"name": "Dusk", "primary": "#000", "secondary": "#fff", "categories": "Dark"}
    assert ben.post(f"/{SECOND}/manage/profile", chosen).status_code == 303
    assert ASKED not in words(ben.page(f"/{SECOND}/manage"))
