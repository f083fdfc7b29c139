"""Webhooks as OpenAPI describes them: how they are managed, and what is sent to owners.

Law: bots and servers have the same operations, told once.
"""

from collections.abc import Mapping
from typing import get_args

from core.rows import Language
from openapi.operations import READ, SENT, WRITE, Answer, Body, Operation
from openapi.words import (
    COUNT,
    DELIVERY_CURSOR,
    FLAG,
    MOMENT,
    OUR_ID,
    SNOWFLAKE,
    TEXT,
    Node,
    closed,
    cursor,
    many,
    one_of_ours,
    or_null,
    said,
    success,
)

HTTP_STATUS: Node = {"type": "integer", "minimum": 100, "maximum": 999}
SECRET: Node = {"type": "string", "pattern": "^whsec_[A-Za-z0-9+/]{43}=$"}
_ERRORS = (
    "timeout|dns|resolver|tls|refused|reset|connect|protocol|too_large|blocked|proxy|internal"
    "|expired|overflow"
)
_ERROR_CLASS: Node = {"type": "string", "pattern": f"^(?:http_[0-9]{{3}}|{_ERRORS})$"}
_WEBHOOK: Mapping[str, Node] = {
    "url": said("A chat platform's without its last part, which is a password.", TEXT),
    "has_token": said("Whether a token is set; it is never shown.", FLAG),
    "language": said(
        "Of the messages to a chat platform; null for any other URL.",
        or_null({"type": "string", "enum": [*get_args(Language)]}),
    ),
    "signed": said(
        "Whether requests are signed; the secret is shown when it is made, and never again.", FLAG
    ),
    "old_secret_until": said("When the secret before the rotation stops signing.", or_null(COUNT)),
    "saved_at": MOMENT,
    "pending": said("Deliveries that wait, or are tried again.", COUNT),
    "failed_in_a_row": said("Events that failed for good since the last that was delivered.", COUNT),
    "suspension": said(
        "Why nothing is sent at the moment; null while events flow.", or_null(one_of_ours("Suspension"))
    ),
}
_SUSPENSION: Mapping[str, Node] = {
    "since": MOMENT,
    "reason": said("The error class of the last failure.", _ERROR_CLASS),
    "probes_failed": COUNT,
    "next_probe_at": MOMENT,
}
_OUTCOME: Mapping[str, Node] = {
    "status": said("The answer's status; null when none came.", or_null(HTTP_STATUS)),
    "error": said(
        "Null when delivered; `http_<status>` for a status outside 200 to 299; else why no answer came, "
        "or why nothing was sent.",
        or_null(_ERROR_CLASS),
    ),
}
_EXCERPT = said("The beginning of the answer's body. Never trust it.", {"type": "string", "maxLength": 500})
_DELIVERY: Mapping[str, Node] = {
    "id": OUR_ID,
    "user": SNOWFLAKE,
    "test": FLAG,
    "state": {"type": "string", "enum": ["pending", "delivered", "failed"]},
    "queued_at": MOMENT,
    "next_attempt_at": said("Unix time in milliseconds; null once it is finished.", or_null(COUNT)),
    **_OUTCOME,
    "duration_ms": or_null(COUNT),
    "excerpt": or_null(_EXCERPT),
    "attempts": many(one_of_ours("Attempt")),
}

WEBHOOK_ANSWERS: Mapping[str, Node] = {
    "Suspension": closed(**_SUSPENSION),
    "Webhook": closed(**_WEBHOOK),
    "WebhookAnswer": success(**_WEBHOOK),
    "SavedWebhook": success(
        **_WEBHOOK,
        secret=said("What requests are signed with, when this call has made it; else null.", or_null(SECRET)),
    ),
    "RotatedSecret": success(secret=said("Shown in this answer alone.", SECRET)),
    "Attempt": closed(at=MOMENT, **_OUTCOME, duration_ms=COUNT, excerpt=_EXCERPT),
    "Delivery": closed(**_DELIVERY),
    "DeliveryAnswer": success(**_DELIVERY),
    "DeliveryPage": success(deliveries=many(one_of_ours("Delivery")), next=cursor(DELIVERY_CURSOR)),
    "Redelivered": success(redelivered=said("How many deliveries are sent again.", COUNT)),
}


