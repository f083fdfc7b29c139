"""web/locales: every text of pages is translated into every language, with its names, forms and markup."""

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.pofile import read_po

from languages.language_names import DEFAULT_LANGUAGE, LANGUAGES
from tests.support.gateways import ROOT

LOCALES = ROOT / "web" / "locales"
TRANSLATED = [language for language in LANGUAGES if language != DEFAULT_LANGUAGE]
MAPPINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["babel"]["mappings"]
SPEAKING = re.search(r"^SPEAKING := \$\(wildcard (.+)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
TAG = re.compile(r"<[^>]*>")
PLACE = re.compile(r"%\((\w+)\)s")
SAME_IN_ENGLISH = re.compile(r"[\W\d_]*")


def speaking_rooms() -> list[str]:
    """The rooms with texts of pages, as `make messages` reads them."""
    assert SPEAKING is not None
    return [room for room in SPEAKING[1].split() if (ROOT / room).is_dir()]


@cache
def texts_of_the_source() -> dict[str, str | None]:
    """Every English text of pages, with its form for many."""
    methods = [(each["pattern"], each["method"]) for each in MAPPINGS]
    options = {each["pattern"]: {**each} for each in MAPPINGS}
    keywords = {**DEFAULT_KEYWORDS, "Text": None}
    texts: dict[str, str | None] = {}
    for room in speaking_rooms():
        for _, _, text, _, _ in extract_from_dir(ROOT / room, methods, options, keywords=keywords):
            one, many = text if isinstance(text, tuple) else (text, None)
            texts[one] = many
    return texts


def po_of(language: str) -> Path:
    return LOCALES / language.replace("-", "_") / "LC_MESSAGES" / "web.po"


def catalog_of(language: str) -> Catalog:
    with po_of(language).open("rb") as file:
        return read_po(file, abort_invalid=True)


CATALOGS: dict[str, Catalog] = {language: catalog_of(language) for language in TRANSLATED}


def messages(language: str) -> list[Message]:
    return [message for message in CATALOGS[language] if message.id]


def forms(text: object) -> tuple[str, ...]:
    """The English of a message, or its translation, as one form or several."""
    return tuple(map(str, text)) if isinstance(text, list | tuple) else (str(text),)


def places(text: str) -> Counter[str]:
    """The places for values: `%(name)s` in templates, `{name}` in a `Text`."""
    found = PLACE.findall(text) or [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    return Counter(found)


def tags(text: str) -> Counter[str]:
    return Counter(TAG.findall(text))


def test_there_are_texts_to_translate() -> None:
    assert len(texts_of_the_source()) > 500
    assert "{kind}: {about}" in texts_of_the_source()
    assert texts_of_the_source()["%(num)s new notice"] == "%(num)s new notices"


def test_every_catalog_is_of_a_language() -> None:
    assert {path.name.replace("_", "-") for path in LOCALES.iterdir()} == {*TRANSLATED}


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_catalog_has_the_texts_of_the_source_and_no_others(language: str) -> None:
    """`make messages` brings them in."""
    found = {forms(message.id)[0]: message for message in messages(language)}
    assert found.keys() == texts_of_the_source().keys()
    for one, many in texts_of_the_source().items():
        assert forms(found[one].id)[1:] == (() if many is None else (many,))


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated_with_all_its_forms(language: str) -> None:
    for message in messages(language):
        assert not message.fuzzy, message.id
        translated = forms(message.string)
        assert all(each.strip() for each in translated), message.id
        assert len(translated) == (CATALOGS[language].num_plurals if message.pluralizable else 1), message.id


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_has_the_places_and_the_markup_of_its_text(language: str) -> None:
    for message in messages(language):
        english = forms(message.id)
        for each in forms(message.string):
            assert places(each) in [places(form) for form in english], message.id
            assert tags(each) in [tags(form) for form in english], message.id


@pytest.mark.parametrize("language", [DEFAULT_LANGUAGE, *TRANSLATED])
def test_a_text_stands_in_an_attribute_without_breaking_it(language: str) -> None:
    """Templates take a text as markup, so it has no quote and no angle bracket but those of its tags."""
    said = (
        texts_of_the_source()
        if language == DEFAULT_LANGUAGE
        else [f for m in messages(language) for f in forms(m.string)]
    )
    for text in said:
        assert not re.search(r"[\"<>]", TAG.sub("", text)), text
        assert "%" not in PLACE.sub("", text), text


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_sentence_ends_as_its_english_does(language: str) -> None:
    """A label has no full stop, and a sentence has one."""
    for message in messages(language):
        for each in forms(message.string):
            assert (each[-1] in ".。") == (forms(message.id)[0][-1] == "."), message.id


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_catalog_says_how_it_was_made_and_how_it_speaks(language: str) -> None:
    head = CATALOGS[language].header_comment
    assert "machine" in head
    assert "address" in head
