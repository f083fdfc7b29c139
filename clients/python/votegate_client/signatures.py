"""Signatures of webhooks, as github.com/standard-webhooks/standard-webhooks describes them.

A signature is `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`. The key is the part of the
secret after `whsec_`, decoded from base64. The body is the bytes that came: JSON that was parsed and written
again may differ.
"""

import binascii
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence

PREFIX = "whsec_"
LEAST_BYTES = 16  # of a key; a shorter one was cut off
TOLERANCE_SECONDS = 5 * 60


def key_of(secret: str) -> bytes:
    """Return the key of a secret. Raises ValueError, without the secret in its text."""
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):  # ValueError: not ASCII
        key = b""
    if len(key) < LEAST_BYTES or not secret.startswith(PREFIX):
        raise ValueError(
            f"A webhook secret is {PREFIX} and base64. Copy all of it from the webhook's settings."
        )
    return key


def signature(key: bytes, event_id: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a request."""
    content = f"{event_id}.{timestamp}.".encode("utf-8", "replace") + body
    return "v1," + b64encode(hmac.digest(key, content, "sha256")).decode()


def is_signed(keys: Sequence[bytes], event_id: str, timestamp: str, signatures: str, body: bytes) -> bool:
    """Return true if one of the keys made one of the signatures, which are separated by spaces."""
    expected = [signature(key, event_id, timestamp, body) for key in keys]
    return any(is_same(each, sent) for each in expected for sent in signatures.split(" "))


def is_recent(timestamp: str, now: float) -> bool:
    """Return true if a time differs from the clock by five minutes at most.

    Without this check, somebody could record a request and send it again later.

    Args:
        timestamp: Unix seconds, as the header has them.
        now: Unix seconds.
    """
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        return False
    return abs(now - int(timestamp)) <= TOLERANCE_SECONDS


def is_same(expected: str, sent: str) -> bool:
    """Compare two texts in a time that does not depend on how they differ."""
    return hmac.compare_digest(expected.encode("utf-8", "replace"), sent.encode("utf-8", "replace"))
