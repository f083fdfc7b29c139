"""pages/review/listing_review.py: changes of approved listings, and withdrawn approvals.

An approved bot is renamed to "Free Nitro": what everybody sees, and what moderators do about it.
"""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from core.actors import user_actor
from tests.support.co_owners import let_join
from tests.support.gateways import BOT_SUBMISSION, SERVER, SERVER_SUBMISSION
from tests.support.owned_listings import forbid_to_submit
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, PRIVATE, READY

HERE, MANAGE = f"/review/bots/{READY}", f"/bots/{READY}/manage"
GOOD, BAD = "Music Box", "Free Nitro"
DESCRIPTION = "It plays music.\nIt is loud,\nall night long."
SWAPPED = "It plays music.\nمجانا لكم\nall night long."
PLACES = (
    *("", "/bots", "/bots.json", "/bots?sort=name", "/bots.json?sort=name", "/bots.json?q=music"),
    *(f"/bots/{READY}", f"/bots/{READY}.json", f"/bots/{READY}/badge.svg", f"/bots/{READY}/vote"),
)
"""Where everybody meets a bot."""


@pytest.fixture(scope="module", params=["after", "before"])
def settings(request: pytest.FixtureRequest) -> dict[str, object]:
    """A moderator looks at edits after everybody sees them, or before."""
    return {"review.edits": request.param, "web.moderators": f"{CLEO},{DAN}"}


@pytest.fixture
def shows_at_once(gateway: PeopleGateway) -> bool:
    return gateway.settings.review.edits == "after"


@pytest.fixture(autouse=True)
def approved(gateway: PeopleGateway) -> None:
    """Ada's bot is approved, and nothing else waits."""
    gateway.clock.advance(600)
    for bot in (READY, PRIVATE):
        gateway.operate("DELETE", f"/manage/bots/{bot}")
    gateway.operate("DELETE", f"/manage/servers/{SERVER}")
    list_approved(gateway, READY, GOOD)
    gateway.clock.advance(1)


def list_approved(gateway: PeopleGateway, bot: str, name: str, owner: str = ADA) -> None:
    form = {**BOT_SUBMISSION, "id": bot, "owner_id": owner, "name": name, "description": DESCRIPTION}
    gateway.done("POST", "/manage/bots", form)
    gateway.done("POST", f"/manage/bots/{bot}/approve", {})


def typed(name: str = BAD, description: str = SWAPPED, **fields: Any) -> dict[str, Any]:
    form = {key: value for key, value in BOT_SUBMISSION.items() if key not in {"id", "owner_id"}}
    return {**form, "name": name, "description": description, **fields}


def swap(gateway: PeopleGateway, user: str = ADA, **fields: Any) -> str:
    """Save another profile, and return the page with the outcome."""
    gateway.clock.advance(1)
    return words(gateway.person(user).acted(f"{MANAGE}/profile", typed(**fields)))


def shown(gateway: PeopleGateway) -> Any:
    return gateway.done("GET", f"/manage/bots/{READY}")


def version(gateway: PeopleGateway) -> dict[str, str]:
    return {"seen": shown(gateway)["change"]["version"]}


def acts(gateway: PeopleGateway) -> list[tuple[str, str]]:
    history = gateway.done("GET", f"/manage/bots/{READY}/history")["history"]
    return [(act["deed"], act["by"]) for act in reversed(history)]


def seen_by(visitor: Person) -> str:
    """Everything that a visitor finds of bots."""
    answers = [visitor.get(place or "/") for place in PLACES]
    assert {answer.status_code for answer in answers[:9]} == {200}
    return "\n".join(answer.text for answer in answers)


def indexed(gateway: PeopleGateway, stranger: Person) -> None:
    """Wait until the search has read everything up to now: another bot is listed last."""
    gateway.operate("DELETE", f"/manage/bots/{PRIVATE}")
    name = f"Marker {gateway.clock.now_ms()}"
    list_approved(gateway, PRIVATE, name)
    until = time.monotonic() + 30
    while name not in stranger.get(f"/bots.json?q={name}").text:
        assert time.monotonic() < until


# -- What everybody sees ----------------------------------------------------------------------------------


