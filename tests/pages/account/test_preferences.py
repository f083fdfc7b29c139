"""The look and the language of a page: as chosen, else those of account, browser and system."""

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.language_names import LANGUAGES, OWN_NAMES, Language
from tests.support.examples import examples
from tests.support.page_visitor import cookies_of
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.platform_stand_in import ADA, EMIL
from web.other_sites import LONGEST_WAY_BACK

COOKIE, LOOK = "__Host-votegate-language", "__Host-votegate-look"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("people") / "data") as gateway:
        yield gateway


@pytest.fixture
def stranger(gateway: PeopleGateway) -> Person:
    return gateway.person(None)


def language_of(page: str) -> str:
    (found,) = re.findall(r'<html lang="([^"]*)"', page)
    return str(found)


def chosen(visitor: Person, language: str, to: str = "/") -> str:
    """Choose a language as the form of each page does. Returns the address that follows."""
    answer = visitor.post("/preferences", {"language": language, "look": "auto", "to": to})
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def test_english_is_for_whoever_says_nothing(stranger: Person) -> None:
    assert language_of(stranger.page("/")) == "en"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_browser_says_what_it_likes(stranger: Person, language: Language) -> None:
    answer = stranger.get("/", **{"Accept-Language": f"zh, {language};q=0.8, en;q=0.2"})
    assert language_of(answer.text) == language


def test_an_account_goes_before_the_browser(gateway: PeopleGateway) -> None:
    emil = gateway.person(EMIL)
    assert language_of(emil.get("/me", **{"Accept-Language": "fr"}).text) == "de"
    ada = gateway.person(ADA)
    assert language_of(ada.get("/me", **{"Accept-Language": "fr"}).text) == "en"


def test_a_choice_goes_before_the_account(gateway: PeopleGateway) -> None:
    emil = gateway.person(EMIL)
    chosen(emil, "ja")
    assert language_of(emil.get("/me", **{"Accept-Language": "fr"}).text) == "ja"


def test_a_choice_stays_at_the_sign_in_and_the_sign_out(stranger: Person) -> None:
    chosen(stranger, "pt-BR")
    assert stranger.sign_in_as(EMIL).status_code == 303
    assert language_of(stranger.page("/me")) == "pt-BR"
    stranger.post("/signout")
    assert language_of(stranger.page("/")) == "pt-BR"


def test_a_choice_is_kept_for_a_year_and_no_script_sees_it(stranger: Person) -> None:
    answer = stranger.post("/preferences", {"language": "tr", "look": "dark", "to": "/"})
    kept = "Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=31536000"
    assert cookies_of(answer) == [f"{COOKIE}=tr; {kept}", f"{LOOK}=dark; {kept}"]


def look_of(page: str) -> str | None:
    found = re.search(r'<html lang="[^"]*"(?: data-look="([^"]*)")?>', page)
    assert found is not None
    return found[1]


def test_a_page_has_the_look_that_was_chosen_until_it_follows_the_system_again(stranger: Person) -> None:
    assert look_of(stranger.page("/")) is None
    for look in ("dark", "light"):
        stranger.post("/preferences", {"language": "en", "look": look, "to": "/"})
        page = stranger.page("/bots")
        assert look_of(page) == look
        assert f'name="look" value="{look}" checked' in page
    stranger.post("/preferences", {"language": "en", "look": "auto", "to": "/"})
    assert look_of(stranger.page("/")) is None
    stranger.cookies[LOOK] = "pink"
    assert look_of(stranger.page("/")) is None


def test_the_look_is_that_of_the_operators_pages_too(gateway: PeopleGateway, stranger: Person) -> None:
    stranger.post("/preferences", {"language": "de", "look": "dark", "to": "/"})
    stranger.sign_in(gateway.operator_token)
    page = stranger.page("/debug")
    assert (language_of(page), look_of(page)) == ("en", "dark")
    stranger.post("/debug/look", {"look": "light", "to": "/debug"})
    assert look_of(stranger.page("/")) == "light"


@pytest.mark.parametrize("cookie", ["tlh", "", "DE", "de-AT", "../de"])
def test_a_cookie_that_names_no_language_counts_for_nothing(stranger: Person, cookie: str) -> None:
    stranger.cookies[COOKIE] = cookie
    assert language_of(stranger.get("/", **{"Accept-Language": "fr"}).text) == "fr"


@examples(30)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80).map(str.strip))
def test_any_header_leads_to_a_language_of_ours(gateway: PeopleGateway, header: str) -> None:
    answer = gateway.person(None).get("/", **{"Accept-Language": header})
    assert (answer.status_code, language_of(answer.text) in LANGUAGES) == (200, True)


