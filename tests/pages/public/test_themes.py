"""Themes on pages: a picture in their two colours, the button that likes them, and their forms."""

import re

import pytest

from tests.support.made_listings import THEME
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, BEN, CLEO

PICTURE = "/themes/colours/1a1033-ff7a59"
TYPED = {"name": "Dusk", "primary": "#F80", "secondary": "#123456", "categories": "Dark"}


@pytest.fixture(scope="module")
def here(gateway: PeopleGateway) -> str:
    """Return the path of an approved theme."""
    its_id = gateway.done("POST", "/manage/themes", {**THEME, "owner_id": ADA})["id"]
    gateway.done("POST", f"/manage/themes/{its_id}/approve", {})
    return f"/themes/{its_id}"


def test_a_page_shows_both_colours_their_contrast_and_a_picture_in_them(
    gateway: PeopleGateway, here: str
) -> None:
    page = gateway.person(None).page(here)
    assert f'src="{PICTURE}"' in page
    assert "Easy to read: 7.0 to 1" in words(page)
    for colour in ("#1a1033", "#ff7a59"):
        assert re.search(rf"<code id=\"\w+\">{colour}</code>", page), "it can be copied"


def test_a_picture_is_drawn_in_the_colours_of_its_address(gateway: PeopleGateway) -> None:
    drawn = gateway.person(None).get(PICTURE)
    assert (drawn.status_code, drawn.headers["content-type"]) == (200, "image/svg+xml")
    assert drawn.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert {"#1a1033", "#ff7a59"} <= {*re.findall("#[0-9a-f]{6}", drawn.text)}


@pytest.mark.parametrize("pair", ["1a1033", "1A1033-ff7a59", "1a1033-ff7a59-000000", "red-blue", "<a>-<b>"])
def test_there_is_no_picture_of_anything_else(gateway: PeopleGateway, pair: str) -> None:
    assert gateway.person(None).get(f"/themes/colours/{pair}").status_code == 404


def test_a_user_likes_a_theme_and_takes_it_back(gateway: PeopleGateway, here: str) -> None:
    ben = gateway.person(BEN)
    assert 'aria-pressed="false"' in ben.page(here)
    assert "You like it." in words(ben.acted(f"{here}/like", {"like": "on"}))
    liked = ben.page(here)
    assert 'aria-pressed="true"' in liked
    assert "Likes of all time 1" in words(liked)
    ben.acted(f"{here}/like", {"like": "on"})
    assert "Likes of all time 1" in words(ben.page(f"{here}"))
    assert "Likes per day" in words(ben.page(f"{here}/likes"))
    assert "Your like is taken back." in words(ben.acted(f"{here}/like", {"like": "off"}))
    assert "Likes of all time 0" in words(ben.page(here))


def test_a_stranger_signs_in_to_like_a_theme(gateway: PeopleGateway, here: str) -> None:
    stranger = gateway.person(None)
    assert f'name="to" value="{here}"' in stranger.page(here)
    assert stranger.post(f"{here}/like", {"like": "on"}).headers["location"].startswith("/signin")


def test_a_user_whose_like_was_removed_reads_why_nothing_happens(gateway: PeopleGateway, here: str) -> None:
    cleo = gateway.person(CLEO)
    cleo.acted(f"{here}/like", {"like": "on"})
    gateway.done("POST", f"/manage{here}/votes/strike", {"users": [CLEO], "reason": "Bought."})
    assert "so you cannot give it again yet" in words(cleo.acted(f"{here}/like", {"like": "on"}))


def test_likes_are_not_among_the_votes_that_may_be_given_again(gateway: PeopleGateway, here: str) -> None:
    ben = gateway.person(BEN)
    ben.acted(f"{here}/like", {"like": "on"})
    assert "Sunset" not in words(ben.page("/me/votes"))
    assert here.strip("/") in {each["listing"] for each in ben.get("/me/data.json").json()["votes"]}
    ben.acted(f"{here}/like", {"like": "off"})


def test_people_submit_a_theme_and_read_which_field_is_wrong(gateway: PeopleGateway) -> None:
    ada = gateway.person(ADA)
    form = ada.page("/themes/new")
    assert re.search('<input id="primary" name="primary" type="text"', form), "it works without script"
    gateway.operate("POST", "/manage/themes", THEME)
    taken = ada.post("/themes/new", {**TYPED, "primary": "#1a1033", "secondary": "#FF7A59"})
    assert (taken.status_code, "Another listing has this already." in words(taken.text)) == (400, True)
    wrong = ada.post("/themes/new", {**TYPED, "primary": "red"})
    assert (wrong.status_code, "Write a colour such as" in words(wrong.text)) == (400, True)
    sent = ada.post("/themes/new", TYPED)
    assert sent.status_code == 303, words(sent.text)
    its_id = sent.headers["location"].split("/")[2]
    assert gateway.done("GET", f"/manage/themes/{its_id}")["primary"] == "#ff8800"
    review = gateway.person(CLEO).page(f"/review/themes/{its_id}")
    assert 'src="/themes/colours/ff8800-123456"' in review
