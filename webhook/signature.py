"""Signatures of webhooks after Standard Webhooks. Law: what is signed is what is sent, byte by byte.

The scheme is symmetric: `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`, keyed with the
bytes that the base64 in the secret stands for (github.com/standard-webhooks/standard-webhooks).
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret(random: Callable[[int], bytes]) -> str:
    """`whsec_` and the base64 of 32 bytes; `random(n)` gives n bytes that nobody can guess."""
    return PREFIX + b64encode(random(SECRET_BYTES)).decode()


def signed_headers(
    delivery_id: str, timestamp_seconds: int, body: bytes, secrets: Sequence[str]
) -> dict[str, str]:
    """The headers of one attempt. The id stays over all attempts, the timestamp is the attempt's own.

    There is a signature for each secret, so that a receiver who holds any of them is content; pass the newest
    first. Without secrets there is no signature. An id has no dot, or the content could be read in two ways.
    """
    headers = {"webhook-id": delivery_id, "webhook-timestamp": str(timestamp_seconds)}
    content = f"{delivery_id}.{timestamp_seconds}.".encode() + body
    if secrets:
        headers["webhook-signature"] = " ".join(_signature(secret, content) for secret in secrets)
    return headers


def _signature(secret: str, content: bytes) -> str:
    key = b64decode(secret.removeprefix(PREFIX), validate=True)
    return "v1," + b64encode(hmac.digest(key, content, "sha256")).decode()