def test_every_page_offers_every_language_in_its_own_words(stranger: Person) -> None:
    chosen(stranger, "fr")
    for path in ("/", "/signin", "/nothing/here"):
        page = stranger.get(path).text
        _, _, form = page.partition('action="/preferences" method="post">')
        assert re.findall(r'<option value="([^"]+)" lang="([^"]+)"[^>]*>([^<]+)<', form) == [
            (language, language, name) for language, name in OWN_NAMES.items()
        ]
        assert '<option value="fr" lang="fr" selected>' in form
        assert "<button" in form


@pytest.mark.parametrize(
    ("to", "back"),
    [
        *((each, each) for each in ("/", "/me", "/review?show=mine", "/signin", "/signin?to=/me/data")),
        *((each, "/") for each in ("https://evil.example", "//evil.example", "/signin/callback?code=1", "")),
        *((each, "/signin") for each in ("/signin?to=https://evil.example", "/signin?to=//evil.example")),
        ("/signin?code=1", "/signin"),
    ],
)
def test_a_choice_leads_back_to_a_page_of_ours(stranger: Person, to: str, back: str) -> None:
    assert chosen(stranger, "es", to) == back


def test_the_form_leads_back_to_the_page_that_it_stands_on(gateway: PeopleGateway) -> None:
    ada = gateway.person(ADA)
    for path, to in (
        ("/me", "/me"),
        ("/bots/new?id=400000000000000001", "/bots/new?id=400000000000000001"),
        ("/me/sessions", "/me/sessions"),
        ("/me?after=x", "/me?after=x"),
    ):
        (found,) = re.findall(
            r'<input type="hidden" name="to" value="([^"]*)">\s*<fieldset class="segment"', ada.page(path)
        )
        assert (found, chosen(ada, "en", found)) == (to, to)


def test_the_form_of_the_sign_in_keeps_the_longest_way_back(stranger: Person) -> None:
    to = "/bots?q=" + "%C3%A9" * ((LONGEST_WAY_BACK - 8) // 6)
    page = stranger.page(f"/signin?to={quote(to)}")
    back = re.findall(r'<input type="hidden" name="to" value="([^"]*)"', page)[-1]
    assert chosen(stranger, "en", unescape(back)) == f"/signin?to={quote(to)}"


def test_the_answer_to_a_form_offers_no_choice(gateway: PeopleGateway) -> None:
    answer = gateway.person(ADA).post("/me/data", {"word": "no"})
    assert (answer.status_code, 'action="/preferences"' in answer.text) == (400, False)


@pytest.mark.parametrize(
    ("language", "look"), [("", "auto"), ("tlh", "auto"), ("DE", "dark"), ("de", ""), ("de", "pink")]
)
def test_a_choice_that_there_is_not_is_refused(stranger: Person, language: str, look: str) -> None:
    answer = stranger.post("/preferences", {"language": language, "look": look, "to": "/"})
    assert (answer.status_code, cookies_of(answer)) == (400, [])


def test_no_get_and_no_other_site_changes_a_choice(stranger: Person) -> None:
    assert stranger.get("/preferences?language=de&look=dark").status_code == 405
    foreign = stranger.request(
        "POST", "/preferences", {"Sec-Fetch-Site": "cross-site"}, data={"language": "de"}
    )
    assert (foreign.status_code, cookies_of(foreign)) == (403, [])


def test_a_fragment_and_an_error_speak_the_same_language(gateway: PeopleGateway) -> None:
    ada = gateway.person(ADA)
    chosen(ada, "de")
    fragment = ada.get("/me", **{"HX-Request": "true"})
    assert "<html" not in fragment.text
    assert "Meine Einträge" in fragment.text
    missing = ada.get("/nothing/here")
    assert (missing.status_code, language_of(missing.text)) == (404, "de")
    wrong = ada.post("/me", {})
    assert (wrong.status_code, language_of(wrong.text)) == (405, "de")


def test_a_cache_keeps_the_languages_apart(stranger: Person) -> None:
    for path in ("/", "/signin", "/nothing/here"):
        vary = {each.strip() for each in stranger.get(path).headers["Vary"].split(",")}
        assert {"Accept-Language", "Cookie"} <= vary


def test_what_the_api_says_stays_english(gateway: PeopleGateway) -> None:
    emil = gateway.person(EMIL)
    answer = emil.request("GET", "/nothing/here", {"Accept": "application/json", "Accept-Language": "de"})
    assert answer.json()["error"] == "Not found."


def test_the_operator_s_pages_are_english(stranger: Person) -> None:
    stranger.sign_in()
    chosen(stranger, "de")
    page = stranger.get("/debug", **{"Accept-Language": "de"}).text
    assert (language_of(page), "Overview" in page) == ("en", True)
    assert 'action="/preferences"' not in page
