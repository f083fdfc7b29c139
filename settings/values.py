"""The values that settings may have, and the names that people write. Invariant: a value that is accepted can
be used.

Times are in seconds. The reason of a refusal follows the name of the setting. Grammars that other rooms read
too are in `grammars/`. A wrong name is reported as written, with the nearest one. A setting is named like
"server.port" here and in files, and like VOTEGATE_SERVER__PORT in the environment.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainValidator, SecretStr

from grammars.http_urls import PORT
from grammars.patterns import is_header_value, is_mail_address, is_snowflake
from grammars.service_urls import read_platform_url, read_proxy_url, read_public_url, read_redis_url
from grammars.tags import MOST_CHARACTERS, tag_of
from kinds.registry import KINDS
from languages.said import in_words
from settings.sources import FILE_SUFFIX, variable_of

TOKEN_CHARACTERS = 16
SOCKET_PATH_BYTES = 107  # what the address of a Unix socket has room for (unix(7))

Seconds = Annotated[float, Field(gt=0, le=31_536_000)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
MOST_WORKERS = 64


def _workers(value: object) -> object:
    """Return the number of cores that this process may use for `auto`."""
    return min(len(os.sched_getaffinity(0)), MOST_WORKERS) if value == "auto" else value


Workers = Annotated[int, BeforeValidator(_workers), Field(ge=1, le=MOST_WORKERS)]
WindowSeconds = Annotated[int, Field(ge=1, le=2_592_000)]


def only(is_right: Callable[[Any], object], reason: str) -> AfterValidator:
    """Accept the values that are right. A secret is judged by its text."""

    def check(value: Any) -> Any:
        if not is_right(value.get_secret_value() if isinstance(value, SecretStr) else value):
            raise ValueError(reason)
        return value

    return AfterValidator(check)


def _matching(pattern: str, reason: str) -> AfterValidator:
    """Accept a text that matches whole."""
    return only(re.compile(pattern).fullmatch, reason)


def split(value: object) -> object:
    """Split a list that is one string with commas, as in the environment."""
    return [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value


def _proxy(value: object) -> IPv4Network | IPv6Network | Literal["unix"]:
    if value == "unix":
        return "unix"
    if not isinstance(value, str):  # a number would be taken for an address
        raise ValueError("must be a network, such as 10.0.0.0/8, or the word unix")
    return ip_network(value)


Proxy = Annotated[IPv4Network | IPv6Network | Literal["unix"], PlainValidator(_proxy)]
Proxies = Annotated[tuple[Proxy, ...], BeforeValidator(split)]


def _network(value: object) -> IPv4Network | IPv6Network:
    if not isinstance(value, str):
        raise ValueError("must be a network, such as 198.51.100.0/24, or an address")
    return ip_network(value)


Network = Annotated[IPv4Network | IPv6Network, PlainValidator(_network)]
Networks = Annotated[tuple[Network, ...], BeforeValidator(split)]
Port = Annotated[int, Field(ge=1, le=65_535)]
Ports = Annotated[tuple[Port, ...], BeforeValidator(split)]

# Ports of protocols that a POST must not be able to talk to. Mail, and from 1024 on whatever a browser opens
# no connection to, follow the "bad ports" of https://fetch.spec.whatwg.org/#port-blocking; the others IANA's
# registry of ports, or the manual of the database or control plane. Ports that people choose for web servers
# (3000, 8000, 8080, 9000 and so on) are in no list. Databases and control planes that speak HTTP themselves
# (8086 InfluxDB, 8123 ClickHouse, 8500 Consul, 6443 Kubernetes) are: a POST means something to them.
MAIL_PORTS = (24, 25, 109, 110, 143, 465, 587, 993, 995, 2525, 4190)
DATABASE_PORTS = (
    *(1433, 1434, 1521, 1522, 1830, 1883, 2181, 2379, 2380, 2888, 3050, 3306, 3888, 4222, 5432, 5433, 5671),
    *(5672, 5984, 6222, 6379, 6380, 6432, 7001, 7199, 7473, 7474, 7687, 8086, 8123, 8529, 8883, 9042, 9092),
    *(9142, 9160, 9200, 9300, 11210, 11211, 15672, 16379, 19530, 26257, 26379, 27017, 27018, 27019, 28015),
    *(29015, 33060, 33061, 50000, 61613, 61616),
)
REMOTE_PORTS = (
    *(21, 22, 23, 53, 111, 135, 139, 389, 445, 512, 513, 514, 548, 636, 873, 2049, 2375),
    *(2376, 2377, 3260, 3268, 3269, 3389, 4646, 4647, 4648, 5900, 5901, 5985, 5986, 6443, 8200, 8201, 8300),
    *(8301, 8302, 8500, 8501, 8502, 8600, 9345, 10248, 10249, 10250, 10255, 10256, 10257, 10259, 16443),
)
OTHER_PORTS = (
    *(1719, 1720, 1723, 3659, 4045, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697),
    10080,
)


def _folder(value: object) -> object:
    if isinstance(value, str) and (not value or "\0" in value):  # "" would be the current folder
        raise ValueError("must be the path of a folder")
    return value


DataDir = Annotated[Path, BeforeValidator(_folder)]


def _is_socket_path(path: Path) -> bool:
    return path.name != "" and "\0" not in str(path) and len(str(path).encode()) <= SOCKET_PATH_BYTES


SocketPath = Annotated[
    Path, only(_is_socket_path, f"must be the path of a file, of at most {SOCKET_PATH_BYTES} bytes")
]
_NAME_SERVER = re.compile(
    rf"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<v4>[0-9.]+)):(?:{PORT})|(?P<bare>[0-9A-Fa-f:.]+)"
)


def _name_server(text: str) -> str:
    found = _NAME_SERVER.fullmatch(text)
    if found is None:
        raise ValueError("must be an address, or an address and a port such as 127.0.0.1:53 or [::1]:53")
    ip_address(found["v6"] or found["v4"] or found["bare"])
    return text


NameServers = Annotated[tuple[Annotated[str, AfterValidator(_name_server)], ...], BeforeValidator(split)]
ChatHost = Annotated[
    str, _matching(rf"[a-z0-9.-]+(?::(?:{PORT}))?", "must be a host, or host:port, in lower case")
]
ChatHosts = Annotated[tuple[ChatHost, ...], BeforeValidator(split)]


def _inner_address(text: str) -> str:
    """Accept an address that no stranger reaches: of this machine, or of a private network."""
    address = ip_address("127.0.0.1" if text == "localhost" else text)
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_unspecified or address.is_global or address.is_multicast:
        raise ValueError(
            "must be an address of loopback or a private network, because nothing there asks for a token; "
            "elsewhere, scrape the main address with the operator token"
        )
    return text


InnerAddress = Annotated[str, AfterValidator(_inner_address)]


def _read_by(read: Callable[[str], object]) -> AfterValidator:
    """Accept a secret that `read` reads."""

    def check(secret: SecretStr) -> SecretStr:
        read(secret.get_secret_value())
        return secret

    return AfterValidator(check)


_KEY = re.compile(r"[A-Za-z0-9+/_-]{43}=")
_HEADER_VALUE = only(is_header_value, in_words("not_header_value"))
HeaderSecret = Annotated[SecretStr, _HEADER_VALUE]
OperatorToken = Annotated[
    SecretStr,
    only(lambda text: len(text) >= TOKEN_CHARACTERS, f"must have at least {TOKEN_CHARACTERS} characters"),
    _HEADER_VALUE,
]
DigestSecret = Annotated[
    SecretStr,
    only(str.isascii, "must be ASCII, so that its length is its length in bytes"),
    only(lambda text: 32 <= len(text) <= 64, "must have 32 to 64 characters"),
]
SealingKeys = Annotated[
    SecretStr,
    only(
        lambda text: all(map(_KEY.fullmatch, text.split() or [""])),
        "must be keys of 32 bytes in base64, newest first, separated by spaces",
    ),
]
ProxyUrl = Annotated[SecretStr, _read_by(read_proxy_url)]
RedisUrl = Annotated[SecretStr, _read_by(read_redis_url)]
PlatformUrl = Annotated[str, AfterValidator(read_platform_url)]
MailHost = Annotated[str, _matching(r"[A-Za-z0-9.:-]{1,253}", "must be a host name or an address")]
MailAddress = Annotated[str, only(is_mail_address, "must be an address such as news@bots.example")]
PublicUrl = Annotated[str, AfterValidator(read_public_url)]


def _digits(value: object) -> object:
    """Take an id as YAML reads it without quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def line(most: int) -> AfterValidator:
    """Accept a text on one line that people can read."""
    return only(
        lambda text: 1 <= len(text.strip()) == len(text) <= most and text.isprintable(),
        f"must be 1 to {most} characters on one line, without spaces around them",
    )


