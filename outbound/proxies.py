"""The bytes that open a tunnel through a proxy. Invariant: a failure names the party at fault.

The protocols are HTTP CONNECT (RFC 9110, 9.3.6) and SOCKS5 (RFC 1928, with the passwords of RFC 1929). The
client asks for a tunnel to an address, never to a name, so the proxy connects to the address that the guard
has checked.

A proxy that refuses our credentials fails for every endpoint: the fault is PROXY. If it refuses one tunnel,
or its reply makes no sense, the endpoint or the proxy may be the cause: the fault is UNKNOWN.
"""

import base64
import re
from collections.abc import Generator
from ipaddress import ip_address

from grammars.service_urls import TunnelProxy
from outbound.result import AtFault, ExchangeFailed

REPLY_BYTES = 8 * 1024
"""The longest reply of a proxy before the tunnel is open."""
REPLY_PIECES = 64
"""The most reads that it may come in: each looks at the whole reply again."""

_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r\n")
_SOCKS_REFUSED = 5
_SOCKS_UNREACHABLE = {4, 6}  # host, TTL expired; for an unreachable network (3) the proxy may be at fault
_SOCKS_ADDRESS_BYTES = {1: 4, 4: 16}  # by type of address

_Conversation = Generator[bytes, bytes, None]


class TunnelHandshake:
    """The conversation that opens a tunnel to an address.

    The caller sends `opening` first, and then every reply that `receive` returns, until `is_open`.
    """

    def __init__(self, proxy: TunnelProxy, address: str, port: int) -> None:
        converse = _socks5 if proxy.scheme == "socks5" else _connect
        self._talk = converse(proxy, address, port)
        self._heard = self._pieces = 0
        self.opening = next(self._talk)
        self.is_open = False

    def receive(self, data: bytes) -> bytes:
        """Return the bytes to send next, possibly none. Raises ExchangeFailed."""
        if self.is_open:
            raise ExchangeFailed("protocol")  # the endpoint has sent data before any request
        self._heard += len(data)
        self._pieces += 1
        if self._heard > REPLY_BYTES or self._pieces > REPLY_PIECES:
            raise ExchangeFailed("proxy", AtFault.UNKNOWN)
        try:
            return self._talk.send(data)
        except StopIteration:
            self.is_open = True
            return b""


def _connect(proxy: TunnelProxy, address: str, port: int) -> _Conversation:
    host = f"[{address}]" if ":" in address else address
    request = f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n".encode()
    if proxy.user or proxy.password:
        credentials = base64.b64encode(f"{proxy.user}:{proxy.password}".encode())
        request += b"Proxy-Authorization: Basic " + credentials + b"\r\n"
    reply = yield request + b"\r\n"
    while b"\r\n\r\n" not in reply:
        reply += yield b""
    status = _STATUS_LINE.match(reply)
    if status is None:
        raise ExchangeFailed("proxy", AtFault.UNKNOWN)
    if not 200 <= int(status[1]) <= 299:
        raise ExchangeFailed("proxy", AtFault.PROXY if status[1] == b"407" else AtFault.UNKNOWN)
    if reply.partition(b"\r\n\r\n")[2]:
        raise ExchangeFailed("protocol")  # the endpoint has sent data before any request


def _socks5(proxy: TunnelProxy, address: str, port: int) -> _Conversation:
    methods = b"\x00\x02" if proxy.user or proxy.password else b"\x00"  # none, or a password
    heard = yield bytes([5, len(methods)]) + methods
    while len(heard) < 2:
        heard += yield b""
    if heard[:2] == b"\x05\xff":
        raise ExchangeFailed("proxy", AtFault.PROXY)
    if heard[0] != 5 or heard[1] not in methods or len(heard) > 2:
        raise ExchangeFailed("proxy", AtFault.UNKNOWN)
    if heard[1] == 2:
        yield from _socks5_password(proxy)
    packed = ip_address(address).packed
    heard = yield bytes([5, 1, 0, 1 if len(packed) == 4 else 4]) + packed + port.to_bytes(2, "big")
    yield from _socks5_reply(heard)


def _socks5_password(proxy: TunnelProxy) -> _Conversation:
    user, password = proxy.user.encode(), proxy.password.encode()
    heard = yield bytes([1, len(user)]) + user + bytes([len(password)]) + password
    while len(heard) < 2:
        heard += yield b""
    if heard[0] != 1 or len(heard) > 2:
        raise ExchangeFailed("proxy", AtFault.UNKNOWN)
    if heard[1] != 0:
        raise ExchangeFailed("proxy", AtFault.PROXY)


def _socks5_reply(heard: bytes) -> _Conversation:
    while len(heard) < 2:
        heard += yield b""
    if heard[0] != 5:
        raise ExchangeFailed("proxy", AtFault.UNKNOWN)
    if heard[1] == _SOCKS_REFUSED:
        raise ExchangeFailed("refused")
    if heard[1] in _SOCKS_UNREACHABLE:
        raise ExchangeFailed("connect")
    if heard[1] != 0:
        raise ExchangeFailed("proxy", AtFault.UNKNOWN)
    while len(heard) < 5:
        heard += yield b""
    # The length of a name (type 3) comes before it.
    bound = 1 + heard[4] if heard[3] == 3 else _SOCKS_ADDRESS_BYTES.get(heard[3])
    if bound is None:
        raise ExchangeFailed("proxy", AtFault.UNKNOWN)
    while len(heard) < 4 + bound + 2:
        heard += yield b""
    if len(heard) > 4 + bound + 2:
        raise ExchangeFailed("protocol")  # the endpoint has sent data before any request
