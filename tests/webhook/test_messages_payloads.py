"""webhook/messages.py: the bodies that receivers get are the contract's, field by field."""

import json

import pytest
from msgspec.structs import replace

from core.rows import Delivery, WebhookEvent
from tests.support.sample_rows import BOT_REF, NOW_MS, SERVER_REF, USER
from webhook.messages import payload


def test_the_bytes_of_a_vote_and_of_a_test_are_those_of_the_contract() -> None:
    vote = Delivery("d", BOT_REF, USER, test=False, queued_ms=NOW_MS, next_attempt_ms=NOW_MS)
    assert payload(vote) == f'{{"bot":"111111111111111111","user":"{USER}","test":false}}'.encode()
    tested = Delivery("d", BOT_REF, USER, test=True, queued_ms=NOW_MS, next_attempt_ms=NOW_MS)
    assert payload(tested) == f'{{"user":"{USER}","test":true}}'.encode()


OTHER_EVENTS: list[tuple[WebhookEvent, str, str | None, dict[str, object]]] = [
    ("review.approved", "", None, {}),
    ("review.denied", "", "Too quiet.", {"reason": "Too quiet."}),
    ("vote.struck", USER, "Bought.", {"user": USER, "reason": "Bought."}),
]


@pytest.mark.parametrize(("kind", "user", "reason", "more"), OTHER_EVENTS)
def test_another_event_has_a_type_and_the_time_of_the_decision(
    kind: WebhookEvent, user: str, reason: str | None, more: dict[str, object]
) -> None:
    for ref, named in (
        (BOT_REF, {"bot": "111111111111111111"}),
        (SERVER_REF, {"guild": "333333333333333333"}),
    ):
        delivery = Delivery(
            "d", ref, user, test=False, queued_ms=NOW_MS, next_attempt_ms=NOW_MS, kind=kind, reason=reason
        )
        assert json.loads(payload(delivery)) == {"type": kind, **named, "at": NOW_MS, **more}
        later = replace(delivery, round_ms=NOW_MS + 5, attempts=())
        assert payload(later) == payload(delivery), "a redelivery says the same"


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
