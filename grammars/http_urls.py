"""URLs of endpoints, read strictly. Invariant: `read_url` and `HTTP_URL` take the same texts.

A URL is checked and dialled by the same reading. So a text that two parsers could read differently is no URL
here, even if one of them takes it. The grammar is a part of RFC 3986. A host is a number as
https://url.spec.whatwg.org/#host-parsing says. `read_url` gives the reason of a refusal, and `HTTP_URL` is
for a JSON Schema.
"""

import re
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from languages.said import Code, Fault, in_words
from languages.texts import Fact

MAX_URL_CHARACTERS = 2_048
MAX_NAME_CHARACTERS = 253  # RFC 1035: 255 bytes with the length bytes of the first label and of the root
MAX_LABEL_CHARACTERS = 63

PORT = "6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}"
"""From 1 to 65535, without leading zeros."""

_VISIBLE = re.compile(r"[!-\[\]-~]*")  # ASCII from ! to ~ but a backslash
_PARTS = re.compile(r"([Hh][Tt][Tt][Pp][Ss]?)://([^/?#]*)([^#]*)(?:#.*)?")
_AUTHORITY = re.compile(r"(?:\[([^\[\]]*)\]|([^\[\]:]*))(?::([^\[\]:]*))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class UrlRefused(ValueError):
    """A URL breaks a rule. The English text follows the field's name: "must be ..."."""

    def __init__(self, code: Code, /, **facts: Fact) -> None:
        super().__init__(in_words(code, facts))
        self.fault = Fault(code, facts)


class Target(NamedTuple):
    """The target of a URL.

    Args:
        host: a name in lower case, or an IP address without brackets.
        path: the path and the query for the request line, as they were written, without the fragment.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the `Host` header: with brackets around IPv6, and a port that is not the scheme's."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.scheme == "https" else 80
        return host if self.port == default else f"{host}:{self.port}"


def read_url(text: str) -> Target:
    """Return the target of an http or https URL. An IPv6 host is in `ipaddress`'s canonical form.

    Raises UrlRefused with the reason, which quotes nothing of the URL: its path may be a secret.
    """
    if len(text) > MAX_URL_CHARACTERS:
        raise UrlRefused("url_too_long", most=MAX_URL_CHARACTERS)
    if not _VISIBLE.fullmatch(text):
        raise UrlRefused("url_not_ascii")
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise UrlRefused("not_http")
    scheme, authority, path = parts[1].lower(), parts[2], parts[3]
    if "@" in authority:
        raise UrlRefused("url_with_user")
    split = _AUTHORITY.fullmatch(authority)
    if split is None:
        raise UrlRefused("url_authority")
    ipv6, name, port = split[1], split[2], split[3]
    host = _read_name(name.lower()) if ipv6 is None else _read_ipv6(ipv6)
    default = 443 if scheme == "https" else 80
    number = default if port is None else _read_port(port)
    return Target(scheme, host, number, path if path.startswith("/") else "/" + path)


def _read_port(text: str) -> int:
    if not re.fullmatch(PORT, text):
        raise UrlRefused("url_port")
    return int(text)


def _read_ipv6(text: str) -> str:
    if "%" in text:
        raise UrlRefused("url_zone")
    try:
        return str(IPv6Address(text))
    except ValueError:
        raise UrlRefused("url_ipv6") from None


def _read_name(text: str) -> str:
    """Read a name or an IPv4 address. Resolvers take other spellings of numbers for addresses, too: these
    are refused."""
    if not text:
        raise UrlRefused("not_http")
    if len(text) > MAX_NAME_CHARACTERS:
        raise UrlRefused("host_too_long", most=MAX_NAME_CHARACTERS)
    labels = text.split(".")
    for label in labels:
        _check_label(label)
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(text))
        except ValueError:
            raise UrlRefused("url_ipv4") from None
    return text


def _check_label(label: str) -> None:
    if not label:
        raise UrlRefused("host_dots")
    if len(label) > MAX_LABEL_CHARACTERS:
        raise UrlRefused("label_too_long", most=MAX_LABEL_CHARACTERS)
    if label.startswith("-") or label.endswith("-"):
        raise UrlRefused("label_hyphen")
    if not _LABEL.fullmatch(label):
        raise UrlRefused("host_letters")


def _ipv6_pattern(ipv4: str) -> str:
    """Match every form of RFC 4291, 2.2: whole, with a gap, with an IPv4 address for the last two groups."""
    group = "[0-9A-Fa-f]{1,4}"

    def gap_after(groups: int) -> str:
        return f"(?:{group}:){{{groups}}}:" if groups else "::"

    short = (f"{gap_after(i)}(?:(?:{group}:){{0,{6 - i}}}{group})?" for i in range(7))
    before_ipv4 = (f"{gap_after(i)}(?:{group}:){{0,{5 - i}}}" for i in range(6))
    return (
        f"(?:{group}:){{7}}(?:{group}|:)|{'|'.join(short)}|"
        f"(?:(?:{group}:){{6}}|{'|'.join(before_ipv4)}){ipv4}"
    )


def _url_pattern() -> str:
    """Match every URL that `read_url` takes, whatever its length."""
    octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    ipv4 = rf"(?:{octet}\.){{3}}{octet}"
    label = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
    number = "(?:[0-9]+|0[Xx][0-9A-Fa-f]*)(?:[:/?#]|$)"
    name = rf"(?![A-Za-z0-9._-]{{254}})(?:{label}\.)*(?!{number}){label}"
    host = rf"(?:{ipv4}|{name}|\[(?:{_ipv6_pattern(ipv4)})\])"
    return rf"^[Hh][Tt][Tt][Pp][Ss]?://{host}(?::(?:{PORT}))?(?:[/?#][!-\[\]-~]*)?$"


HTTP_URL = _url_pattern()
"""The URLs that `read_url` takes, as a pattern for a JSON Schema. Python and ECMA-262 read it alike."""
