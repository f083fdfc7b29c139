"""Failures of an exchange that gets no status. Law: pure; each has a class and a party at fault.

The classes: dns, resolver, refused, reset, timeout, tls, too_large, blocked, proxy, protocol, internal, and
connect for every other failure to connect.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from outbound.result import AtFault

TIMED_OUT = ("timeout", AtFault.ENDPOINT)


class ExchangeFailed(Exception):
    """The exchange got no status. `error` is the class of the failure."""

    def __init__(self, error: str, fault: AtFault = AtFault.ENDPOINT) -> None:
        super().__init__(error)
        self.error = error
        self.fault = fault


class ExchangeProgress:
    """The step that an exchange waits for.

    `hung` is the failure to report if the time runs out during this step. `looking_up` is the context in
    which the name of the endpoint is resolved.
    """

    __slots__ = ("hung", "looking_up")

    def __init__(self, looking_up: Callable[[], AbstractAsyncContextManager[None]] = nullcontext) -> None:
        self.hung = TIMED_OUT
        self.looking_up = looking_up
