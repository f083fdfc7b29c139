"""URLs that the operator chooses: of services, and of the gateway itself.

Invariant: no reason of a refusal quotes a credential.

    proxy      http | https | socks5  ://  [user [: password] @]  host  [: port]  [/]
    Redis      redis | rediss         ://  [user [: password] @]  host  [: port]  [/ database]
    platform   https                  ://                         host  [: port]  [path]
    gateway    http | https           ://                         host  [: port]  [/]

A host is a name, an IPv4 address, or an IPv6 address in brackets. Credentials are percent-encoded. Plain http
leads to a platform only on loopback, where it is a stand-in: a secret goes there.
"""

import re
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple
from urllib.parse import unquote

from grammars.http_urls import PORT, Target, read_url

DEFAULT_PROXY_PORTS = {"http": 3128, "https": 443, "socks5": 1080}
CREDENTIAL_BYTES = 255  # RFC 1929
NO_PROXY_URL = "must be http://, https:// or socks5://, optionally user:password@, then host:port"
NO_REDIS_URL = (
    "must be redis:// or rediss://, optionally user:password@, then host:port, optionally /database"
)

_PLACE = rf"(?:(?P<name>[A-Za-z0-9._-]+)|\[(?P<ipv6>[0-9A-Fa-f:.]+)\])(?::(?P<port>{PORT}))?"
_PROXY_URL = re.compile(
    r"(?P<scheme>https?|socks5)://"
    # A user name with a colon could not be told from a password (RFC 7617, 2).
    r"(?:(?![^\s@:]*%3[Aa])(?P<user>[^\s/?#@:]+)(?::(?P<password>[^\s/?#@:]*))?@)?"
    rf"{_PLACE}/?"
)
_REDIS_URL = re.compile(
    r"(?P<scheme>rediss?)://"
    r"(?:(?P<user>[^\s/?#@:]*)(?::(?P<password>[^\s/?#@:]*))?@)?"
    rf"{_PLACE}(?:/[0-9]{{0,5}})?"
)
# Without characters that end a word of a content policy, or begin a query.
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._~-]*")


@dataclass(frozen=True)
class TunnelProxy:
    """The address of a proxy and our credentials for it. Without credentials, `user` is empty."""

    scheme: str
    host: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


class RedisTarget(NamedTuple):
    """The parts of a Redis URL that other settings depend on."""

    is_tls: bool
    has_password: bool


def read_proxy_url(text: str) -> TunnelProxy:
    """Return the proxy that a URL names. Raises ValueError with the reason."""
    found = _PROXY_URL.fullmatch(text)
    if found is None:
        raise ValueError(NO_PROXY_URL)
    user, password = (unquote(found[name] or "") for name in ("user", "password"))
    if max(len(user.encode()), len(password.encode())) > CREDENTIAL_BYTES:
        raise ValueError(f"must have a user name and a password of at most {CREDENTIAL_BYTES} bytes each")
    port = int(found["port"] or DEFAULT_PROXY_PORTS[found["scheme"]])
    return TunnelProxy(found["scheme"], _host(found), port, user, password)


def read_redis_url(text: str) -> RedisTarget:
    """Return the parts of a Redis URL. Raises ValueError with the reason."""
    found = _REDIS_URL.fullmatch(text)
    if found is None:
        raise ValueError(NO_REDIS_URL)
    _host(found)
    return RedisTarget(found["scheme"] == "rediss", found["password"] is not None)


def read_platform_url(text: str) -> str:
    """Return a URL of the chat platform, to which a path can be added. Raises ValueError with the reason."""
    target = read_url(text)
    if not _PLAIN_PATH.fullmatch(target.path) or "#" in text:
        raise ValueError("must be https://, a host and perhaps a plain path, without a query or a fragment")
    if target.scheme == "http" and not is_loopback(target.host):
        raise ValueError("must begin with https://; plain http:// is for a stand-in on loopback")
    return _origin(target) + target.path.rstrip("/")


def read_public_url(text: str) -> str:
    """Return the origin of a gateway, as browsers write it. Raises ValueError with the reason."""
    target = read_url(text)
    if target.path != "/" or "#" in text:
        raise ValueError("must be https:// and a host, perhaps with a port, without a path")
    return _origin(target)


def is_loopback(host: str) -> bool:
    """Return true if a host is an address of loopback, or a name of it (RFC 6761, 6.3)."""
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower() == "localhost" or host.lower().endswith(".localhost")
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _origin(target: Target) -> str:
    return f"{target.scheme}://{target.authority}"


def _host(found: re.Match[str]) -> str:
    """Return the host without brackets. Raises ValueError for a wrong IPv6 address."""
    if found["ipv6"] is None:
        return found["name"].lower()
    IPv6Address(found["ipv6"])
    return found["ipv6"].lower()
