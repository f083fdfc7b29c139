"""pages/public/lists.py: search on the pages for everybody and in their JSON, without script."""

import html
import re
import time
from functools import partial
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from core.events import Event, ListingRemoved, ListingReviewed, ListingSaved
from pages.public.lists import LISTED
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA
from tests.support.sample_rows import BOT_PROFILE, SERVER_PROFILE
from tests.support.slots_set import eligibility_checked

BOT, OTHER = "600000000000000001", "600000000000000002"
SERVER = "700000000000000001"
REFS = (f"bots/{BOT}", f"bots/{OTHER}", f"servers/{SERVER}")
NOTHING = "0 results for “{}” Nothing was found"
ODD = (
    *('"', "AND", "NEAR(a b)", "name: x", "a* OR b^", "(", "-", "{}", "';--", "*"),
    *("🎵", "👩‍👩‍👧", "\u202eموسيقى", "אמא", "\0", "a\0b", "日本語", "ı", "\ufffd", "é" * 2_000),
)


@pytest.fixture
def stranger(gateway: PeopleGateway) -> Person:
    return gateway.person(None)


@pytest.fixture(autouse=True)
def listings(gateway: PeopleGateway) -> None:
    now_ms, server = gateway.clock.now_ms(), replace(SERVER_PROFILE, name="Reading Room")
    commit(
        gateway,
        saved(BOT, "Jukebox", categories=("Music", "Other")),
        saved(OTHER, "Jukebox Two", categories=("Other",)),
        ListingSaved(REFS[2], ADA, server, "approved", now_ms),
        eligibility_checked(REFS[2], (), now_ms),
    )
    until_found(gateway.person(None), "/servers", "reading room", [SERVER])


def saved(bot: str, name: str, **fields: object) -> Event:
    return ListingSaved(f"bots/{bot}", ADA, replace(BOT_PROFILE, name=name, **fields), "approved", 1)


def commit(gateway: PeopleGateway, *events: Event) -> None:
    gateway.on_loop(partial(gateway.gateway.ledger.commit, events))


def on_page(stranger: Person, path: str, text: str) -> list[str]:
    page = stranger.page(f"{path}?q={quote(text)}")
    return re.findall(r'<a href="/(?:bots|servers)/([0-9]+)" class="two"', page)


def in_json(stranger: Person, path: str, text: str, more: str = "") -> list[str]:
    answer = stranger.get(f"{path}.json?q={quote(text)}{more}")
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["listings"]]


def until_found(stranger: Person, path: str, text: str, ids: list[str]) -> None:
    """Wait until a search finds these. Right behind a start there is none for a moment."""
    until = time.monotonic() + 30
    while stranger.get(f"{path}.json?q={quote(text)}").status_code == 503:
        assert time.monotonic() < until
    while (found := in_json(stranger, path, text)) != ids:
        assert time.monotonic() < until, found
    assert on_page(stranger, path, text) == ids


def test_what_was_just_approved_is_found_and_what_was_removed_is_not(
    gateway: PeopleGateway, stranger: Person
) -> None:
    now_ms = gateway.clock.now_ms()
    until_found(stranger, "/bots", "jukebox", [BOT, OTHER])
    third = "600000000000000003"
    profile = replace(BOT_PROFILE, name="Gramophone")
    commit(gateway, ListingSaved(f"bots/{third}", ADA, profile, "in_review", now_ms))
    until_found(stranger, "/bots", "gramophone", [])
    commit(gateway, ListingReviewed(f"bots/{third}", "approved", None, now_ms))
    until_found(stranger, "/bots", "gramophone", [third])
    commit(gateway, ListingRemoved(f"bots/{third}", now_ms))
    assert in_json(stranger, "/bots", "gramophone") == [], "at once"
    commit(gateway, ListingReviewed(REFS[1], "denied", "no", now_ms))
    assert on_page(stranger, "/bots", "jukebox") == [BOT]


