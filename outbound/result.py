"""What came back from a receiver, as a value. Law: it says whose failure a failure is."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

READ_BYTES = 16 * 1024


class Fault(Enum):
    """Whose failure it was: the endpoint's; our proxy is down, so nothing can leave; or nobody can say."""

    ENDPOINT = "endpoint"
    PROXY = "proxy"
    UNKNOWN = "unknown"


class HttpResult(NamedTuple):
    """`status` is None when no final one came. `error` is None for 200 to 299, else the class of the failure.

    Names of headers are in lower case. The body is its first READ_BYTES bytes at most.
    """

    status: int | None
    error: str | None
    fault: Fault = Fault.ENDPOINT
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
