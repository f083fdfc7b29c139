"""serving/log_output.py: each record is one JSON object or the usual text, with its cause and no secret."""

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.request_id import REQUEST_ID
from serving.log_output import JsonLines, TextLines
from tests.support.examples import examples
from tests.support.logged_answers import ID, NOW_MS
from watchers.redaction import HIDDEN, Redactor

KEY = "vg_" + "k" * 43


def record_of(message: str, *arguments: object, **fields: Any) -> logging.LogRecord:
    told = {"name": "a.logger", "levelname": "WARNING", "msg": message, "args": arguments}
    record = logging.makeLogRecord({**told, **fields})
    record.created, record.msecs = NOW_MS / 1_000, NOW_MS % 1_000
    return record


def failure(text: str) -> dict[str, object]:
    try:
        raise ValueError(text)
    except ValueError as error:
        return {"exc_info": (ValueError, error, error.__traceback__)}


def test_a_json_line_has_time_level_logger_and_message() -> None:
    assert json.loads(JsonLines(Redactor()).format(record_of("%d of %s", 3, "many"))) == {
        "time": "2026-09-21T14:13:20.042Z",
        "level": "WARNING",
        "logger": "a.logger",
        "message": "3 of many",
    }


def test_a_traceback_is_a_field_of_a_json_line_and_follows_a_text() -> None:
    record = record_of("it failed", **failure("for a reason"))
    line = JsonLines(Redactor()).format(record)
    assert "\n" not in line
    traceback = json.loads(line)["traceback"]
    assert traceback.startswith("Traceback (most recent call last):\n")
    assert traceback.endswith("ValueError: for a reason")
    assert TextLines(Redactor()).format(record).endswith(f"a.logger: it failed\n{traceback}")


def test_a_line_that_a_request_causes_has_its_id() -> None:
    token = REQUEST_ID.set(ID)
    try:
        text = TextLines(Redactor()).format(record_of("a line"))
        line = JsonLines(Redactor()).format(record_of("a line"))
    finally:
        REQUEST_ID.reset(token)
    assert text.endswith(f",042 WARNING a.logger[{ID}]: a line")
    assert json.loads(line)["request"] == ID


@pytest.mark.parametrize("lines", [TextLines, JsonLines])
def test_no_line_has_a_secret_in_its_words_nor_in_its_traceback(lines: type[TextLines | JsonLines]) -> None:
    encoded = KEY.replace("k", "%6b")
    line = lines(Redactor()).format(record_of('"%s" failed', f"/{encoded}", **failure(f"no bot: {KEY}")))
    assert "kkk" not in line
    assert "%6b" not in line
    assert line.count(HIDDEN) == 2


def test_arguments_that_do_not_fit_cost_no_line() -> None:
    line = JsonLines(Redactor()).format(record_of("%d of %s", "three"))
    assert json.loads(line)["message"] == "%d of %s ('three',)"


@examples(200)
@given(st.text(st.characters() | st.sampled_from('"\\\n%')), st.text())
def test_whatever_is_said_a_line_is_one_object(text: str, cause: str) -> None:
    line = JsonLines(Redactor('a "secret"')).format(record_of("%s", text, **failure(cause)))
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line).keys() == {"time", "level", "logger", "message", "traceback"}
