"""pages/owner/webhooks.py: settings, health, signing secret, test and removal, for bots and servers."""

import html
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from languages.language_names import LANGUAGES
from pages.owner.webhooks import WEBHOOK_PAGES
from pages.page_rows import rows_of
from pages.visitors import FRESH_MS
from tests.support.contract import webhook
from tests.support.examples import examples
from tests.support.gateways import BOT, SERVER
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, DAN
from tests.support.suspended_endpoints import ONCE, hold, suspend
from tests.support.visited_listings import (
    OF_SERVER,
    WEBHOOK,
    named,
    not_allowed,
    own_bot,
    own_server,
    path_of,
    refusals,
    statuses,
)
from tests.support.webhook_receiver import Receiver, status
from web.pages import PageRow

ROWS = rows_of(WEBHOOK_PAGES)
FRAGMENT = {"HX-Request": "true", "HX-Request-Type": "partial"}
SECRET, REMOVE = f"{WEBHOOK}/secret", f"{WEBHOOK}/remove"
API = f"/manage/bots/{BOT}/webhook"
CHAT_URL = "https://discord.com/api/webhooks/123456/the-password-of-the-channel"
TOKEN = "token-of-the-owner"
ATTACK = "\"'><script>alert(1)</script>"


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return ONCE


@pytest.fixture
def ada(gateway: PeopleGateway) -> Person:
    gateway.clock.advance(600)
    own_bot(gateway)
    return gateway.person(ADA)


@pytest.fixture(scope="module")
def others(gateway: PeopleGateway) -> dict[str, Person]:
    own_bot(gateway)
    own_server(gateway)
    return not_allowed(gateway)


def saved(person: Person, path: str = WEBHOOK, **fields: str) -> str:
    """Save valid settings, and return the secret if one is shown."""
    answer = person.post(path, fields)
    if answer.status_code == 303:
        return ""
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text.split('id="secret">')[1].partition("</code>")[0])


def refused(person: Person, field: str, **fields: str) -> str:
    """Save settings that are wrong in one field, and return the page."""
    answer = person.post(WEBHOOK, fields)
    assert answer.status_code == 400
    assert f'<a href="#{field}">' in answer.text
    assert f'aria-describedby="{field}-problem' in answer.text
    return answer.text


def sent(gateway: PeopleGateway, receiver: Receiver) -> dict[str, str]:
    """Send a test, and return the headers of its request."""
    receiver.received.clear()
    gateway.done("POST", f"{API}/test", {"user": ADA})
    return receiver.received[0].headers


# -- Who may ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_webhook_is_for_owners_alone(others: dict[str, Person], row: PageRow) -> None:
    assert statuses(row, others) == refusals(row)


def test_an_extra_owner_has_the_webhook_too(gateway: PeopleGateway, ada: Person, receiver: Receiver) -> None:
    saved(gateway.person(DAN), url=receiver.url)
    assert receiver.url in ada.page(WEBHOOK)


