"""The direct route, which needs no application, and the heads that are known to ask for it.

Invariant: llhttp has read every head that is recognised here, byte for byte.

A bot asks again and again with the same head but for the target, on a connection of its own or through a
proxy. Once such a head was parsed and its request succeeded, the bytes behind the target are kept beside the
caller. When the same bytes follow a target again, they mean the same. Only success is kept, so that nobody
without a key can crowd the others out.
"""

from collections import OrderedDict
from typing import Any, Protocol

HEADS = 16_384
"""Heads that are kept; the first to come is forgotten first."""
HEAD_BYTES = 1_024
"""Bytes of the longest request whose head is kept."""
START = b"GET "
TARGET_AT = len(START)
_END = b" HTTP/1.1\r\n"


class DirectRoute(Protocol):
    """A route that gives the same answers as the application, without it."""

    def caller(self, named: dict[bytes, bytes], peer: str) -> Any:
        """Return the caller by the fields of a GET, names in lower case; None leaves it to the application.

        The caller is used again for later requests of the same peer with the same fields."""

    def answer(self, target: bytes, caller: Any) -> tuple[int, bytes] | None:
        """Return the status, and the rest of the answer from its header lines on.

        None leaves it to the application, as it must for a target with anything in it that may not stand in
        one."""


class KnownHeads(OrderedDict[tuple[bytes, str], Any]):
    """Callers, by the peer and the bytes behind the target (from the space behind it on).

    The heads hold the keys that their callers sent, so they are never shown."""

    def __repr__(self) -> str:
        return f"<{len(self)} known heads>"

    def learn(self, data: bytes, target: bytes, peer: str, caller: Any) -> None:
        """Keep the head of a request with that target, if the bytes were this one request and no more.

        The request must have begun with the first of these bytes.
        """
        start = START + target
        if len(data) > HEAD_BYTES or not data.startswith(start + _END):
            return
        if data.find(b"\r\n\r\n") != len(data) - 4:
            return
        self[data[len(start) :], peer] = caller
        if len(self) > HEADS:
            self.popitem(last=False)
