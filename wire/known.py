"""Heads that were parsed before. Law: what is recognised here, llhttp has read byte for byte.

A bot asks again and again with the same head but for the target, on a connection of its own or through a
proxy. Once such a head was parsed and the request answered with success, what followed its target is kept
beside who was calling; when the same bytes follow a target again, they mean the same. Only success is kept,
so that nobody without a key can crowd the others out.
"""

from collections import OrderedDict
from typing import Any, NamedTuple

HEADS = 16_384
"""How many are kept, each as long as a head; who was not seen for longest is forgotten first."""
START, END = b"GET ", b" HTTP/1.1\r\n"


class Known(NamedTuple):
    peer: str
    caller: Any


class KnownHeads:
    def __init__(self, heads: int = HEADS) -> None:
        self._known: OrderedDict[bytes, Known] = OrderedDict()
        self._heads = heads

    def __len__(self) -> int:
        return len(self._known)

    def recognise(self, data: bytes, peer: str) -> tuple[bytes, Any] | None:
        """Target and caller, if the bytes are one GET whose head is known."""
        end = data.find(b" ", len(START))
        known = self._known.get(data[end:])
        if known is None or known.peer != peer or not data.startswith(START):
            return None
        return data[len(START) : end], known.caller

    def learn(self, data: bytes, target: bytes, peer: str, caller: Any) -> None:
        """Keeps the head of a request with that target, if the bytes were this one request and no more."""
        start = START + target
        if not data.startswith(start + END) or data.find(b"\r\n\r\n") != len(data) - 4:
            return
        if len(self._known) >= self._heads:
            self._known.popitem(last=False)
        self._known[data[len(start) :]] = Known(peer, caller)
