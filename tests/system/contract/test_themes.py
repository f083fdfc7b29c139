"""Themes: two colours, a pair that no other theme has, and their limits."""

from typing import Any

import pytest

from tests.support.gateways import OWNER, ThreadGateway
from tests.support.made_listings import THEME

TAKEN = "belongs to another listing"


def refused(gateway: ThreadGateway, **changed: Any) -> dict[str, str]:
    answer = gateway.operate("POST", "/manage/themes", {**THEME, **changed})
    assert answer.status_code == 400
    faults: dict[str, str] = answer.json()["fields"]
    return faults


@pytest.mark.parametrize(
    ("given", "kept"), [("#F80", "#ff8800"), ("#abCDef", "#abcdef"), ("#000", "#000000")]
)
def test_a_colour_is_kept_as_six_lower_case_digits(gateway: ThreadGateway, given: str, kept: str) -> None:
    assert gateway.done("POST", "/manage/themes", {**THEME, "primary": given})["primary"] == kept


@pytest.mark.parametrize("given", ["", "red", "1a1033", "#12", "#1234", "#12345g", "#1234567", None, 5])
def test_another_text_is_no_colour(gateway: ThreadGateway, given: object) -> None:
    assert refused(gateway, secondary=given) == {"secondary": "must be a colour, such as #5865f2"}


def test_a_theme_has_one_category_or_more(gateway: ThreadGateway) -> None:
    assert refused(gateway, categories=[]).keys() == {"categories"}
    assert refused(gateway, categories=["Brown"]).keys() == {"categories.0"}


def test_a_pair_of_colours_is_unique_however_it_is_written(gateway: ThreadGateway) -> None:
    gateway.done("POST", "/manage/themes", {**THEME, "primary": "#ff8800"})
    assert refused(gateway, primary="#F80") == {"primary": TAKEN, "secondary": TAKEN}
    gateway.done("POST", "/manage/themes", {**THEME, "primary": "#ff7a59", "secondary": "#ff8800"})
    gateway.done("POST", "/manage/themes", {**THEME, "primary": "#ff8800", "secondary": "#ff7a58"})


def test_an_edit_takes_no_pair_of_another_theme_and_keeps_its_own(gateway: ThreadGateway) -> None:
    gateway.done("POST", "/manage/themes", THEME)
    other = gateway.done("POST", "/manage/themes", {**THEME, "primary": "#000000"})["id"]
    answer = gateway.operate("PUT", f"/manage/themes/{other}", THEME)
    assert (answer.status_code, answer.json()["fields"].keys()) == (400, {"primary", "secondary"})
    kept = gateway.done("PUT", f"/manage/themes/{other}", {**THEME, "primary": "#000000", "name": "Night"})
    assert kept["name"] == "Night"


def test_a_pair_is_free_once_its_theme_is_removed_denied_or_changed(gateway: ThreadGateway) -> None:
    first = f"/manage/themes/{gateway.done('POST', '/manage/themes', THEME)['id']}"
    gateway.done("PUT", first, {**THEME, "primary": "#000000"})
    second = f"/manage/themes/{gateway.done('POST', '/manage/themes', THEME)['id']}"
    gateway.done("POST", f"{second}/deny", {"reason": "Too loud."})
    third = f"/manage/themes/{gateway.done('POST', '/manage/themes', THEME)['id']}"
    assert gateway.operate("PUT", second, THEME).status_code == 400, "another theme has the pair now"
    gateway.done("DELETE", third)
    assert gateway.done("PUT", second, THEME)["state"] == "in_review"


def test_a_proposed_pair_and_the_approved_one_are_both_taken(gateway: ThreadGateway) -> None:
    here = f"/manage/themes/{gateway.done('POST', '/manage/themes', THEME)['id']}"
    gateway.done("POST", f"{here}/approve", {})
    gateway.done("PUT", here, {**THEME, "primary": "#000000"})
    for primary in ("#1a1033", "#000000"):
        assert refused(gateway, primary=primary).keys() == {"primary", "secondary"}


def test_a_pair_stays_taken_after_a_restart(gateway: ThreadGateway) -> None:
    gateway.done("POST", "/manage/themes", THEME)
    gateway.restart()
    assert refused(gateway, owner_id=OWNER) == {"primary": TAKEN, "secondary": TAKEN}
