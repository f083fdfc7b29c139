"""The addresses of this machine. Each question goes to the kernel, when it is asked.

A list of the interfaces' addresses would be out of date after each change. It would also lack addresses that
the machine answers because of a route: local routes, anycast. So the kernel is asked for the route to an
address, as connect(2) would look it up. See rtnetlink(7), RTM_GETROUTE. It needs no privilege and takes about
4 microseconds.
"""

import logging
import socket
import struct
from ipaddress import IPv4Address, IPv6Address

from core.failures import Unavailable

log = logging.getLogger(__name__)

_HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence number, port
# rtmsg: the first byte is the family, the second the length of the prefix, the eighth the type.
_ROUTE = struct.Struct("=8BI")
_ATTRIBUTE = struct.Struct("=HH")  # rtattr: length, type
_GET_ROUTE, _ROUTE_FOUND, _REQUEST, _DESTINATION = 26, 24, 1, 1
_UNICAST = 1  # RTN_UNICAST: the packet leaves the machine; local, anycast and broadcast have other numbers
_TYPE_AT = _HEADER.size + 7
_LOOPBACK = IPv4Address("127.0.0.1")


class LocalAddresses:
    """A connection to the kernel. Belongs to one thread, which also closes it."""

    def __init__(self) -> None:
        """Log a warning if the kernel does not answer. Then only loopback addresses count as local."""
        self._number = 0
        self._kernel = _opened()
        try:
            self.has(_LOOPBACK)
        except Unavailable:
            self.close()
        if self._kernel is None:
            log.warning(
                "the kernel does not tell which addresses are this machine's: name them in "
                "webhooks.refused_networks, or allow the process AF_NETLINK (RestrictAddressFamilies=)"
            )

    def has(self, address: IPv4Address | IPv6Address) -> bool:
        """Return True if the machine itself answers at the address.

        Raises Unavailable if the kernel does not answer.
        """
        if self._kernel is None:
            return address.is_loopback
        try:
            return _is_local(self._asked(self._kernel, address))
        except OSError as error:
            raise Unavailable(
                f"the kernel does not tell this machine's addresses ({error.strerror})"
            ) from None

    def _asked(self, kernel: socket.socket, address: IPv4Address | IPv6Address) -> bytes:
        """Return the kernel's reply: a route, or an error. Raises OSError."""
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        packed = address.packed
        route = _ROUTE.pack(family, address.max_prefixlen, 0, 0, 0, 0, 0, 0, 0)
        route += _ATTRIBUTE.pack(_ATTRIBUTE.size + len(packed), _DESTINATION) + packed
        self._number = self._number + 1 & 0xFFFF_FFFF
        header = _HEADER.pack(_HEADER.size + len(route), _GET_ROUTE, _REQUEST, self._number, 0)
        kernel.send(header + route)
        while True:  # ends with our answer, or with BlockingIOError when no reply is left
            reply = kernel.recv(4_096)
            _, _, _, number, _ = _HEADER.unpack_from(reply)
            if number == self._number:
                return reply

    def close(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None


def _is_local(reply: bytes) -> bool:
    """Read the kernel's reply. An error says that there is no route: nothing answers at the address."""
    _, kind, _, _, _ = _HEADER.unpack_from(reply)
    return bool(kind == _ROUTE_FOUND and reply[_TYPE_AT] != _UNICAST)


def _opened() -> socket.socket | None:
    """Open a netlink socket. Returns None where a sandbox forbids it."""
    try:
        kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    except OSError:
        return None
    kernel.setblocking(False)  # the kernel answers before `send` returns
    return kernel
