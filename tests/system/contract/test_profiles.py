"""The contract of profiles: a user has one, at a name of their own, and everybody sees it at once."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO

PROFILE = {"name": "Ada Lindqvist", "handle": "ada_l", "bio": "I make bots that play music."}
LINKS = [f"https://example.com/{number}" for number in range(8)]


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[PeopleGateway]:
    with serving(tmp_path) as gateway:
        yield gateway


def made(gateway: PeopleGateway, user: str = ADA, **fields: Any) -> Any:
    return gateway.done("POST", "/manage/profiles", {**PROFILE, "owner_id": user, **fields})


def read(gateway: PeopleGateway, path: str) -> requests.Response:
    return gateway.request("GET", path, allow_redirects=False)


def faults(gateway: PeopleGateway, user: str = BEN, **fields: Any) -> Any:
    """Return the faults of a profile that is refused."""
    answer = gateway.operate(
        "POST", "/manage/profiles", {**PROFILE, "handle": "ben", "owner_id": user, **fields}
    )
    assert answer.status_code == 400, answer.text
    return answer.json()["fields"]


def test_a_profile_is_live_at_once_and_its_id_is_that_of_the_user(gateway: PeopleGateway) -> None:
    shown = made(gateway)
    assert (shown["id"], shown["state"], shown["handle"]) == (ADA, "approved", "ada_l")
    assert read(gateway, "/profiles/ada_l.json").json()["name"] == "Ada Lindqvist"
    edited = gateway.done("PUT", f"/manage/profiles/{ADA}", {**PROFILE, "owner_id": ADA, "bio": "I rest."})
    assert (edited["bio"], edited["change"]) == ("I rest.", None)


def test_each_user_has_one_profile(gateway: PeopleGateway) -> None:
    made(gateway)
    again = gateway.operate("POST", "/manage/profiles", {**PROFILE, "owner_id": ADA, "handle": "another"})
    assert (again.status_code, again.json()["error"]) == (409, "A listing with this id exists.")


@pytest.mark.parametrize("handle", ["abc", "a" * 32, "a.b", "_a_", "0a9"])
def test_a_name_has_3_to_32_of_a_to_z_0_to_9_underscore_and_dot(gateway: PeopleGateway, handle: str) -> None:
    assert made(gateway, handle=handle)["handle"] == handle


@pytest.mark.parametrize("handle", ["ab", "a" * 33, "a-b", "a b", "ädä", "a/b", "..."])
def test_no_other_name_is_taken(gateway: PeopleGateway, handle: str) -> None:
    assert [*faults(gateway, handle=handle)] == ["handle"]


@pytest.mark.parametrize("handle", ["ada_l", "ADA_L", "ada.l", "ada_1", "ada_i", "adaa_l", "ada__l"])
def test_a_name_is_unique_without_regard_to_case_and_look_alikes_are_refused(
    gateway: PeopleGateway, handle: str
) -> None:
    made(gateway)
    assert faults(gateway, handle=handle) == {"handle": "belongs to another listing"}
    made(gateway, BEN, handle="ben")
    form = {**PROFILE, "owner_id": BEN, "handle": handle}
    assert gateway.operate("PUT", f"/manage/profiles/{BEN}", form).json()["fields"] == {
        "handle": "belongs to another listing"
    }


def test_a_name_is_free_again_once_its_profile_is_removed_or_has_another(gateway: PeopleGateway) -> None:
    made(gateway)
    gateway.done("PUT", f"/manage/profiles/{ADA}", {**PROFILE, "owner_id": ADA, "handle": "countess"})
    made(gateway, BEN)
    assert read(gateway, "/profiles/ada_l.json").json()["id"] == BEN
    gateway.done("DELETE", f"/manage/profiles/{BEN}")
    assert made(gateway, CLEO)["handle"] == "ada_l"


@pytest.mark.parametrize(
    "handle", ["admin", "Adm1n", "new", "rand0m", "support_", "me.json", "223456789012345678"]
)
def test_reserved_names_and_those_that_look_like_them_are_refused(
    gateway: PeopleGateway, handle: str
) -> None:
    assert faults(gateway, handle=handle) == {"handle": "is reserved, or looks like a reserved name"}


def test_a_profile_has_up_to_8_social_links(gateway: PeopleGateway) -> None:
    assert made(gateway, links=LINKS)["links"] == LINKS
    told = faults(gateway, links=[*LINKS, "https://example.com/9"])
    assert told == {"links": "list should have at most 8 items after validation, not 9"}


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("http://example.com", "must be https"),
        ("https://me:secret@example.com", "must not carry a user name or password"),
        ("javascript:alert(1)", "must be an http or https URL with a host"),
        ("https://github.com.evil.example/ada", "looks like GitHub, but is not on github.com"),
        ("https://g1thub.com/ada", "looks like GitHub, but is not on github.com"),
        (f"https://example.com/{'a' * 256}", "string should have at most 256 characters"),
    ],
)
def test_a_link_is_https_and_that_of_a_known_platform_is_on_its_own_host(
    gateway: PeopleGateway, link: str, why: str
) -> None:
    assert faults(gateway, links=["https://github.com/ada", link]) == {"links.1": why}


def test_pronouns_are_one_line(gateway: PeopleGateway) -> None:
    assert [*faults(gateway, pronouns="she\nher")] == ["pronouns"]


def test_the_two_colours_are_kept_in_one_spelling(gateway: PeopleGateway) -> None:
    shown = made(gateway, primary="#ABC", secondary="#Eb459E")
    assert (shown["primary"], shown["secondary"]) == ("#aabbcc", "#eb459e")
    assert [*faults(gateway, primary="red")] == ["primary"]


def test_a_report_brings_it_to_the_moderators_who_hide_it_until_they_have_seen_another_version(
    gateway: PeopleGateway,
) -> None:
    made(gateway)
    gateway.done("POST", f"/manage/profiles/{ADA}/reports", {"user": BEN, "reason": "breaks_rules"})
    assert gateway.done("GET", "/manage/reports")["listings"][0]["ref"] == f"profiles/{ADA}"
    gateway.done("POST", f"/manage/profiles/{ADA}/withdraw", {"reason": "It insults."})
    for path in ("/profiles/ada_l", f"/profiles/{ADA}", "/profiles/ada_l.json"):
        assert read(gateway, path).status_code == 404
    edited = gateway.done("PUT", f"/manage/profiles/{ADA}", {**PROFILE, "owner_id": ADA, "bio": "Sorry."})
    assert edited["state"] == "in_review"
    assert read(gateway, "/profiles/ada_l").status_code == 404
    gateway.done("POST", f"/manage/profiles/{ADA}/approve", {})
    assert read(gateway, "/profiles/ada_l.json").json()["bio"] == "Sorry."


def test_a_moderator_brings_a_hidden_one_back_unless_its_name_is_taken(gateway: PeopleGateway) -> None:
    made(gateway)
    here = f"/manage/profiles/{ADA}"
    gateway.done("POST", f"{here}/withdraw", {"reason": "It insults."})
    assert read(gateway, "/profiles/ada_l").status_code == 404
    cleo = gateway.person(CLEO)
    page = cleo.page(f"/review/profiles/{ADA}")
    (seen,) = {*re.findall('name="seen" value="([0-9]+)"', page)}
    assert cleo.post(f"/review/profiles/{ADA}/approve", {"seen": seen}).status_code == 303
    assert read(gateway, "/profiles/ada_l").status_code == 200
    gateway.done("POST", f"{here}/withdraw", {"reason": "It insults."})
    assert made(gateway, BEN)["handle"] == "ada_l"
    assert gateway.operate("POST", f"{here}/approve", {}).status_code == 409
    gateway.done("PUT", here, {**PROFILE, "owner_id": ADA, "handle": "lovelace"})
    gateway.done("POST", f"{here}/approve", {})
    assert read(gateway, "/profiles/lovelace").status_code == 200


def test_the_erasure_of_a_user_removes_the_profile(gateway: PeopleGateway) -> None:
    made(gateway)
    gateway.done("DELETE", f"/manage/users/{ADA}")
    assert gateway.operate("GET", f"/manage/profiles/{ADA}").status_code == 404
    assert read(gateway, "/profiles/ada_l").status_code == 404
    assert made(gateway, BEN)["handle"] == "ada_l"


def test_all_of_it_is_the_same_after_a_restart(gateway: PeopleGateway) -> None:
    made(gateway, links=LINKS, primary="#123456", unlisted=True)
    before = gateway.done("GET", f"/manage/profiles/{ADA}")
    gateway.stop()
    gateway.start()
    assert gateway.done("GET", f"/manage/profiles/{ADA}") == before
    assert read(gateway, "/profiles/ada_l.json").json()["primary"] == "#123456"
    assert faults(gateway, handle="ada.l") == {"handle": "belongs to another listing"}
