"""pages/owner/submission.py: the manager of a server lists it, if it meets the conditions."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.events import ListingRemoved
from storage.folder import kept_keys
from tests.support.gateways import BOT, eventually
from tests.support.journals import records_of
from tests.support.listed_servers import NEW, TYPED, outcomes, reader, serving_servers, shown, unlist
from tests.support.owned_listings import forbid_to_submit
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import (
    ADA,
    BEN,
    CLEO,
    GOOD_SERVER,
    MANAGED,
    NO_SECOND_FACTOR,
    NOT_MANAGED,
    OPEN_NSFW,
    SMALL,
    WITHOUT_BOT,
)

CHAT_URL = "https://discord.com/api/webhooks/123456789012345678/token-of-a-webhook"
SERVERS = (GOOD_SERVER, SMALL, WITHOUT_BOT, OPEN_NSFW, NO_SECOND_FACTOR, MANAGED, NOT_MANAGED)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving_servers(tmp_path_factory.mktemp("servers") / "data") as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def nothing_is_listed(gateway: PeopleGateway) -> None:
    unlist(gateway, *SERVERS)


@pytest.fixture
def ada(gateway: PeopleGateway) -> Person:
    return reader(gateway)


# -- Choosing ---------------------------------------------------------------------------------------------


def test_the_servers_that_i_may_manage_are_shown_with_icon_name_members_and_conditions(
    gateway: PeopleGateway, ada: Person
) -> None:
    page = ada.page(NEW)
    text = words(page)
    assert "Ada&#39;s workshop 1,250 none fails so far Choose" in text
    assert "A small circle 12 not met Choose" in text
    assert "Emil&#39;s garden" in text
    assert "Emil&#39;s attic" not in text
    assert f'src="{gateway.stand_in.url}/icons/{GOOD_SERVER}/' in page
    assert "Not here? You need the permission Manage Server there." in text


def test_without_a_list_the_page_offers_to_read_it_and_the_way_back_leads_to_it(
    gateway: PeopleGateway,
) -> None:
    gateway.clock.advance(600)
    person = gateway.person(ADA)
    assert "Read my servers" in person.page(NEW)
    assert "Ada&#39;s workshop" not in person.page(NEW)
    assert "prompt=none" in person.started(NEW)


def test_the_list_is_gone_after_ten_minutes(gateway: PeopleGateway, ada: Person) -> None:
    gateway.clock.advance(599)
    assert "Ada&#39;s workshop" in ada.page(NEW)
    gateway.clock.advance(1)
    assert "Ada&#39;s workshop" not in ada.page(NEW)


def test_a_sign_in_for_another_page_asks_for_no_servers(gateway: PeopleGateway) -> None:
    before = gateway.stand_in.asked("/users/@me/guilds")
    gateway.person(ADA)
    assert gateway.stand_in.asked("/users/@me/guilds") == before


@pytest.mark.parametrize("fault", ["500", "html", "cut", "deep"])
def test_a_list_that_the_platform_does_not_give_fails_no_sign_in_and_is_said(
    gateway: PeopleGateway, fault: str
) -> None:
    gateway.stand_in.goes_wrong("/users/@me/guilds", fault)
    text = words(reader(gateway).page(NEW))
    assert "The chat platform does not answer" in text
    assert "Check again" in text


def test_nothing_of_the_list_is_in_the_journal(gateway: PeopleGateway) -> None:
    before = gateway.gateway.ledger.head
    assert "Emil&#39;s garden" in reader(gateway).page(NEW)
    records = b"".join(records_of(gateway.folder, before, kept_keys(gateway.folder, needed=True)))
    assert ADA in records.decode(errors="replace")
    for word in ("workshop", GOOD_SERVER, "garden"):
        assert word.encode() not in records


# -- The conditions ---------------------------------------------------------------------------------------


def test_the_chosen_server_is_shown_with_each_condition(ada: Person) -> None:
    text = words(ada.page(f"{NEW}?id={GOOD_SERVER}"))
    assert "Members met Age in days met" in text
    assert "Moderators need a second factor met" in text
    assert "NSFW channels met" in text
    assert "Send for review" in text


@pytest.mark.parametrize(
    ("server", "line"),
    [
        (SMALL, "Members It has 12, and needs 100. not met"),
        (SMALL, "An icon of its own not met"),
        (OPEN_NSFW, "NSFW channels It has after-dark. not met"),
        (NO_SECOND_FACTOR, "Moderators need a second factor not met"),
    ],
)
def test_a_server_that_fails_is_refused_with_the_line(
    gateway: PeopleGateway, ada: Person, server: str, line: str
) -> None:
    text = words(ada.page(f"{NEW}?id={server}"))
    assert line in text
    assert "Send for review" not in text
    sent = ada.post(NEW, {**TYPED, "id": server})
    assert (sent.status_code, line in words(sent.text)) == (409, True)
    assert "Where things are made." in sent.text
    assert gateway.operate("GET", f"/manage/servers/{server}").status_code == 404


def test_what_only_the_bot_sees_is_unknown_without_it_and_a_link_adds_it(
    gateway: PeopleGateway, ada: Person
) -> None:
    page = ada.page(f"{NEW}?id={WITHOUT_BOT}")
    assert "Moderators need a second factor unknown" in words(page)
    assert f"{gateway.stand_in.authorize_url}?client_id=" in page
    assert "Add our bot" in page
    assert ada.post(NEW, {**TYPED, "id": WITHOUT_BOT}).status_code == 303
    assert outcomes(gateway, WITHOUT_BOT)["nsfw"] == "unknown"


def test_while_the_platform_is_away_a_server_is_let_through_marked(
    gateway: PeopleGateway, ada: Person
) -> None:
    gateway.stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}", "500")
    assert ada.post(NEW, TYPED).status_code == 303
    assert outcomes(gateway)["two_factor"] == "unknown"


# -- Submitting -------------------------------------------------------------------------------------------


def test_a_server_that_meets_every_condition_is_in_review_before_all_others(
    gateway: PeopleGateway, ada: Person
) -> None:
    assert ada.post(NEW, {**TYPED, "id": WITHOUT_BOT}).status_code == 303
    answer = ada.post(NEW, TYPED)
    assert answer.headers["Location"] == f"/servers/{GOOD_SERVER}/manage"
    server = shown(gateway)
    assert (server["state"], server["owner_id"], server["keywords"]) == ("in_review", ADA, ["tools", "wood"])
    assert set(outcomes(gateway).values()) == {"pass"}
    queue = [each["id"] for each in gateway.done("GET", "/manage/queue")["queue"]]
    assert queue.index(GOOD_SERVER) < queue.index(WITHOUT_BOT)


@pytest.mark.parametrize("forged", [{}, {"owner_id": BEN, "eligibility": "pass", "outcome": "pass"}])
def test_only_who_manages_a_server_lists_it_whatever_the_form_says(
    gateway: PeopleGateway, ada: Person, forged: dict[str, str]
) -> None:
    ben = gateway.person(None)
    ben.sign_in_as(BEN, NEW)
    for person, server in ((ben, GOOD_SERVER), (ada, NOT_MANAGED), (ada, "1"), (ada, "' OR 1")):
        sent = person.post(NEW, {**TYPED, "id": server, **forged})
        assert sent.status_code == 409
        assert "You do not manage this server" in sent.text
        assert "Where things are made." in sent.text
        assert shown_status(gateway, server) == 404
    assert ada.post(NEW, {**TYPED, "id": MANAGED, **forged}).status_code == 303
    assert shown(gateway, MANAGED)["owner_id"] == ADA


def shown_status(gateway: PeopleGateway, server: str) -> int:
    return gateway.operate("GET", f"/manage/servers/{server if server.isdigit() else BOT}").status_code


def test_a_list_that_is_too_old_loses_nothing_that_was_typed(gateway: PeopleGateway, ada: Person) -> None:
    gateway.clock.advance(600)
    sent = ada.post(NEW, TYPED)
    assert sent.status_code == 409
    for typed in ("Where things are made.", "tools\nwood", 'target="_blank"'):
        assert typed in sent.text
    assert ada.sign_in_as(ADA, NEW).status_code == 303
    assert ada.post(NEW, TYPED).status_code == 303


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"description": "x" * 257}, "Shorten this to 256 characters at most."),
        ({"keywords": "\n".join("abcdef")}, "There are 6 of these. Keep 5 at most."),
        ({"keywords": "x" * 33}, "Shorten this to 32 characters at most."),
        ({"category": "Moderation"}, "Choose one of the offered values."),
        ({"webhook_url": "https://receiver.example/votes"}, "This is not a webhook of a chat platform."),
        ({"webhook_url": "no address"}, "This address has a space or a special character."),
        ({"webhook_url": CHAT_URL, "webhook_language": "tlh"}, "Choose one of the offered values."),
    ],
)
def test_a_field_that_is_wrong_comes_back_with_its_reason_and_all_that_was_typed(
    gateway: PeopleGateway, ada: Person, change: dict[str, str], why: str
) -> None:
    sent = ada.post(NEW, {**TYPED, **change})
    assert (sent.status_code, why in words(sent.text)) == (400, True)
    assert f'aria-describedby="{[*change][-1]}-problem' in sent.text
    assert "Ada&#39;s workshop" in sent.text
    assert gateway.operate("GET", f"/manage/servers/{GOOD_SERVER}").status_code == 404


def test_the_webhook_of_the_form_is_that_of_the_listing_in_its_language(
    gateway: PeopleGateway, ada: Person
) -> None:
    assert ada.post(NEW, {**TYPED, "webhook_url": CHAT_URL, "webhook_language": "de"}).status_code == 303
    webhook = gateway.done("GET", f"/manage/servers/{GOOD_SERVER}/webhook")
    assert (webhook["language"], webhook["url"]) == ("de", CHAT_URL.replace("token-of-a-webhook", "..."))


def test_whoever_sends_the_form_twice_is_led_on_and_anybody_else_is_told(
    gateway: PeopleGateway, ada: Person
) -> None:
    for _ in range(2):
        assert f"/servers/{MANAGED}/manage" in ada.post(NEW, {**TYPED, "id": MANAGED}).headers["Location"]
    assert "listed yours" in words(ada.page(NEW))
    gateway.done("DELETE", f"/manage/servers/{MANAGED}")
    own = {**TYPED, "id": MANAGED, "keywords": [], "owner_id": CLEO}
    gateway.done("POST", "/manage/servers", own)
    sent = ada.post(NEW, {**TYPED, "id": MANAGED})
    assert (sent.status_code, "This server is listed already." in sent.text) == (409, True)


def test_who_is_signed_out_while_the_platform_is_asked_lists_no_server(
    gateway: PeopleGateway, ada: Person
) -> None:
    path = f"/guilds/{GOOD_SERVER}"
    gateway.stand_in.goes_wrong(path, "slow")
    before = gateway.stand_in.asked(path)
    with ThreadPoolExecutor(1) as pool:
        submitted = pool.submit(ada.post, NEW, TYPED)
        eventually(lambda: gateway.stand_in.asked(path) > before)
        for session in gateway.done("GET", f"/manage/users/{ADA}/sessions")["sessions"]:
            gateway.done("DELETE", f"/manage/users/{ADA}/sessions/{session['id']}")
        answer = submitted.result()
    assert (answer.status_code, "You must sign in." in answer.text) == (401, True)
    assert "Where things are made." in answer.text, "what was typed is kept"
    assert gateway.operate("GET", f"/manage/servers/{GOOD_SERVER}").status_code == 404


def test_a_server_that_is_removed_while_it_is_written_is_no_error(
    gateway: PeopleGateway, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, durable = gateway.gateway.ledger, gateway.gateway.ledger.durable

    async def remove_meanwhile(position: int) -> None:
        ledger.commit([ListingRemoved(f"servers/{GOOD_SERVER}")])
        await durable(position)

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "durable", remove_meanwhile)
        answer = ada.post(NEW, TYPED)
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        f"/servers/{GOOD_SERVER}/manage",
    )
    assert ada.get(answer.headers["Location"]).status_code == 404


def test_who_may_submit_nothing_lists_no_server(gateway: PeopleGateway, ada: Person) -> None:
    forbid_to_submit(gateway, ADA, 60)
    assert ada.get(NEW).status_code == 403
    sent = ada.post(NEW, TYPED)
    assert (sent.status_code, "Where things are made." in sent.text) == (403, True)
    gateway.clock.advance(61)
    assert ada.post(NEW, TYPED).status_code == 303


def test_who_checks_too_often_has_to_wait(ada: Person) -> None:
    answers = [ada.get(f"{NEW}?id={GOOD_SERVER}").status_code for _ in range(11)]
    assert answers == [200] * 10 + [429]
