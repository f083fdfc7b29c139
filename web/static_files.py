"""Styles and scripts. Invariant: an address has the digest of its file, so browsers may keep it for ever.

The files are read and packed once, at the first request for a page or a file. Those in `vendor/` are the work
of others: `web/vendor/package-lock.json` pins them, and `THIRD_PARTY.md` names their licences.
"""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from handlers.reply import Reply, refused
from handlers.request import Request

FOLDER = Path(__file__).parent / "static"
PATH = "/static/{digest}/{name}"
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
DIGEST_CHARACTERS = 16
HEADERS: Mapping[str, str] = {
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "vary": "Accept-Encoding",
}


class StaticFile(NamedTuple):
    """A file with its digest, as it is and packed."""

    content: bytes
    packed: bytes
    digest: str
    content_type: str


class StaticFiles:
    """All files by name."""

    def __init__(self, files: Mapping[str, StaticFile]) -> None:
        self._files = files

    def address(self, name: str) -> str:
        """Return the path of a file. Raises KeyError if there is none."""
        return PATH.format(digest=self._files[name].digest, name=name)

    def text(self, name: str) -> str:
        """Return the text of a file. Raises KeyError if there is none."""
        return self._files[name].content.decode()

    def reply(self, request: Request) -> Reply:
        digest, name = request.params
        file = self._files.get(name)
        if file is None or file.digest != digest:
            return refused("no_such_path")
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            return Reply(
                200, file.packed, {**HEADERS, "content-encoding": "gzip"}, content_type=file.content_type
            )
        return Reply(200, file.content, HEADERS, content_type=file.content_type)


@cache
def read_static_files() -> StaticFiles:
    files = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in CONTENT_TYPES:
            content = path.read_bytes()
            files[path.name] = StaticFile(
                content,
                gzip.compress(content, mtime=0),
                hashlib.sha256(content).hexdigest()[:DIGEST_CHARACTERS],
                CONTENT_TYPES[path.suffix],
            )
    return StaticFiles(files)
