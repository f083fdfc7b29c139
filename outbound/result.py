"""The outcome of an HTTP exchange. Invariant: a failure names the party at fault.

The classes of failures without a status: dns, resolver, refused, reset, timeout, tls, too_large, blocked,
proxy, protocol, internal, and connect for every other failure to connect.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

READ_BYTES = 16 * 1024
"""The longest part of a response body that the client keeps, unless its maker wants more."""
BYTES_EACH = 512
"""The bytes of a long response that allow one more chunk, one more read, and one more TLS record. A packet of
the network has more."""


class AtFault(Enum):
    """The party that a failure is charged to. A PROXY that fails lets no request out; UNKNOWN charges
    nobody."""

    ENDPOINT = "endpoint"
    PROXY = "proxy"
    UNKNOWN = "unknown"


class HttpResult(NamedTuple):
    """A final response, or a failure.

    `status` is None if no final response came. `error` is None for 200 to 299, else the class of the failure:
    `http_<status>`, or one of the classes above. Header names are in lower case. `body` holds at most
    the first READ_BYTES bytes.
    """

    status: int | None
    error: str | None
    fault: AtFault = AtFault.ENDPOINT
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
    is_whole: bool = False
    """True if `body` is the whole body of the response."""


# -- failures ------------------------------------------------------------------------------------------------

TIMED_OUT = ("timeout", AtFault.ENDPOINT)


class ExchangeFailed(Exception):
    """The exchange got no status. `error` is the class of the failure."""

    def __init__(self, error: str, fault: AtFault = AtFault.ENDPOINT) -> None:
        super().__init__(error)
        self.error = error
        self.fault = fault


@dataclass(slots=True)
class ExchangeProgress:
    """The step that an exchange waits for.

    `hung` is the failure to report if the time runs out during this step. `looking_up` is the context in
    which the name of the endpoint is resolved.
    """

    hung: tuple[str, AtFault] = TIMED_OUT
    looking_up: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