def _vote(test: bool, **about: Node) -> Node:
    return closed(**about, user=SNOWFLAKE, test={"type": "boolean", "const": test})


VOTES: Mapping[str, Node] = {
    "BotVote": _vote(test=False, bot=SNOWFLAKE),
    "ServerVote": _vote(test=False, guild=SNOWFLAKE),
    "TestVote": _vote(test=True),
}
"""What the webhook sends."""


def webhook_operations(kind: str, thing: str) -> tuple[Operation, ...]:
    one, form = f"/manage/{kind}/{{id}}/webhook", thing.capitalize()
    shown = Answer(
        "WebhookAnswer",
        ("webhook", "suspendedWebhook", "chatWebhook"),
        "The settings without the token, and how deliveries go.",
    )
    return (
        Operation(
            "PUT",
            one,
            f"save{form}Webhook",
            "Webhooks",
            f"Set a {thing}'s webhook",
            "Replaces url, token and language together: what is left out is removed. The first time, the "
            "answer shows the secret that requests are signed with. A suspension ends.",
            Answer("SavedWebhook", ("savedWebhook", "changedWebhook"), "The settings, without the token."),
            (*WRITE, *SENT, "NoSuchListing"),
            Body("WebhookSettings"),
        ),
        Operation(
            "GET",
            one,
            f"show{form}Webhook",
            "Webhooks",
            f"Show a {thing}'s webhook",
            "The token is never shown.",
            shown,
            (*READ, "NoSuchWebhook"),
        ),
        Operation(
            "DELETE",
            one,
            f"remove{form}Webhook",
            "Webhooks",
            f"Remove a {thing}'s webhook",
            "What is still to be delivered, and the log of what was, go with it.",
            Answer("Success", ("done",), "It is gone."),
            (*WRITE, "NoSuchWebhook"),
        ),
        Operation(
            "POST",
            f"{one}/secret/rotate",
            f"rotate{form}WebhookSecret",
            "Webhooks",
            "Change what requests are signed with",
            "The old secret stops at once, or signs beside the new one for as long as you ask.",
            Answer("RotatedSecret", ("rotatedSecret",), "The new secret."),
            (*WRITE, *SENT, "NoSuchWebhook", "NotSigned"),
            Body("Overlap", required=False),
        ),
        Operation(
            "POST",
            f"{one}/test",
            f"test{form}Webhook",
            "Webhooks",
            f"Send a test to a {thing}'s webhook",
            "Goes the way of a real vote. Answers after the first attempt, whatever became of it, or when it "
            "takes too long.",
            Answer("DeliveryAnswer", ("testDelivered",), "The delivery after its first attempt."),
            (*WRITE, *SENT, "NoSuchWebhook", "TooManyTests"),
            Body("User"),
        ),
        Operation(
            "GET",
            f"{one}/deliveries",
            f"list{form}Deliveries",
            "Webhooks",
            f"List a {thing}'s deliveries",
            "What is kept of them, newest first, in pages, with their attempts.",
            Answer("DeliveryPage", ("deliveries",), "A page of deliveries."),
            (*READ, "NoSuchListing", "QueryRefused"),
            query=("afterDelivery", "limit"),
        ),
        Operation(
            "POST",
            f"{one}/deliveries/{{delivery_id}}/redeliver",
            f"redeliver{form}Delivery",
            "Webhooks",
            "Send a finished delivery again",
            "Under its own id, with a new round of attempts. Answers after the first of them, or at once "
            "while the endpoint is suspended.",
            Answer("DeliveryAnswer", ("delivered",), "The delivery after its first new attempt."),
            (*WRITE, *SENT, "NoSuchDelivery", "RedeliveryRefused"),
            Body("Nothing", required=False),
        ),
        Operation(
            "POST",
            f"{one}/deliveries/redeliver",
            f"redeliverFailed{form}Deliveries",
            "Webhooks",
            "Send again what has failed",
            "Every delivery of the log that has failed since then but tests, in the order of votes, each "
            "under its own id, as many as may wait. Answers at once; the log shows what becomes of them.",
            Answer("Redelivered", ("redelivered",), "How many there are."),
            (*WRITE, *SENT, "NoSuchWebhook"),
            Body("FailedSince"),
        ),
    )
