"""Compression with gzip, which this program calls packing: if a client accepts it, and the packed body."""

import re
import zlib
from collections.abc import Mapping
from functools import lru_cache

GZIP = 31
"""The `wbits` of zlib that write the header of gzip."""
LEAST_BYTES = 1_024
"""The size from which a body that is made for a request is packed. A smaller one saves no packet."""
_LONGEST = 200
"""The length of the longest header that is remembered."""
_TAKES_GZIP = re.compile(r"(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)", re.IGNORECASE)


def takes_gzip(headers: Mapping[str, str]) -> bool:
    """Return true if a client names gzip, and does not refuse it with a weight of 0 (RFC 9110, 12.5.3)."""
    said = headers.get("Accept-Encoding", "")
    return _known(said) if len(said) <= _LONGEST else _names_gzip(said)


def _names_gzip(said: str) -> bool:
    return _TAKES_GZIP.search(said) is not None


_known = lru_cache(256)(_names_gzip)


def packed(body: bytes) -> bytes:
    """Return a body packed with gzip. The fastest level already leaves a fifth of a page."""
    packer = zlib.compressobj(1, wbits=GZIP)
    return packer.compress(body) + packer.flush()
