"""Where webhooks may go. Law: pure, and asked twice: about the URL, and about each address before its dial.

A name is no promise: its addresses may have changed since the URL was saved. So `check_url` refuses what is
wrong whatever the resolver says, and `check_address` has the last word on what is dialled.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from core.urls import Target, UrlRefused, read_url
from webhook.ranges import special_range

# RFC 6761, RFC 6762, RFC 8375, and ICANN's reservation of .internal for private use.
PRIVATE_DOMAINS = ("localhost", "local", "internal", "home.arpa")


@dataclass(frozen=True)
class TargetGuard:
    """`allow_private` opens every network that this machine reaches, and every port; `allow_http` does
    without TLS.

    Otherwise ports below 1024 but 80 and 443 are closed, because they belong to other protocols.
    """

    allow_private: bool
    allow_http: bool

    def check_url(self, url: str) -> Target:
        """Where the URL leads, as far as that shows without dialling. Raises UrlRefused with the reason."""
        target = read_url(url)
        if _literal(target.host) is not None:
            self.check_address(target, target.host)
        else:
            self._check_name(target)
        if not self.allow_private and target.port not in (80, 443) and target.port < 1024:
            raise UrlRefused("must have port 80, port 443 or one from 1024 to 65535")
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
        if target.scheme == "http" and not self.allow_http and not reached.is_loopback:
            raise UrlRefused("must be https")

    def _check_name(self, target: Target) -> None:
        domain = _private_domain(target.host)
        if domain is not None and not self.allow_private:
            raise UrlRefused(f"must not lead to a private address ({domain})")
        is_localhost = target.host == "localhost"  # which stands here only where private ones are allowed
        if target.scheme == "http" and not self.allow_http and not is_localhost:
            raise UrlRefused("must be https")


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _reached(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
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
