"""settings/sources.py: a file that is no tree of settings is refused in one line."""

from pathlib import Path

import pytest

from settings.model import SECRETS
from settings.sources import SetTwice, set_twice
from tests.support.given_settings import TOKEN, from_environment, mistakes, mistakes_in


@pytest.mark.parametrize("text", ["- server", "just text", "5"])
def test_a_file_without_sections_is_refused(tmp_path: Path, text: str) -> None:
    (mistake,) = mistakes_in(tmp_path, text)
    assert mistake == f"{tmp_path / 'config.yaml'}: must be a mapping of sections"


def test_a_value_in_the_place_of_a_section_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("server: 5")
    assert mistakes(config) == ["server: must be a section"]
    assert "server: must be a section" in mistakes(config, {"VOTEGATE_SERVER__PORT": "1001"})


@pytest.mark.parametrize("text", ["1: 2", "server: {1: 2}", "server: {null: 2}", "? [a]\n: 2"])
def test_names_that_are_no_text_are_refused(tmp_path: Path, text: str) -> None:
    assert mistakes_in(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        (
            f"operator:\n  token: '{TOKEN}\nserver: {{}}\n",
            "line 4, column 1",
            "while scanning a quoted scalar that begins in line 2: found unexpected end of stream",
        ),
        (
            f"operator: {{token: {TOKEN}\nserver: ]",
            "line 2, column 7",
            "while parsing a flow mapping that begins in line 1: expected ',' or '}', but got ':'",
        ),
        (f"operator:\n  token: *{TOKEN}\n", "line 2, column 10", "found undefined alias"),
        (
            f"operator:\n  token: !{TOKEN} x\n",
            "line 2, column 10",
            "could not determine a constructor for the tag",
        ),
        (
            f"operator:\n\ttoken: {TOKEN}\n",
            "line 2, column 1",
            "while scanning for the next token: found character '\\t' that cannot start any token",
        ),
        (f"operator:\n  token: {TOKEN}: x\n", "line 2, column 32", "mapping values are not allowed here"),
        (
            f"operator:\n  token: &{TOKEN} x\nserver: &{TOKEN} y\n",
            "line 3, column 9",
            "found duplicate anchor that begins in line 2: second occurrence",
        ),
        (
            f'operator:\n  token: "\\q{TOKEN}"\n',
            "line 2, column 12",
            "while scanning a double-quoted scalar that begins in line 2: found unknown escape character",
        ),
        (
            f"%{TOKEN}'\n",
            "line 1, column 24",
            "while scanning a directive that begins in line 1: expected alphabetic or numeric character",
        ),
    ],
)
def test_a_file_that_is_no_yaml_is_refused_with_its_place_and_the_reason_but_not_with_its_words(
    tmp_path: Path, text: str, place: str, reason: str
) -> None:
    (mistake,) = mistakes_in(tmp_path, text)
    assert mistake == f"{tmp_path / 'config.yaml'}: is not valid YAML ({place}): {reason}"
    assert TOKEN not in mistake


def test_a_character_that_yaml_does_not_allow_is_refused_with_its_place(tmp_path: Path) -> None:
    (mistake,) = mistakes_in(tmp_path, "server:\n  address: \0\n")
    assert mistake == (
        f"{tmp_path / 'config.yaml'}: contains a character that YAML does not allow (line 2, column 12)"
    )


@pytest.mark.parametrize(
    "text", ["server: {}\nserver: {}", "server:\n  port: 1\n  port: 2", "log: {level: INFO,\n level: DEBUG}"]
)
def test_a_name_that_is_there_twice_is_refused_with_the_line_of_the_second(tmp_path: Path, text: str) -> None:
    (mistake,) = mistakes_in(tmp_path, text)
    before, _, last = text.rpartition("\n")
    place = f"line {before.count(chr(10)) + 2}, column {len(last) - len(last.lstrip()) + 1}"
    assert mistake == f"{tmp_path / 'config.yaml'}: has a name twice in one section ({place})"


@pytest.mark.parametrize("colour", ["#0b7a75", "#FFF", "#0b7a75  # teal", "#0b7a75\n  name: X"])
def test_a_colour_without_quotes_is_not_taken_for_a_comment(tmp_path: Path, colour: str) -> None:
    (mistake,) = mistakes_in(tmp_path, f"site:\n  accent: {colour}")
    place = "(line 2, column 3)"
    assert mistake == f"{tmp_path / 'config.yaml'}: has a colour without quotes, which is a comment {place}"


@pytest.mark.parametrize("text", ["[" * 1_000, "server: {port: " + "9" * 5_000 + "}"], ids=["nested", "long"])
def test_a_file_that_is_beyond_reading_is_refused(tmp_path: Path, text: str) -> None:
    (mistake,) = mistakes_in(tmp_path, text)
    assert (
        mistake == f"{tmp_path / 'config.yaml'}: is nested too deeply, or contains a number that is too long"
    )


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_bytes(b"server: {address: \xff}")
    (mistake,) = mistakes(config)
    assert mistake.startswith(f"{config}: ")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (mistake,) = mistakes(tmp_path / "nowhere.yaml")
    assert mistake.startswith(f"{tmp_path / 'nowhere.yaml'}: cannot be read: ")


VARIABLE, FILE_VARIABLE = "VOTEGATE_OPERATOR__TOKEN", "VOTEGATE_OPERATOR__TOKEN_FILE"


@pytest.mark.parametrize(
    ("given_by", "used", "unused"),
    [
        ({VARIABLE, FILE_VARIABLE}, VARIABLE, FILE_VARIABLE),
        ({VARIABLE, "yaml"}, VARIABLE, "operator.token in {config}"),
        ({FILE_VARIABLE, "yaml"}, FILE_VARIABLE, "operator.token in {config}"),
        ({VARIABLE, FILE_VARIABLE, "yaml"}, VARIABLE, f"{FILE_VARIABLE} and operator.token in {{config}}"),
        ({"yaml"}, None, None),
        ({VARIABLE}, None, None),
    ],
)
def test_a_secret_of_two_sources_is_found_with_the_one_that_counts(
    tmp_path: Path, given_by: set[str], used: str | None, unused: str | None
) -> None:
    config, file = tmp_path / "config.yaml", tmp_path / "token"
    file.write_text(f"{TOKEN}-of-the-file")
    config.write_text(f"operator: {{token: {TOKEN}-of-yaml}}" if "yaml" in given_by else "operator:\n")
    values = {VARIABLE: f"{TOKEN}-of-the-variable", FILE_VARIABLE: str(file)}
    environment = {name: value for name, value in values.items() if name in given_by}

    found = [*set_twice(config, environment, SECRETS)]

    told = None if used is None else SetTwice("operator.token", used, str(unused).format(config=config))
    assert found == ([] if told is None else [told])


def test_the_variable_of_a_secret_counts_before_its_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}-of-the-file")
    settings = from_environment({"operator.token": TOKEN, "operator.token_file": str(tmp_path / "token")})
    assert settings.operator.token is not None
    assert settings.operator.token.get_secret_value() == TOKEN
