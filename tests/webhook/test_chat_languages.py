"""webhook/chat.py: every text of the messages is translated into every language."""

import io
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Message
from babel.messages.extract import extract
from babel.messages.pofile import read_po

from kinds.registry import KINDS
from languages.language_names import DEFAULT_LANGUAGE, LANGUAGES
from webhook import chat
from webhook.chat import translator

LOCALES = Path(chat.__file__).parent / "locales"
TRANSLATED = [language for language in LANGUAGES if language != DEFAULT_LANGUAGE]
with (LOCALES.parent / "chat.py").open("rb") as source:
    SAID = [text for _, text, _, _ in extract("python", source, {"say": None}) if isinstance(text, str)]
TEXTS = sorted([*SAID, *(kind.webhook.voted for kind in KINDS if kind.webhook is not None)])


def messages(language: str) -> list[Message]:
    """Return the texts of the catalog, without its header."""
    po = LOCALES / language.replace("-", "_") / "LC_MESSAGES/votegate.po"
    return [message for message in read_po(io.BytesIO(po.read_bytes())) if message.id]


def fields(text: str) -> list[str | None]:
    return [name for _, name, _, _ in Formatter().parse(text) if name is not None]


def test_there_are_texts_to_translate() -> None:
    assert {"New vote for {name}", "{user} voted for the bot."} <= {*TEXTS}


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_catalog_has_the_texts_of_the_source_and_no_others(language: str) -> None:
    assert sorted(str(message.id) for message in messages(language)) == TEXTS


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated_with_its_fields(language: str) -> None:
    for message in messages(language):
        text = translator(language)(str(message.id))
        assert text == message.string, "an uncertain translation is not used"
        assert text not in {"", message.id}
        assert fields(text) == fields(str(message.id))


def test_every_catalog_is_of_a_language() -> None:
    assert {path.name.replace("_", "-") for path in LOCALES.iterdir()} == set(TRANSLATED)


@pytest.mark.parametrize("language", [DEFAULT_LANGUAGE, "tlh", "", "../de"])
def test_english_is_the_source_and_what_is_left(language: str) -> None:
    assert [translator(language)(text) for text in TEXTS] == TEXTS
