"""The route that is answered without the application, and heads that were parsed for it before. Law: what is
recognised here, llhttp has read byte for byte.

A bot asks again and again with the same head but for the target, on a connection of its own or through a
proxy. Once such a head was parsed and the request answered with success, what followed its target is kept
beside who was calling; when the same bytes follow a target again, they mean the same. Only success is kept,
so that nobody without a key can crowd the others out.
"""

from collections import OrderedDict
from typing import Any, Protocol

HEADS = 16_384
"""How many are kept; who came first is forgotten first."""
HEAD_BYTES = 1_024
"""How long they may be."""
START = b"GET "
_END = b" HTTP/1.1\r\n"


class Direct(Protocol):
    """The route that is answered without the application, in the same words."""

    def caller(self, named: dict[bytes, bytes], peer: str) -> Any:
        """Who is calling, by the fields of a GET, names in lower case; None leaves it to the application.

        What it gives is used again for later requests of the same peer with the same fields."""

    def answer(self, target: bytes, caller: Any) -> tuple[int, bytes] | None:
        """Status, and the rest of the answer from its header lines on. None leaves it to the application, as
        it must for a target with anything in it that may not stand in one."""


class KnownHeads(OrderedDict[tuple[bytes, str], Any]):
    """Callers, by what followed the target (everything from the blank behind it on) and the peer.

    The heads hold the keys that their callers sent, so they are never shown."""

    def __repr__(self) -> str:
        return f"<{len(self)} known heads>"

    def learn(self, data: bytes, target: bytes, peer: str, caller: Any) -> None:
        """Keeps the head of a request with that target, if the bytes were this one request and no more.

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
