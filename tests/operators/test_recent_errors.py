"""operators/recent_errors.py: the last warnings and errors, redacted."""

import logging
from collections.abc import Iterator

import pytest

from operators.recent_errors import LINES, RecentErrors
from tests.support.gateways import OPERATOR_TOKEN
from watchers.redaction import HIDDEN, Redactor

KEY = "vg_" + "k" * 43


@pytest.fixture
def recent() -> RecentErrors:
    return RecentErrors(Redactor(OPERATOR_TOKEN))


@pytest.fixture
def log(recent: RecentErrors) -> Iterator[logging.Logger]:
    log = logging.getLogger("votegate.tests")
    log.propagate = False
    log.addHandler(recent)
    yield log
    log.removeHandler(recent)
    log.propagate = True


def test_warnings_and_errors_are_kept_the_newest_first(recent: RecentErrors, log: logging.Logger) -> None:
    log.setLevel(logging.DEBUG)
    log.debug("a detail")
    log.info("a step")
    log.warning("the disk is %s", "slow")
    log.error("the disk is full")

    assert [(line.level, line.logger, line.text) for line in recent.show().errors] == [
        ("ERROR", "votegate.tests", "the disk is full"),
        ("WARNING", "votegate.tests", "the disk is slow"),
    ]


def test_no_line_holds_a_secret(recent: RecentErrors, log: logging.Logger) -> None:
    try:
        raise ValueError(OPERATOR_TOKEN, KEY)
    except ValueError:
        log.exception("it came with %s", KEY)

    line = recent.show().errors[0]
    assert line.text == f"it came with {HIDDEN}"
    assert line.traceback is not None
    assert "ValueError" in line.traceback
    assert KEY not in line.traceback
    assert OPERATOR_TOKEN not in line.traceback


def test_the_lines_and_their_number_are_bounded(recent: RecentErrors, log: logging.Logger) -> None:
    for number in range(LINES + 5):
        log.warning("line %d %s", number, "x" * 100_000)

    assert len(recent.show().errors) == LINES
    assert recent.show().errors[0].text.startswith(f"line {LINES + 4} ")
    assert all(len(line.text) <= 1_000 for line in recent.show().errors)
