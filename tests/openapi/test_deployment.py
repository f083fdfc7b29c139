"""The numbers of a deployment in words."""

import pytest

from openapi.deployment import Window, span
from tests.support.openapi_lookup import DEPLOYMENT


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.5, "0.5 seconds"),
        (1, "1 second"),
        (5, "5 seconds"),
        (90, "90 seconds"),
        (120, "120 seconds"),
        (300, "5 minutes"),
        (7_200, "120 minutes"),
        (86_400, "24 hours"),
        (86_401, "86401 seconds"),
        (1_209_600, "14 days"),
    ],
)
def test_a_span_is_said_in_the_largest_unit_that_it_has_several_of(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_a_window_is_said_as_the_contract_says_it() -> None:
    assert str(Window(2, 7_200)) == "2 requests per 120 minutes"
    assert str(Window(100, 300)) == "100 requests per 5 minutes"


def test_a_name_in_a_text_is_filled_in() -> None:
    assert DEPLOYMENT.filled("within $vote_window") == "within 24 hours"


def test_a_name_that_there_is_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        DEPLOYMENT.filled("within $nothing")
