"""settings/values.py: an unknown name is reported as written, with the nearest name of a setting."""

from pathlib import Path

import pytest

from tests.support.given_settings import mistakes, mistakes_in


@pytest.mark.parametrize(
    ("variable", "right"),
    [
        ("VOTEGATE_SERVER_PORT", "VOTEGATE_SERVER__PORT"),
        ("VOTEGATE_PORT", "VOTEGATE_SERVER__PORT"),
        ("VOTEGATE_SERVER__PRT", "VOTEGATE_SERVER__PORT"),
        ("VOTEGATE_SERVERS__PORT", "VOTEGATE_SERVER__PORT"),
        ("VOTEGATE_server_Port", "VOTEGATE_SERVER__PORT"),
        ("VOTEGATE_DATADIR", "VOTEGATE_DATA_DIR"),
        ("VOTEGATE_DATA__DIR__", "VOTEGATE_DATA_DIR"),
        ("VOTEGATE_LIMITS_STATS_WINDOW_SECONDS", "VOTEGATE_LIMITS__STATS__WINDOW_SECONDS"),
        ("VOTEGATE_OPERATOR_TOKEN_FILE", "VOTEGATE_OPERATOR__TOKEN_FILE"),
        ("VOTEGATE_OPERATOR__TOKENFILE", "VOTEGATE_OPERATOR__TOKEN_FILE"),
        ("VOTEGATE_SERVICE_HOST", None),
        ("VOTEGATE_COLOUR", None),
        ("VOTEGATE_", None),
    ],
)
def test_a_variable_that_is_no_setting_is_named_as_it_was_written_with_the_nearest_that_is_one(
    variable: str, right: str | None
) -> None:
    (mistake,) = mistakes(environment={variable: "1"})
    hint = f"; did you mean {right}?" if right else ""
    assert mistake == f"{variable}: there is no such setting{hint}"


def test_every_variable_of_a_section_that_is_none_is_named() -> None:
    found = mistakes(environment={"VOTEGATE_SERVERS__PORT": "1", "VOTEGATE_SERVERS__ADDRES": "2"})
    assert found == [
        "VOTEGATE_SERVERS__PORT: there is no such setting; did you mean VOTEGATE_SERVER__PORT?",
        "VOTEGATE_SERVERS__ADDRES: there is no such setting; did you mean VOTEGATE_SERVER__ADDRESS?",
    ]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("server: {prot: 1}", "server.prot: there is no such setting; did you mean server.port?"),
        ("port: 1", "port: there is no such setting; did you mean server.port?"),
        ("webhook: {retries: 1}", "webhook: there is no such setting; did you mean webhooks?"),
        ("limits: {stat: {}}", "limits.stat: there is no such setting; did you mean limits.stats?"),
        ("server: {colour: red}", "server.colour: there is no such setting"),
        ("server: {wire: tornado}", "server.wire: there is no such setting"),
        ("requests: 5", "requests: there is no such setting"),
    ],
)
def test_a_name_of_the_file_that_is_no_setting_comes_with_the_nearest_that_is_one(
    tmp_path: Path, text: str, mistake: str
) -> None:
    assert mistakes_in(tmp_path, text) == [mistake]
