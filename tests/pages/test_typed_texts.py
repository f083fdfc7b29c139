"""The values of a posted form are saved, or come back with its refusal."""

import html
import re
from collections.abc import Iterator

import pytest

from core.failures import Unavailable
from tests.support.owned_listings import TYPED, list_bot
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.people_scene import SESSION
from tests.support.platform_stand_in import ADA, CLEO, DAN, READY

HERE, DESK = f"/bots/{READY}/manage", f"/review/bots/{READY}"
WORDS = 'Loud,\n"<i>very</i>" loud & long: more than thirty letters'
PROFILE = {**TYPED, "description": WORDS}
DESCRIBED = {name: value for name, value in PROFILE.items() if name != "id"}
FORMS = [
    (ADA, "/bots/new", PROFILE, WORDS),
    (ADA, f"{HERE}/profile", DESCRIBED, WORDS),
    (ADA, f"{HERE}/owners", {"act": "invite", "user": DAN}, DAN),
    (ADA, f"{HERE}/owners", {"act": "offer", "heir": DAN}, DAN),
    (ADA, f"{HERE}/danger", {"name": "Test bot"}, "Test bot"),
    (ADA, "/me/data", {"word": "erase"}, "erase"),
    (CLEO, f"{DESK}/deny", {"words": WORDS}, WORDS),
    (CLEO, f"{DESK}/notes", {"note": WORDS}, WORDS),
    (CLEO, f"{DESK}/quarantine", {"quarantine": WORDS, "length": "day", "act": "vote"}, WORDS),
]
LONG = [form for form in FORMS if form[1] not in {f"{HERE}/danger", "/me/data"}]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("people") / "data") as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def listing(gateway: PeopleGateway) -> None:
    gateway.clock.advance(600)
    list_bot(gateway)


def seen(gateway: PeopleGateway) -> dict[str, str]:
    return {"seen": str(gateway.done("GET", f"/manage/bots/{READY}")["updated_at"])}


@pytest.mark.parametrize(("user", "to", "fields", "typed"), FORMS, ids=[form[1] for form in FORMS])
def test_while_nothing_can_be_written_the_form_is_shown_again(
    gateway: PeopleGateway,
    monkeypatch: pytest.MonkeyPatch,
    user: str,
    to: str,
    fields: dict[str, str],
    typed: str,
) -> None:
    if to == "/bots/new":
        gateway.done("DELETE", f"/manage/bots/{READY}")
    person, sent = gateway.person(user), {**fields, **({} if to == "/bots/new" else seen(gateway))}

    def refuse(_: object) -> int:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(gateway.gateway.ledger, "commit", refuse)
        answer = person.post(to, sent)
    assert answer.status_code == 503
    assert html.escape(typed).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in answer.text
    assert "the disk is full" in answer.text


@pytest.mark.parametrize(("user", "to", "fields", "typed"), LONG, ids=[form[1] for form in LONG])
def test_who_was_signed_out_meanwhile_gets_the_text_back_and_can_send_it_as_it_is(
    gateway: PeopleGateway, user: str, to: str, fields: dict[str, str], typed: str
) -> None:
    if to == "/bots/new":
        gateway.done("DELETE", f"/manage/bots/{READY}")
    sent = {**fields, **({} if to == "/bots/new" else seen(gateway))}
    person = gateway.person(user)
    person.keep(SESSION, "x" * 43)
    answer = person.post(to, sent)
    assert answer.status_code == 401
    assert "You are not signed in any more" in words(answer.text)
    assert f'action="{to}" method="post" enctype' in answer.text
    assert "<i>very</i>" not in answer.text
    kept = re.findall(r'<input type="hidden" name="(.*?)" value="(.*?)">', answer.text, re.DOTALL)
    given = [(name, html.unescape(value)) for name, value in kept]
    person.sign_in_as(user)
    again = person.request("POST", to, files=[(name, (None, value)) for name, value in given])
    assert again.status_code == 303, words(again.text)
    if typed == WORDS:
        shown = gateway.person(CLEO).page(DESK)
        assert "very" in shown


def test_a_fragment_and_an_empty_form_of_a_stranger_are_refused_as_everywhere(gateway: PeopleGateway) -> None:
    stranger = gateway.person(None)
    assert stranger.post(f"{HERE}/profile").status_code == 303
    answer = stranger.post(f"{HERE}/profile", DESCRIBED, **{"HX-Request": "true"})
    assert (answer.status_code, "very&lt;" in answer.text) == (401, False)


def test_another_site_gets_no_form_back(gateway: PeopleGateway) -> None:
    answer = gateway.person(None).post(
        f"{HERE}/profile", {"description": WORDS}, **{"Sec-Fetch-Site": "cross-site"}
    )
    assert (answer.status_code, "very&lt;" in answer.text) == (403, False)


def test_a_moderator_who_was_overtaken_keeps_the_words(gateway: PeopleGateway) -> None:
    cleo, version = gateway.person(CLEO), seen(gateway)
    gateway.done("POST", f"/manage/bots/{READY}/deny", {"reason": "No."})
    late = cleo.post(f"{DESK}/deny", {**version, "words": WORDS})
    assert late.status_code == 409
    assert "&lt;i&gt;very&lt;/i&gt;" in late.text


def test_a_sign_out_clears_what_the_browser_keeps(gateway: PeopleGateway) -> None:
    answer = Person(gateway).post("/signout")
    assert '"storage"' in answer.headers["Clear-Site-Data"]


def test_who_submits_a_bot_that_another_has_listed_meanwhile_keeps_the_text(gateway: PeopleGateway) -> None:
    answer = gateway.person(DAN).post("/bots/new", PROFILE)
    assert (answer.status_code, "A bot with this id is listed already." in answer.text) == (409, True)
    assert "&lt;i&gt;very&lt;/i&gt;" in answer.text
    own = gateway.person(ADA).post("/bots/new", PROFILE)
    assert (own.status_code, "Manage this bot" in own.text) == (409, True)
