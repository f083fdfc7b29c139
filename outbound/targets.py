"""Where webhooks may go. Law: no I/O of its own; asked about the URL, and about each address before its dial.

A name is no promise: its addresses may have changed since the URL was saved. So `check_url` refuses what is
wrong whatever the resolver says, and `check_address` has the last word on what is dialled. `check_ends` looks
at what was dialled: it needs to know nothing of this machine.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from core.urls import Target, UrlRefused, read_url
from outbound.ranges import special_range

# RFC 6761, RFC 6762, RFC 8375, and ICANN's reservation of .internal for private use.
PRIVATE_DOMAINS = ("localhost", "local", "internal", "home.arpa")
THIS_MACHINE = "must not lead to the machine that this gateway runs on"
THIS_GATEWAY = "must not lead to this gateway itself"

Address = IPv4Address | IPv6Address


def _unknown(_: Address) -> bool:
    return False


@dataclass(frozen=True)
class TargetGuard:
    """`allow_private` opens every network that this machine reaches, and every port; `allow_http` does
    without TLS. Otherwise ports below 1024 but 80 and 443 are closed, because they belong to other protocols.
    `refused_networks` and `refused_ports` are closed in any case.

    `is_here` says whether an address is this machine's, which may change at any time. Such an address is no
    target: what runs on the machine may trust it, and the gateway is the first to answer there. Where private
    networks are open, webhooks may go to other programs of this machine, so only the gateway's own sockets
    are refused: `listening` has their addresses and ports.
    """

    allow_private: bool
    allow_http: bool
    refused_networks: Collection[IPv4Network | IPv6Network] = ()
    refused_ports: Collection[int] = ()
    is_here: Callable[[Address], bool] = _unknown
    listening: Collection[tuple[Address, int]] = ()

    def check_url(self, url: str) -> Target:
        """Where the URL leads, as far as that shows without dialling. Raises UrlRefused with the reason."""
        target = read_url(url)
        if _literal(target.host) is not None:
            self.check_address(target, target.host)
        else:
            self._check_name(target)
        if not self.allow_private and target.port not in (80, 443) and target.port < 1024:
            raise UrlRefused("must have port 80, port 443 or one from 1024 to 65535")
        if target.port in self.refused_ports:
            raise UrlRefused(f"must not have port {target.port}, which belongs to another protocol")
        return target

    def check_address(self, target: Target, address: str) -> None:
        """Raises UrlRefused with the reason unless the address may be dialled for the target.

        Of several addresses of a name those that are refused are to be left out.
        """
        parsed = _literal(address)
        if parsed is None:
            raise UrlRefused("must lead to an IP address")
        if not self.allow_private and (name := special_range(parsed)) is not None:
            raise UrlRefused(f"must not lead to a private address ({name})")
        reached = _reached(parsed)
        if reached.is_unspecified or reached.is_multicast or reached == IPv4Address("255.255.255.255"):
            raise UrlRefused("must lead to one host: not to an unspecified, multicast or broadcast address")
        if any(reached in network or parsed in network for network in self.refused_networks):
            raise UrlRefused("must not lead to a network that the operator has refused")
        self._check_elsewhere(target, reached)
        if target.scheme == "http" and not self.allow_http and not reached.is_loopback:
            raise UrlRefused("must be https")

    def check_ends(self, ours: str, theirs: str) -> None:
        """Raises UrlRefused if a connection between these two addresses has not left the machine.

        The kernel answers a connection to one of its addresses from that address. For a second address of an
        interface it does so from the first one; `is_here` knows them all, but may not know of this moment.
        """
        if not self.allow_private and _reached(ip_address(ours)) == _reached(ip_address(theirs)):
            raise UrlRefused(THIS_MACHINE)

    def _check_elsewhere(self, target: Target, reached: Address) -> None:
        if not self.allow_private and self.is_here(reached):
            raise UrlRefused(THIS_MACHINE)
        for address, port in self.listening:
            if port == target.port and (
                self.is_here(reached) if address.is_unspecified else _reached(address) == reached
            ):
                raise UrlRefused(THIS_GATEWAY)

    def _check_name(self, target: Target) -> None:
        domain = _private_domain(target.host)
        if domain is not None and not self.allow_private:
            raise UrlRefused(f"must not lead to a private address ({domain})")
        is_localhost = target.host == "localhost"  # which stands here only where private ones are allowed
        if target.scheme == "http" and not self.allow_http and not is_localhost:
            raise UrlRefused("must be https")


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _reached(address: Address) -> Address:
    """The address that a dial reaches: the kernel goes to the IPv4 address in an IPv4-mapped one."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _private_domain(name: str) -> str | None:
    """Why the name can only be private; None if it may be public."""
    for domain in PRIVATE_DOMAINS:
        if name == domain or name.endswith("." + domain):
            return domain
    return None if "." in name else "a name without a dot"
