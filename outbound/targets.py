"""The guard that decides where requests may go. Law: no I/O of its own.

A name may resolve to another address tomorrow. So the guard is asked three times: `check_url` when a URL is
saved and before each exchange, `check_address` for each address just before a connection to it, and
`check_ends` for the two ends of each new connection. The last check does not depend on what is known of this
machine.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from grammars.http_urls import Target, UrlRefused, read_url
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
        """Raise UrlRefused with the reason unless a connection for the target may go to the address.

        A name may have several addresses: the caller skips those that are refused.
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
        """Raise UrlRefused if a connection between these two addresses stayed on this machine.

        The kernel uses one address for both ends of such a connection. The exception is the second address of
        an interface, which the kernel answers from the first one. `is_here` knows both, unless one was added
        since it was asked.
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
        is_localhost = target.host == "localhost"  # gets this far only with `allow_private`
        if target.scheme == "http" and not self.allow_http and not is_localhost:
            raise UrlRefused("must be https")


class AnyTarget:
    """The guard of services that the operator chooses: every well-formed URL, and every address."""

    def check_url(self, url: str) -> Target:
        return read_url(url)

    def check_address(self, target: Target, address: str) -> None:
        pass

    def check_ends(self, ours: str, theirs: str) -> None:
        pass


def _literal(host: str) -> Address | None:
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
