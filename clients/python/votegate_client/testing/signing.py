"""Webhooks as a gateway sends them."""

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from votegate_client.signatures import key_of, signature


class SignedWebhook(NamedTuple):
    """A request to a receiver."""

    headers: dict[str, str]
    body: bytes


def sign(
    event: Mapping[str, Any], secret: str, *, event_id: str | None = None, at: float | None = None
) -> SignedWebhook:
    """Return the request for an event. Sign it again with the same id to send it a second time.

        headers, body = sign({"bot": "1" * 18, "user": "3" * 18, "test": False}, SECRET)

    Args:
        event: the body.
        secret: the signing secret, `whsec_` and base64.
        event_id: the id of the event; a new one by default.
        at: the Unix time of the request; now by default.
    """
    event_id = event_id if event_id is not None else secrets.token_hex(12)
    timestamp = str(int(time.time() if at is None else at))
    body = json.dumps(event, separators=(",", ":")).encode()
    headers = {
        "content-type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signature(key_of(secret), event_id, timestamp, body),
    }
    return SignedWebhook(headers, body)
