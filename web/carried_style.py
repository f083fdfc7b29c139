"""Pages that carry the styles: a visitor who comes from elsewhere sees one without a second request.

Within the site, pages name the stylesheet by its address, because the browser has kept it by then. The styles
are packed once. A page is packed around them: each part ends with a full flush, after which DEFLATE refers to
nothing before (RFC 1951, 3.2.3), so parts in a row are one stream.
"""

import struct
import zlib
from base64 import b64encode
from hashlib import sha256

PLACE = b"<style></style>"
"""The place of the styles in a page that carries them. No value has it: values are escaped."""
_HEADER = bytes.fromhex("1f8b0800000000000403")
"""The header of gzip without a name and a time (RFC 1952, 2.3)."""
_RAW, _FAST, _BEST = -15, 1, 9


class CarriedStyle:
    """Styles for pages to carry. `source` is their source in a content policy."""

    def __init__(self, style: str) -> None:
        self._element = b"<style>%b</style>" % style.encode()
        self._packed = _deflated(self._element, _BEST)
        self.source = f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"

    def pack(self, page: bytes) -> bytes:
        """Return a page with these styles in their place, packed with gzip."""
        before, _, after = page.partition(PLACE)
        checked = zlib.crc32(after, zlib.crc32(self._element, zlib.crc32(before)))
        size = len(before) + len(self._element) + len(after)
        end = _deflated(after, flush=zlib.Z_FINISH) + struct.pack("<LL", checked, size)
        return b"".join((_HEADER, _deflated(before), self._packed, end))


def _deflated(content: bytes, level: int = _FAST, flush: int = zlib.Z_FULL_FLUSH) -> bytes:
    packer = zlib.compressobj(level, wbits=_RAW)
    return packer.compress(content) + packer.flush(flush)
