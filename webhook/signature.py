"""Signatures of webhooks, by the Standard Webhooks specification. Law: the signed bytes are the bytes that
are sent.

The scheme is symmetric: `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`. The key is the
decoded base64 part of the secret. Source: github.com/standard-webhooks/standard-webhooks.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from functools import lru_cache

PREFIX = "whsec_"
SECRET_BYTES = 32
KEYS_KEPT = 4_096


def new_secret(random: Callable[[int], bytes]) -> str:
    """Return `whsec_` and the base64 of 32 bytes. `random(n)` gives n unpredictable bytes."""
    return PREFIX + b64encode(random(SECRET_BYTES)).decode()


def signed_headers(
    delivery_id: str, timestamp_seconds: int, body: bytes, secrets: Sequence[str]
) -> dict[str, str]:
    """Return the headers of one attempt. All attempts share the id; each has its own timestamp.

    There is one signature for each secret, in the given order, newest first: a receiver may hold any of them.
    Without secrets there is no signature header. The id contains no dot, so that the content is unambiguous.
    """
    headers = {"webhook-id": delivery_id, "webhook-timestamp": str(timestamp_seconds)}
    content = f"{delivery_id}.{timestamp_seconds}.".encode() + body
    if secrets:
        headers["webhook-signature"] = " ".join(_signature(secret, content) for secret in secrets)
    return headers


def _signature(secret: str, content: bytes) -> str:
    return "v1," + b64encode(hmac.digest(_key(secret), content, "sha256")).decode()


@lru_cache(KEYS_KEPT)
def _key(secret: str) -> bytes:
    return b64decode(secret.removeprefix(PREFIX), validate=True)
