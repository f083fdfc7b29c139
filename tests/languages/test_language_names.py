"""languages/language_names.py: every language has a name."""

from languages.language_names import DEFAULT_LANGUAGE, LANGUAGES, OWN_NAMES, named


def test_every_language_has_a_name_of_its_own_and_english_is_the_first() -> None:
    assert tuple(OWN_NAMES) == LANGUAGES
    assert len({*OWN_NAMES.values()}) == len(LANGUAGES)
    assert LANGUAGES[0] == DEFAULT_LANGUAGE == "en"


def test_a_language_is_known_by_its_name_in_the_contract_alone() -> None:
    assert [named(language) for language in LANGUAGES] == [*LANGUAGES]
    assert [named(other) for other in ("DE", "pt", "pt_BR", "tlh", "", None)] == [None] * 6
