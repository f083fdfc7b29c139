"""languages/catalogs.py: a catalog is compiled as it is, and one that cannot be read is an error."""

from pathlib import Path

import pytest
from babel.messages.pofile import PoFileError

from languages import catalogs
from languages.catalogs import read_catalog

HEAD = 'msgid ""\nmsgstr ""\n"Language: ru\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n'
RULE = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"
PLURAL_FORMS = f'"Plural-Forms: nplurals=3; plural=({RULE});\\n"\n'


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a room's catalogs for Brazil."""
    monkeypatch.setattr(catalogs, "files", lambda room: tmp_path / room)
    folder = tmp_path / "a-room" / "locales" / "pt_BR" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    return folder


def test_a_text_is_translated_and_one_that_is_not_there_stays_english(room: Path) -> None:
    (room / "some.po").write_text(f'{HEAD}\nmsgid "Yes"\nmsgstr "Sim"\n')
    catalog = read_catalog("a-room", "some", "pt-BR")
    assert (catalog.gettext("Yes"), catalog.gettext("No")) == ("Sim", "No")


def test_a_number_has_the_form_that_its_language_has_for_it(room: Path) -> None:
    forms = 'msgid "vote"\nmsgid_plural "votes"\nmsgstr[0] "one"\nmsgstr[1] "few"\nmsgstr[2] "many"\n'
    (room / "some.po").write_text(f"{HEAD}{PLURAL_FORMS}\n{forms}")
    said = read_catalog("a-room", "some", "pt-BR").ngettext
    assert [said("vote", "votes", n) for n in (1, 3, 5, 11, 21)] == ["one", "few", "many", "many", "one"]


def test_a_translation_that_is_not_certain_is_not_used(room: Path) -> None:
    (room / "some.po").write_text(f'{HEAD}\n#, fuzzy\nmsgid "Yes"\nmsgstr "Talvez"\n')
    assert read_catalog("a-room", "some", "pt-BR").gettext("Yes") == "Yes"


def test_a_catalog_that_cannot_be_read_is_an_error(room: Path) -> None:
    (room / "some.po").write_text(f'{HEAD}\nmsgid "Yes"\nSim\n')
    with pytest.raises(PoFileError):
        read_catalog("a-room", "some", "pt-BR")


def test_english_needs_no_catalog() -> None:
    assert read_catalog("no-room", "some", "en").gettext("Yes") == "Yes"
