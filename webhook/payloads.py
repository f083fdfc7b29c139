"""The JSON bodies of webhooks. Law: a vote and a test have exactly the fields of the contract.

Other events are not in the contract. Their bodies have a `type`, which those of votes and tests have not.
"""

from typing import Any

import msgspec

from core.rows import Delivery
from kinds.registry import kind_of

_encode = msgspec.json.Encoder().encode


def payload(delivery: Delivery) -> bytes:
    """Return the JSON body of a bot vote, a server vote, a test, or another event of a listing."""
    if delivery.test:
        return _encode({"user": delivery.user, "test": True})
    part = kind_of(delivery.ref).webhook
    body: dict[str, Any] = {part.id_name: delivery.ref.partition("/")[2]} if part is not None else {}
    if delivery.kind is None:
        return _encode({**body, "user": delivery.user, "test": False})
    body = {"type": delivery.kind, **body}
    if delivery.user:
        body["user"] = delivery.user
    body["at"] = delivery.queued_ms
    if delivery.reason is not None:
        body["reason"] = delivery.reason
    return _encode(body)
