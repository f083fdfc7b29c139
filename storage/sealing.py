"""Encryption at rest: files under the keys of the data folder, and secrets in one file under a passphrase.

Invariant: what is on disk cannot be read, or changed unseen, without a key of the ring.

The cipher is AES-256-GCM (NIST SP 800-38D). Each file has a key of its own, derived by HKDF-SHA256 (RFC 5869)
from a key of the ring and the file's random salt, so that random nonces never come near their limit of 2^32
pieces. A sealed piece is

    nonce 12s | ciphertext | tag 16s

and its associated bytes bind it to its place. A key's id is derived from the key, so a file names the key
that it needs without revealing it.

Secrets in one file are sealed with a passphrase. Without it the file reveals only its size:

    magic 8s | log2 of n, r, p: u8 each | salt 16s | nonce 12s | ciphertext | tag 16s

Its key is scrypt(passphrase, salt; n, r, p) (RFC 7914), and the cipher is AES-256-GCM. The bytes before the
ciphertext are its associated data. The plain text is JSON: the content of each secret by its file name. n is
2^17, as OWASP's Password Storage Cheat Sheet asks for: one guess costs 128 MiB of memory, and a third of a
second.
"""

import json
import os
import struct
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

KEY_BYTES = 32
KEY_ID_BYTES = 8
SALT_BYTES = 16
NONCE_BYTES = 12
TAG_BYTES = 16


class KeyMissing(Exception):
    """A file is sealed with a key that is not in the ring."""

    def __init__(self, path: Path, key_id: bytes) -> None:
        super().__init__(
            f"{path} is sealed with key {key_id.hex()}, which is not among the sealing keys; restore that key"
        )


class Unsealable(Exception):
    """The piece was not sealed for this place with this key, or was changed since."""


class BadKeys(ValueError):
    """The text is no list of sealing keys."""


class Seal:
    """The cipher of one file: it seals and unseals pieces."""

    def __init__(self, key: bytes, key_id: bytes, salt: bytes) -> None:
        self.key_id = key_id
        self.salt = salt
        self._cipher = AESGCM(_derive(key, salt, b"votegate file", KEY_BYTES))

    def seal(self, piece: bytes, associated: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, piece, associated)

    def unseal(self, sealed: bytes, associated: bytes) -> bytes:
        """Return the piece in plain. Raises Unsealable."""
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
        except (InvalidTag, ValueError):
            raise Unsealable from None


class Keyring:
    """The keys of a data folder, newest first. The first one seals, and each of them unseals."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {_key_id(key): key for key in keys}

    @property
    def newest(self) -> bytes:
        """The id of the key that seals."""
        return next(iter(self._keys))

    def become(self, ring: "Keyring") -> None:
        """Have the keys of another ring from now on, wherever this one is in use, in any thread."""
        self._keys = ring._keys

    @property
    def key_ids(self) -> list[bytes]:
        return list(self._keys)

    def new_seal(self) -> Seal:
        """Return a seal for a new file."""
        newest, key = next(iter(self._keys.items()))
        return Seal(key, newest, os.urandom(SALT_BYTES))

    def seal_of(self, path: Path, key_id: bytes, salt: bytes) -> Seal:
        """Return the seal of an existing file. Raises KeyMissing."""
        key = self._keys.get(key_id)
        if key is None:
            raise KeyMissing(path, key_id)
        return Seal(key, key_id, salt)

    def without(self, unused: Collection[bytes]) -> "Keyring":
        """Return the ring without the keys of these ids."""
        return Keyring([key for key_id, key in self._keys.items() if key_id not in unused])

    def with_newest(self, key: bytes) -> "Keyring":
        return Keyring([key, *self._keys.values()])

    def to_text(self) -> str:
        """Return one key a line, newest first, in URL-safe base64."""
        return "\n".join(urlsafe_b64encode(key).decode() for key in self._keys.values())


def new_key() -> bytes:
    return os.urandom(KEY_BYTES)


def keyring_of(text: str) -> Keyring:
    """Read the ring from a text: keys in base64, newest first, separated by white space. Raises BadKeys."""
    keys = []
    for word in text.split():
        try:
            key = b64decode(word.replace("-", "+").replace("_", "/"), validate=True)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            raise BadKeys(f"a sealing key is {KEY_BYTES} bytes in base64, newest key first")
        keys.append(key)
    if not keys:
        raise BadKeys("there is no sealing key in it")
    return Keyring(keys)


def _key_id(key: bytes) -> bytes:
    return _derive(key, b"", b"votegate key id", KEY_ID_BYTES)


def _derive(key: bytes, salt: bytes, purpose: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, purpose).derive(key)


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
