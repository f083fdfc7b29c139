"""pages/review/listing_review.py: the page on which moderators decide, on a whole gateway."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from core.actors import user_actor
from tests.support.co_owners import let_join
from tests.support.gateways import BOT_SUBMISSION, SERVER, SERVER_SUBMISSION
from tests.support.owned_listings import list_server
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, PRIVATE, READY, SILENT
from tests.support.slots_set import ownership_proven
from tests.support.visited_listings import stranger_status

HERE = f"/review/bots/{READY}"


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"web.moderators": f"{CLEO},{DAN}"}


def submit(gateway: PeopleGateway, owner: str = ADA, bot: str = READY, **fields: Any) -> None:
    gateway.operate("DELETE", f"/manage/bots/{bot}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot, "owner_id": owner, **fields})
    gateway.clock.advance(1)


def edit(gateway: PeopleGateway, **fields: Any) -> None:
    form = {**BOT_SUBMISSION, "owner_id": ADA, **fields}
    del form["id"]
    gateway.done("PUT", f"/manage/bots/{READY}", form)


def shown(gateway: PeopleGateway, bot: str = READY) -> Any:
    return gateway.done("GET", f"/manage/bots/{bot}")


def seen(gateway: PeopleGateway) -> dict[str, str]:
    return {"seen": str(shown(gateway)["updated_at"])}


def acts(gateway: PeopleGateway) -> list[tuple[str, str]]:
    history = gateway.done("GET", f"/manage/bots/{READY}/history")["history"]
    return [(act["deed"], act["by"]) for act in reversed(history)]


def alert(answer: requests.Response) -> str:
    return words(answer.text.partition('role="alert"')[2].partition("</div>")[0])


# -- Who sees it ------------------------------------------------------------------------------------------

PATHS = [
    *(("GET", path) for path in ("/review", "/review.json", HERE, f"{HERE}.json")),
    *(("POST", f"{HERE}/{act}") for act in ("claim", "release", "notes", "approve", "deny", "quarantine")),
    ("POST", f"{HERE}/lift"),
]


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_it_is_for_moderators_alone(gateway: PeopleGateway, method: str, path: str) -> None:
    gateway.clock.advance(600)
    submit(gateway)
    assert gateway.person(None).request(method, path).status_code == stranger_status(path)
    for user in (ADA, BEN):
        answer = gateway.person(user).request(method, path)
        assert (answer.status_code, "You may not see this page." in answer.text) == (403, True)
    operator = gateway.person(None)
    operator.sign_in()
    assert operator.request(method, path).status_code == stranger_status(path)
    assert acts(gateway) == [("submitted", "operator")]


@pytest.mark.parametrize("path", ["bots/1", "cats/" + READY, "servers/" + READY])
@pytest.mark.parametrize("deed", ["", "/approve", "/notes", "/lift"])
def test_what_is_not_there_is_404(cleo: Person, path: str, deed: str) -> None:
    answer = cleo.request("POST" if deed else "GET", f"/review/{path}{deed}")
    assert answer.status_code == 404


# -- What it shows ----------------------------------------------------------------------------------------


def test_it_shows_the_facts_of_the_platform_and_when_they_were_told(
    gateway: PeopleGateway, cleo: Person
) -> None:
    submit(gateway)
    page = words(cleo.page(HERE))
    assert "Everybody can add it Confirmed by the platform" in page
    assert "It has slash commands Confirmed by the platform" in page
    assert "For you: Only you can tell" in page
    assert "not verified" in page
    for bot, told in (
        (PRIVATE, "Everybody can add it Not met: The platform says no"),
        (SILENT, "It has slash commands Not met: The platform says no"),
    ):
        submit(gateway, bot=bot)
        assert told in words(cleo.page(f"/review/bots/{bot}"))
    twin = cleo.get(f"{HERE}.json").json()
    assert (twin["platform"]["is_inviteable"], twin["platform"]["at"]) == ("yes", gateway.clock.now_ms())


def test_an_application_that_the_platform_does_not_know_is_said_to_be_unknown(
    gateway: PeopleGateway, cleo: Person
) -> None:
    bot = "499999999999999999"
    submit(gateway, bot=bot)
    page = words(cleo.page(f"/review/bots/{bot}"))
    assert "Everybody can add it Unknown: the platform knew no such application" in page


def test_while_the_platform_is_away_its_facts_are_unknown_and_the_rest_works(
    gateway: PeopleGateway, cleo: Person
) -> None:
    submit(gateway)
    gateway.stand_in.goes_wrong(f"/applications/{READY}/rpc", "500", times=1)
    page = words(cleo.page(HERE))
    assert "Everybody can add it Unknown: the platform gives no answer right now." in page
    gateway.stand_in.goes_wrong(f"/applications/{READY}/rpc", "500", times=1)
    assert "approved" in cleo.acted(f"{HERE}/approve", {**seen(gateway), "confirmed": "yes"})


def test_of_a_server_the_platform_is_not_asked(gateway: PeopleGateway, cleo: Person) -> None:
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "owner_id": ADA})
    page = words(cleo.page(f"/review/servers/{SERVER}"))
    assert "It has slash commands" not in page
    assert "A server for the tests" in page
    answer = cleo.post(f"/review/servers/{SERVER}/approve", {"confirmed": "yes", "seen": "0"})
    assert answer.status_code == 409
    when = str(gateway.done("GET", f"/manage/servers/{SERVER}")["updated_at"])
    cleo.acted(f"/review/servers/{SERVER}/approve", {"confirmed": "yes", "seen": when})
    assert gateway.done("GET", f"/manage/servers/{SERVER}")["state"] == "approved"


def test_it_shows_edits_earlier_denials_and_the_owners_other_listings(
    gateway: PeopleGateway, cleo: Person
) -> None:
    submit(gateway, bot=SILENT, name="Silent one")
    submit(gateway)
    assert "Edited never" in words(cleo.page(HERE))
    gateway.clock.advance(1)
    cleo.acted(f"{HERE}/deny", {**seen(gateway), "words": "It is too quiet"})
    gateway.clock.advance(1)
    edit(gateway)
    page = words(cleo.page(HERE))
    assert "Edited 1 time, last" in page
    assert "The owner wrote nothing new." in words(cleo.page(f"{HERE}?view=changes"))
    assert "What it said before is not kept." not in page
    assert "by you: It is too quiet." in page
    assert "Silent one in review" in page
    assert f"/review/bots/{SILENT}" in cleo.page(HERE)


def test_what_was_changed_since_a_denial_stands_beside_what_was_denied(
    gateway: PeopleGateway, cleo: Person
) -> None:
    submit(gateway, description="It plays music.\n<b>Loud</b> music, all night long.")
    assert "What changed since" not in cleo.page(HERE)
    cleo.acted(f"{HERE}/deny", {**seen(gateway), "words": "It is too loud"})
    assert "What changed since" not in cleo.page(HERE)
    gateway.clock.advance(1)
    edit(gateway, description="It plays music.\n<i>Soft</i> music, all night long.", name="Whisper")
    page = cleo.page(HERE)
    assert (
        '<del><bdi class="hidden">Removed: </bdi>&lt;b&gt;Loud&lt;/b&gt; music, all night long.</del>' in page
    )
    assert '<ins><bdi class="hidden">New: </bdi>&lt;i&gt;Soft&lt;/i&gt; music, all night long.</ins>' in page
    assert "Name Removed: Test bot New: Whisper Description" in words(page)
    changes = cleo.get(f"{HERE}.json").json()["changes"]
    assert [(each["name"], [line["state"] for line in each["lines"]]) for each in changes] == [
        ("name", ["gone", "new"]),
        ("description", ["same", "gone", "new"]),
    ]
    edit(gateway, description="It plays nothing at all, all night long.")
    assert "Removed: Test bot" not in words(cleo.page(HERE))
    assert "music, all night long." in words(cleo.page(HERE))
    cleo.acted(f"{HERE}/approve", {**seen(gateway), "confirmed": "yes"})
    assert cleo.get(f"{HERE}.json").json()["changes"] is None


MARKUP = '<img src=x onerror=alert(1)>"&'


def test_nothing_that_people_wrote_becomes_markup(gateway: PeopleGateway, cleo: Person) -> None:
    text = MARKUP + " and more, so that it is long enough for everything"
    submit(gateway, bot=SILENT, name=MARKUP)
    submit(gateway, name=MARKUP, short_description=text[:100], description=text)
    cleo.acted(f"{HERE}/notes", {"note": MARKUP})
    cleo.acted(f"{HERE}/quarantine", {"act": "vote", "length": "day", "quarantine": MARKUP})
    overtaken = cleo.post(f"{HERE}/deny", {"words": MARKUP})
    cleo.post(f"{HERE}/deny", {**seen(gateway), "words": MARKUP})
    late = cleo.post(f"{HERE}/deny", {"words": MARKUP})
    edit(gateway, name=MARKUP)
    pages = [cleo.page(path) for path in (HERE, "/review", "/review?show=decided")]
    pages += [overtaken.text, late.text, cleo.post(f"{HERE}/notes", {"note": MARKUP * 100}).text]
    pages += [cleo.post(f"{HERE}/quarantine", {"act": MARKUP, "quarantine": MARKUP}).text]
    for page in pages:
        assert "<img src=x" not in page
    cleo.acted(f"{HERE}/lift", {"act": "vote"})


# -- Claims and notes -------------------------------------------------------------------------------------


def test_a_claim_is_seen_by_others_who_may_take_it_over(gateway: PeopleGateway, cleo: Person) -> None:
    submit(gateway)
    dan = gateway.person(DAN)
    assert "Yours Release the claim" in words(cleo.acted(f"{HERE}/claim"))
    other = dan.page(HERE)
    assert "Claimed by Cleo, who moderates" in words(other)
    assert "Take it over" in other
    dan.acted(f"{HERE}/claim")
    cleo.acted(f"{HERE}/release")
    assert cleo.get(f"{HERE}.json").json()["claimed_by"] == user_actor(DAN), "one gives back one's own alone"
    assert "Claim it" in words(dan.acted(f"{HERE}/release"))


def test_a_note_is_for_moderators_and_its_owner_never_sees_it(gateway: PeopleGateway, cleo: Person) -> None:
    submit(gateway)
    page = cleo.acted(f"{HERE}/notes", {"note": "The invite works."})
    assert "The invite works. you," in words(page)
    assert "Cleo, who moderates, just now" in words(gateway.person(DAN).page(HERE)).replace(" ,", ",")
    ada = gateway.person(ADA)
    for path in ("/me", "/me/notices", "/me/data.json"):
        assert "The invite works." not in ada.page(path)


def test_a_note_that_is_none_is_shown_again_with_its_reason(gateway: PeopleGateway, cleo: Person) -> None:
    submit(gateway)
    for text in ("", "x" * 1_001, "\u202e"):
        answer = cleo.post(f"{HERE}/notes", {"note": text})
        assert answer.status_code == 400
        assert 'id="note-problem"' in answer.text
    assert "\u202e</textarea>" in answer.text


# -- Decisions --------------------------------------------------------------------------------------------


def test_an_unproven_owner_is_confirmed_before_an_approval(gateway: PeopleGateway, cleo: Person) -> None:
    submit(gateway)
    refused = cleo.post(f"{HERE}/approve", seen(gateway))
    assert refused.status_code == 400
    assert "The ownership is not verified" in alert(refused)
    assert 'aria-describedby="confirmed-problem"' in refused.text
    page = cleo.acted(f"{HERE}/approve", {**seen(gateway), "confirmed": "yes"})
    assert "Approved, and its owner is told. This is the next one." in words(page)
    assert acts(gateway)[-1] == ("approved", user_actor(CLEO))
    assert "is approved" in gateway.person(ADA).page("/me/notices")


def test_a_proven_owner_needs_no_confirmation(gateway: PeopleGateway, cleo: Person) -> None:
    submit(gateway)
    proof = ownership_proven(f"bots/{READY}", gateway.clock.now_ms(), by=user_actor(ADA))
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([proof]))
    page = cleo.page(HERE)
    assert 'name="confirmed"' not in page
    assert "Verified" in words(page)
    cleo.acted(f"{HERE}/approve", seen(gateway))
    assert shown(gateway)["state"] == "approved"


def test_a_denial_says_its_reason_and_the_words_beside_it(gateway: PeopleGateway, cleo: Person) -> None:
    submit(gateway)
    page = cleo.acted(f"{HERE}/deny", {**seen(gateway), "reason": "silent", "words": "I tried it twice"})
    assert "Denied, and its owner reads the reason." in words(page)
    reason = shown(gateway)["reason"]
    assert reason == (
        "It does not answer. It was offline, or did not answer its commands, when a moderator tried it. "
        "I tried it twice."
    )
    assert reason in gateway.person(ADA).page("/me/notices")
    assert "Denied" not in words(cleo.page(HERE)).partition("Decide")[2], "what is decided shows no forms"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "reason"),
        ({"reason": "nothing"}, "reason"),
        ({"words": "x" * 1_001}, "words"),
        ({"reason": "silent", "words": "x" * 990}, "words"),
        ({"words": "\u202e"}, "words"),
    ],
)
def test_a_denial_without_a_reason_that_can_be_read_is_shown_again(
    gateway: PeopleGateway, cleo: Person, fields: dict[str, str], field: str
) -> None:
    submit(gateway)
    answer = cleo.post(f"{HERE}/deny", {**seen(gateway), **fields})
    assert answer.status_code == 400
    assert f'id="{field}-problem"' in answer.text
    assert fields.get("words", "") in answer.text
    assert shown(gateway)["state"] == "in_review"


def test_the_reasons_are_those_of_the_settings(gateway: PeopleGateway, cleo: Person) -> None:
    submit(gateway)
    page = cleo.page(HERE)
    for reason in gateway.settings.review.reasons:
        option = f'name="reason" value="{reason.key}">{reason.title}<'.replace("'", "&#39;")
        assert (option in page) == (reason.kind != "servers")


def test_a_server_is_not_denied_with_a_reason_that_is_for_bots(gateway: PeopleGateway, cleo: Person) -> None:
    list_server(gateway)
    here = f"/review/servers/{SERVER}"
    offered = re.findall(r'name="reason" value="([a-z-]+)"', cleo.page(here))
    expected = [each.key for each in gateway.settings.review.reasons if each.kind != "bots"]
    assert offered == expected
    assert "no-slash-commands" not in offered
    version = {"seen": str(gateway.done("GET", f"/manage/servers/{SERVER}")["updated_at"])}
    refused = cleo.post(f"{here}/deny", {**version, "reason": "no-slash-commands"})
    assert (refused.status_code, 'id="reason-problem"' in refused.text) == (400, True)
    assert "Denied, and its owner reads the reason." in words(
        cleo.acted(f"{here}/deny", {**version, "reason": "misleading"})
    )


def test_the_second_decision_is_told_who_decided_when_and_what(gateway: PeopleGateway, cleo: Person) -> None:
    submit(gateway)
    version = seen(gateway)
    gateway.person(DAN).acted(f"{HERE}/deny", {**version, "reason": "broken"})
    for path, fields in (("approve", {**version, "confirmed": "yes"}), ("deny", version), ("claim", {})):
        late = cleo.post(f"{HERE}/{path}", fields)
        assert late.status_code == 409
        assert "was denied by dan" in words(late.text)
        assert "Its main functions do not work." in words(late.text)
    assert acts(gateway) == [("submitted", "operator"), ("denied", user_actor(DAN))]


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_nobody_decides_on_a_version_that_they_have_not_seen(
    gateway: PeopleGateway, cleo: Person, verb: str
) -> None:
    submit(gateway)
    version = seen(gateway)
    gateway.clock.advance(1)
    edit(gateway, name="Another name")
    answer = cleo.post(f"{HERE}/{verb}", {**version, "confirmed": "yes", "reason": "silent"})
    assert answer.status_code == 409
    assert "after you had opened it" in words(answer.text)
    assert shown(gateway)["state"] == "in_review"


@pytest.mark.parametrize("extra", [False, True])
def test_nobody_decides_on_a_listing_of_their_own(gateway: PeopleGateway, cleo: Person, extra: bool) -> None:
    submit(gateway, owner=ADA if extra else CLEO)
    let_join(gateway, READY, *([CLEO] if extra else []))
    page = cleo.page(HERE)
    assert "This listing is yours. Another moderator decides about it." in page
    assert f"{HERE}/approve" not in page
    for verb in ("approve", "deny", "quarantine", "lift"):
        fields = {**seen(gateway), "confirmed": "yes", "reason": "silent", "act": "vote", "length": "day"}
        answer = cleo.post(f"{HERE}/{verb}", {**fields, "quarantine": "Because."})
        assert (answer.status_code, "Another moderator decides" in alert(answer)) == (403, True)
    assert not {deed for deed, _ in acts(gateway)} & {"approved", "denied"}


def test_two_moderators_at_once_make_one_decision(gateway: PeopleGateway, cleo: Person) -> None:
    dan = gateway.person(DAN)
    start = threading.Barrier(2)

    def decide(person: Person, path: str, fields: dict[str, str]) -> int:
        start.wait()
        return person.post(f"{HERE}/{path}", fields).status_code

    for _ in range(10):
        submit(gateway)
        version = seen(gateway)
        with ThreadPoolExecutor(2) as pool:
            approving = pool.submit(decide, cleo, "approve", {**version, "confirmed": "yes"})
            denying = pool.submit(decide, dan, "deny", {**version, "reason": "copied"})
        statuses = approving.result(), denying.result()
        assert sorted(statuses) == [303, 409]
        decisions = [deed for deed, _ in acts(gateway) if deed in {"approved", "denied"}]
        assert decisions == ["approved" if statuses[0] == 303 else "denied"]
        journal = gateway.done("GET", "/debug/journal.json")["events"]
        of_this = [each["type"].partition(".")[0] for each in journal if each["ref"] == f"bots/{READY}"]
        assert of_this[:2] == ["listing_reviewed", "listing_saved"]
