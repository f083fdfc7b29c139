"""Bodies of forms, and what is wrong with them."""

from typing import Any

import msgspec
import pytest
from msgspec import Struct

from forms.fields import Form
from forms.reading import read
from forms.schema import form_components
from languages.refusals import Invalid
from languages.said import in_words
from tests.support.sample_rows import OWNER

Body = dict[str, Any]

BOT_BODY: Body = {
    "id": "111111111111111111",
    "owner_id": OWNER,
    "name": "Test bot",
    "short_description": "A bot for the tests",
    "description": "A longer description of a bot for the tests",
    "categories": ["Utility"],
}
SERVER_BODY: Body = {
    "id": "333333333333333333",
    "owner_id": OWNER,
    "name": "Test server",
    "description": "A server for the tests",
    "keywords": ["tests"],
    "category": "Gaming",
}


def form_schema(form: type[Struct]) -> dict[str, Any]:
    """Return the schema of a form with the components that it names, as one document."""
    others = form_components([form])
    return {**others[form.__name__], "components": {"schemas": others}}


def without(body: Body, name: str) -> Body:
    return {key: value for key, value in body.items() if key != name}


def as_body(form: Struct) -> Body:
    """The form as JSON has it."""
    body: Body = msgspec.json.decode(msgspec.json.encode(form))
    return body


def wrong_fields(form: type[Form], body: Body) -> dict[str, str]:
    """The reasons why a body is refused, by field."""
    with pytest.raises(Invalid) as refusal:
        read(form, body)
    return {name: in_words(*fault) for name, fault in refusal.value.faults.items()}
