"""Requests as endpoints get them, and the reading of bodies.

Invariant: bytes that two readers may read in two ways are refused: doubled names, NaN, invalid UTF-8, lone
surrogates.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from core.actors import UNKNOWN, Actor
from handlers.reply import Reply
from languages.refusals import Refusal


class Request(NamedTuple):
    """A request to an endpoint. `body` is None if it was larger than `max_body_bytes` and so not kept.

    `path` is spelled as it was sent. The names of `headers` are found in any case.
    """

    method: str
    path: str
    params: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    address: str
    body: bytes | None
    max_body_bytes: int
    by: Actor = UNKNOWN
    """The actor who asks, as far as the endpoint's guard knows."""

    def acting(self, by: Actor) -> "Request":
        """Return the request of a known actor. `_replace` would take four times as long."""
        return Request(*self[:-1], by)

    @property
    def authorization(self) -> str | None:
        return self.headers.get("Authorization")

    def json_object(self) -> dict[str, Any]:
        return json_object(self.body, self.max_body_bytes)

    def content(self) -> bytes:
        """Return the body as it came. Raises Refusal."""
        if self.body is None:
            raise Refusal("body_too_large", most=self.max_body_bytes)
        return self.body


Endpoint = Callable[[Request], Reply | Awaitable[Reply]]


def is_known(request: Request, tag: str) -> bool:
    """Return true if the client has the content with this ETag. The comparison is weak, as it is for GET."""
    found = {each.strip().removeprefix("W/") for each in request.headers.get("If-None-Match", "").split(",")}
    return bool(found & {tag, "*"})


def json_object(body: bytes | None, max_body_bytes: int) -> dict[str, Any]:
    """Return the object in a body; an empty body is an empty object. Raises Refusal."""
    if body is None:
        raise Refusal("body_too_large", most=max_body_bytes)
    if not body:
        return {}
    try:
        value = _JSON.decode(body.decode("utf-8"))
        if b"\\u" in body:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for a lone surrogate, anywhere
    except (ValueError, RecursionError) as error:
        if isinstance(error, _Doubled):
            raise Refusal("doubled_field") from None
        raise Refusal("not_json") from None
    if not isinstance(value, dict):
        raise Refusal("not_an_object")
    return value


class _Doubled(ValueError):
    pass


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) != len(pairs):
        raise _Doubled
    return named


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_JSON = json.JSONDecoder(object_pairs_hook=_without_doubles, parse_constant=_refuse)
