"""API keys. Invariant: the value of a key is shown once and never kept. The state has a keyed digest of it.

A key is "vg_" and 43 URL-safe characters: 256 random bits, so no slow hash is needed. The digest is keyed
with a secret of the deployment, so that a copied journal does not even let its reader recognise a key.
"""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from core.actors import Actor
from core.events import Event, KeyDeleted, KeySaved, KeyUsed
from core.rows import Key
from core.state import State
from languages.refusals import Refusal
from listings.rules import listing_of

PREFIX = "vg_"
KEY_BYTES = 32
FINGERPRINT = 8  # hex digits of the digest that are shown to tell keys apart


@dataclass(frozen=True)
class KeyDigester:
    """A digest of key values with the deployment's secret (at most 64 bytes, BLAKE2b's bound)."""

    secret: bytes = field(repr=False)

    def digest(self, value: str) -> str:
        # Header values arrive as Latin-1 text; any other character is a wrong key, not an error.
        return hashlib.blake2b(
            value.encode("utf-8", "surrogatepass"), key=self.secret, digest_size=32
        ).hexdigest()


def key_value(random: bytes) -> str:
    """Make a key of 32 random bytes."""
    return PREFIX + base64.urlsafe_b64encode(random).rstrip(b"=").decode()


def is_granted(state: State, ref: str, digest: str, now_ms: int) -> bool:
    """Return true if the key with this digest opens the listing now."""
    grant = state.listings.grants.get(digest)
    return grant is not None and grant.ref == ref and (grant.until_ms is None or now_ms < grant.until_ms)


class NewKey(NamedTuple):
    """A key to issue."""

    id: str
    name: str
    digest: str


def issue_key(
    state: State,
    ref: str,
    key: NewKey,
    *,
    now_ms: int,
    keys_per_listing: int,
    by: Actor,
) -> list[Event]:
    listing = listing_of(state, ref)
    if listing.state != "approved":
        raise Refusal("keys_need_approval")
    if len(listing.keys) >= keys_per_listing:
        raise Refusal("too_many_keys", most=keys_per_listing)
    issued = Key(key.id, key.name, key.digest, key.digest[:FINGERPRINT], now_ms, makers=(by,))
    return [KeySaved(ref, issued, at_ms=now_ms, by=by)]


def rotate_key(
    state: State, ref: str, key_id: str, *, digest: str, overlap_seconds: int, now_ms: int, by: Actor
) -> list[Event]:
    """Give the key a new value. The old one stops now, or after the overlap."""
    key = _key_of(state, ref, key_id)
    rotated = replace(
        key,
        digest=digest,
        fingerprint=digest[:FINGERPRINT],
        rotated_ms=now_ms,
        old_digest=key.digest if overlap_seconds else None,
        old_until_ms=now_ms + overlap_seconds * 1_000 if overlap_seconds else 0,
        makers=(by, *key.makers[:1]) if overlap_seconds else (by,),
    )
    return [KeySaved(ref, rotated, at_ms=now_ms, by=by)]


def delete_key(state: State, ref: str, key_id: str, now_ms: int, *, by: Actor) -> list[Event]:
    _key_of(state, ref, key_id)
    return [KeyDeleted(ref, key_id, at_ms=now_ms, by=by)]


def used_keys(state: State, digests: Iterable[str], day: int) -> list[Event]:
    """Return that the keys with these digests were accepted on this day, where that is news.

    A digest may be of no key any more.
    """
    used = {grant[:2] for digest in digests if (grant := state.listings.grants.get(digest)) is not None}
    return [
        KeyUsed(ref, key_id, day)
        for ref, key_id in sorted(used)
        if (key := state.listings[ref].key(key_id)) is not None and key.used_day < day
    ]


def _key_of(state: State, ref: str, key_id: str) -> Key:
    key = listing_of(state, ref).key(key_id)
    if key is None:
        raise Refusal("no_such_key")
    return key
