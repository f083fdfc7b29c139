"""Emojis on pages: their pictures, downloads that count a visitor once a day, and the look of a moderator."""

import io
import re
import zipfile

import pytest
from PIL import Image

from tests.support.gateways import WAIT_SECONDS
from tests.support.listed_emojis import approved, digest, submitted, uploaded
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"server.trusted_proxies": ["127.0.0.1"]}


@pytest.fixture(scope="module")
def one(gateway: PeopleGateway) -> str:
    return approved(gateway, digest(gateway, 1), name="single")


@pytest.fixture(scope="module")
def package(gateway: PeopleGateway) -> str:
    return approved(gateway, *(digest(gateway, number, 2) for number in range(10, 14)))


@pytest.fixture
def stranger(gateway: PeopleGateway) -> Person:
    """A visitor on another day than those of the tests before."""
    gateway.clock.advance(86_400)
    return gateway.person(None)


def count(stranger: Person, here: str) -> int:
    return int(stranger.get(f"{here}.json").json()["download_count"])


def test_a_page_and_its_card_show_the_pictures(stranger: Person, package: str) -> None:
    files = stranger.get(f"{package}.json").json()["pictures"]
    assert len(files) == 4
    page = stranger.page(package)
    assert all(f'src="/files/{each["digest"]}.gif"' in page for each in files)
    assert "shroom_4" in words(page)
    assert f'src="/files/{files[0]["digest"]}.gif"' in stranger.page("/emojis")


def test_a_link_shows_the_picture(gateway: PeopleGateway, stranger: Person, package: str) -> None:
    page = stranger.page(package)
    file = gateway.done("GET", f"/manage{package}")["pictures"][0]
    address = f"{gateway.base_url}/files/{file['digest']}.gif"
    assert f'<meta property="og:image" content="{address}">' in page
    assert f'<meta property="og:image:width" content="{file["width"]}">' in page
    assert '<meta name="twitter:card" content="summary">' in page
    assert stranger.get(address.removeprefix(gateway.base_url)).status_code == 200


def test_owners_and_moderators_see_the_picture_in_place_of_a_letter(
    gateway: PeopleGateway, cleo: Person
) -> None:
    waiting = submitted(gateway, digest(gateway, 70), name="waiting").removeprefix("/manage")
    file = gateway.done("GET", f"/manage{waiting}")["pictures"][0]
    shown = f'src="/files/{file["digest"]}.png"'
    ada = gateway.person(ADA)
    for person, path in (
        *((cleo, each) for each in ("/review", f"/review{waiting}")),
        *((ada, each) for each in ("/me", f"{waiting}/manage", f"{waiting}/manage/owners")),
    ):
        assert shown in person.page(path), path


def test_animated_is_computed_from_the_files_and_filters_a_list(
    stranger: Person, one: str, package: str
) -> None:
    def names(motion: str) -> set[str]:
        found = stranger.get(f"/emojis.json?category={motion}").json()["listings"]
        return {f"/emojis/{each['id']}" for each in found}

    assert package in names("Animated")
    assert one in names("Static")
    assert not names("Animated") & names("Static")


def test_one_emoji_is_downloaded_as_its_file(stranger: Person, one: str) -> None:
    led = stranger.get(f"{one}/download")
    assert led.status_code == 303
    answer = stranger.get(led.headers["Location"])
    assert answer.content.startswith(b"\x89PNG")
    assert 'filename="single.png"' in answer.headers["Content-Disposition"]


def test_a_package_is_downloaded_as_a_zip_with_safe_names(stranger: Person, package: str) -> None:
    answer = stranger.get(f"{package}/download")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/zip")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert 'filename="shroom.zip"' in answer.headers["Content-Disposition"]
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert archive.testzip() is None
    assert archive.namelist() == [f"shroom_{number}.gif" for number in range(1, 5)]
    files = stranger.get(f"{package}.json").json()["pictures"]
    assert [each.file_size for each in archive.infolist()] == [each["size"] for each in files]


def test_one_of_a_package_is_downloaded_by_its_number(stranger: Person, package: str) -> None:
    led = stranger.get(f"{package}/download?file=2")
    assert "download=shroom_2" in led.headers["Location"]
    for number in ("0", "5", "x", "01", "-1"):
        assert stranger.get(f"{package}/download?file={number}").status_code == 404


def test_a_visitor_counts_once_a_day(gateway: PeopleGateway, stranger: Person, package: str) -> None:
    before = count(stranger, package)
    for query in ("", "?file=1", ""):
        stranger.get(f"{package}/download{query}")
    assert count(stranger, package) == before + 1
    gateway.clock.advance(86_400)
    stranger.get(f"{package}/download")
    assert count(stranger, package) == before + 2
    assert gateway.done("GET", f"/manage{package}")["download_count"] == before + 2
    assert f"Downloads {before + 2}" in words(stranger.page(package))


