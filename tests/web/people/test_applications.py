"""web/people/applications.py: look-ups are counted by user."""

from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import BEN, READY
from web.people.applications import LOOK_UPS


def test_a_user_looks_up_so_many_in_a_minute_and_others_none_the_less(
    gateway: PeopleGateway, ada: Person
) -> None:
    path, ben = f"/bots/new?id={READY}", gateway.person(BEN)
    for _ in range(LOOK_UPS.requests):
        ada.page(path)
    asked = gateway.stand_in.asked(f"/applications/{READY}/rpc")
    refused = ada.get(path)
    assert (refused.status_code, "That was too often" in refused.text) == (429, True)
    assert gateway.stand_in.asked(f"/applications/{READY}/rpc") == asked
    ben.page(path)
    gateway.clock.advance(LOOK_UPS.window_seconds)
    ada.page(path)