def test_a_swapped_profile_is_public_at_once_or_not_before_a_moderator_agrees(
    gateway: PeopleGateway, cleo: Person, shows_at_once: bool
) -> None:
    stranger, ben = gateway.person(None), gateway.person(BEN)
    assert GOOD in seen_by(stranger)
    swap(gateway)
    indexed(gateway, stranger)
    for visitor in (stranger, ben):
        gateway.clock.advance(60)  # lists are made again
        visitor.get("/bots.json")
        found = seen_by(visitor)
        assert (BAD in found, GOOD in found) == (shows_at_once, not shows_at_once)
        assert (READY in visitor.get("/bots.json?q=nitro").text) == shows_at_once
        assert visitor.get(MANAGE).status_code != 200
        assert visitor.get(f"{MANAGE}.json").status_code in {401, 404}
    cleo.acted(f"{HERE}/agree", version(gateway))
    indexed(gateway, stranger)
    gateway.clock.advance(60)
    stranger.get("/bots.json")
    assert BAD in seen_by(stranger)
    assert READY in stranger.get("/bots.json?q=nitro").text


def test_it_is_in_the_queue_at_once_with_what_changed(gateway: PeopleGateway, cleo: Person) -> None:
    swap(gateway)
    queue = cleo.get("/review.json").json()["queue"]
    assert [(each["id"], each["what"], each["name"]) for each in queue] == [(READY, "change", BAD)]
    assert "Free Nitro Bot, change" in words(cleo.page("/review"))
    assert "Waiting 1" in words(cleo.page("/review"))
    page = cleo.page(HERE)
    assert f"Name Removed: {GOOD} New: {BAD} Description" in words(page)
    assert '<p dir="auto"><ins><bdi class="hidden">New: </bdi>مجانا لكم</ins></p>' in page
    changes = cleo.get(f"{HERE}.json").json()["changes"]
    assert [(each["name"], [line["state"] for line in each["lines"]]) for each in changes] == [
        ("name", ["gone", "new"]),
        ("description", ["same", "gone", "new", "same"]),
    ]


def test_its_owner_reads_what_everybody_sees(
    gateway: PeopleGateway, ada: Person, shows_at_once: bool
) -> None:
    said = swap(gateway)
    told = "A moderator looks at it, too." if shows_at_once else "once a moderator approves it."
    assert told in said
    assert "Change in review" in words(ada.page("/me"))
    assert "Change in review" in words(ada.page(MANAGE))
    form = ada.page(f"{MANAGE}/profile")
    assert f'value="{BAD}"' in form
    expected = "Everybody sees your last change" if shows_at_once else "everybody sees the previous version"
    assert expected in words(form)
    swap(gateway, name="Freer Nitro")
    assert 'value="Freer Nitro"' in ada.page(f"{MANAGE}/profile")
    assert shown(gateway)["change"]["agreed"]["name"] == GOOD


def test_who_goes_back_to_the_agreed_version_leaves_the_queue(gateway: PeopleGateway, cleo: Person) -> None:
    swap(gateway)
    assert "It is saved." in swap(gateway, name=GOOD, description=DESCRIPTION)
    assert cleo.get("/review.json").json()["queue"] == []
    assert (shown(gateway)["name"], shown(gateway)["change"]) == (GOOD, None)


def test_of_two_windows_the_second_is_asked_first(gateway: PeopleGateway, ada: Person) -> None:
    drawn_from = re.search(r'name="version" value="(\w+)"', ada.page(f"{MANAGE}/profile"))
    assert drawn_from is not None
    swap(gateway)
    late = ada.post(f"{MANAGE}/profile", {**typed(name="Third"), "version": drawn_from[1]})
    assert (late.status_code, BAD in late.text) == (409, True)


# -- What moderators decide -------------------------------------------------------------------------------


def test_a_change_is_claimed_like_a_submission(gateway: PeopleGateway, cleo: Person) -> None:
    swap(gateway)
    assert "Yours Release the claim" in words(cleo.acted(f"{HERE}/claim"))
    assert BAD in cleo.page("/review?show=mine")
    assert "Claimed by Cleo, who moderates" in words(gateway.person(DAN).page(HERE))
    cleo.acted(f"{HERE}/refuse", {**version(gateway), "words": "Spam"})
    assert BAD not in cleo.page("/review?show=mine")


