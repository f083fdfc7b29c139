"""web/sealed_values.py: a value that was sealed here, for its purpose, opens; any other is nothing."""

import base64
import string

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from storage.sealing import Seal
from web.sealed_values import MOST_CHARACTERS, NONCE_BYTES, ValueSeal

SECRET, NONCE, PURPOSE = b"a secret of the deployment", bytes(NONCE_BYTES), b"the purpose"
SEAL = ValueSeal(SECRET, PURPOSE)
PLAIN = b"bytes that browsers keep"
VALUE = SEAL.sealed(PLAIN, NONCE)
assert len(VALUE) % 4, "the last character has bits that stand for nothing"


@given(st.binary(), st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES))
def test_what_was_sealed_is_opened_by_another_node(plain: bytes, nonce: bytes) -> None:
    assert ValueSeal(SECRET, PURPOSE).opened(SEAL.sealed(plain, nonce)) == plain


def test_a_value_that_no_browser_keeps_is_nothing() -> None:
    assert SEAL.opened(SEAL.sealed(bytes(MOST_CHARACTERS), NONCE)) is None


@given(st.integers(0, len(VALUE) - 1), st.characters())
def test_a_value_with_another_character_is_none(place: int, character: str) -> None:
    changed = VALUE[:place] + character + VALUE[place + 1 :]
    assert SEAL.opened(changed) == (PLAIN if changed == VALUE else None)


def test_there_is_one_way_to_write_a_value() -> None:
    written = [VALUE[:-1] + last for last in string.ascii_letters + string.digits + "-_"]
    assert [each for each in written if SEAL.opened(each) is not None] == [VALUE]


@given(st.integers(0, len(VALUE) - 1), st.integers(0, len(VALUE)))
def test_a_part_of_a_value_is_none(start: int, end: int) -> None:
    part = VALUE[start:end]
    assert SEAL.opened(part) == (PLAIN if part == VALUE else None)


@given(st.text(min_size=1, max_size=5))
def test_a_value_with_more_behind_it_is_none(more: str) -> None:
    assert SEAL.opened(VALUE + more) is None


@given(st.none() | st.text() | st.binary().map(lambda each: base64.urlsafe_b64encode(each).decode()))
def test_what_nobody_sealed_is_none(value: str | None) -> None:
    assert SEAL.opened(value) is None


def test_what_the_secret_sealed_for_another_purpose_is_none() -> None:
    other_key = AESGCM(_key(b"another purpose")).encrypt(NONCE, PLAIN, PURPOSE)
    other_place = AESGCM(_key(PURPOSE)).encrypt(NONCE, PLAIN, b"another place")
    of_a_file = Seal(SECRET.ljust(32), b"", b"").seal(PLAIN, PURPOSE)
    for sealed in (NONCE + other_key, NONCE + other_place, of_a_file):
        assert SEAL.opened(_text(sealed)) is None
    right = AESGCM(_key(PURPOSE)).encrypt(NONCE, PLAIN, PURPOSE)
    assert SEAL.opened(_text(NONCE + right)) == PLAIN


def _key(purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, None, purpose).derive(SECRET)


def _text(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()
