"""Who is calling, as far as the network tells. Law: only a trusted proxy's header is believed.

The peer of a Unix socket has no address; its name is `UNIX`, and whoever trusts `UNIX` trusts them all.
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
    """The address of the client behind trusted proxies.

    `X-Forwarded-For` is walked from the right, where the nearest proxy wrote: every address that is itself
    a trusted proxy is passed over, and the first other one is the client. What is no address ends the walk
    at the hop that wrote it, so a client cannot invent one; `UNIX` is a peer's name and no address.
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
    """The key under which an address is counted: an IPv4 address itself, an IPv6 address's /56.

    An IPv4 address in IPv6 clothing (::ffff:192.0.2.1) is the IPv4 address. What is no address, such as
    the peer of a Unix socket, is its own key.
    """
    if ":" not in address:
        return address
    parsed = _parse(address)
    if not isinstance(parsed, IPv6Address):
        return address if parsed is None else str(parsed)
    return f"{int(parsed) >> (128 - IPV6_PREFIX_BITS):x}/{IPV6_PREFIX_BITS}"


def shown_address(key: str) -> str:
    """The address or network that an `address_key` stands for, as people write it."""
    bits, slash, _ = key.partition("/")
    if not slash:
        return key
    return str(IPv6Network((int(bits, 16) << (128 - IPV6_PREFIX_BITS), IPV6_PREFIX_BITS)))


def is_trusted(address: str, trusted: Sequence[Proxy]) -> bool:
    """Whether what comes from an address, or from `UNIX`, comes from a trusted proxy."""
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
    """Some proxies write "192.0.2.1:4711" or "[2001:db8::1]:4711"."""
    found = _WITH_PORT.fullmatch(hop)
    return hop if found is None else found[found.lastindex or 0]
