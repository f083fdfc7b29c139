"""The files of listings, as everybody gets them.

Invariant: no browser takes a file for anything but its type, whatever its bytes are. The type is that of the
upload, the path must have its ending, and a file that is opened as a page runs and loads nothing.

The address of a file has the digest of its content, so it is never fetched again. Players of sounds ask for
parts of a file (RFC 9110, 14), some of them before anything else.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from blobs.blob_store import Blobs
from forms.file_fields import FileRef
from handlers.reply import Reply
from handlers.request import Endpoint, Request, is_known
from handlers.route import Resource
from languages.refusals import Refusal

PATH = "/files/{name}"
ALONE = {
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "accept-ranges": "bytes",
}
OF_ALL = {
    **ALONE,
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "cross-origin",  # pages of other sites may show what everybody may see
}
_NAME = re.compile(r"([0-9a-f]{64})\.[a-z0-9]+")
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.ASCII)
_NOT_IN_NAMES = re.compile(r"[^\w \-.()\[\]]+")
LONGEST_NAME = 80  # characters


def public_files(blobs: Blobs) -> Resource:
    """Return the path of the files that public listings show, for a gateway without pages."""

    async def serve(request: Request) -> Reply:
        await blobs.until_named()
        return await file_reply(request, blobs, blobs.names.public(digest_in(request)), OF_ALL)

    endpoint: Endpoint = serve
    return Resource(PATH, {"GET": endpoint})


async def file_reply(
    request: Request, blobs: Blobs, file: FileRef | None, headers: Mapping[str, str]
) -> Reply:
    """Return the file, whole or the part that the request asks for. Raises Refusal."""
    if file is None or file.name != request.params[0]:
        raise Refusal("no_such_path")
    digest = file.digest
    tag = f'"{digest[:32]}"'
    headers = {**headers, "etag": tag, **_downloaded(request.query.get("download"), file)}
    if is_known(request, tag):
        return Reply(304, b"", headers, content_type=file.media_type)
    content = blobs.in_memory(digest) or await blobs.get(digest)
    if content is None:
        raise Refusal("no_such_path")
    part = _part(request.headers.get("Range", ""), len(content))
    if part is None:
        return Reply(200, content, headers, content_type=file.media_type)
    return _partial(content, part, headers, file.media_type)


def digest_in(request: Request) -> str:
    """Return the digest in the address of a file. Raises Refusal."""
    found = _NAME.fullmatch(request.params[0])
    if found is None:
        raise Refusal("no_such_path")
    return found[1]


def _downloaded(asked: str | None, file: FileRef) -> Mapping[str, str]:
    """Return the header that makes a browser save the file, under the name that was asked for."""
    if asked is None:
        return {}
    ending = file.name.rpartition(".")[2]
    return attached(safe_name(asked).removesuffix(f".{ending}") or file.digest[:16], ending)


def safe_name(asked: str) -> str:
    """Return a name for a file, made of a text: it has no path, no dot at either end, and may be empty."""
    return _NOT_IN_NAMES.sub("_", asked.replace("\\", "/").rpartition("/")[2])[:LONGEST_NAME].strip(" .")


def attached(name: str, ending: str) -> Mapping[str, str]:
    """Return the header that makes a browser save a file under a safe name."""
    plain = name.encode("ascii", "replace").decode().replace("?", "_")
    disposition = f"attachment; filename=\"{plain}.{ending}\"; filename*=UTF-8''{quote(name)}.{ending}"
    return {"content-disposition": disposition}


class Part(NamedTuple):
    """A part of a file, from its first byte up to the one before `end`. It is empty if there is no such
    part."""

    begin: int
    end: int


def _part(asked: str, size: int) -> Part | None:
    """Return the part that a header asks for; None for the whole file, as for anything but one part."""
    found = _RANGE.fullmatch(asked.replace(" ", ""))
    if found is None or found[1] == found[2] == "":
        return None
    if found[1] == "":
        return Part(max(size - int(found[2]), 0), size)
    begin, end = int(found[1]), int(found[2]) + 1 if found[2] else size
    return None if end <= begin < size else Part(begin, min(end, size))


def _partial(content: bytes, part: Part, headers: Mapping[str, str], media_type: str) -> Reply:
    begin, end = part
    if begin >= end:
        unsatisfied = {**headers, "content-range": f"bytes */{len(content)}"}
        return Reply(416, b"", unsatisfied, content_type=media_type)
    given = {**headers, "content-range": f"bytes {begin}-{end - 1}/{len(content)}"}
    return Reply(206, content[begin:end], given, content_type=media_type)
