"""The pages of profiles: at a name of their own, hidden from lists if the user wants, and made on a page."""

import pytest

from kinds.registry import KINDS
from tests.support.gateways import BOT, BOT_SUBMISSION, eventually
from tests.support.media_files import picture
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN

FORM = {
    "name": "Ada Lindqvist",
    "handle": "Ada_L",
    "bio": "I make bots that play music.",
    "pronouns": "she/her",
    "links": "https://github.com/ada\nhttps://ada.example",
    "primary": "#5865F2",
    "secondary": "#eb459e",
}
LISTS = ("/profiles", "/profiles.json", "/profiles.json?q=lindqvist", "/profiles.rss", "/index.json")


@pytest.fixture
def ada(gateway: PeopleGateway) -> Person:
    for path in (f"/manage/profiles/{ADA}", f"/manage/profiles/{BEN}", f"/manage/bots/{BOT}"):
        gateway.operate("DELETE", path)
    return gateway.person(ADA)


def list_bot(gateway: PeopleGateway) -> None:
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA, "name": "Lavender Beats"})
    gateway.done("POST", f"/manage/bots/{BOT}/approve", {})


def made(visitor: Person, **fields: str) -> None:
    sent = visitor.post("/profiles/new", {**FORM, **fields})
    assert (sent.status_code, sent.headers["location"]) == (303, f"/profiles/{ADA}/manage"), words(sent.text)


def test_a_user_makes_it_and_the_account_menu_leads_there(gateway: PeopleGateway, ada: Person) -> None:
    assert 'href="/profiles/new"' in ada.page("/me")
    asked = ada.page("/profiles/new")
    assert "Make your profile" in words(asked)
    assert 'name="id"' not in asked, "nobody is asked for an id"
    refused = ada.post("/profiles/new", {**FORM, "handle": "admin"})
    assert (refused.status_code, "she/her" in refused.text) == (400, True)
    assert "This name is reserved" in words(refused.text)
    made(ada)
    assert ada.get("/profiles/new").headers["location"] == f"/profiles/{ADA}/manage"
    assert "Everybody can see it" in words(ada.page(f"/profiles/{ADA}/manage"))
    changed = {**FORM, "bio": "I rest.", "unlisted": "yes"}
    assert ada.post(f"/profiles/{ADA}/manage/profile", changed).status_code == 303
    kept = gateway.done("GET", f"/manage/profiles/{ADA}")
    assert (kept["bio"], kept["unlisted"], kept["links"]) == ("I rest.", True, FORM["links"].split("\n"))


def test_what_may_be_added_is_one_page_and_a_second_profile_is_not_offered(
    gateway: PeopleGateway, ada: Person
) -> None:
    stranger = gateway.person(None).page("/add")
    assert all(f'href="/signin?to=/{kind}/new"' in stranger for kind in KINDS)
    assert "Make your profile" in words(ada.page("/add"))
    made(ada)
    offered = words(ada.page("/add"))
    assert "Make your profile" not in offered
    assert "Your profile" in offered
    assert 'href="/add"' in ada.page("/me")


def test_its_page_is_at_its_name_and_the_id_leads_there(gateway: PeopleGateway, ada: Person) -> None:
    made(ada)
    list_bot(gateway)
    gateway.clock.advance(60)
    stranger = gateway.person(None)
    for path in (f"/profiles/{ADA}", "/profiles/ADA_L", f"/users/{ADA}"):
        assert stranger.get(path).headers["location"] == "/profiles/ada_l"
    assert stranger.get(f"/profiles/{ADA}.json").headers["location"] == "/profiles/ada_l.json"
    page = stranger.page("/profiles/ada_l")
    for text in (
        "@ada_l",
        "she/her",
        "I make bots that play music.",
        "GitHub",
        "ada.example",
        "Lavender Beats",
    ):
        assert text in words(page)
    assert 'href="https://github.com/ada" rel="nofollow ugc noopener"' in page
    assert "#5865f2" in page
    assert stranger.get("/profiles/ada.l").status_code == 404, "a name that looks like it is another one"
    assert stranger.get(f"/users/{ADA}.json").json()["path"] == "/profiles/ada_l"
    assert "/profiles/ada_l</loc>" in stranger.get("/sitemap/profiles/1.xml").text
    assert "/profiles/ada_l</link>" in stranger.get("/profiles.rss").text
    assert 'href="/profiles/ada_l"' in stranger.page("/profiles")
    eventually(lambda: stranger.get("/profiles/suggestions.json?q=lind").json()["suggestions"])
    assert (
        stranger.get("/profiles/suggestions.json?q=lind").json()["suggestions"][0]["path"]
        == "/profiles/ada_l"
    )


def test_a_hidden_one_is_in_no_list_and_everybody_who_knows_its_address_sees_it(
    gateway: PeopleGateway, ada: Person
) -> None:
    made(ada)
    stranger = gateway.person(None)
    gateway.clock.advance(60)
    eventually(lambda: all("ada_l" in stranger.get(path).text for path in LISTS))
    made_hidden = ada.post(f"/profiles/{ADA}/manage/profile", {**FORM, "unlisted": "yes"})
    assert made_hidden.status_code == 303
    gateway.clock.advance(60)
    eventually(lambda: not any("ada_l" in stranger.get(path).text for path in LISTS))
    assert stranger.get("/sitemap/profiles/1.xml").status_code == 404
    assert stranger.get("/profiles/suggestions.json?q=lind").json()["suggestions"] == []
    assert stranger.get(f"/users/{ADA}").status_code == 404
    assert stranger.get("/profiles/random").headers["location"] == "/profiles"
    for path in ("/profiles/ada_l", "/profiles/ada_l.json", f"/profiles/{ADA}/preview.png"):
        shown = stranger.get(path)
        assert (shown.status_code, shown.headers["x-robots-tag"]) == (200, "noindex")


def test_the_download_of_a_users_data_has_the_profile_and_the_erasure_removes_it(
    gateway: PeopleGateway, ada: Person
) -> None:
    made(ada)
    (about,) = ada.get("/me/data.json").json()["about_you"]
    assert (about["listing"], about["handle"], about["pronouns"]) == (f"profiles/{ADA}", "ada_l", "she/her")
    list_bot(gateway)
    assert "You own 1 listing." in words(ada.page("/me/data"))
    assert ada.post("/me/data", {"word": "erase"}).status_code == 303
    assert gateway.person(None).get("/profiles/ada_l").status_code == 404
    assert gateway.operate("GET", f"/manage/bots/{BOT}").status_code == 200


def test_a_banner_is_shown_in_the_place_of_the_colours(gateway: PeopleGateway, ada: Person) -> None:
    sent = ada.request(
        "POST", "/profiles/new", data=FORM, files={"banner": ("wide.png", picture(size=(900, 300)))}
    )
    assert sent.status_code == 303, words(sent.text)
    file = gateway.done("GET", f"/manage/profiles/{ADA}")["banner"]
    name = f"/files/{file['digest']}.png"
    stranger = gateway.person(None)
    assert f'<img class="crown" src="{name}" alt="" width="900" height="300">' in stranger.page(
        "/profiles/ada_l"
    )
    assert stranger.get("/profiles/ada_l.json").json()["banner"]["digest"] == file["digest"]
    assert stranger.get(name).status_code == 200
    gateway.done("POST", f"/manage/profiles/{ADA}/withdraw", {"reason": "The picture offends."})
    assert stranger.get(name).status_code == 404
    assert ada.get(name).status_code == 200
