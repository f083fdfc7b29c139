"""The JSON bodies of webhooks. Law: exactly the fields of the contract, under its names."""

from typing import Any

import msgspec

from core import rows
from core.rows import Delivery

_encode = msgspec.json.Encoder().encode


def payload(delivery: Delivery) -> bytes:
    """Return the JSON body of a bot vote, a server vote or a test."""
    body: dict[str, Any] = {"user": delivery.user, "test": delivery.test}
    if not delivery.test:
        kind, _, listing_id = delivery.ref.partition("/")
        body = {"bot" if kind + "/" == rows.BOTS else "guild": listing_id, **body}
    return _encode(body)