ReasonKey = Annotated[str, _matching(r"[a-z0-9-]{1,32}", "must be 1 to 32 characters of a-z, 0-9 and -")]
ReasonTitle = Annotated[str, line(80)]
ReasonText = Annotated[str, line(400)]
if TYPE_CHECKING:
    KindName = str
    ListingKind = str
else:
    KindName = Literal[tuple(kind.plural for kind in KINDS)]
    ListingKind = Literal[(*(kind.plural for kind in KINDS), "all")]
KindNames = Annotated[
    tuple[KindName, ...], BeforeValidator(split), only(bool, "must name at least one kind of listing")
]


def _off(value: object) -> object:
    """Return the word that YAML reads as false."""
    return "off" if value is False else value


NsfwRule = Annotated[Literal["visible", "any", "off"], BeforeValidator(_off)]


def _from_json(value: object) -> object:
    """Read a list of objects that is one string in JSON, as in the environment."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        raise ValueError("must be a list, or one in JSON") from None


FROM_JSON = BeforeValidator(_from_json)
PlatformId = Annotated[
    str,
    BeforeValidator(_digits),
    only(is_snowflake, "must be an id of the chat platform, of 17 to 20 digits"),
]
Tags = Annotated[
    tuple[Annotated[str, AfterValidator(tag_of), line(MOST_CHARACTERS)], ...], BeforeValidator(split)
]
"""Tags in any spelling. They are kept in the spelling that listings use."""
PlatformIds = Annotated[tuple[PlatformId, ...], BeforeValidator(split)]
LONGEST_NODE_NAME = 32
NodeName = Annotated[
    str,
    _matching(
        rf"[a-z0-9][a-z0-9-]{{0,{LONGEST_NODE_NAME - 1}}}",
        "must be 1 to 32 characters of a-z, 0-9 and -, and not begin with -",
    ),
]
KeyPrefix = Annotated[
    str, _matching(r"[A-Za-z0-9_{}:-]{1,64}", "must be 1 to 64 characters of A-Z, a-z, 0-9, _, {, }, : and -")
]


ALIKE_IN_A_SECTION = 0.7  # of 1; a name in the right section is likely the one that was meant
ALIKE_ANYWHERE = 0.85


def unknown(
    name: str, settings: type[BaseModel], variables: Mapping[str, str], secrets: Collection[str]
) -> list[str]:
    """Return the mistakes for a name that no setting has: one, or one for each variable that it comes from.

    Args:
        name: the setting or section, as validation calls it.
        variables: all variables as they were written, by the names of their settings.
        secrets: settings that a variable may also give by a file.
    """
    names = [name for name, _ in _named(settings)]
    written = {given: variable for given, variable in variables.items() if f"{given}.".startswith(f"{name}.")}
    if not written:
        return [_told(name, _nearest(name, names))]
    given_names = [each for each in names if not any(other.startswith(f"{each}.") for other in names)]
    given_names += [f"{secret}{FILE_SUFFIX.lower()}" for secret in secrets]
    nearest = {variable: _nearest(given, given_names) for given, variable in written.items()}
    return [_told(variable, right and variable_of(right)) for variable, right in nearest.items()]


_LEFT_OUT = {"server.address", "server.port"}
"""Settings that people mean when they leave the section out, though other sections have such a name too."""


def _told(written: str, right: str | None) -> str:
    return f"{written}: there is no such setting{f'; did you mean {right}?' if right else ''}"


def _named(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names of all settings and sections, with their types."""
    for name, field in section.model_fields.items():
        yield prefix + name, field.annotation
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _named(field.annotation, f"{prefix}{name}.")


def secrets_of(settings: type[BaseModel]) -> Iterator[str]:
    """Yield the names of the settings whose values are secrets."""
    yield from (name for name, annotation in _named(settings) if _is_secret(annotation))


def _is_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(map(_is_secret, get_args(annotation)))


def _nearest(name: str, names: Collection[str]) -> str | None:
    """Find the name in the same section, with other separators, or in a section that was left out."""
    section, _, last = name.rpartition(".")
    beside = {_last(each): each for each in names if each.rpartition(".")[0] == section}
    times = Counter(map(_last, names))
    anywhere = {_last(each): each for each in names if times[_last(each)] == 1 or each in _LEFT_OUT}
    anywhere |= {_flat(each): each for each in names}
    return _match(last, beside, ALIKE_IN_A_SECTION) or _match(_flat(name), anywhere, ALIKE_ANYWHERE)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _flat(name: str) -> str:
    return name.replace(".", "_")


def _match(word: str, meant: Mapping[str, str], alike: float) -> str | None:
    return next((meant[found] for found in get_close_matches(word, meant, 1, alike)), None)