def test_after_an_hour_what_is_secret_takes_a_fresh_sign_in(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    saved(ada, url=receiver.url, token=TOKEN)
    before = webhook(gateway)
    gateway.clock.advance(FRESH_MS / 1_000)
    form = {"url": f"{receiver.url}/x", "overlap_seconds": "0"}
    answers = [(path, ada.post(path, form)) for path in (WEBHOOK, SECRET, REMOVE)]
    for path, answer in (*answers, (SECRET, ada.get(SECRET)), (REMOVE, ada.get(REMOVE))):
        assert (answer.status_code, "Is it still you?" in answer.text) == (403, True)
        assert f'name="to" value="{path}"' in answer.text
    assert webhook(gateway) == before
    assert ada.get(WEBHOOK).status_code == 200
    assert ada.post(f"{WEBHOOK}/test").status_code == 303


# -- Settings ---------------------------------------------------------------------------------------------


def test_the_first_save_shows_the_signing_secret_and_no_other_does(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    assert "Votes count, but you get no message about them." in ada.page(WEBHOOK)
    secret = saved(ada, url=receiver.url, token=TOKEN)
    assert secret.startswith("whsec_")
    assert "The webhook is saved." in ada.acted(WEBHOOK, {"url": f"{receiver.url}/votes"})
    for path in (WEBHOOK, f"{WEBHOOK}.json", SECRET):
        assert secret not in ada.get(path).text
        assert TOKEN not in ada.get(path).text
    assert ada.get(f"{WEBHOOK}.json").json() == gateway.done("GET", API)


def test_an_empty_token_keeps_the_one_that_is_set_and_a_new_one_replaces_it(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    saved(ada, url=receiver.url, token=TOKEN)
    saved(ada, url=f"{receiver.url}/elsewhere")
    assert sent(gateway, receiver)["authorization"] == TOKEN
    assert "set, and never shown" in ada.page(WEBHOOK)
    saved(ada, url=receiver.url, token="another")
    assert sent(gateway, receiver)["authorization"] == "another"
    saved(ada, url=receiver.url, no_token="yes")
    assert "authorization" not in sent(gateway, receiver)
    assert "not set" in ada.page(WEBHOOK)


@pytest.mark.parametrize("address", ["https://elsewhere.example/votes", "http://127.0.0.1:9/votes"])
def test_a_token_is_not_taken_along_to_another_server(
    gateway: PeopleGateway, ada: Person, receiver: Receiver, address: str
) -> None:
    saved(ada, url=receiver.url, token=TOKEN)
    assert "not sent to another server. Type it again" in refused(ada, "token", url=address)
    assert webhook(gateway)["url"] == receiver.url
    saved(ada, url=address, no_token="yes")
    assert (webhook(gateway)["url"], webhook(gateway)["has_token"]) == (address, False)


def test_a_refused_form_keeps_all_but_the_token_and_says_so(ada: Person) -> None:
    page = refused(ada, "url", url="votes.example", token=TOKEN, language="de")
    assert 'value="votes.example"' in page
    assert '<option value="de" selected lang="de">' in page
    assert TOKEN not in page
    assert "Type the token once more" in page


def test_a_chat_platform_s_address_is_a_password_that_the_page_keeps(
    gateway: PeopleGateway, ada: Person
) -> None:
    assert saved(ada, url=CHAT_URL, language="ja") == ""
    for path in (WEBHOOK, f"{WEBHOOK}.json"):
        assert "the-password-of-the-channel" not in ada.get(path).text
    assert "日本語" in ada.page(WEBHOOK)
    saved(ada, url="", language="pt-BR")
    row = gateway.gateway.ledger.state.listings[f"bots/{BOT}"].webhook
    assert row is not None
    assert (row.url, row.language) == (CHAT_URL, "pt-BR")


def test_every_language_can_be_chosen(ada: Person) -> None:
    _, _, form = ada.page(WEBHOOK).partition('<select id="language"')
    choices, _, _ = form.partition("</select>")
    assert [language for language in LANGUAGES if f'<option value="{language}"' not in choices] == []


def test_a_token_is_not_for_a_chat_platform_and_a_language_only_for_one(
    ada: Person, receiver: Receiver
) -> None:
    refused(ada, "token", url=CHAT_URL, token=TOKEN)
    refused(ada, "language", url=receiver.url, language="de")
    refused(ada, "language", url=CHAT_URL, language="tlh")


@pytest.mark.parametrize("language", ["", "de"])
def test_settings_that_the_api_refuses_the_page_refuses_at_the_same_fields(
    gateway: PeopleGateway, ada: Person, language: str
) -> None:
    addresses = st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
        st.builds(
            "https://{}/{}".format,
            st.sampled_from(["a.example", "10.0.0.1", "a_b", "[::1", "", "a@b.c"]),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
        ),
        st.sampled_from(
            [CHAT_URL, "http://discord.com/api/webhooks/1/x", "https://discord.com/", "ftp://a.b/"]
        ),
    )

    @examples(60)
    @given(addresses, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
    @example("https://a.example/", "ä" * 20)
    @example("https://a.example/", "x" * 513)
    @example(CHAT_URL, "")
    def check(url: str, token: str) -> None:
        gateway.operate("DELETE", API)
        body: dict[str, Any] = {"url": url.strip()}
        body |= {"token": token.strip()} if token.strip() else {}
        body |= {"language": language} if language else {}
        by_api = gateway.operate("PUT", API, body)
        gateway.operate("DELETE", API)
        by_page = ada.post(WEBHOOK, {"url": url, "token": token, "language": language})
        if by_api.status_code == 200:
            assert by_page.status_code in {200, 303}, by_page.text
            assert webhook(gateway)["url"] == by_api.json()["url"]
        else:
            assert (by_api.status_code, by_page.status_code) == (400, 400)
            for field in by_api.json()["fields"]:
                if field == "url" or "url" not in by_api.json()["fields"]:
                    assert f'id="{field}-problem"' in by_page.text

    check()


def test_what_an_owner_writes_is_text(ada: Person, receiver: Receiver) -> None:
    pages = [ada.post(WEBHOOK, {"url": ATTACK, "token": ATTACK, "language": ATTACK})]
    saved(ada, url=f"{receiver.url}/'><script>alert(1)</script>")
    pages += [ada.get(path) for path in (WEBHOOK,)]
    for page in pages:
        assert "<script>alert" not in page.text


# -- The signing secret, and the end ----------------------------------------------------------------------


def test_a_rotated_secret_is_shown_once_and_the_old_one_signs_for_as_long_as_chosen(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    old = saved(ada, url=receiver.url)
    assert "Choose “At once”" in ada.page(SECRET)
    new = saved(ada, SECRET, overlap_seconds="86400")
    assert new.startswith("whsec_")
    assert new != old
    assert len(sent(gateway, receiver)["webhook-signature"].split()) == 2
    assert "with the old secret, too" in words(ada.page(WEBHOOK))
    saved(ada, SECRET, overlap_seconds="0")
    assert len(sent(gateway, receiver)["webhook-signature"].split()) == 1
    assert ada.post(SECRET, {"overlap_seconds": "soon"}).status_code == 400


def test_a_chat_platform_s_webhook_has_no_secret_to_rotate(ada: Person) -> None:
    saved(ada, url=CHAT_URL)
    assert "signing secret" not in ada.page(WEBHOOK)
    answer = ada.post(SECRET, {"overlap_seconds": "0"})
    assert (answer.status_code, "Messages to a chat platform are not signed." in answer.text) == (409, True)


def test_a_webhook_is_removed_once_that_is_confirmed(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    saved(ada, url=receiver.url)
    assert "This cannot be undone." in ada.page(REMOVE)
    assert webhook(gateway)["url"] == receiver.url
    assert "The webhook is removed." in ada.acted(REMOVE)
    assert gateway.operate("GET", API).status_code == 404


def test_without_a_webhook_there_is_nothing_to_do_with_it(ada: Person) -> None:
    for path in (SECRET, REMOVE):
        assert (ada.get(path).status_code, ada.post(path).status_code) == (404, 404)
    for deed in ("probe", "resume", "test"):
        assert ada.post(f"{WEBHOOK}/{deed}").status_code == 404
    assert ada.get(f"{WEBHOOK}.json").status_code == 404


# -- Health -----------------------------------------------------------------------------------------------


def test_health_is_told_in_words(gateway: PeopleGateway, ada: Person, receiver: Receiver) -> None:
    saved(ada, url=receiver.url)
    assert "Nothing was sent yet" in ada.page(WEBHOOK)
    ada.post(f"{WEBHOOK}/test")
    assert "Every vote reaches you The last message arrived" in words(ada.page(WEBHOOK))
    suspension = suspend(gateway, receiver)
    page = words(ada.page(WEBHOOK))
    assert "Votes do not reach you The webhook is suspended since" in page
    assert "the answer had status 500" in page
    assert suspension["next_probe_at"]
    assert "The next probe is in" in page


def test_a_suspended_webhook_is_probed_and_resumed_by_its_owner(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    saved(ada, url=receiver.url)
    hold(gateway, receiver, 2)
    receiver.default = status(503)
    assert "The probe failed." in ada.acted(f"{WEBHOOK}/probe")
    receiver.default = status(204)
    assert "The probe arrived." in ada.acted(f"{WEBHOOK}/probe")
    assert webhook(gateway)["suspension"] is None
    refused_now = ada.post(f"{WEBHOOK}/resume")
    assert (refused_now.status_code, "The endpoint is not suspended." in refused_now.text) == (409, True)


def test_resuming_sends_what_waits(gateway: PeopleGateway, ada: Person, receiver: Receiver) -> None:
    saved(ada, url=receiver.url)
    hold(gateway, receiver, 2)
    assert "The webhook is resumed." in ada.acted(f"{WEBHOOK}/resume")
    assert webhook(gateway)["suspension"] is None


def test_a_probe_without_anything_that_waits_is_refused_in_words(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    saved(ada, url=receiver.url)
    hold(gateway, receiver, 1)
    gateway.done("DELETE", f"/manage/users/{700000000000000100}")
    answer = ada.post(f"{WEBHOOK}/probe")
    assert (answer.status_code, "send a test" in answer.text) == (409, True)


# -- Tests ------------------------------------------------------------------------------------------------


def test_a_test_names_its_sender_and_leads_to_what_became_of_it(ada: Person, receiver: Receiver) -> None:
    saved(ada, url=receiver.url)
    receiver.default = status(418, b"<b>short</b> and stout")
    page = ada.acted(f"{WEBHOOK}/test")
    assert receiver.received[0].body == b'{"user":"%b","test":true}' % ADA.encode()
    assert "the answer had status 418" in words(page)
    assert "&lt;b&gt;short&lt;/b&gt; and stout" in page


def test_one_press_saves_the_settings_and_sends_a_test(ada: Person, receiver: Receiver) -> None:
    answer = ada.post(WEBHOOK, {"url": receiver.url, "act": "test"})
    assert 'id="secret">whsec_' in answer.text
    assert receiver.received[0].body == b'{"user":"%b","test":true}' % ADA.encode()
    assert "Arrived Test status 204" in words(answer.text)
    receiver.default = status(500)
    page = ada.acted(WEBHOOK, {"url": f"{receiver.url}/votes", "act": "test"})
    assert "The webhook is saved." in page
    assert "Failed Test the answer had status 500" in words(page)


def test_servers_have_all_of_it(gateway: PeopleGateway, ada: Person, receiver: Receiver) -> None:
    own_server(gateway)
    assert saved(ada, OF_SERVER, url=receiver.url).startswith("whsec_")
    assert "status 204" in words(ada.acted(f"{OF_SERVER}/test"))
    assert ada.get(f"{OF_SERVER}.json").json() == gateway.done("GET", f"/manage/servers/{SERVER}/webhook")
    assert saved(ada, f"{OF_SERVER}/secret", overlap_seconds="0").startswith("whsec_")
    page = ada.page(OF_SERVER)
    assert "<title>Test server - Webhook · Votegate</title>" in page
    assert "API keys" not in page
    assert "The webhook is removed." in ada.acted(f"{OF_SERVER}/remove")


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.method == "GET" and row.path.startswith("/bots")], ids=named
)
def test_a_page_is_drawn_as_a_part_too(ada: Person, receiver: Receiver, row: PageRow) -> None:
    saved(ada, url=receiver.url)
    answer = ada.get(path_of(row), **FRAGMENT)
    assert answer.status_code == 200
    assert "<html" not in answer.text


def version_on(page: str) -> str:
    return page.partition('name="version" value="')[2].partition('"')[0]


def test_settings_that_were_changed_meanwhile_are_not_undone_in_silence(
    gateway: PeopleGateway, ada: Person, receiver: Receiver
) -> None:
    gateway.operate("DELETE", API)
    drawn = version_on(ada.page(WEBHOOK))
    saved(gateway.person(DAN), url=f"{receiver.url}/dan")
    mine = {"url": f"{receiver.url}/ada", "token": TOKEN, "version": drawn}
    overtaken = ada.post(WEBHOOK, mine)
    assert (overtaken.status_code, TOKEN in overtaken.text) == (409, False)
    shown = words(overtaken.text)
    assert "The webhook was changed meanwhile" in shown
    assert f"The address that was saved is {receiver.url}/dan" in shown
    assert "Type the token once more" in shown
    assert gateway.done("GET", API)["url"] == f"{receiver.url}/dan"
    refusal = ada.post(WEBHOOK, {**mine, "version": version_on(overtaken.text), "url": "ftp://x"})
    assert (refusal.status_code, version_on(refusal.text)) == (400, version_on(overtaken.text))
    saved(ada, **{**mine, "version": version_on(refusal.text)})
    assert gateway.done("GET", API)["url"] == f"{receiver.url}/ada"
