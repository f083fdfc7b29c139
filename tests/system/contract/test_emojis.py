"""Emojis: one picture or a package of 4 to 9, their limits, and what the program computes of the files."""

from typing import Any

import pytest
import requests

from tests.support.gateways import OWNER, WAIT_SECONDS, ThreadGateway
from tests.support.media_files import picture

FIELDS = {"owner_id": OWNER, "name": "tiny_mushroom", "categories": ["Cute"]}
PACKAGE = "must be one, or 4 to 9 for a package"


def upload(gateway: ThreadGateway, content: bytes, field: str = "pictures") -> requests.Response:
    url = f"{gateway.base_url}/manage/files?user={OWNER}&kind=emojis&field={field}"
    headers = {"Authorization": f"Bearer {gateway.operator_token}"}
    return gateway.session.request("POST", url, data=content, headers=headers, timeout=WAIT_SECONDS)


def uploaded(gateway: ThreadGateway, number: int = 0, kind: str = "PNG", frames: int = 1) -> dict[str, Any]:
    """Upload a picture, another one for each number."""
    answer = upload(gateway, picture(kind, frames, (60 + number, 60)))
    assert answer.status_code == 201, answer.text
    file: dict[str, Any] = answer.json()["file"]
    return file


def submit(gateway: ThreadGateway, count: int, **changed: Any) -> requests.Response:
    digests = [uploaded(gateway, number)["digest"] for number in range(count)]
    return gateway.operate("POST", "/manage/emojis", {**FIELDS, "pictures": digests, **changed})


@pytest.mark.parametrize("count", [1, 4, 9])
def test_an_emoji_is_one_picture_and_a_package_has_4_to_9(gateway: ThreadGateway, count: int) -> None:
    answer = submit(gateway, count)
    assert answer.status_code == 201, answer.text
    assert len(answer.json()["pictures"]) == count
    assert (answer.json()["state"], answer.json()["download_count"]) == ("in_review", 0)
    assert len(answer.json()["id"]) == 12


@pytest.mark.parametrize("count", [0, 2, 3, 10])
def test_any_other_number_of_pictures_is_refused(gateway: ThreadGateway, count: int) -> None:
    answer = submit(gateway, count)
    assert answer.status_code == 400
    assert answer.json()["fields"].keys() == {"pictures"}
    if count in {2, 3}:
        assert answer.json()["fields"]["pictures"] == PACKAGE


@pytest.mark.parametrize(
    "name", ["a", "a" * 21, "Tiny", "tiny mushroom", "tiny-mushroom", "", "é" * 3, "a/b"]
)
def test_a_name_is_2_to_20_lower_case_letters_digits_and_underscores(
    gateway: ThreadGateway, name: str
) -> None:
    faults = submit(gateway, 1, name=name).json()["fields"]
    assert faults == {"name": "must be 2 to 20 of a-z, 0-9 and _"}


@pytest.mark.parametrize("categories", [[], ["Animated"], ["Static"], ["Cute", "Cute"], ["Pepe"] * 5])
def test_categories_are_chosen_from_the_list_and_animated_is_never_chosen(
    gateway: ThreadGateway, categories: list[str]
) -> None:
    faults = submit(gateway, 1, categories=categories).json()["fields"]
    assert {name.partition(".")[0] for name in faults} == {"categories"}


def test_the_same_picture_twice_is_refused(gateway: ThreadGateway) -> None:
    one, *others = (uploaded(gateway, number)["digest"] for number in range(4))
    body = {**FIELDS, "pictures": [one, *others, one]}
    answer = gateway.operate("POST", "/manage/emojis", body)
    assert answer.json()["fields"] == {"pictures": "must not name one twice"}


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP"])
def test_a_picture_is_fitted_into_128_by_128(gateway: ThreadGateway, kind: str) -> None:
    file = upload(gateway, picture(kind, 1, (300, 200))).json()["file"]
    assert (file["width"], file["height"]) == (128, 85)
    assert file["size"] <= 256 << 10


@pytest.mark.parametrize("content", [picture("JPEG"), b"<svg xmlns='http://www.w3.org/2000/svg'/>", b""])
def test_another_type_of_file_is_refused(gateway: ThreadGateway, content: bytes) -> None:
    answer = upload(gateway, content)
    assert (answer.status_code, answer.json()["fields"].keys()) == (400, {"pictures"})


def test_a_gateway_without_pages_serves_the_files_of_public_listings(gateway: ThreadGateway) -> None:
    content = picture("PNG", 1, (97, 61))
    file = upload(gateway, content).json()["file"]
    answer = gateway.operate("POST", "/manage/emojis", {**FIELDS, "pictures": [file["digest"]]})
    url = f"{gateway.base_url}/files/{file['digest']}.png"
    assert gateway.session.get(url, timeout=WAIT_SECONDS).status_code == 404
    gateway.done("POST", f"/manage/emojis/{answer.json()['id']}/approve", {})
    served = gateway.session.get(url, timeout=WAIT_SECONDS)
    assert (served.status_code, len(served.content)) == (200, file["size"])
    assert served.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert served.headers["x-content-type-options"] == "nosniff"
    assert "immutable" in served.headers["cache-control"]
    for name in ("x", f"{file['digest']}.gif", f"{'0' * 64}.png", "..%2Foperator.token"):
        missing = gateway.session.get(f"{gateway.base_url}/files/{name}", timeout=WAIT_SECONDS)
        assert missing.status_code == 404
