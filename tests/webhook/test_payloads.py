"""webhook/payloads.py: the bodies that receivers get are the contract's, field by field."""

import json

import pytest

from core.rows import Delivery
from tests.support.sample_rows import BOT_REF, NOW_MS, SERVER_REF, USER
from webhook.payloads import payload


@pytest.mark.parametrize(
    ("ref", "test", "body"),
    [
        (BOT_REF, False, {"bot": "111111111111111111", "user": USER, "test": False}),
        (SERVER_REF, False, {"guild": "333333333333333333", "user": USER, "test": False}),
        (BOT_REF, True, {"user": USER, "test": True}),
        (SERVER_REF, True, {"user": USER, "test": True}),
    ],
)
def test_a_payload_has_exactly_the_fields_of_its_kind(ref: str, test: bool, body: dict[str, object]) -> None:
    delivery = Delivery("d", ref, USER, test=test, queued_ms=NOW_MS, next_attempt_ms=NOW_MS)
    assert json.loads(payload(delivery)) == body
