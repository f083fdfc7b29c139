"""pages/owner/keys.py: keys are made, rotated and deleted, and each is shown once."""

import html
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.owner.keys import KEY_PAGES
from pages.page_rows import rows_of
from pages.visitors import FRESH_MS
from tests.support.examples import examples
from tests.support.gateways import BOT
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, DAN
from tests.support.visited_listings import KEYS, named, not_allowed, own_bot, path_of, refusals, statuses
from web.pages import PageRow

FRAGMENT = {"HX-Request": "true", "HX-Request-Type": "partial"}
ROWS = rows_of(KEY_PAGES)
ATTACK = "<script>alert(1)</script>\"'><img src=x>"


@pytest.fixture
def ada(gateway: PeopleGateway) -> Person:
    gateway.clock.advance(600)
    own_bot(gateway)
    return gateway.person(ADA)


@pytest.fixture(scope="module")
def others(gateway: PeopleGateway) -> dict[str, Person]:
    own_bot(gateway)
    return not_allowed(gateway)


def shown_key(text: str) -> str:
    return html.unescape(text.split('id="secret">')[1].partition("</code>")[0])


def made(person: Person, name: str = "production") -> str:
    """Make a key on the page, and return its value."""
    answer = person.post(KEYS, {"name": name})
    assert answer.status_code == 200, answer.text
    return shown_key(answer.text)


def listed(person: Person) -> list[dict[str, object]]:
    keys: list[dict[str, object]] = person.get(f"{KEYS}.json").json()["keys"]
    return keys


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_keys_are_for_owners_alone(others: dict[str, Person], row: PageRow) -> None:
    assert statuses(row, others) == refusals(row)


def test_an_extra_owner_has_the_keys_too(gateway: PeopleGateway, ada: Person) -> None:
    gateway.clock.advance(1)
    dan = gateway.person(DAN)
    made(dan, "of Dan")
    assert [key["name"] for key in listed(dan)] == [key["name"] for key in listed(ada)] == ["of Dan"]
    history = gateway.done("GET", f"/manage/bots/{BOT}/history")["history"]
    assert (history[0]["by"], history[0]["deed"]) == (f"users/{DAN}", "key_issued")


def test_a_key_is_shown_once_and_opens_the_bot(gateway: PeopleGateway, ada: Person) -> None:
    answer = ada.post(KEYS, {"name": "production"})
    key = shown_key(answer.text)
    assert gateway.voters(key, BOT).status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    for path in (KEYS, f"{KEYS}.json"):
        assert key not in ada.get(path).text
    assert "production" in ada.page(KEYS)


def test_the_command_beside_a_new_key_asks_about_a_vote(gateway: PeopleGateway, ada: Person) -> None:
    text = ada.post(KEYS, {"name": "production"}).text
    command = html.unescape(text.split('id="example">')[1].partition("</code>")[0])
    program, option, header, url = shlex.split(command)
    assert (program, option, url) == ("curl", "-H", f"{gateway.base_url}/bots/{BOT}/voters/{ADA}")
    name, _, value = header.partition(": ")
    answer = gateway.session.get(url, headers={name: value})
    assert (answer.status_code, answer.json()["voted"]) == (200, False)


def test_the_list_says_what_is_known_of_a_key(gateway: PeopleGateway, ada: Person) -> None:
    assert "No key yet" in words(ada.page(KEYS))
    made(ada, "production")
    (key,) = gateway.done("GET", f"/manage/bots/{BOT}/keys")["keys"]
    assert listed(ada) == [key]
    page = words(ada.page(KEYS))
    assert f"production {key['fingerprint']}" in page
    assert "never" in page
    assert "<title>Test bot - API keys · Votegate</title>" in ada.page(KEYS)


@pytest.mark.parametrize(("state", "told"), [("in_review", "in review now"), ("denied", "It was denied")])
def test_before_approval_the_page_says_what_would_allow_keys(
    gateway: PeopleGateway, ada: Person, state: str, told: str
) -> None:
    own_bot(gateway, approved=False)
    if state == "denied":
        gateway.done("POST", f"/manage/bots/{BOT}/deny", {"reason": "Too quiet."})
    page = ada.page(KEYS)
    assert "Keys come with the approval" in page
    assert told in page
    assert f'action="{KEYS}"' not in page
    refused = ada.post(KEYS, {"name": "early"})
    assert (refused.status_code, "Keys are for approved listings only." in refused.text) == (409, True)
    assert listed(ada) == []


def test_one_key_too_many_is_refused_in_words(ada: Person) -> None:
    for number in range(100):
        answer = ada.post(KEYS, {"name": f"key {number}"})
        if answer.status_code != 200:
            break
    assert (answer.status_code, "delete one first." in answer.text) == (409, True)
    assert f'value="key {number}"' in answer.text


def test_a_name_that_the_api_refuses_the_page_refuses_at_its_field(
    gateway: PeopleGateway, ada: Person
) -> None:
    @examples(40)
    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=110))
    def check(name: str) -> None:
        sent = name.replace("\r\n", "\n").strip()
        by_api = gateway.operate("POST", f"/manage/bots/{BOT}/keys", {"name": sent})
        by_page = ada.post(KEYS, {"name": name})
        if by_api.status_code == 201:
            assert by_page.status_code == 200
        else:
            assert (by_api.status_code, by_page.status_code) == (400, 400)
            assert 'aria-invalid="true"' in by_page.text
            assert 'id="name-problem"' in by_page.text
        for key in listed(ada):
            gateway.done("DELETE", f"/manage/bots/{BOT}/keys/{key['id']}")

    check()


