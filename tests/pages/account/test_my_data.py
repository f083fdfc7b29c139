"""A person's data: the download has all of it, and the erasure removes all of it."""

import json

import msgspec
import pytest

from core.actors import ERASED
from pages.account.my_data import DOWNLOADS
from tests.support.co_owners import let_join
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO


@pytest.fixture(scope="module")
def gateway(gateway: PeopleGateway) -> PeopleGateway:
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
    return gateway


@pytest.fixture
def ben(gateway: PeopleGateway) -> Person:
    gateway.clock.advance(86_400)
    gateway.done("POST", f"/manage/bots/{BOT}/votes", {"user": BEN})
    return gateway.person(BEN)


def test_the_download_has_everything_and_no_secret(gateway: PeopleGateway, ben: Person) -> None:
    answer = ben.get("/me/data.json")
    known = json.loads(answer.content)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="my-data-{BEN}.json"'
    assert known["account"]["profile"]["username"] == "ben"
    assert [vote["listing"] for vote in known["votes"]] == [f"bots/{BOT}"]
    assert known["account"]["sessions"]
    digests = [*gateway.gateway.ledger.state.users.by_session]
    assert digests
    assert not any(digest in answer.text for digest in digests)
    assert json.loads(gateway.person(ADA).get("/me/data.json").content)["listings"] == [f"bots/{BOT}"]


def test_who_downloads_too_often_has_to_wait(gateway: PeopleGateway, ben: Person) -> None:
    for _ in range(DOWNLOADS.requests):
        assert ben.get("/me/data.json").status_code == 200
    refused = ben.get("/me/data.json")
    assert (refused.status_code, refused.json()["error"]) == (
        429,
        "Too many requests, please try again later.",
    )
    gateway.clock.advance(DOWNLOADS.window_seconds)
    assert ben.get("/me/data.json").status_code == 200


def test_it_takes_a_word_to_be_forgotten(ben: Person) -> None:
    answer = ben.post("/me/data", {"word": "yes"})
    assert answer.status_code == 400
    assert "Type erase to confirm." in words(answer.text)
    assert ben.get("/me").status_code == 200


def test_who_is_forgotten_is_known_nowhere(gateway: PeopleGateway, ben: Person) -> None:
    other = gateway.person(BEN)
    shown = ben.acted("/me/data", {"word": "Erase"})
    assert "Your account and your data are erased." in words(shown)
    assert [each.get("/me").status_code for each in (ben, other)] == [303, 303]
    state = gateway.gateway.ledger.state
    assert f"users/{BEN}" not in state.users
    assert state.votes.get(f"bots/{BOT}", int(BEN)) is None
    (status,) = gateway.done("POST", f"/manage/bots/{BOT}/votes/check", {"users": [BEN]})["votes"]
    assert status["vote"] == 0


def test_who_is_forgotten_is_named_in_no_listing_that_they_own_or_are_asked_to_own(
    gateway: PeopleGateway, ben: Person
) -> None:
    let_join(gateway, BOT, BEN)
    ben.post(f"/bots/{BOT}/manage/keys", {"name": "of Ben"})
    form = {name: value for name, value in BOT_SUBMISSION.items() if name not in {"id", "owner_id"}}
    ben.acted(f"/bots/{BOT}/manage/profile", {**form, "name": "By Ben"})
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": OTHER_BOT, "extra_owners": [BEN]})
    gateway.done("PUT", f"/manage/bots/{OTHER_BOT}/hand-over", {"heir": BEN})
    known = ben.get("/me/data.json").json()
    assert (known["listings"], known["invitations"]) == ([f"bots/{BOT}"], [f"bots/{OTHER_BOT}"])
    assert [key["name"] for key in known["keys_made"]] == ["of Ben"]
    assert "changed" in {act["deed"] for act in known["acts"]}
    ben.acted("/me/data", {"word": "erase"})
    rows = gateway.gateway.ledger.state.listings
    for bot in (BOT, OTHER_BOT):
        assert BEN.encode() not in msgspec.json.encode(rows[f"bots/{bot}"])
    change = rows[f"bots/{BOT}"].change
    assert change is not None
    assert change.by == ERASED
    known = gateway.person(BEN).get("/me/data.json").json()
    assert (known["listings"], known["invitations"], known["keys_made"]) == ([], [], [])
    gateway.done("DELETE", f"/manage/bots/{OTHER_BOT}")


def test_the_servers_of_who_is_forgotten_are_forgotten_too(gateway: PeopleGateway, ben: Person) -> None:
    unread = "We do not save the list of your servers"
    ben.sign_in_as(BEN, "/servers/new")
    assert unread not in ben.page("/servers/new")
    ben.acted("/me/data", {"word": "erase"})
    assert unread in gateway.person(BEN).page("/servers/new")


