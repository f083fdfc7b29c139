"""Banners and screenshots of bots and servers: their limits, and the pages that show them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from forms.file_fields import FileRef
from kinds.bots import BOTS
from kinds.kind import Kind
from kinds.servers import SERVERS
from tests.support.contract import uploaded
from tests.support.gateways import BOT_SUBMISSION, SERVER_SUBMISSION
from tests.support.media_files import picture, sound
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO

FORMS = {BOTS: BOT_SUBMISSION, SERVERS: SERVER_SUBMISSION}
both_kinds = pytest.mark.parametrize("kind", FORMS, ids=str)


@pytest.fixture
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("pictures") / "data", **{"review.edits": "before"}) as gateway:
        yield gateway


def banner(gateway: PeopleGateway, kind: Kind, size: tuple[int, int] = (900, 300)) -> FileRef:
    return uploaded(gateway, kind, "banner", picture(size=size), ADA)


def shots(gateway: PeopleGateway, kind: Kind, count: int) -> list[str]:
    pictures = (picture(size=(300 + number, 200)) for number in range(count))
    return [uploaded(gateway, kind, "screenshots", each, ADA).digest for each in pictures]


def sent(gateway: PeopleGateway, kind: Kind, **files: Any) -> dict[str, Any]:
    made: dict[str, Any] = gateway.done("POST", f"/manage/{kind}", {**FORMS[kind], "owner_id": ADA, **files})
    return made


@both_kinds
def test_a_larger_banner_is_fitted_into_1500_by_500(gateway: PeopleGateway, kind: Kind) -> None:
    file = banner(gateway, kind, (3_000, 1_000))
    assert (file.width, file.height) == (1_500, 500)


@both_kinds
def test_a_sound_is_no_banner(gateway: PeopleGateway, kind: Kind) -> None:
    path = f"{gateway.base_url}/manage/files?user={ADA}&kind={kind}&field=banner"
    headers = {"Authorization": f"Bearer {gateway.operator_token}"}
    answer = gateway.session.post(path, sound(seconds=0.2), headers=headers, timeout=60)
    assert answer.json()["fields"] == {"banner": "must be a file of one of these types: PNG, JPG or WEBP"}


@both_kinds
def test_the_page_shows_banner_and_screenshots_with_sizes_and_texts(
    gateway: PeopleGateway, kind: Kind
) -> None:
    file = banner(gateway, kind)
    made = sent(gateway, kind, banner=file.digest, screenshots=shots(gateway, kind, 2))
    here = f"/{kind}/{made['id']}"
    gateway.done("POST", f"/manage{here}/approve", {})
    page = gateway.person(None).get(here).text
    assert f'<img class="crown" src="{file.path}" alt="" width="900" height="300">' in page
    name = made["name"]
    for number, width in ((1, 300), (2, 301)):
        assert re.search(
            rf'<img src="/files/[0-9a-f]{{64}}\.png" alt="Screenshot {number} of {name}" width="{width}" '
            r'height="200" loading="lazy">',
            page,
        )
    shown = gateway.person(None).get(f"{here}.json").json()
    assert (shown["banner"]["digest"], len(shown["screenshots"])) == (file.digest, 2)
    assert gateway.person(None).get(file.path).headers["Content-Type"] == "image/png"


def test_a_new_banner_waits_for_review_and_then_everybody_sees_it(gateway: PeopleGateway) -> None:
    made = sent(gateway, BOTS)
    here = f"/bots/{made['id']}"
    gateway.done("POST", f"/manage{here}/approve", {})
    file = banner(gateway, BOTS)
    written = {name: made[name] for name in ("owner_id", *BOTS.fields)}
    gateway.done("PUT", f"/manage{here}", {**written, "banner": file.digest})
    review = gateway.person(CLEO).get(f"/review{here}?view=page").text
    assert f'src="{file.path}"' in review
    changes = gateway.person(CLEO).get(f"/review{here}?view=changes").text
    assert f'src="{file.path}" alt="A picture"' in changes
    assert file.digest not in words(changes)
    assert gateway.person(CLEO).get(file.path).status_code == 200
    ben = gateway.person(BEN)
    assert file.path not in ben.get(here).text
    assert ben.get(file.path).status_code == 404
    version = gateway.done("GET", f"/manage{here}")["change"]["version"]
    gateway.done("POST", f"/manage{here}/change/agree", {"version": version})
    assert file.path in ben.get(here).text
    assert ben.get(file.path).status_code == 200


def test_the_owner_adds_and_removes_a_banner_on_the_page_of_the_profile(gateway: PeopleGateway) -> None:
    made = sent(gateway, BOTS)
    here, ada = f"/bots/{made['id']}", gateway.person(ADA)
    assert 'name="banner"' in ada.get(f"{here}/manage/profile").text
    texts = [
        ("name", (None, made["name"])),
        ("short_description", (None, made["short_description"])),
        ("description", (None, made["description"])),
        *(("categories", (None, each)) for each in made["categories"]),
    ]
    given = [*texts, ("banner", ("wide.png", picture(size=(600, 200))))]
    assert ada.request("POST", f"{here}/manage/profile", files=given).status_code == 303
    kept = gateway.done("GET", f"/manage{here}")["banner"]
    assert (kept["width"], kept["height"]) == (600, 200)
    assert ada.request("POST", f"{here}/manage/profile", files=texts).status_code == 303
    assert gateway.done("GET", f"/manage{here}")["banner"] is None
