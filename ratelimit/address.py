"""The address of a caller. Invariant: only the header of a trusted proxy is believed.

The peer of a Unix socket has no address and is called `UNIX`. Trusting `UNIX` trusts every such peer.
"""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, Literal

_WITH_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]{1,5})?|([^:]*):[0-9]{1,5}")
IPV6_PREFIX_BITS = 56  # what a provider usually gives one customer

UNIX: Final = "unix"

Network = IPv4Network | IPv6Network
Proxy = Network | Literal["unix"]


def client_address(peer: str, forwarded_for: str | None, trusted: Sequence[Proxy]) -> str:
    """Return the address of the client behind trusted proxies.

    The walk through `X-Forwarded-For` begins at the right, where the nearest proxy wrote. It passes over
    every trusted proxy; the first other address is the client. A text that is not an address ends the walk
    at the hop that wrote it, so a client cannot invent one.
    """
    if forwarded_for is None or not trusted:
        return peer
    address = peer
    for hop in reversed(forwarded_for.split(",")):
        if not is_trusted(address, trusted):
            break
        parsed = _parse(_without_port(hop.strip()))
        if parsed is None:
            break
        address = str(parsed)
    return address


def address_key(address: str) -> str:
    """Return the key that an address is counted under: an IPv4 address itself, the /56 of an IPv6 address.

    An IPv4-mapped IPv6 address (::ffff:192.0.2.1) counts as the IPv4 address. A text that is not an address,
    such as the peer of a Unix socket, is its own key.
    """
    if ":" not in address:
        return address
    parsed = _parse(address)
    if not isinstance(parsed, IPv6Address):
        return address if parsed is None else str(parsed)
    return f"{int(parsed) >> (128 - IPV6_PREFIX_BITS):x}/{IPV6_PREFIX_BITS}"


def share_key(address: str, trusted: Sequence[Proxy]) -> str | None:
    """Return the key for the share of one address in a bounded resource.

    It is None for an address that many clients have: a Unix socket's, and that of a trusted proxy.
    """
    return None if address == UNIX or is_trusted(address, trusted) else address_key(address)


def shown_address(key: str) -> str:
    """Return the address or network of an `address_key`, as people write it."""
    bits, slash, _ = key.partition("/")
    if not slash:
        return key
    return str(IPv6Network((int(bits, 16) << (128 - IPV6_PREFIX_BITS), IPV6_PREFIX_BITS)))


def is_trusted(address: str, trusted: Sequence[Proxy]) -> bool:
    """Return True if an address, or `UNIX`, is a trusted proxy."""
    if address == UNIX:
        return UNIX in trusted
    parsed = _parse(address)
    return parsed is not None and any(parsed in network for network in trusted if network != UNIX)


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    if ":" in address:
        address = address.partition("%")[0]  # the zone of a link-local IPv6 address
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped
    return parsed


def _without_port(hop: str) -> str:
    """Remove the port: some proxies write "192.0.2.1:4711" or "[2001:db8::1]:4711"."""
    found = _WITH_PORT.fullmatch(hop)
    return hop if found is None else found[found.lastindex or 0]
