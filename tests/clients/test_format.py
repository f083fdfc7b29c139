"""clients/stories.json matches its schema, the documents and the texts of the gateway."""

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import jsonschema_rs
import pytest

from core.rows import WebhookEvent
from tests.clients.stories import BOOK, CLIENTS, NOW, STORIES, Story, body_bytes
from webhook.messages import signed_headers

SCHEMA = json.loads((CLIENTS / "stories.schema.json").read_text())


def errors(story: Story) -> Iterator[str]:
    """Return the texts of errors that a story's server answers."""
    for exchange in story.get("server", []):
        body = exchange["answer"].get("json")
        if isinstance(body, dict) and isinstance(body.get("error"), str):
            yield body["error"]


def test_the_stories_have_the_form_of_the_schema() -> None:
    validator = jsonschema_rs.Draft202012Validator(SCHEMA)
    assert [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(BOOK)] == []


def test_there_are_60_stories_at_least_with_names_of_their_own() -> None:
    names = [story["name"] for story in STORIES]
    assert len(names) == len(set(names)) >= 60


def test_every_row_of_the_error_table_is_a_story() -> None:
    told = {re.sub("[0-9]+", "0", text) for story in STORIES for text in errors(story)}
    document = (CLIENTS.parent / "docs/api.md").read_text().split("## Errors\n")[1].split("\n## ")[0]
    texts = re.findall(r"^\| \d{3} \| (.*?) \|", document, re.MULTILINE)
    assert len(texts) > 15
    wanted = {re.sub("[0-9]+", "0", text) for text in texts}
    assert {text for text in wanted - told if "operators find it" not in text} == set()


def test_every_event_is_a_story_that_a_real_gateway_produces() -> None:
    scenes = {story.get("gateway") for story in STORIES}
    assert set(get_args(WebhookEvent)) <= scenes


@pytest.mark.parametrize(
    "story", [each for each in STORIES if each["side"] == "receiver"], ids=lambda each: each["name"]
)
def test_a_delivery_that_is_accepted_is_signed_as_the_gateway_signs(story: Story) -> None:
    secrets = story["options"].get("secrets")
    for delivery in story["deliveries"]:
        if secrets and delivery["answer"] == 204:
            assert _is_signed(delivery, secrets)


def _is_signed(delivery: dict[str, Any], secrets: list[str]) -> bool:
    headers = delivery["headers"]
    at, body = int(headers["webhook-timestamp"]), body_bytes(delivery["body"])
    sent = headers["webhook-signature"]
    signatures = (sent if isinstance(sent, str) else " ".join(sent)).split(" ")
    assert abs(at - NOW) <= 300
    return any(
        signed_headers(headers["webhook-id"], at, body, [secret])["webhook-signature"] in signatures
        for secret in secrets
    )
