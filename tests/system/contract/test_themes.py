"""Themes in the management API: their colours, their pairs, and their way through the review."""

from collections.abc import Mapping

import pytest

from tests.support.gateways import OTHER_USER, OWNER, ThreadGateway
from tests.support.made_listings import THEME

THEMES = "/manage/themes"
BLACK = {**THEME, "primary": "#000000"}


def submitted(gateway: ThreadGateway, form: Mapping[str, object]) -> str:
    return f"{THEMES}/{gateway.done('POST', THEMES, form)['id']}"


def test_a_user_has_one_theme_in_review_at_most(gateway: ThreadGateway) -> None:
    here = submitted(gateway, THEME)
    refused = gateway.operate("POST", THEMES, BLACK)
    assert (refused.status_code, "in review" in refused.json()["error"]) == (409, True)
    submitted(gateway, {**BLACK, "owner_id": OTHER_USER})
    gateway.done("POST", f"{here}/approve", {})
    second = submitted(gateway, {**THEME, "primary": "#010101"})
    gateway.restart()
    assert gateway.operate("POST", THEMES, {**THEME, "primary": "#020202"}).status_code == 409
    gateway.done("POST", f"{second}/deny", {"reason": "Hard to read."})
    submitted(gateway, {**THEME, "primary": "#020202"})


def test_the_pair_of_colours_is_unique_without_regard_to_their_spelling(gateway: ThreadGateway) -> None:
    submitted(gateway, {**THEME, "primary": "#FFAA00", "secondary": "#00f"})
    for pair in (("#ffaa00", "#0000FF"), ("#fa0", "#00F")):
        rival = {**THEME, "owner_id": OTHER_USER, "primary": pair[0], "secondary": pair[1]}
        refused = gateway.operate("POST", THEMES, rival)
        assert refused.status_code == 400
        assert set(refused.json()["fields"]) == {"primary", "secondary"}


def test_the_same_colours_in_the_other_order_are_another_theme(gateway: ThreadGateway) -> None:
    submitted(gateway, {**THEME, "primary": "#ffaa00", "secondary": "#0000ff"})
    swapped = {**THEME, "owner_id": OTHER_USER, "primary": "#0000ff", "secondary": "#ffaa00"}
    assert gateway.done("GET", submitted(gateway, swapped))["primary"] == "#0000ff"


def test_a_theme_has_one_category_or_more_of_those_that_there_are(gateway: ThreadGateway) -> None:
    for wrong in ([], ["Plaid"], ["Dark", "Dark"]):
        refused = gateway.operate("POST", THEMES, {**THEME, "categories": wrong})
        assert (refused.status_code, next(iter(refused.json()["fields"]))[:10]) == (
            400,
            "categories",
        )
    here = submitted(gateway, {**THEME, "categories": ["Gradient", "Dark", "Purple"]})
    assert gateway.done("GET", here)["categories"] == ["Gradient", "Dark", "Purple"]


@pytest.mark.parametrize("wrong", ["red", "#12", "#12345", "#1234567", "#gggggg", "", None, 5])
def test_a_colour_is_three_or_six_hexadecimal_digits(gateway: ThreadGateway, wrong: object) -> None:
    refused = gateway.operate("POST", THEMES, {**THEME, "owner_id": OWNER, "secondary": wrong})
    assert (refused.status_code, [*refused.json()["fields"]]) == (400, ["secondary"])