def test_an_erasure_is_no_way_to_vote_again(gateway: PeopleGateway, ben: Person) -> None:
    path = f"/manage/bots/{BOT}/votes"
    early = gateway.operate("POST", path, {"user": BEN}).json()["nextVoteAt"]
    ben.acted("/me/data", {"word": "erase"})
    state = gateway.gateway.ledger.state
    assert state.votes.get(f"bots/{BOT}", int(BEN)) is None
    assert not any(BEN in mark for mark in state.cooldowns)
    for _ in range(2):
        refused = gateway.operate("POST", path, {"user": BEN})
        assert (refused.status_code, refused.json()["nextVoteAt"]) == (409, early)
        gateway.restart()
    gateway.clock.advance(86_400)
    assert gateway.done("POST", path, {"user": BEN})["vote"] == 1


@pytest.mark.parametrize("gone", ["struck out", "erased"])
def test_the_download_has_the_cooldowns_whose_votes_are_gone(
    gateway: PeopleGateway, ben: Person, gone: str
) -> None:
    listing, ends_ms = f"bots/{BOT}", gateway.clock.now_ms() + 86_400_000
    assert ben.get("/me/data.json").json()["cooldowns"] == []
    if gone == "erased":
        ben.acted("/me/data", {"word": "erase"})
    else:
        strike = {"users": [BEN], "reason": "Bought.", "dry_run": False}
        gateway.done("POST", f"/manage/{listing}/votes/strike", strike)
    known = gateway.person(BEN).get("/me/data.json").json()
    assert known["votes"] == []
    assert known["cooldowns"] == [{"listing": listing, "ends_ms": ends_ms}]
    gateway.clock.advance(86_400)
    assert gateway.person(BEN).get("/me/data.json").json()["cooldowns"] == []


def test_an_erasure_is_no_way_out_of_a_quarantine(gateway: PeopleGateway, ben: Person) -> None:
    gateway.done("PUT", f"/manage/users/{BEN}/quarantines/submit", {"reason": "Spam."})
    assert "If you are under quarantine, your user ID stays with the reason." in words(ben.page("/me/data"))
    ben.acted("/me/data", {"word": "erase"})
    row = gateway.gateway.ledger.state.users[f"users/{BEN}"]
    assert (row.profile, row.sessions) == (None, ())
    assert gateway.person(BEN).get("/bots/new").status_code == 403
    gateway.done("DELETE", f"/manage/users/{BEN}/quarantines/submit")
    gateway.done("DELETE", f"/manage/users/{BEN}")
    assert f"users/{BEN}" not in gateway.gateway.ledger.state.users


def test_a_listing_stays_when_its_owner_is_forgotten_and_the_page_says_so(gateway: PeopleGateway) -> None:
    ada = gateway.person(ADA)
    assert "You own 1 listing. It stays, with your user ID as its owner" in words(ada.page("/me/data"))
    ada.acted("/me/data", {"word": "erase"})
    assert gateway.done("GET", f"/manage/bots/{BOT}")["owner_id"] == ADA


def test_to_be_forgotten_takes_a_fresh_sign_in(gateway: PeopleGateway, ben: Person) -> None:
    gateway.clock.advance(3_600)
    answer = ben.post("/me/data", {"word": "erase"})
    assert (answer.status_code, "Is it still you?" in answer.text) == (403, True)
    assert "An erasure cannot be undone" in answer.text
    assert ben.get("/me/data").status_code == 200
    assert ben.sign_in_as(BEN, "/me/data").headers["Location"] == "/me/data"
    assert ben.post("/me/data", {"word": "erase"}).status_code == 303


def test_who_is_forgotten_is_in_no_listing_of_others(gateway: PeopleGateway, ben: Person) -> None:
    gateway.operate("DELETE", f"/manage/bots/{OTHER_BOT}")
    shared = {**BOT_SUBMISSION, "id": OTHER_BOT, "owner_id": ADA}
    gateway.done("POST", "/manage/bots", shared)
    let_join(gateway, OTHER_BOT, BEN, CLEO)
    gateway.done("POST", f"/manage/bots/{OTHER_BOT}/deny", {"reason": "It is too quiet."})
    text = words(ben.page("/me/data"))
    assert "You are a co-owner of 1 listing. You stop being one" in text
    assert "You own" not in text
    assert ben.post("/me/data", {"word": "erase"}).status_code == 303
    row = gateway.gateway.ledger.state.listings[f"bots/{OTHER_BOT}"]
    assert BEN not in repr(row)
    assert (row.extra_owners, row.state, row.reason) == ((CLEO,), "denied", "It is too quiet.")
