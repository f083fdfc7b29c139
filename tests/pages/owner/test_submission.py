"""pages/owner/submission.py: a bot is submitted, or the form comes back with all that was typed."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.failures import Unavailable
from tests.support.gateways import BOT, eventually
from tests.support.owned_listings import TYPED, describe, forbid_to_submit, list_bot
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, DAN, NO_BOT, PRIVATE, READY, SILENT


@pytest.fixture(autouse=True)
def nothing_is_listed(gateway: PeopleGateway) -> None:
    for bot in (READY, BOT):
        gateway.operate("DELETE", f"/manage/bots/{bot}")


# -- The application --------------------------------------------------------------------------------------


def test_one_page_has_the_id_and_the_whole_profile(ada: Person) -> None:
    page = words(ada.page("/bots/new"))
    for shown in ("Application ID", "Look it up", "Short description", "Categories", "Send for review"):
        assert shown in page


def test_looking_up_an_application_keeps_what_was_typed_and_fills_in_its_name(
    gateway: PeopleGateway, ada: Person
) -> None:
    typed = {**TYPED, "name": "", "short_description": "A <b>bot</b> in few words", "act": "look"}
    answer = ada.post("/bots/new", typed)
    assert answer.status_code == 200
    assert "What the chat platform says Ready bot" in words(answer.text).replace("R Ready", "Ready")
    assert 'value="Ready bot"' in answer.text
    assert 'value="A &lt;b&gt;bot&lt;/b&gt; in few words"' in answer.text
    assert "must have" not in answer.text
    assert gateway.operate("GET", f"/manage/bots/{READY}").status_code == 404
    for wrong, status in (("1", 400), (PRIVATE, 409)):
        assert ada.post("/bots/new", {**typed, "id": wrong}).status_code == status


def test_what_the_platform_says_is_shown_with_its_time(gateway: PeopleGateway, ada: Person) -> None:
    describe(gateway, "A bot.")
    page = ada.page(f"/bots/new?id={READY}")
    shown = words(page)
    assert "A bot." in shown
    assert "Everybody may add it yes Slash commands everywhere yes" in shown
    assert "Made 7 years ago" in shown
    assert f'src="{gateway.stand_in.url}/app-icons/{READY}/' in page
    assert 'value="Ready bot"' in page


def test_what_the_platform_says_is_text_and_no_markup(gateway: PeopleGateway, ada: Person) -> None:
    describe(gateway, "<script>alert(1)</script>")
    page = ada.page(f"/bots/new?id={READY}")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    describe(gateway, "A bot.")


@pytest.mark.parametrize(
    ("bot", "why"),
    [
        (PRIVATE, "Not everybody may add this bot to a server."),
        (SILENT, "The bot has no slash commands that work on every server."),
        ("499999999999999999", "The chat platform knows no application with this ID."),
    ],
)
def test_a_plain_no_of_the_platform_refuses_and_says_why(
    gateway: PeopleGateway, ada: Person, bot: str, why: str
) -> None:
    looked_up = ada.get(f"/bots/new?id={bot}")
    assert (looked_up.status_code, why in words(looked_up.text)) == (409, True)
    sent = ada.post("/bots/new", {**TYPED, "id": bot})
    assert (sent.status_code, why in words(sent.text)) == (409, True)
    assert gateway.operate("GET", f"/manage/bots/{bot}").status_code == 404


def test_what_is_unknown_lets_the_bot_through_and_is_said(gateway: PeopleGateway, ada: Person) -> None:
    shown = words(ada.page(f"/bots/new?id={NO_BOT}"))
    assert "Everybody may add it unknown" in shown
    assert "You can submit it anyway" in shown
    assert "It is submitted." in words(ada.acted("/bots/new", {**TYPED, "id": NO_BOT}))
    gateway.done("DELETE", f"/manage/bots/{NO_BOT}")


@pytest.mark.parametrize("fault", ["500", "html", "cut"])
def test_while_the_platform_is_away_a_bot_can_be_submitted_and_the_page_says_so(
    gateway: PeopleGateway, ada: Person, fault: str
) -> None:
    gateway.stand_in.goes_wrong(f"/applications/{BOT}/rpc", fault, times=2)
    shown = words(ada.page(f"/bots/new?id={BOT}"))
    assert "The chat platform gives no answer that can be used right now" in shown
    assert "It is submitted." in words(ada.acted("/bots/new", {**TYPED, "id": BOT}))


@pytest.mark.parametrize("bot", ["1", "abc", "0" * 18, "9" * 21, "<script>alert(1)</script>", "４" * 18])
def test_an_id_that_is_none_is_not_asked_for(gateway: PeopleGateway, ada: Person, bot: str) -> None:
    answer = ada.request("GET", "/bots/new", params={"id": bot})
    assert (answer.status_code, "Enter the ID: 17 to 20 digits" in answer.text) == (400, True)
    assert "<script>alert" not in answer.text
    assert gateway.stand_in.asked(f"/applications/{bot}/rpc") == 0


def test_a_bot_that_is_listed_is_not_submitted_again(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, owner=BEN)
    for answer in (ada.get(f"/bots/new?id={READY}"), ada.post("/bots/new", TYPED)):
        assert (answer.status_code, "A bot with this id is listed already." in answer.text) == (409, True)
        assert f"/bots/{READY}/manage" not in answer.text
    list_bot(gateway, owner=ADA)
    for answer in (ada.get(f"/bots/new?id={READY}"), ada.post("/bots/new", TYPED)):
        assert (answer.status_code, "You have submitted this bot already." in answer.text) == (409, True)
        assert f'href="/bots/{READY}/manage"' in answer.text
    assert gateway.done("GET", f"/manage/bots/{READY}")["owner_id"] == ADA


# -- The profile ------------------------------------------------------------------------------------------


def test_a_submission_is_in_review_and_its_owner_is_who_sent_it(gateway: PeopleGateway, ada: Person) -> None:
    typed = {**TYPED, "extra_owners": f"{BEN}\r\n\r\n {DAN} ", "categories": ["Music", "Economy"]}
    page = ada.acted("/bots/new", {**typed, "owner_id": BEN, "support_invite": "https://example.com/help"})
    assert "It is submitted." in words(page)
    kept = gateway.done("GET", f"/manage/bots/{READY}")
    assert (kept["owner_id"], kept["extra_owners"], kept["state"]) == (ADA, [], "in_review")
    assert {*kept["invited"]} == {BEN, DAN}
    assert (kept["categories"], kept["support_invite"]) == (["Music", "Economy"], "https://example.com/help")
    history = gateway.done("GET", f"/manage/bots/{READY}/history")["history"]
    by = f"users/{ADA}"
    assert [(act["deed"], act["by"]) for act in history] == [("co_owner_invited", by), ("submitted", by)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 101),
        ("short_description", "too short"),
        ("description", "too short"),
        ("description", "x" * 8_193),
        ("categories", []),
        ("categories", ["Nonsense"]),
        ("extra_owners", ADA),
        ("extra_owners", "1"),
        ("extra_owners", "\n".join(str(210_000_000_000_000_000 + each) for each in range(5))),
        ("support_invite", "javascript:alert(1)"),
        ("id", "1"),
    ],
)
def test_a_refused_submission_names_the_field_and_keeps_what_was_typed(
    gateway: PeopleGateway, ada: Person, field: str, value: str | list[str]
) -> None:
    marked = {"name": "A <i>name</i>", "short_description": 'A "short" description', "extra_owners": BEN}
    asked = gateway.stand_in.asked(f"/applications/{READY}/rpc")
    answer = ada.post("/bots/new", {**TYPED, **marked, field: value})
    assert answer.status_code == 400
    assert f'<a href="#{field}">' in answer.text
    if field != "id":
        assert f'id="{field}-problem"' in answer.text
        assert "A longer description of a bot for the tests" in answer.text or field == "description"
        assert "A &lt;i&gt;name&lt;/i&gt;" in answer.text or field == "name"
    assert gateway.stand_in.asked(f"/applications/{READY}/rpc") == asked
    assert gateway.operate("GET", f"/manage/bots/{READY}").status_code == 404


def test_the_preview_is_the_markdown_without_script_and_saves_nothing(
    gateway: PeopleGateway, ada: Person
) -> None:
    text = "\n    code\n\n**bold** <script>alert(1)</script>"
    answer = ada.post("/bots/new", {**TYPED, "description": text, "name": "", "act": "preview"})
    assert answer.status_code == 200
    assert "<strong>bold</strong>" in answer.text
    assert "<script>alert" not in answer.text
    # A browser drops the first line break, so that what was typed comes back whole.
    assert ">\n\n    code\n\n**bold** &lt;script&gt;alert(1)&lt;/script&gt;</textarea>" in answer.text
    assert gateway.operate("GET", f"/manage/bots/{READY}").status_code == 404


def test_the_longest_description_in_any_script_can_be_sent(gateway: PeopleGateway, ada: Person) -> None:
    text = "説" * 8_192
    fields = [(name, (None, value)) for name, value in TYPED.items() if isinstance(value, str)]
    fields = [each for each in fields if each[0] != "description"]
    fields += [("description", (None, text)), ("categories", (None, "Music"))]
    answer = ada.request("POST", "/bots/new", files=fields)
    assert answer.status_code == 303, words(answer.text)
    assert gateway.done("GET", f"/manage/bots/{READY}")["description"] == text


def test_who_may_not_submit_is_told_why(gateway: PeopleGateway) -> None:
    gateway.clock.advance(600)
    dan = gateway.person(DAN)
    forbid_to_submit(gateway, DAN, 60)
    for answer in (dan.get("/bots/new"), dan.get(f"/bots/new?id={READY}"), dan.post("/bots/new", TYPED)):
        assert answer.status_code == 403
        why = r"under quarantine until [-0-9: ]+ \(UTC\): It was &lt;b&gt;spam&lt;/b&gt;\."
        assert re.search(why, answer.text)
    assert "A bot for the tests" in dan.post("/bots/new", TYPED).text
    gateway.clock.advance(61)
    assert dan.post("/bots/new", TYPED).status_code == 303


def test_who_is_signed_out_while_the_platform_is_asked_submits_nothing(
    gateway: PeopleGateway, ada: Person
) -> None:
    ada.page("/bots/new")
    gateway.stand_in.goes_wrong(f"/applications/{READY}/rpc", "slow")
    before = gateway.stand_in.asked(f"/applications/{READY}/rpc")
    with ThreadPoolExecutor(1) as pool:
        submitted = pool.submit(ada.post, "/bots/new", TYPED)
        eventually(lambda: gateway.stand_in.asked(f"/applications/{READY}/rpc") > before)
        for session in gateway.done("GET", f"/manage/users/{ADA}/sessions")["sessions"]:
            gateway.done("DELETE", f"/manage/users/{ADA}/sessions/{session['id']}")
        answer = submitted.result()
    assert (answer.status_code, "You must sign in." in answer.text) == (401, True)
    assert "A bot for the tests" in answer.text, "what was typed is kept"
    assert gateway.operate("GET", f"/manage/bots/{READY}").status_code == 404


def test_who_asks_too_often_keeps_what_was_typed(ada: Person) -> None:
    for _ in range(5):
        ada.page(f"/bots/new?id={READY}")
    answer = ada.post("/bots/new", TYPED)
    assert (answer.status_code, "A bot for the tests" in answer.text) == (429, True)
    assert answer.headers["RateLimit-Reset"] == "60"


def test_while_nothing_can_be_written_what_was_typed_is_kept(
    gateway: PeopleGateway, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> int:
        raise Unavailable("the disk is full")

    monkeypatch.setattr(gateway.gateway.ledger, "commit", refuse)
    answer = ada.post("/bots/new", TYPED)
    assert (answer.status_code, "A bot for the tests" in answer.text) == (503, True)
    assert answer.headers["Retry-After"]