def test_a_rotated_key_is_shown_once_and_the_old_one_stops_when_chosen(
    gateway: PeopleGateway, ada: Person
) -> None:
    old = made(ada)
    (key,) = listed(ada)
    path = f"{KEYS}/{key['id']}/rotate"
    assert "After 24 hours" in ada.page(path)
    answer = ada.post(path, {"overlap_seconds": "3600"})
    new = shown_key(answer.text)
    assert "The old one stops: After 1 hour" in answer.text
    assert [gateway.voters(each).status_code for each in (old, new)] == [200, 200]
    assert listed(ada)[0]["old_key_until"] == gateway.clock.now_ms() + 3_600_000
    gateway.clock.advance(3_600)
    assert [gateway.voters(each).status_code for each in (old, new)] == [401, 200]


def test_a_key_rotated_at_once_leaves_nothing_of_the_old_one(gateway: PeopleGateway, ada: Person) -> None:
    old = made(ada)
    (key,) = listed(ada)
    new = shown_key(ada.post(f"{KEYS}/{key['id']}/rotate", {"overlap_seconds": "0"}).text)
    assert [gateway.voters(each).status_code for each in (old, new)] == [401, 200]


@pytest.mark.parametrize("overlap", ["", "-1", "604801", "soon", "1e3"])
def test_another_overlap_is_refused_at_its_field(ada: Person, overlap: str) -> None:
    made(ada)
    before = listed(ada)
    answer = ada.post(f"{KEYS}/{before[0]['id']}/rotate", {"overlap_seconds": overlap})
    assert answer.status_code == 400
    assert 'id="overlap_seconds" name="overlap_seconds" aria-invalid="true"' in answer.text
    assert listed(ada) == before


def test_a_key_is_deleted_by_who_types_its_name(gateway: PeopleGateway, ada: Person) -> None:
    value = made(ada, "in  two  words")
    (key,) = listed(ada)
    path = f"{KEYS}/{key['id']}/delete"
    for wrong in ("", "in", "IN TWO WORDS"):
        answer = ada.post(path, {"confirmation": wrong})
        assert (answer.status_code, 'aria-invalid="true"' in answer.text) == (400, True)
        assert "Type in  two  words, as it is written here." in answer.text
    assert gateway.voters(value).status_code == 200
    assert "The key is deleted." in ada.acted(path, {"confirmation": "in two words"})
    assert gateway.voters(value).status_code == 401
    assert listed(ada) == []


def test_a_key_of_another_bot_is_none_of_this_one(ada: Person) -> None:
    for deed in ("rotate", "delete"):
        for method in ("GET", "POST"):
            answer = ada.request(method, f"{KEYS}/{'0' * 24}/{deed}", data={})
            assert (answer.status_code, "There is nothing here" in answer.text) == (404, True)


def test_after_an_hour_a_key_takes_a_fresh_sign_in(gateway: PeopleGateway, ada: Person) -> None:
    value = made(ada)
    (key,) = listed(ada)
    gateway.clock.advance(FRESH_MS / 1_000)
    paths = [f"{KEYS}/{key['id']}/{deed}" for deed in ("rotate", "delete")]
    answers = [ada.get(path) for path in paths]
    answers += [ada.post(path, {"overlap_seconds": "0", "confirmation": "production"}) for path in paths]
    for answer, path in zip(
        [*answers, ada.post(KEYS, {"name": "late"})], [*paths, *paths, KEYS], strict=True
    ):
        assert answer.status_code == 403
        assert "Is it still you?" in answer.text
        assert f'<input type="hidden" name="to" value="{path}">' in answer.text
    assert "Make a key" in ada.page(KEYS)
    assert listed(ada) == [key]
    assert gateway.voters(value).status_code == 200


def test_what_an_owner_writes_is_text(ada: Person) -> None:
    answer = ada.post(KEYS, {"name": ATTACK})
    (key,) = listed(ada)
    pages = [
        answer,
        ada.get(KEYS),
        ada.post(KEYS, {"name": ATTACK + "\n"}),
        ada.post(KEYS, {"name": f"{ATTACK}\t"}),
    ]
    for deed in ("rotate", "delete"):
        pages += [ada.get(f"{KEYS}/{key['id']}/{deed}")]
    pages += [ada.post(f"{KEYS}/{key['id']}/delete", {"confirmation": ATTACK + "x"})]
    for page in pages:
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text


@pytest.mark.parametrize("row", [row for row in ROWS if row.method == "GET"], ids=named)
def test_a_page_is_drawn_as_a_part_too(ada: Person, row: PageRow) -> None:
    made(ada)
    path = path_of(row).replace("0" * 24, str(listed(ada)[0]["id"]))
    answer = ada.get(path, **FRAGMENT)
    assert answer.status_code == 200
    assert "<html" not in answer.text
