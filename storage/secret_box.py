"""Secrets in one file, sealed with a passphrase. Invariant: without the passphrase it reveals only its size.

    magic 8s | log2 of n, r, p: u8 each | salt 16s | nonce 12s | ciphertext | tag 16s

The key is scrypt(passphrase, salt; n, r, p) (RFC 7914), and the cipher is AES-256-GCM. The bytes before the
ciphertext are its associated data. The plain text is JSON: the content of each secret by its file name.
n is 2^17, as OWASP's Password Storage Cheat Sheet asks for: one guess costs 128 MiB of memory, and a third
of a second.
"""

import json
import os
import struct
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from storage.sealing import KEY_BYTES, NONCE_BYTES, SALT_BYTES, TAG_BYTES

MAGIC = b"VGSECR\x00\x01"
MIN_PASSPHRASE = 12  # characters
MAX_BYTES = 1 << 20
"""The largest file that is read: ours are smaller."""
_COST = (17, 8, 1)
_MAX_COST = (20, 8, 4)
"""A damaged or hostile file must not take all memory: it is 1 GiB at most."""
_HEAD = struct.Struct(f"<8sBBB{SALT_BYTES}s{NONCE_BYTES}s")


class NotOpened(Exception):
    """The file is damaged, or the passphrase is wrong."""


def sealed_secrets(secrets: Mapping[str, str], passphrase: str) -> bytes:
    """Return the bytes of the file. The passphrase has `MIN_PASSPHRASE` characters or more."""
    salt, nonce = os.urandom(SALT_BYTES), os.urandom(NONCE_BYTES)
    head = _HEAD.pack(MAGIC, *_COST, salt, nonce)
    plain = json.dumps(dict(secrets)).encode()
    return head + _cipher(passphrase, salt, _COST).encrypt(nonce, plain, head)


def opened_secrets(content: bytes, passphrase: str) -> dict[str, str]:
    """Return the secrets by their file names. Raises NotOpened."""
    if not content.startswith(MAGIC[:-1]):
        raise NotOpened("it is no file of secrets")
    if not content.startswith(MAGIC):
        raise NotOpened("it is of another version of Votegate")
    if len(content) < _HEAD.size + TAG_BYTES:
        raise NotOpened("it is cut off")
    head = content[: _HEAD.size]
    _, *cost, salt, nonce = _HEAD.unpack(head)
    if any(each > most or each < 1 for each, most in zip(cost, _MAX_COST, strict=True)):
        raise NotOpened("it is damaged")
    try:
        plain = _cipher(passphrase, salt, cost).decrypt(nonce, content[_HEAD.size :], head)
    except InvalidTag:
        raise NotOpened("the passphrase is wrong, or the file is damaged") from None
    secrets: dict[str, str] = json.loads(plain)
    return secrets


def _cipher(passphrase: str, salt: bytes, cost: "tuple[int, int, int] | list[int]") -> AESGCM:
    log2_n, r, p = cost
    return AESGCM(Scrypt(salt, KEY_BYTES, 1 << log2_n, r, p).derive(passphrase.encode()))
