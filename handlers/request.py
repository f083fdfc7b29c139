"""What an endpoint gets, and how a body becomes an object. Law: bytes that two readers may read in two ways
are refused: doubled names, NaN, invalid UTF-8, lone surrogates.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from handlers.reply import BadRequest, Reply


class Request(NamedTuple):
    """`body` is None when it was larger than `max_body_bytes`; then it was not kept."""

    method: str
    params: tuple[str, ...]
    query: Mapping[str, str]
    authorization: str | None
    address: str
    body: bytes | None
    max_body_bytes: int

    def json_object(self) -> dict[str, Any]:
        return json_object(self.body, self.max_body_bytes)


Endpoint = Callable[[Request], Reply | Awaitable[Reply]]


def json_object(body: bytes | None, max_body_bytes: int) -> dict[str, Any]:
    """The object in a body; an empty body is an empty object. Raises BadRequest."""
    if body is None:
        raise BadRequest(413, f"The body must not be larger than {max_body_bytes} bytes.")
    if not body:
        return {}
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_without_doubles, parse_constant=_refuse)
        if b"\\u" in body:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for a lone surrogate, anywhere
    except (ValueError, RecursionError) as error:
        if isinstance(error, _Doubled):
            raise BadRequest(400, "The body must not name a field twice.") from None
        raise BadRequest(400, "The body must be valid JSON in UTF-8.") from None
    if not isinstance(value, dict):
        raise BadRequest(400, "The body must be a JSON object.")
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
