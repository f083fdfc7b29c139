"""forms/schema.py: the JSON Schema of a form says what its rules say."""

from typing import Annotated, Any

import jsonschema_rs
import pytest

from forms.fields import Form, Name, Snowflake
from forms.reading import read
from forms.rules import UNIQUE, About, Between, OneOf, Size
from forms.schema import form_components
from languages.refusals import Invalid
from languages.texts import Text
from tests.support.form_bodies import form_schema


class Window(Form, frozen=True):
    """A window."""

    seconds: Annotated[int, Between(1, 60)]


class Rules(Form, frozen=True):
    """Some rules."""

    owner: Snowflake
    name: Name
    level: Annotated[str, OneOf({"low": Text("Low"), "high": Text("High")}), About("How strict.", "low")]
    others: Annotated[tuple[Snowflake, ...], Size(0, 2), UNIQUE] = ()
    window: Window | None = None


GOOD: dict[str, Any] = {"owner": "1" * 18, "name": "A", "level": "low"}


def test_a_form_is_described_with_the_components_that_it_names() -> None:
    found = form_components([Rules])
    assert list(found) == ["Rules", "Snowflake", "Window"]
    rules = found["Rules"]
    assert rules["required"] == ["owner", "name", "level"]
    assert rules["description"] == "Some rules."
    assert rules["additionalProperties"] is False
    assert rules["properties"]["owner"] == {"$ref": "#/components/schemas/Snowflake"}
    assert rules["properties"]["level"] == {
        "description": "How strict.",
        "enum": ["low", "high"],
        "examples": ["low"],
        "type": "string",
    }
    assert rules["properties"]["others"] == {
        "default": [],
        "items": {"$ref": "#/components/schemas/Snowflake"},
        "maxItems": 2,
        "type": "array",
        "uniqueItems": True,
    }
    assert rules["properties"]["window"] == {
        "anyOf": [{"$ref": "#/components/schemas/Window"}, {"type": "null"}],
        "default": None,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"owner": "1"},
        {"name": ""},
        {"name": "x" * 101},
        {"name": "a\nb"},
        {"level": "Low"},
        {"others": ["1" * 18] * 2},
        {"others": [f"{n}" * 18 for n in range(1, 4)]},
        {"window": {"seconds": 0}},
        {"window": {}},
        {"more": 1},
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(change: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(form_schema(Rules))
    assert validator.is_valid(GOOD)
    read(Rules, GOOD)
    assert not validator.is_valid({**GOOD, **change})
    with pytest.raises(Invalid):
        read(Rules, {**GOOD, **change})
