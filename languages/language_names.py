"""The languages by name, and the language that somebody prefers.

`Accept-Language` is a list of ranges with weights (RFC 9110, 12.5.4), such as `de-AT, de;q=0.9, en;q=0.5`. Of
the ranges that mean a language of ours, the heaviest counts, and the first of those. A range means a language
by its longest beginning that is the tag of one (RFC 4647, 3.4), or by its first part: `pt-PT` means `pt-BR`.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Literal, get_args

Language = Literal["en", "tr", "de", "fr", "es", "pt-BR", "ru", "ja"]

LANGUAGES: tuple[Language, ...] = get_args(Language)
DEFAULT_LANGUAGE: Language = "en"
OWN_NAMES: Mapping[Language, str] = {
    "en": "English",
    "tr": "Türkçe",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "pt-BR": "Português do Brasil",
    "ru": "Русский",
    "ja": "日本語",
}
FURTHER_NAMES: Mapping[str, str] = {
    "ar": "العربية",
    "cs": "Čeština",
    "fa": "فارسی",
    "hi": "हिन्दी",
    "id": "Bahasa Indonesia",
    "it": "Italiano",
    "ko": "한국어",
    "nl": "Nederlands",
    "pl": "Polski",
    "pt": "Português",
    "sv": "Svenska",
    "th": "ไทย",
    "uk": "Українська",
    "vi": "Tiếng Việt",
    "zh": "中文",
}
"""Languages of listings that are not languages of the site."""
_BY_NAME: Mapping[str, Language] = {language: language for language in LANGUAGES}


def named(text: str | None) -> Language | None:
    """Return the language whose name in the contract this is; None if it is of none."""
    return _BY_NAME.get(text or "")


MOST_CHARACTERS = 1_000
_REMEMBERED = 100
"""The characters of a header whose language is remembered: browsers send few different ones."""
"""The characters of a header that are read."""
_WEIGHTED = re.compile(
    r"\s*(?P<range>[A-Za-z0-9-]{1,64})\s*(?:;\s*[qQ]\s*=\s*(?P<weight>0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*)?"
)
_BY_TAG = {language.lower(): language for language in LANGUAGES}
_BY_FIRST_PART = {tag.partition("-")[0]: language for tag, language in _BY_TAG.items()}


def language_of(tag: str) -> Language | None:
    """Return the language that a tag means, such as `de-AT` or `pt_BR`; None if it is none of ours."""
    plain = tag.lower().replace("_", "-")
    return _BY_TAG.get(plain) or _BY_FIRST_PART.get(plain.partition("-")[0])


def accepted(header: str, among: Collection[Language] = LANGUAGES) -> Language | None:
    """Return our language that an `Accept-Language` prefers; None if it names none of ours."""
    if len(header) <= _REMEMBERED:
        return _known(header, tuple(among))
    return _accepted(header[:MOST_CHARACTERS], among)


def _accepted(header: str, among: Collection[Language]) -> Language | None:
    weights = dict[Language, float]()
    for tag, weight in _ranges(header):
        language = language_of(tag)
        if language in among and language is not None and weight > weights.get(language, 0.0):
            weights[language] = weight
    return max(weights, key=weights.__getitem__, default=None)


_known = lru_cache(1_024)(_accepted)


def _ranges(header: str) -> Iterator[tuple[str, float]]:
    """Yield the ranges that can be read, with their weights."""
    for part in header.split(","):
        found = _WEIGHTED.fullmatch(part)
        if found is not None:
            yield found["range"], float(found["weight"] or 1)
