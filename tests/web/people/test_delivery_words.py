"""web/people/delivery_words.py: every error of the log has words."""

import pytest

from handlers.webhook_views import ERROR_CLASSES
from tests.support.english import english
from web.people.delivery_words import words_of_error


@pytest.mark.parametrize("error", ERROR_CLASSES)
def test_every_error_has_words_of_its_own(error: str) -> None:
    assert len(english(words_of_error(error)).split()) > 3


def test_a_status_is_named() -> None:
    assert english(words_of_error("http_503")) == "the answer had status 503"


def test_an_error_of_another_version_is_shown_as_it_is() -> None:
    assert words_of_error("moonlight") == "moonlight"