def test_a_moderator_agrees_and_the_owner_is_told(gateway: PeopleGateway, cleo: Person, ada: Person) -> None:
    swap(gateway)
    before = shown(gateway)["reviewed_at"]
    gateway.clock.advance(1)
    assert "The change is approved" in words(cleo.acted(f"{HERE}/agree", version(gateway)))
    assert (shown(gateway)["name"], shown(gateway)["change"]) == (BAD, None)
    assert shown(gateway)["reviewed_at"] == before, "it does not become new in the lists"
    assert acts(gateway)[-1] == ("change_agreed", user_actor(CLEO))
    assert "Your change to Free Nitro is approved: everybody sees it." in words(ada.page("/me/notices"))


def test_a_moderator_refuses_with_a_reason_and_the_agreed_version_is_there_again(
    gateway: PeopleGateway, cleo: Person, ada: Person
) -> None:
    swap(gateway)
    refused = cleo.post(f"{HERE}/refuse", version(gateway))
    assert (refused.status_code, 'id="reason-problem"' in refused.text) == (400, True)
    fields = {**version(gateway), "reason": "misleading", "words": "It gives nothing"}
    assert "The change is refused." in words(cleo.acted(f"{HERE}/refuse", fields))
    assert (shown(gateway)["name"], shown(gateway)["state"]) == (GOOD, "approved")
    assert "Your change to Music Box is refused: Its page is misleading." in words(ada.page("/me/notices"))
    assert "change refused" in cleo.page(HERE)
    assert f'value="{GOOD}"' in ada.page(f"{MANAGE}/profile")


@pytest.mark.parametrize("verb", ["agree", "refuse"])
def test_nobody_decides_on_a_change_that_they_have_not_seen(
    gateway: PeopleGateway, cleo: Person, verb: str
) -> None:
    swap(gateway, name="Nice name")
    old = version(gateway)
    swap(gateway)
    answer = cleo.post(f"{HERE}/{verb}", {**old, "words": "Typed before"})
    assert answer.status_code == 409
    assert "The change is not the one that you saw." in words(answer.text)
    assert f"Removed: {GOOD} New: {BAD}" in words(answer.text)
    assert "Typed before" in answer.text
    assert shown(gateway)["change"] is not None
    cleo.acted(f"{HERE}/refuse", {**version(gateway), "words": "Spam"})
    late = gateway.person(DAN).post(f"{HERE}/agree", old)
    assert (late.status_code, "no change that waits" in late.text) == (409, True)


def test_two_moderators_at_once_make_one_decision(gateway: PeopleGateway, cleo: Person) -> None:
    dan = gateway.person(DAN)
    start = threading.Barrier(2)

    def decide(person: Person, path: str, fields: dict[str, str]) -> int:
        start.wait()
        return person.post(f"{HERE}/{path}", fields).status_code

    for number in range(5):
        swap(gateway, name=f"Free Nitro {number}")
        seen = version(gateway)
        with ThreadPoolExecutor(2) as pool:
            agreeing = pool.submit(decide, cleo, "agree", seen)
            refusing = pool.submit(decide, dan, "refuse", {**seen, "words": "Spam"})
        assert sorted((agreeing.result(), refusing.result())) == [303, 409]
    decisions = [deed for deed, _ in acts(gateway) if deed.startswith("change_")]
    assert len(decisions) == 5


@pytest.mark.parametrize("verb", ["agree", "refuse", "withdraw"])
def test_nobody_decides_about_a_listing_of_their_own(gateway: PeopleGateway, cleo: Person, verb: str) -> None:
    let_join(gateway, READY, CLEO)
    swap(gateway)
    page = cleo.page(HERE)
    assert "This listing is yours. Another moderator decides about it." in page
    assert f"{HERE}/{verb}" not in page
    answer = cleo.post(f"{HERE}/{verb}", {**version(gateway), "words": "Good"})
    assert answer.status_code == 403
    assert shown(gateway)["change"] is not None


