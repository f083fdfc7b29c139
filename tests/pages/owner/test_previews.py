"""One limit holds for the previews of a user on all pages."""

from gateway.people_site import PREVIEWS
from tests.support.gateways import BOT_SUBMISSION
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, BEN, NO_BOT, READY

TYPED = {"name": "A bot for the tests", "description": "**bold**", "act": "preview"}


def test_who_previews_too_often_keeps_what_was_typed_and_others_are_not_held_up(
    gateway: PeopleGateway,
) -> None:
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": READY, "owner_id": ADA})
    ada, ben = gateway.person(ADA), gateway.person(BEN)
    pages = (f"/bots/{READY}/manage/profile", "/bots/new")
    for number in range(PREVIEWS.requests):
        answer = ada.post(pages[number % 2], {**TYPED, "id": NO_BOT})
        assert (answer.status_code, "<strong>bold</strong>" in answer.text) == (200, True)
    for path in pages:
        answer = ada.post(path, {**TYPED, "id": NO_BOT})
        assert (answer.status_code, ">\n**bold**</textarea>" in answer.text) == (429, True)
        assert answer.headers["RateLimit-Reset"] == str(PREVIEWS.window_seconds)
    assert ben.post("/bots/new", {**TYPED, "id": NO_BOT}).status_code == 200
    gateway.clock.advance(PREVIEWS.window_seconds)
    assert ada.post(pages[0], TYPED).status_code == 200
