"""The section `site`: every mistake is reported at the start, by the name of its setting."""

from pathlib import Path

import pytest

from languages.language_names import LANGUAGES
from settings.model import load_settings
from settings.site_values import MOST_TEXT_BYTES, SiteText
from tests.support.gateways import ROOT
from tests.support.given_settings import mistakes


def wrong(name: str, value: object) -> list[str]:
    return mistakes(flags={f"site.{name}": value})


def test_without_the_section_the_platform_is_called_like_the_program_and_offers_all_languages() -> None:
    site = load_settings(None, {}, {}).site
    assert (site.name, site.logo, site.accent, site.terms) == ("Votegate", None, None, None)
    assert site.languages == LANGUAGES


@pytest.mark.parametrize(
    "brand", sorted(ROOT.glob("examples/brands/*.yaml")), ids=lambda path: str(path.stem)
)
def test_each_example_of_a_brand_is_valid(brand: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # the paths in it are those of the repository
    site = load_settings(brand, {}, {}).site
    assert site.logo is not None
    assert site.accent is not None


def test_the_files_of_texts_are_read_once_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "terms.md").write_text("\ufeffBe kind.", "utf-8")
    site = load_settings(None, {}, {"site.terms": str(tmp_path / "terms.md")}).site
    assert site.terms == SiteText(markdown="Be kind.")
    privacy = load_settings(None, {}, {"site.privacy": "https://a.example/p"}).site.privacy
    assert privacy == SiteText(url="https://a.example/p")


@pytest.mark.parametrize(
    ("contact", "link"),
    [
        ("a.b+c@mail.example", "mailto:a.b+c@mail.example"),
        ("https://a.example/help", "https://a.example/help"),
    ],
)
def test_a_contact_is_a_link(contact: str, link: str) -> None:
    assert load_settings(None, {}, {"site.contact": contact}).site.contact == link


LINE = "must be 1 to 40 characters on one line, without spaces around them"
URL = "must begin with https://, and have at most 512 characters"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("name", "", LINE),
        ("name", "x" * 41, LINE),
        ("name", "Bots\nof Ada", LINE),
        ("name", "\u202eBots", LINE),
        ("accent", "green", "must be a colour such as #3b5bdb"),
        ("contact", "call me", "must be an e-mail address, or a URL that begins with https://"),
        ("contact", "http://a.example", URL),
        (
            "contact",
            "a@b.example?bcc=c@d.example",
            "must be an e-mail address, or a URL that begins with https://",
        ),
        ("terms", "http://a.example/terms", URL),
        ("privacy", "javascript://a.example", "must be an http or https URL with a host"),
        ("languages", [], "must name a language"),
        ("languages", ["de", "de"], "must not name a language twice"),
        ("logo", "", "must be the path of a file"),
    ],
)
def test_a_wrong_value_is_reported(name: str, value: object, reason: str) -> None:
    assert wrong(name, value) == [f"site.{name}: {reason}"]


def test_an_unknown_language_is_reported_with_those_that_there_are() -> None:
    (mistake,) = wrong("languages", ["de", "tlh"])
    assert mistake.startswith("site.languages.1: input should be 'en', 'tr'")


def test_a_file_that_cannot_be_used_is_reported_with_its_path(tmp_path: Path) -> None:
    missing, binary, large = tmp_path / "no.md", tmp_path / "binary.md", tmp_path / "large.md"
    binary.write_bytes(b"\xff")
    large.write_bytes(bytes(MOST_TEXT_BYTES + 1))
    assert wrong("terms", str(missing)) == [
        f"site.terms: the file {missing} cannot be read: No such file or directory"
    ]
    assert wrong("terms", str(binary)) == [f"site.terms: the file {binary} is not a text in UTF-8"]
    assert wrong("privacy", str(large)) == [f"site.privacy: the file {large} is larger than 64 KiB"]
    assert wrong("logo", str(tmp_path)) == [f"site.logo: the path {tmp_path} is not that of a file"]
    assert wrong("logo", str(binary)) == [
        f"site.logo: the file {binary} is neither a PNG nor an SVG in UTF-8"
    ]


def test_a_hostile_logo_stops_the_start_with_the_reason(tmp_path: Path) -> None:
    logo = tmp_path / "logo.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script/></svg>')
    (mistake,) = wrong("logo", str(logo))
    assert mistake.startswith(f"site.logo: the file {logo} has <script>, which a logo may not have")


def test_links_are_a_list_of_texts_and_urls() -> None:
    links = [
        {"text": "Blog", "url": "javascript:alert(1)"},
        {"text": "", "url": "https://a.example"},
        {"text": "A"},
    ]
    assert wrong("links", links) == [
        "site.links.0.url: must be an http or https URL with a host",
        f"site.links.1.text: {LINE}",
        "site.links.2.url: field required",
    ]
    nine = [{"text": "Blog", "url": "https://a.example"}] * 9
    assert wrong("links", nine) == ["site.links: must have at most 8 links"]