def test_a_server_is_changed_in_the_same_way(
    gateway: PeopleGateway, cleo: Person, shows_at_once: bool
) -> None:
    here = f"/servers/{SERVER}"
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "owner_id": ADA, "name": GOOD})
    gateway.done("POST", f"/manage{here}/approve", {})
    form = {name: value for name, value in SERVER_SUBMISSION.items() if name not in {"id", "owner_id"}}
    fields = {**form, "name": BAD, "keywords": "nitro"}
    gateway.person(ADA).acted(f"{here}/manage/profile", fields)
    stranger = gateway.person(None)
    assert (BAD in stranger.page(here)) == shows_at_once
    assert "Name Removed: Music Box New: Free Nitro" in words(cleo.page(f"/review{here}"))
    seen = {"seen": gateway.done("GET", f"/manage{here}")["change"]["version"]}
    cleo.acted(f"/review{here}/refuse", {**seen, "words": "Spam"})
    assert GOOD in stranger.page(here)
    assert BAD not in stranger.page(here)


# -- Withdrawing an approval ------------------------------------------------------------------------------


def test_a_withdrawn_approval_takes_the_listing_off_the_site(
    gateway: PeopleGateway, cleo: Person, ada: Person
) -> None:
    stranger = gateway.person(None)
    refused = cleo.post(f"{HERE}/withdraw", {})
    assert (refused.status_code, 'id="withdraw_reason-problem"' in refused.text) == (400, True)
    fields = {"withdraw_reason": "unsafe", "withdraw_words": "It asks for passwords"}
    assert "The approval is withdrawn." in words(cleo.acted(f"{HERE}/withdraw", fields))
    for place in ("", ".json", "/badge.svg", "/vote"):
        assert stranger.get(f"/bots/{READY}{place}").status_code == 404
    indexed(gateway, stranger)
    gateway.clock.advance(60)
    for place in ("/", "/bots", "/bots.json", "/bots.json?q=music", "/bots.json?sort=name"):
        stranger.get(place)
        assert READY not in stranger.get(place).text
    reason = "It is not safe. It has a security hole, or asks for permissions that it does not need."
    assert f"The approval of Music Box was withdrawn: {reason}" in words(ada.page("/me/notices"))
    assert "Its approval was withdrawn" in words(ada.page(MANAGE))
    assert acts(gateway)[-1] == ("withdrawn", user_actor(CLEO))
    said = f"approval withdrawn: {reason} It asks for passwords. · a moderator"
    assert said in words(ada.page(MANAGE))
    swap(gateway, name="Safe again")
    assert "Removed: Music Box New: Safe again" in words(cleo.page(HERE))
    seen = {"seen": str(shown(gateway)["updated_at"]), "confirmed": "yes"}
    cleo.acted(f"{HERE}/approve", seen)
    assert "Safe again" in stranger.page(f"/bots/{READY}")


def test_the_second_to_withdraw_is_told(gateway: PeopleGateway, cleo: Person) -> None:
    cleo.acted(f"{HERE}/withdraw", {"withdraw_words": "Spam"})
    late = gateway.person(DAN).post(f"{HERE}/withdraw", {"withdraw_words": "Spam, too"})
    assert (late.status_code, "The listing is not approved." in late.text) == (409, True)


# -- Quarantines ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [ADA, BEN], ids=["owner", "co-owner"])
def test_who_may_not_submit_does_not_edit_either(gateway: PeopleGateway, who: str) -> None:
    let_join(gateway, READY, BEN)
    forbid_to_submit(gateway, who, 60)
    answer = gateway.person(who).post(f"{MANAGE}/profile", typed())
    assert (answer.status_code, f'value="{BAD}"' in answer.text) == (403, True)
    assert shown(gateway)["name"] == GOOD
    assert shown(gateway)["change"] is None


def test_nobody_edits_for_an_owner_who_may_not_submit(gateway: PeopleGateway) -> None:
    let_join(gateway, READY, BEN)
    forbid_to_submit(gateway, ADA, 60)
    refused = gateway.person(BEN).post(f"{MANAGE}/profile", typed())
    assert (refused.status_code, "The owner of the listing may not submit" in refused.text) == (409, True)
    assert "spam" not in refused.text, "the reason is a matter of the owner"
    form = {**BOT_SUBMISSION, "owner_id": ADA, "name": BAD}
    del form["id"]
    answer = gateway.operate("PUT", f"/manage/bots/{READY}", form)
    assert (answer.status_code, answer.json()["status"]) == (403, 403)
    assert shown(gateway)["change"] is None
    gateway.clock.advance(61)
    assert gateway.operate("PUT", f"/manage/bots/{READY}", form).status_code == 200
