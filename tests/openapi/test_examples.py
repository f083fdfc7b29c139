"""openapi/examples.py: an example is built from a schema, and of the examples of its fields."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import UNSET, Meta, UnsetType

from actions.views import NULL, Count, Success, View, example
from forms.fields import Form
from forms.rules import About
from openapi.examples import ANSWERS, Example, body_of_fields, example_of


class Line(View):
    text: Annotated[str | None, Meta(description="The text."), example("Ahead of the beat"), example("Last")]
    times: Count


class MottoAnswer(Success, rename={"set_ms": "setAt"}):
    """The motto of a bot. A sentence more."""

    lines: tuple[Line, ...]
    set_ms: int | None
    by: Annotated[str | None, NULL]
    hint: str | UnsetType = UNSET


class Motto(Form, frozen=True):
    """The motto of a bot."""

    motto: Annotated[str, About("", "Ahead of the beat")]
    loud: bool = False


def built(kind: type[msgspec.Struct]) -> Any:
    _, schemas = msgspec.json.schema_components([kind], ref_template="#/components/schemas/{name}")
    for schema in schemas.values():
        schema["required"] = [name for name in schema["properties"] if name != "hint"]
    return example_of({"$ref": f"#/components/schemas/{kind.__name__}"}, schemas)


def test_an_example_is_built_of_nested_types_notes_and_first_choices() -> None:
    line = {"text": "Last", "times": 3}
    assert built(MottoAnswer) == {"success": True, "lines": [line], "setAt": 3, "by": None}


def test_a_text_without_an_example_is_named() -> None:
    class Unexplained(Success):
        motto: str

    with pytest.raises(LookupError, match=r"Unexplained\.motto has no example"):
        built(Unexplained)


def test_an_operation_shows_the_variants_that_are_for_it_alone() -> None:
    usual, denied = ANSWERS["botAnswer"], ANSWERS["deniedBot"]
    assert (usual.value["state"], denied.value["state"], denied.only) == ("approved", "denied", "deny")
    assert {**denied.value, "state": "approved"}.keys() == usual.value.keys()


def test_a_body_is_made_of_the_fields_that_have_examples() -> None:
    assert body_of_fields(Motto) == Example("The motto of a bot", {"motto": "Ahead of the beat"})
