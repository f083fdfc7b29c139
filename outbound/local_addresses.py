"""This machine's addresses. Law: the kernel is asked, at that moment, where a dial would lead.

A list of the interfaces' addresses would be old as soon as one changes, and would lack some at which the
machine answers too: routes of type local, anycast. The question is the one that a dial asks: which route?
See rtnetlink(7), RTM_GETROUTE; it takes no privilege and about 4 microseconds.
"""

import logging
import socket
import struct
from ipaddress import IPv4Address, IPv6Address

log = logging.getLogger(__name__)

_HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence number, port
_ROUTE = struct.Struct(
    "=8BI"
)  # rtmsg; its first byte is the family, the second the prefix, the eighth the type
_ATTRIBUTE = struct.Struct("=HH")  # rtattr: length, type
_GET_ROUTE, _ROUTE_FOUND, _REQUEST, _DESTINATION = 26, 24, 1, 1
_UNICAST = 1  # RTN_UNICAST: the packet leaves the machine. Local, anycast and broadcast have other numbers
_TYPE_AT = _HEADER.size + 7
_LOOPBACK = IPv4Address("127.0.0.1")


class LocalAddresses:
    """Belongs to one thread; `close` it there."""

    def __init__(self) -> None:
        """Warns if the kernel does not answer: then only loopback is known to be this machine's."""
        self._number = 0
        self._kernel = _opened()
        try:
            self.has(_LOOPBACK)
        except OSError:
            self.close()
        if self._kernel is None:
            log.warning(
                "the kernel does not tell which addresses are this machine's: name them in "
                "webhooks.refused_networks, or allow the process AF_NETLINK (RestrictAddressFamilies=)"
            )

    def has(self, address: IPv4Address | IPv6Address) -> bool:
        """Whether the machine itself answers at the address. Raises OSError if the kernel gives no answer."""
        if self._kernel is None:
            return address.is_loopback
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        packed = address.packed
        route = _ROUTE.pack(family, address.max_prefixlen, 0, 0, 0, 0, 0, 0, 0)
        route += _ATTRIBUTE.pack(_ATTRIBUTE.size + len(packed), _DESTINATION) + packed
        self._number = self._number + 1 & 0xFFFF_FFFF
        header = _HEADER.pack(_HEADER.size + len(route), _GET_ROUTE, _REQUEST, self._number, 0)
        self._kernel.send(header + route)
        while True:  # ends: with our answer, or with BlockingIOError when there is no more
            reply = self._kernel.recv(4_096)
            _, kind, _, number, _ = _HEADER.unpack_from(reply)
            if number == self._number:
                # An error says that there is no route: a dial leads nowhere.
                return bool(kind == _ROUTE_FOUND and reply[_TYPE_AT] != _UNICAST)

    def close(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None


def _opened() -> socket.socket | None:
    """A way to ask; None where a sandbox does not allow it."""
    try:
        kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    except OSError:
        return None
    kernel.setblocking(False)  # the kernel answers before `send` returns
    return kernel
