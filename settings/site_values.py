"""The values of the section `site`. Invariant: each file that it names was read and checked once.

A path is relative to the folder in which the gateway starts. The bytes of a logo and the texts of pages are
untrusted: `grammars/logos.py` checks a logo, and `web/markdown.py` cleans a text.
"""

import re
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, PlainValidator

from grammars.accents import read_accent
from grammars.http_urls import UrlRefused, read_url
from grammars.logos import MOST_PNG_BYTES, Logo, read_logo
from languages.language_names import Language
from settings.values import line, only, split

MOST_TEXT_BYTES = 65_536
MOST_URL = 512
_MAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+")


class SiteText(NamedTuple):
    """A text of the owner: the URL of a page elsewhere, or Markdown for a page of ours."""

    url: str | None = None
    markdown: str | None = None


def _url(text: str) -> str:
    """Return an https URL without credentials."""
    try:
        is_https = read_url(text).scheme == "https"
    except UrlRefused as refused:
        raise ValueError(str(refused)) from None
    if not is_https or len(text) > MOST_URL:
        raise ValueError(f"must begin with https://, and have at most {MOST_URL} characters")
    return text


def _contact(text: str) -> str:
    """Return the address of a link: of a page, or `mailto:`."""
    if _MAIL.fullmatch(text) is not None:
        return f"mailto:{text}"
    if "://" not in text:
        raise ValueError("must be an e-mail address, or a URL that begins with https://")
    return _url(text)


def _content(value: object, most_bytes: int) -> bytes:
    """Return the content of the file that a setting names. Raises ValueError."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("must be the path of a file")
    path = Path(value)
    try:
        if path.exists() and not path.is_file():  # a pipe would never end
            raise ValueError(f"the path {path} is not that of a file")
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise ValueError(f"the file {path} cannot be read: {error.strerror}") from None
    if len(content) > most_bytes:
        raise ValueError(f"the file {path} is larger than {most_bytes // 1_024} KiB")
    return content


def _logo(value: object) -> Logo:
    content = _content(value, MOST_PNG_BYTES)
    try:
        return read_logo(content)
    except ValueError as refused:
        raise ValueError(f"the file {value} {refused}") from None


def _text(value: object) -> SiteText:
    if isinstance(value, str) and "://" in value:
        return SiteText(url=_url(value))
    try:
        return SiteText(markdown=_content(value, MOST_TEXT_BYTES).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError(f"the file {value} is not a text in UTF-8") from None


SiteName = Annotated[str, line(40)]
Tagline = Annotated[str, line(120)]
LinkText = Annotated[str, line(40)]
WebUrl = Annotated[str, AfterValidator(_url)]
Accent = Annotated[str, AfterValidator(read_accent)]
Contact = Annotated[str, AfterValidator(_contact)]
LogoFile = Annotated[Logo, PlainValidator(_logo)]
TextFile = Annotated[SiteText, PlainValidator(_text)]
MOST_LINKS = only(lambda given: len(given) <= 8, "must have at most 8 links")
SiteLanguages = Annotated[
    tuple[Language, ...],
    BeforeValidator(split),
    only(bool, "must name a language"),
    only(lambda given: len({*given}) == len(given), "must not name a language twice"),
]