def test_an_edit_is_found_by_its_new_words(gateway: PeopleGateway, stranger: Person) -> None:
    commit(gateway, saved(BOT, "Music Box"))
    until_found(stranger, "/bots", "musicbox", [BOT])
    until_found(stranger, "/bots", "jukebox", [OTHER])


def test_a_server_is_found_by_its_keywords_unless_it_is_hidden(
    gateway: PeopleGateway, stranger: Person
) -> None:
    now_ms = gateway.clock.now_ms()
    until_found(stranger, "/servers", SERVER_PROFILE.keywords[0], [SERVER])
    assert on_page(stranger, "/bots", "reading room") == []
    commit(gateway, eligibility_checked(REFS[2], (), now_ms, now_ms, now_ms))
    assert on_page(stranger, "/servers", "reading room") == []


def test_a_search_without_results_says_so(stranger: Person) -> None:
    page = stranger.page("/bots?q=%20nobody+has+this%20")
    assert NOTHING.format("nobody has this") in words(page)
    assert 'href="/servers?q=nobody+has+this"' in page
    assert 'value="nobody has this"' in page
    answer = stranger.get("/bots.json?q=nobody+has+this").json()
    assert (answer["listings"], answer["total"], answer["next"]) == ([], 0, None)
    assert answer["q"] == "nobody has this"


def test_a_search_within_a_category_and_with_a_limit(stranger: Person) -> None:
    until_found(stranger, "/bots", "jukebox", [BOT, OTHER])
    assert in_json(stranger, "/bots", "jukebox", "&category=Music") == [BOT]
    assert in_json(stranger, "/bots", "jukebox", "&limit=1") == [BOT]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_any_text_is_a_text(stranger: Person, text: str) -> None:
    for path in ("/bots", "/servers", "/bots.json", "/servers.json"):
        assert stranger.get(f"{path}?q={quote(text)}").status_code == 200
    assert stranger.get("/bots?q=%ED%A0%80%FF").status_code == 200, "not UTF-8"


@pytest.mark.parametrize("name", ["q", "keyword"])
def test_a_control_character_is_a_space(stranger: Person, name: str) -> None:
    typed = "".join(map(chr, (*range(32), *range(127, 160))))
    page = stranger.page(f"/bots?{name}={quote(f'a{typed}b')}")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", page)
    assert stranger.get(f"/bots.json?{name}={quote(f'a{typed}b')}").json()[name] == f"a{' ' * len(typed)}b"


@pytest.mark.parametrize("typed", ["%ff" * 5_000, "a" * 15_000, "%E9%9F%B3" * 1_700])
def test_every_way_from_the_page_of_a_long_search_works(stranger: Person, typed: str) -> None:
    page = stranger.page(f"/bots?q={typed}")
    assert len(page) < 100_000
    ways = {html.unescape(each) for each in re.findall(r'href="(/[^"]+)"', page)}
    assert any(each.startswith("/signin") for each in ways)
    assert {stranger.get(each).status_code for each in ways} == {200}
    (back,) = re.findall(r'<input type="hidden" name="to" value="(/[^"]*)"', page)
    chosen = stranger.post("/preferences", {"to": back, "look": "dark", "language": "en"})
    assert chosen.headers["Location"] == "/bots"


def test_ten_kilobytes_are_a_text(stranger: Person) -> None:
    answer = stranger.get("/bots.json?q=" + "jukebox+" * 1_250)
    assert (answer.status_code, len(answer.json()["q"])) == (200, 199)
    assert len(answer.json()["listings"]) == 2


def test_the_first_page_leads_to_the_search(stranger: Person) -> None:
    page = stranger.page("/")
    form = re.findall(r'<form class="search" action="([^"]+)"', page)
    assert form == ["/bots"]


def test_a_search_is_nothing_for_search_engines(stranger: Person) -> None:
    assert stranger.get("/bots?q=jukebox").headers["X-Robots-Tag"] == "noindex"


def test_everything_is_found_after_a_restart(gateway: PeopleGateway, stranger: Person) -> None:
    gateway.restart()
    until_found(stranger, "/bots", "jukebox", [BOT, OTHER])


