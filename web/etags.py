"""Answers that a cache may keep. Law: the tag is of the bytes, so equal tags mean equal bytes."""

import hashlib
from collections.abc import Mapping

from handlers.reply import JSON, Reply
from handlers.request import Request

NO_VARY = {"vary": ""}
"""Says that an answer is the same for everybody: a page's own header would name the cookie."""


def tagged(request: Request, body: bytes, headers: Mapping[str, str], content_type: str = JSON) -> Reply:
    """Return the body with its strong tag; 304 to who has it already (RFC 9110, 13.1.2)."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    given = {**headers, "etag": tag}
    if _names(request.headers.get("If-None-Match", ""), tag):
        return Reply(304, b"", given, content_type=content_type)
    return Reply(200, body, given, content_type=content_type)


def _names(wanted: str, tag: str) -> bool:
    """Tell whether the header names the tag. The comparison is weak, as it is for GET."""
    found = {each.strip().removeprefix("W/") for each in wanted.split(",")}
    return bool(found & {tag, "*"})
