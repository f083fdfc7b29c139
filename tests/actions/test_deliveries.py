"""actions/deliveries.py: every error of the log has a text."""

from typing import get_args

from actions.deliveries import ERRORS, text_of_error
from core.rows import Dropped
from tests.support.english import english
from webhook.attempt_tally import ERROR_CLASSES, NO_ERROR, OTHER_ERROR, STATUS_CLASSES


def test_the_errors_of_attempts_and_of_drops_have_texts() -> None:
    of_attempts = {*ERROR_CLASSES} - {NO_ERROR, OTHER_ERROR, *STATUS_CLASSES}
    assert ERRORS.keys() == of_attempts | {*get_args(Dropped)}


def test_a_status_is_named() -> None:
    assert english(text_of_error("http_503")) == "the answer had status 503"


def test_an_error_of_another_version_is_shown_as_it_is() -> None:
    assert text_of_error("moonlight") == "moonlight"
