"""Why there is no status. Law: pure; every failure has a class, and says whose it is.

The classes: dns, resolver, refused, reset, timeout, tls, too_large, blocked, proxy, protocol, internal, and
connect for any other failure to connect.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from outbound.result import Fault

TIMED_OUT = ("timeout", Fault.ENDPOINT)


class ExchangeFailed(Exception):
    """An attempt came to no status. `error` is the class."""

    def __init__(self, error: str, fault: Fault = Fault.ENDPOINT) -> None:
        super().__init__(error)
        self.error = error
        self.fault = fault


class ExchangeProgress:
    """What an attempt waits for: `hung` is what it has failed of if its time is up now. `looking_up` goes
    around the look-up of its endpoint's name."""

    __slots__ = ("hung", "looking_up")

    def __init__(self, looking_up: Callable[[], AbstractAsyncContextManager[None]] = nullcontext) -> None:
        self.hung = TIMED_OUT
        self.looking_up = looking_up