def test_the_kind_s_own_word_and_a_typing_error_shut_nothing_out(stranger: Person) -> None:
    until_found(stranger, "/bots", "jukebox bot", [BOT, OTHER])
    answer = stranger.get("/bots.json?q=jukebax+bot").json()
    assert [each["id"] for each in answer["listings"]] == [BOT, OTHER]
    assert (answer["read_as"], answer["total"]) == ("jukebox", 2)
    text = words(stranger.page("/bots?q=jukebax+bot"))
    assert "2 results for “jukebox” No listing has the words “jukebax bot”" in text


def test_a_category_counts_as_a_word_in_every_language(stranger: Person) -> None:
    until_found(stranger, "/bots", "music", [BOT])
    assert in_json(stranger, "/bots", "musik bot") == [BOT]


def test_the_pages_of_a_search_show_every_match_once(gateway: PeopleGateway, stranger: Person) -> None:
    many = [str(610000000000000000 + number) for number in range(LISTED + 3)]
    commit(gateway, *(saved(bot, f"Wurlitzer {number}") for number, bot in enumerate(many)))
    until_all(stranger, "wurlitzer", len(many))
    first = stranger.page("/bots?q=wurlitzer")
    (following,) = re.findall(r'href="([^"]+)" rel="next"', first)
    assert f"{len(many)} results" in words(first)
    found = re.findall(r'<a href="/bots/([0-9]+)"', first + stranger.page(html.unescape(following)))
    assert sorted({*found}) == many
    assert in_json(stranger, "/bots", "wurlitzer", "&limit=5&after=5") == found_from(stranger, 5)
    assert stranger.get("/bots.json?q=wurlitzer&after=x").status_code == 400


def until_all(stranger: Person, text: str, count: int) -> None:
    until = time.monotonic() + 30
    while stranger.get(f"/bots.json?q={text}").json()["total"] != count:
        assert time.monotonic() < until


def found_from(stranger: Person, first: int) -> list[str]:
    return in_json(stranger, "/bots", "wurlitzer", "&limit=100")[first : first + 5]


def test_lists_and_searches_are_filtered_by_language(gateway: PeopleGateway, stranger: Person) -> None:
    commit(gateway, saved(OTHER, "Jukebox Two", categories=("Other",), text_language="de"))
    until = time.monotonic() + 30
    while in_json(stranger, "/bots", "jukebox", "&language=de") != [OTHER]:
        assert time.monotonic() < until
    assert in_json(stranger, "/bots", "jukebox", "&language=de&category=Music") == []
    answer = stranger.get("/bots.json?language=de&category=Other").json()
    assert ([each["id"] for each in answer["listings"]], answer["total"]) == ([OTHER], 1)
    page = stranger.page("/bots?language=de&category=Music")
    assert "Nothing matches all of this" in words(page)
    assert ">Deutsch<span" in page
    assert stranger.get("/bots?language=xx").status_code == 400


def test_names_and_categories_are_suggested(stranger: Person) -> None:
    until_found(stranger, "/bots", "jukebox", [BOT, OTHER])

    def suggested(q: str) -> list[tuple[str, str]]:
        answer = stranger.get(f"/bots/suggestions.json?q={q}").json()
        return [(each["text"], each["path"]) for each in answer["suggestions"]]

    assert suggested("juk") == [("Jukebox", f"/bots/{BOT}"), ("Jukebox Two", f"/bots/{OTHER}")]
    assert suggested("mu")[0] == ("Music", "/bots?category=Music")
    assert suggested("j") == suggested("") == suggested("zzz") == []


def test_the_page_of_a_listing_shows_similar_ones(stranger: Person) -> None:
    until_found(stranger, "/bots", "jukebox", [BOT, OTHER])
    page = stranger.page(f"/bots/{BOT}")
    assert re.findall(r'<a href="/bots/([0-9]+)">', page.partition('id="similar"')[2])[0] == OTHER
