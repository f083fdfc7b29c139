"""The outcome of an HTTP exchange. Law: a failure says whose it is."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

READ_BYTES = 16 * 1024
"""The longest part of a response body that the client keeps, unless its maker wants more."""


class Fault(Enum):
    """The party that a failure is charged to. A PROXY that fails lets no request out; UNKNOWN charges
    nobody."""

    ENDPOINT = "endpoint"
    PROXY = "proxy"
    UNKNOWN = "unknown"


class HttpResult(NamedTuple):
    """A final response, or a failure.

    `status` is None if no final response came. `error` is None for 200 to 299, else the class of the failure:
    `http_<status>`, or one of those in `failures.py`. Header names are in lower case. `body` holds at most
    the first READ_BYTES bytes.
    """

    status: int | None
    error: str | None
    fault: Fault = Fault.ENDPOINT
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
    is_whole: bool = False
    """True if `body` is the whole body of the response."""
