"""webhook/messages.py: signatures equal those of Standard Webhooks in every implementation."""

import hashlib
from base64 import b64decode, b64encode

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from webhook.messages import new_secret, signed_headers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'

keys = st.binary(min_size=24, max_size=64)


def hmac_sha256(key: bytes, content: bytes) -> bytes:
    """Compute HMAC as RFC 2104 defines it, for keys of up to one block."""
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + content).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()


def secret_of(key: bytes) -> str:
    return "whsec_" + b64encode(key).decode()


def test_the_published_vector_comes_out() -> None:
    """From the tests of the specification's own libraries."""
    assert signed_headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, BODY, [SECRET]) == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@examples(200)
@given(st.from_regex(r"[0-9a-f]{24}", fullmatch=True), st.integers(0, 1 << 40), st.binary(), keys)
def test_a_signature_is_the_hmac_of_id_timestamp_and_body(
    delivery_id: str, seconds: int, body: bytes, key: bytes
) -> None:
    headers = signed_headers(delivery_id, seconds, body, [secret_of(key)])
    content = b".".join([delivery_id.encode(), str(seconds).encode(), body])
    assert headers["webhook-signature"] == "v1," + b64encode(hmac_sha256(key, content)).decode()


@examples(50)
@given(st.lists(keys, min_size=2, max_size=3))
def test_every_secret_signs_the_newest_first(several: list[bytes]) -> None:
    secrets = [secret_of(key) for key in several]
    alone = [signed_headers("id", 1, BODY, [secret])["webhook-signature"] for secret in secrets]
    assert signed_headers("id", 1, BODY, secrets)["webhook-signature"] == " ".join(alone)


def test_without_secrets_there_is_no_signature() -> None:
    assert signed_headers("id", 1, BODY, []) == {"webhook-id": "id", "webhook-timestamp": "1"}


def test_a_new_secret_is_32_random_bytes() -> None:
    asked = []

    def random(size: int) -> bytes:
        asked.append(size)
        return bytes(range(100, 100 + size))

    secret = new_secret(random)
    assert asked == [32]
    assert secret.startswith("whsec_")
    assert b64decode(secret.removeprefix("whsec_"), validate=True) == bytes(range(100, 132))
