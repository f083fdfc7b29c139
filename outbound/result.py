"""The outcome of an HTTP exchange. Invariant: a failure names the party at fault."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Literal, NamedTuple

READ_BYTES = 16 * 1024
"""The longest part of a response body that the client keeps, unless its maker wants more."""
BYTES_EACH = 512
"""The bytes of a long response that allow one more chunk, one more read, and one more TLS record. A packet of
the network has more."""

ExchangeError = Literal[
    "dns",
    "resolver",
    "refused",
    "reset",
    "connect",
    "timeout",
    "tls",
    "too_large",
    "blocked",
    "proxy",
    "protocol",
    "internal",
]
"""The classes of failures without a status. A failure to connect that has no other class is `connect`."""


class AtFault(Enum):
    """The party that a failure is charged to. A PROXY that fails lets no request out; UNKNOWN charges
    nobody."""

    ENDPOINT = "endpoint"
    PROXY = "proxy"
    UNKNOWN = "unknown"


class HttpResult(NamedTuple):
    """A final response, or a failure.

    `status` is None if no final response came. `error` is None for 200 to 299, else the class of the failure:
    `http_<status>`, or an `ExchangeError`. Header names are in lower case. `body` holds at most
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

Hung = tuple[ExchangeError, AtFault]
TIMED_OUT: Hung = ("timeout", AtFault.ENDPOINT)


class ExchangeFailed(Exception):
    """The exchange got no status."""

    def __init__(self, error: ExchangeError, fault: AtFault = AtFault.ENDPOINT) -> None:
        super().__init__(error)
        self.error = error
        self.fault = fault


@dataclass(slots=True)
class ExchangeProgress:
    """The step that an exchange waits for.

    `hung` is the failure to report if the time runs out during this step. `looking_up` is the context in
    which the name of the endpoint is resolved.
    """

    hung: Hung = TIMED_OUT
    looking_up: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
