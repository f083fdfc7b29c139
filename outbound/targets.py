"""The guard that decides where requests may go. An address counts as private unless it is known to be public.

A name may resolve to another address tomorrow. So the guard is asked three times: `check_url` when a URL is
saved and before each exchange, `check_address` for each address just before a connection to it, and
`check_ends` for the two ends of each new connection. The last check does not depend on knowledge of this
machine.

The tables of ranges follow the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890). They include
the globally reachable entries, because no public endpoint lives there. They add ranges that the registries
leave out: multicast, the metadata addresses of cloud providers, and every form of IPv6 address that carries
an IPv4 address. IANA assigns global IPv6 addresses from 2000::/3 only. No table can list a NAT64 prefix that
a network has chosen for itself. `ipaddress.is_global` is not enough: its answers change between patch
releases, and it takes multicast, NAT64, IPv4-compatible and unassigned addresses for public ones.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

from grammars.http_urls import Target, UrlRefused, read_url

# RFC 6761, RFC 6762, RFC 8375, and ICANN's reservation of .internal for private use.
PRIVATE_DOMAINS = ("localhost", "local", "internal", "home.arpa")

Address = IPv4Address | IPv6Address


def _unknown(_: Address) -> bool:
    return False


@dataclass(frozen=True)
class TargetGuard:
    """The rules on URLs and addresses.

    `allow_private` opens every network that this machine reaches, and every port. `allow_http` opens URLs
    without TLS. Without `allow_private` the ports below 1024 are closed, except 80 and 443: they belong to
    other protocols. `refused_networks` and `refused_ports` are always closed.

    `is_here` tells if an address belongs to this machine; the answer may change at any time. Such an address
    is refused, because programs on the machine may trust requests from it, the gateway first of all. With
    `allow_private`, requests may reach other programs on this machine. Then only `listening` is refused: the
    addresses and ports of the gateway's own sockets.
    """

    allow_private: bool
    allow_http: bool
    refused_networks: Collection[IPv4Network | IPv6Network] = ()
    refused_ports: Collection[int] = ()
    is_here: Callable[[Address], bool] = _unknown
    listening: Collection[tuple[Address, int]] = ()

    def check_url(self, url: str) -> Target:
        """Read a URL and check all that needs no name resolution. Raises UrlRefused with the reason."""
        target = read_url(url)
        if ip_literal(target.host) is not None:
            self.check_address(target, target.host)
        else:
            self._check_name(target)
        if not self.allow_private and target.port not in (80, 443) and target.port < 1024:
            raise UrlRefused("port_too_low")
        if target.port in self.refused_ports:
            raise UrlRefused("port_of_others", port=target.port)
        return target

    def check_address(self, target: Target, address: str) -> None:
        """Raise UrlRefused with the reason unless a connection for the target may go to the address.

        A name may have several addresses: the caller skips those that are refused.
        """
        parsed = ip_literal(address)
        if parsed is None:
            raise UrlRefused("not_an_address")
        if not self.allow_private and (name := special_range(parsed)) is not None:
            raise UrlRefused("private_address", range=name)
        reached = _reached(parsed)
        if reached.is_unspecified or reached.is_multicast or reached == IPv4Address("255.255.255.255"):
            raise UrlRefused("not_one_host")
        if any(reached in network or parsed in network for network in self.refused_networks):
            raise UrlRefused("network_refused")
        self._check_elsewhere(target, reached)
        if target.scheme == "http" and not self.allow_http and not reached.is_loopback:
            raise UrlRefused("not_https")

    def check_ends(self, ours: str, theirs: str) -> None:
        """Raise UrlRefused if a connection between these two addresses stayed on this machine.

        The kernel uses one address for both ends of such a connection. The exception is the second address of
        an interface, which the kernel answers from the first one. `is_here` knows both, unless one was added
        since it was asked.
        """
        if not self.allow_private and _reached(ip_address(ours)) == _reached(ip_address(theirs)):
            raise UrlRefused("this_machine")

    def _check_elsewhere(self, target: Target, reached: Address) -> None:
        if not self.allow_private and self.is_here(reached):
            raise UrlRefused("this_machine")
        for address, port in self.listening:
            if port == target.port and (
                self.is_here(reached) if address.is_unspecified else _reached(address) == reached
            ):
                raise UrlRefused("this_gateway")

    def _check_name(self, target: Target) -> None:
        domain = _private_domain(target.host)
        if domain is not None and not self.allow_private:
            raise UrlRefused("private_address", range=domain)
        is_localhost = target.host == "localhost"  # gets this far only with `allow_private`
        if target.scheme == "http" and not self.allow_http and not is_localhost:
            raise UrlRefused("not_https")


class AnyTarget:
    """The guard of services that the operator chooses: every well-formed URL, and every address."""

    def check_url(self, url: str) -> Target:
        return read_url(url)

    def check_address(self, target: Target, address: str) -> None:
        pass

    def check_ends(self, ours: str, theirs: str) -> None:
        pass


def ip_literal(host: str) -> Address | None:
    """Return the address that a host is, or None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def _reached(address: Address) -> Address:
    """Return the address that the kernel connects to: the IPv4 address inside an IPv4-mapped one."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _private_domain(name: str) -> str | None:
    """Return the reason why a name is private, or None if it may be public."""
    for domain in PRIVATE_DOMAINS:
        if name == domain or name.endswith("." + domain):
            return domain
    return None if "." in name else "a name without a dot"


# -- address ranges that are not part of the public internet -------------------------------------------------


class Range(NamedTuple):
    """A special range: what its addresses are for (`name`), and the document that says so (`source`)."""

    network: IPv4Network | IPv6Network
    name: str
    source: str


# The first match counts, so a range comes before the ranges that contain it.
IPV4_RANGES = tuple(
    Range(IPv4Network(network), name, source)
    for network, name, source in [
        ("0.0.0.0/32", "unspecified", "RFC 1122, 3.2.1.3"),
        ("0.0.0.0/8", "this network", "RFC 791, 3.2"),
        ("10.0.0.0/8", "private network", "RFC 1918"),
        ("100.100.100.200/32", "cloud metadata", "Alibaba Cloud, instance metadata"),
        ("100.64.0.0/10", "shared by carriers", "RFC 6598"),
        ("127.0.0.0/8", "loopback", "RFC 1122, 3.2.1.3"),
        ("168.63.129.16/32", "cloud metadata", "Azure, WireServer; a public address elsewhere"),
        ("169.254.169.254/32", "cloud metadata", "AWS, Azure, Google Cloud and others, instance metadata"),
        ("169.254.0.0/16", "link-local", "RFC 3927"),
        ("172.16.0.0/12", "private network", "RFC 1918"),
        ("192.0.0.192/32", "cloud metadata", "Oracle Cloud, instance metadata"),
        ("192.0.0.0/24", "IETF protocols", "RFC 6890, 2.1"),
        ("192.0.2.0/24", "documentation", "RFC 5737"),
        ("192.31.196.0/24", "AS112", "RFC 7535"),
        ("192.52.193.0/24", "AMT", "RFC 7450"),
        ("192.88.99.0/24", "6to4 relay", "RFC 7526"),
        ("192.168.0.0/16", "private network", "RFC 1918"),
        ("192.175.48.0/24", "AS112", "RFC 7534"),
        ("198.18.0.0/15", "benchmarking", "RFC 2544"),
        ("198.51.100.0/24", "documentation", "RFC 5737"),
        ("203.0.113.0/24", "documentation", "RFC 5737"),
        ("224.0.0.0/4", "multicast", "RFC 5771"),
        ("255.255.255.255/32", "broadcast", "RFC 919, 7"),
        ("240.0.0.0/4", "reserved", "RFC 1112, 4: class E"),
    ]
)
IPV6_RANGES = tuple(
    Range(IPv6Network(network), name, source)
    for network, name, source in [
        ("::/128", "unspecified", "RFC 4291, 2.5.2"),
        ("::1/128", "loopback", "RFC 4291, 2.5.3"),
        ("::/96", "IPv4-compatible", "RFC 4291, 2.5.5.1"),
        ("::ffff:0:0/96", "IPv4-mapped", "RFC 4291, 2.5.5.2"),
        ("::ffff:0:0:0/96", "IPv4-translated", "RFC 2765, 2.1"),
        ("64:ff9b::/96", "NAT64", "RFC 6052, 2.1"),
        ("64:ff9b:1::/48", "NAT64", "RFC 8215"),
        ("100::/64", "discard-only", "RFC 6666"),
        ("100:0:0:1::/64", "dummy", "RFC 9780"),
        ("2001::/32", "Teredo", "RFC 4380"),
        ("2001:2::/48", "benchmarking", "RFC 5180"),
        ("2001:10::/28", "ORCHID", "RFC 4843"),
        ("2001:20::/28", "ORCHID", "RFC 7343"),
        ("2001:30::/28", "remote identification", "RFC 9374"),
        ("2001::/23", "IETF protocols", "RFC 2928"),
        ("2001:db8::/32", "documentation", "RFC 3849"),
        ("2002::/16", "6to4", "RFC 3056"),
        ("2620:4f:8000::/48", "AS112", "RFC 7534"),
        ("3fff::/20", "documentation", "RFC 9637"),
        ("5f00::/16", "segment routing", "RFC 9602"),
        ("fd00:ec2::254/128", "cloud metadata", "AWS, instance metadata"),
        ("fd20:ce::254/128", "cloud metadata", "Google Cloud, instance metadata"),
        ("fc00::/7", "private network", "RFC 4193: unique local"),
        ("fe80::/10", "link-local", "RFC 4291, 2.5.6"),
        ("fec0::/10", "site-local", "RFC 3879"),
        ("ff00::/8", "multicast", "RFC 4291, 2.7"),
    ]
)
GLOBAL_UNICAST = IPv6Network("2000::/3")  # IANA, IPv6 Global Unicast Address Assignments
UNASSIGNED = "unassigned"
# RFC 5214, 6.1: an interface id with one of these beginnings ends with an IPv4 address, in any network.
ISATAP_IDS = (0x0000_5EFE, 0x0200_5EFE)
ISATAP = "ISATAP"


def special_range(address: IPv4Address | IPv6Address) -> str | None:
    """Return the name of the special range that holds the address, or None for a public address."""
    if isinstance(address, IPv4Address):
        return _name_in(IPV4_RANGES, address)
    name = _name_in(IPV6_RANGES, address)
    if name is None and address not in GLOBAL_UNICAST:
        name = UNASSIGNED
    if name is None and (int(address) >> 32) & 0xFFFF_FFFF in ISATAP_IDS:
        name = ISATAP
    return name


def _name_in(ranges: tuple[Range, ...], address: IPv4Address | IPv6Address) -> str | None:
    return next((name for network, name, _ in ranges if address in network), None)
