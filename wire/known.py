"""Heads that were parsed before. Law: what is recognised here, llhttp has read byte for byte.

A bot asks again and again with the same head but for the target, on a connection of its own or through a
proxy. Once such a head was parsed and the request answered with success, what followed its target is kept
beside who was calling; when the same bytes follow a target again, they mean the same. Only success is kept,
so that nobody without a key can crowd the others out.
"""

from collections import OrderedDict
from typing import Any

HEADS = 16_384
"""How many are kept, each as long as a head; who came first is forgotten first."""
START = b"GET "
_END = b" HTTP/1.1\r\n"


class KnownHeads(OrderedDict[tuple[bytes, str], Any]):
    """Callers, by what followed the target (everything from the blank behind it on) and the peer."""

    def learn(self, data: bytes, target: bytes, peer: str, caller: Any) -> None:
        """Keeps the head of a request with that target, if the bytes were this one request and no more.

        The request must have begun with the first of these bytes.
        """
        start = START + target
        if not data.startswith(start + _END) or data.find(b"\r\n\r\n") != len(data) - 4:
            return
        self[data[len(start) :], peer] = caller
        if len(self) > HEADS:
            self.popitem(last=False)
