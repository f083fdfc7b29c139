"""The file of settings: what is none is refused in one line."""

from pathlib import Path

import pytest

from tests.support.given_settings import TOKEN, mistakes, mistakes_in


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
    "text",
    [
        f"operator:\n  token: '{TOKEN}\nserver: {{}}\n",
        f"operator: {{token: {TOKEN}\nserver: ]",
        f"operator:\n  token: *{TOKEN}\n",
        f"operator:\n  token: !{TOKEN} x\n",
        f"operator:\n\ttoken: {TOKEN}\n",
    ],
)
def test_a_file_that_is_no_yaml_is_refused_with_its_line_but_not_with_its_words(
    tmp_path: Path, text: str
) -> None:
    (mistake,) = mistakes_in(tmp_path, text)
    assert mistake.startswith(f"{tmp_path / 'config.yaml'}: is not valid YAML (line ")
    assert TOKEN not in mistake


@pytest.mark.parametrize(
    "text", ["server: {}\nserver: {}", "server:\n  port: 1\n  port: 2", "log: {level: INFO,\n level: DEBUG}"]
)
def test_a_name_that_is_there_twice_is_refused_with_the_line_of_the_second(tmp_path: Path, text: str) -> None:
    (mistake,) = mistakes_in(tmp_path, text)
    line = text.count("\n") + 1
    assert mistake == f"{tmp_path / 'config.yaml'}: has a name twice in one section (line {line})"


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