def test_other_addresses_are_other_visitors(stranger: Person, gateway: PeopleGateway, one: str) -> None:
    before = count(stranger, one)
    for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "192.0.2.1"):
        headers = {"X-Forwarded-For": address}
        url = f"{gateway.base_url}{one}/download"
        gateway.session.get(url, headers=headers, allow_redirects=False, timeout=WAIT_SECONDS)
    assert count(stranger, one) == before + 3, "addresses of one customer's network are one visitor"


def test_a_download_before_the_approval_is_for_the_owner_and_not_counted(
    gateway: PeopleGateway, stranger: Person
) -> None:
    manage = submitted(gateway, digest(gateway, 30))
    here = manage.removeprefix("/manage")
    assert stranger.get(f"{here}/download").status_code == 404
    assert gateway.person(ADA).get(f"{here}/download").status_code == 303
    assert gateway.done("GET", manage)["download_count"] == 0


def test_a_moderator_sees_the_pictures_on_both_grounds_and_listed_ones_that_are_alike(
    gateway: PeopleGateway, cleo: Person
) -> None:
    listed = approved(gateway, digest(gateway, 50), name="the_first")
    again = submitted(gateway, digest(gateway, 51), name="the_copy")
    path = f"/review{again.removeprefix('/manage')}"
    page = cleo.page(path)
    assert page.count('" data-look="light"><ul') == page.count('" data-look="dark"><ul') == 1
    assert f'href="{listed}"' in page
    assert "the_first" in words(page)
    assert "Listed pictures look like it" in words(page)
    assert "look like each other" not in words(page)


def test_a_moderator_sees_which_pictures_of_a_package_look_like_each_other(
    gateway: PeopleGateway, cleo: Person
) -> None:
    others = unlike(gateway), uploaded(gateway, photo("nothing"))
    package = submitted(gateway, *others, digest(gateway, 52), digest(gateway, 53), name="twins")
    page = cleo.page(f"/review{package.removeprefix('/manage')}")
    twins = page.partition("Pictures in it look like each other")[2].partition("</li>")[0]
    assert re.findall('alt="Picture ([0-9])"', twins) == ["3", "4"]


def test_a_picture_unlike_all_others_has_none_that_is_alike(gateway: PeopleGateway, cleo: Person) -> None:
    other = submitted(gateway, unlike(gateway), name="of_its_own")
    page = words(cleo.page(f"/review{other.removeprefix('/manage')}"))
    assert "Nothing listed looks like it No listed picture is alike." in page


@pytest.mark.parametrize("change", ["half the size", "JPEG colours", "a WebP", "a GIF", "one pixel"])
def test_a_copy_that_was_resized_or_saved_again_is_alike(
    gateway: PeopleGateway, cleo: Person, change: str
) -> None:
    listed = approved(gateway, uploaded(gateway, photo("nothing")), name="an_original")
    again = submitted(gateway, uploaded(gateway, photo(change)), name="a_thief")
    page = cleo.page(f"/review{again.removeprefix('/manage')}")
    assert f'href="{listed}"' in page
    gateway.done("DELETE", f"/manage{listed}")
    gateway.done("DELETE", again)


def photo(change: str) -> bytes:
    """Return a picture with soft shades, as a thief might change it."""
    shades = Image.effect_mandelbrot((300, 260), (-2, -1.5, 1, 1.5), 60).convert("RGB")
    if change == "half the size":
        shades = shades.resize((96, 83), Image.Resampling.BILINEAR)
    if change == "one pixel":
        shades.putpixel((3, 3), (255, 0, 255))
    if change == "JPEG colours":
        lossy = io.BytesIO()
        shades.save(lossy, "JPEG", quality=40)
        shades = Image.open(lossy)
    file = io.BytesIO()
    shades.save(file, {"a WebP": "WEBP", "a GIF": "GIF"}.get(change, "PNG"))
    return file.getvalue()


def unlike(gateway: PeopleGateway) -> str:
    """Upload a picture of stripes, and return its digest."""
    file = io.BytesIO()
    stripes = Image.new("RGB", (72, 64))
    stripes.putdata(
        [(255, 255, 255) if (at // 8 + at // 72 // 8) % 2 else (0, 0, 0) for at in range(72 * 64)]
    )
    stripes.save(file, "PNG")
    return uploaded(gateway, file.getvalue())


@pytest.mark.parametrize("named", ["none", "../../operator.token", "0" * 63, "é" * 64])
def test_a_form_that_names_no_file_by_a_digest_is_refused_at_its_field(
    gateway: PeopleGateway, named: str
) -> None:
    answer = gateway.person(ADA).post("/emojis/new", {"name": "shroom", "pictures": named})
    assert answer.status_code == 400
    assert 'href="#pictures' in answer.text
