"""The languages by name. Invariant: each has the name that its speakers give it."""

from collections.abc import Mapping
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
_BY_NAME: Mapping[str, Language] = {language: language for language in LANGUAGES}


def named(text: str | None) -> Language | None:
    """Return the language whose name in the contract this is; None if it is of none."""
    return _BY_NAME.get(text or "")
