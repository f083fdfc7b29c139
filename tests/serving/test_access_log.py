"""serving/access_log.py: its lines have no secret and no query, and no response waits for one."""

import json
import logging
import re
from collections.abc import Callable
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.access_log import PATH as PATH_LENGTH
from serving.access_log import AccessLog
from serving.log_output import Form
from tests.support.coroutines import run
from tests.support.examples import examples
from tests.support.fake_clock import FakeClock
from tests.support.logged_answers import (
    ADDRESS,
    ID,
    NOW_MS,
    NUMBER,
    PATH,
    Pages,
    answer,
    make,
    output,
    written,
)

texts = st.text(st.characters() | st.characters(codec="ascii", categories=["Cc"]))


@pytest.fixture
def pages() -> Pages:
    return Pages()


def test_a_text_line_looks_like_every_other_line_of_the_log(pages: Pages) -> None:
    log = make(pages)
    answer(log)
    record = logging.makeLogRecord({"msg": f"200 GET {PATH} {ADDRESS} 1.2ms", "levelname": "INFO"})
    record.created, record.msecs = NOW_MS / 1_000, NOW_MS % 1_000
    usual = logging.Formatter(f"%(asctime)s %(levelname)s votegate.access[{ID}]: %(message)s")
    assert written(log, pages) == [usual.format(record)]


def test_a_json_line_has_what_machines_ask_for(pages: Pages) -> None:
    log = make(pages, "json")
    answer(log)
    (line,) = written(log, pages)
    assert json.loads(line) == {
        "time": "2026-09-21T14:13:20.042Z",
        "level": "INFO",
        "logger": "votegate.access",
        "request": ID,
        "message": f"200 GET {PATH}",
        "status": 200,
        "method": "GET",
        "path": PATH,
        "address": ADDRESS,
        "ms": 1.25,
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_each_line_has_the_time_of_its_answer_not_of_its_writing(pages: Pages, form: Form) -> None:
    clock = FakeClock(NOW_MS)
    log = AccessLog(clock, output(pages, form))
    for _ in range(3):
        answer(log)
        clock.advance_ms(999)
    lines = written(log, pages)
    stamps = [re.search(r"(:20|:21|:22)[.,](\d{3})", line) for line in lines]
    assert [found and found.groups() for found in stamps] == [(":20", "042"), (":21", "041"), (":22", "040")]


@examples(200)
@given(texts, texts)
def test_no_path_and_no_method_can_forge_a_line_or_a_field(method: str, path: str) -> None:
    text_pages, json_pages = Pages(), Pages()
    for log in (make(text_pages), make(json_pages, "json")):
        log.answered(404, method, path, ADDRESS, 100_000, NUMBER)
        run(log.step())
    (text,), (line,) = ("".join(pages.pages).splitlines() for pages in (text_pages, json_pages))
    assert text.isascii()
    assert text.isprintable()
    before, _, spoken = text.partition(f"votegate.access[{ID}]: ")
    assert before.endswith(",042 INFO ")
    assert len(spoken.split(" ")) == 5
    parsed = json.loads(line)
    assert (parsed["method"], parsed["path"]) == (method, path.partition("?")[0])


def test_different_paths_never_look_the_same(pages: Pages) -> None:
    log = make(pages)
    for path in ("/a\n", "/a\\n", "/a\\x20", "/a ", "/ü", "/\\xfc"):
        answer(log, path)
    assert len({line.split(" ")[6] for line in written(log, pages)}) == 6


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_query_is_nobody_s_business(pages: Pages, form: Form) -> None:
    log = make(pages, form)
    answer(log, "/docs?token=secret?more")
    (line,) = written(log, pages)
    assert "/docs" in line
    assert "secret" not in line
    assert "more" not in line


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "encode", [str, lambda text: "%76" + text[1:], lambda text: quote(quote(text, ""), "")]
)
@pytest.mark.parametrize("padding", ["", "x" * (PATH_LENGTH - 10), "x" * (PATH_LENGTH + 10), "%20" * 80])
def test_no_key_and_no_operator_token_is_logged_wherever_it_stands(
    pages: Pages, form: Form, encode: Callable[[str], str], padding: str
) -> None:
    key, token = "vg_" + "k" * 43, 'value-of-the-operator\'s-"token"/?'
    log = AccessLog(FakeClock(NOW_MS), output(pages, form, token))
    for path in (f"/bots/{padding}{encode(key)}/stats", f"/{padding}{encode(token)}", f"/docs?{encode(key)}"):
        answer(log, path, status=404)
    log.answered(405, key, "/docs", ADDRESS, 100_000, NUMBER)
    lines = written(log, pages)
    assert len(lines) == 4
    for line in lines:
        assert "kkkkkkkk" not in unquote(unquote(line))
        assert "operator" not in unquote(unquote(line))


def test_what_is_cut_off_is_not_logged_when_the_secrets_before_it_are_taken_out(pages: Pages) -> None:
    token = "operator" * 8
    log = AccessLog(FakeClock(NOW_MS), output(pages, "text", token))
    answer(log, f"/{token}" * 50, status=404)
    (line,) = written(log, pages)
    assert "operator" not in line


def test_of_what_succeeds_a_sample_is_logged_and_of_the_rest_everything(pages: Pages) -> None:
    log = make(pages, sample=3)
    for status in (200, 201, 404, 200, 500, 304, 429, 200, 204):
        answer(log, status=status)
    assert [line.split(" ")[4] for line in written(log, pages)] == ["200", "404", "500", "304", "429"]


def test_what_comes_together_is_written_at_once_by_another_thread(pages: Pages) -> None:
    log = make(pages)
    answer(log, times=1_000)
    assert pages.pages == [], "an answer writes nothing"
    assert len(written(log, pages)) == 1_000
    assert (len(pages.pages), pages.flushed) == (1, 1)
    (thread,) = pages.threads
    assert thread.startswith("access-log")


def test_when_nothing_was_answered_nothing_is_written(pages: Pages) -> None:
    log = make(pages)
    assert written(log, pages) == []
    answer(log)
    assert len(written(log, pages)) == 1
    assert written(log, pages) == []
    assert pages.flushed == 1


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("text", "WARNING votegate.access: 2 answers were not logged"),
        (
            "json",
            '"level": "WARNING", "logger": "votegate.access", "message": "2 answers were not logged"}',
        ),
    ],
)
def test_more_than_may_wait_is_dropped_and_counted_once(
    pages: Pages, form: Form, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("serving.access_log.WAITING", 3)
    log = make(pages, form)
    answer(log, times=5)
    lines = written(log, pages)
    assert len(lines) == 4
    assert lines[-1].endswith(told)
    answer(log, times=3)
    assert len(written(log, pages)) == 3
