"""openapi/examples.py: an answer or a body without an example by hand shows those of its fields."""

from typing import Annotated

import pytest
from msgspec import Meta
from pydantic import Field

from actions.views import Success
from listings.forms import Form
from openapi.examples import Example, answer_of_fields, body_of_fields


class MottoAnswer(Success, rename={"set_ms": "setAt"}):
    """The motto of a bot. A sentence more."""

    motto: Annotated[str | None, Meta(examples=["Ahead of the beat", "Another"])]
    set_ms: Annotated[int, Meta(ge=0), Meta(examples=[1_750_000_000_000])]


class Motto(Form):
    """The motto of a bot."""

    motto: Annotated[str, Field(examples=["Ahead of the beat"])]
    loud: bool = False


def test_an_answer_is_made_of_the_first_example_of_each_field() -> None:
    value = {"success": True, "motto": "Ahead of the beat", "setAt": 1_750_000_000_000}
    assert answer_of_fields(MottoAnswer) == Example("The motto of a bot", value, "MottoAnswer")


def test_a_field_of_an_answer_without_an_example_is_named() -> None:
    class Unexplained(Success):
        motto: str

    with pytest.raises(TypeError, match="motto"):
        answer_of_fields(Unexplained)


def test_a_body_is_made_of_the_fields_that_have_examples() -> None:
    assert body_of_fields(Motto) == Example("The motto of a bot", {"motto": "Ahead of the beat"})
