"""Styles and scripts. Invariant: an address has the digest of its file, so browsers may keep it for ever.

The files are read and packed once, at the first request for a page or a file. Those in `vendor/` are the work
of others: `web/vendor/package-lock.json` pins them, and `THIRD_PARTY.md` names their licences.
"""

import gzip
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from handlers.gzip_body import takes_gzip
from handlers.reply import Reply, refused
from handlers.request import Request

FOLDER = Path(__file__).parent / "static"
PATH = "/static/{digest}/{name}"
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_COMMENT = re.compile(rb"/\*(?!!).*?\*/\n?", re.DOTALL)
_MARGIN = re.compile(rb"^[ \t]*(//.*\n)?", re.MULTILINE)
DIGEST_CHARACTERS = 16
HEADERS: Mapping[str, str] = {
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "vary": "Accept-Encoding",
}
ALONE: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"
}
"""The headers of a picture that a browser may also open as a page: it runs and loads nothing."""


class StaticFile(NamedTuple):
    """A file with its digest, as it is and packed."""

    content: bytes
    packed: bytes
    digest: str
    content_type: str

    @property
    def headers(self) -> Mapping[str, str]:
        return {**HEADERS, **ALONE} if self.content_type.startswith("image/") else HEADERS


def static_file(name: str, content: bytes) -> StaticFile:
    """Return a file. The end of its name tells its type."""
    digest = hashlib.sha256(content).hexdigest()[:DIGEST_CHARACTERS]
    return StaticFile(content, gzip.compress(content, mtime=0), digest, CONTENT_TYPES[Path(name).suffix])


def address_of(name: str, file: StaticFile) -> str:
    """Return the path of a file."""
    return PATH.format(digest=file.digest, name=name)


class StaticFiles:
    """All files by name."""

    def __init__(self, files: Mapping[str, StaticFile]) -> None:
        self._files = files

    def address(self, name: str) -> str:
        """Return the path of a file. Raises KeyError if there is none."""
        return address_of(name, self._files[name])

    def beside(self, files: Mapping[str, StaticFile]) -> "StaticFiles":
        """Return these files and others."""
        return StaticFiles({**self._files, **files})

    def text(self, name: str) -> str:
        """Return the text of a file. Raises KeyError if there is none."""
        return self._files[name].content.decode()

    def reply(self, request: Request) -> Reply:
        digest, name = request.params
        file = self._files.get(name)
        if file is None or file.digest != digest:
            return refused("no_such_path")
        if takes_gzip(request.headers):
            return Reply(
                200, file.packed, {**file.headers, "content-encoding": "gzip"}, content_type=file.content_type
            )
        return Reply(200, file.content, file.headers, content_type=file.content_type)


@cache
def read_static_files() -> StaticFiles:
    paths = sorted(path for path in FOLDER.rglob("*") if path.suffix in CONTENT_TYPES)
    return StaticFiles({path.name: static_file(path.name, _content(path)) for path in paths})


def _content(path: Path) -> bytes:
    """Return the content to send: of styles without comments, but for licences; of our own files without
    lines of comment and without margins."""
    content = path.read_bytes()
    if path.suffix == ".css":
        content = _COMMENT.sub(b"", content)
    return _MARGIN.sub(b"", content) if path.suffix in {".css", ".js"} and path.parent == FOLDER else content
