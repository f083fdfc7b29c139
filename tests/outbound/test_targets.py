"""outbound/targets.py and outbound/ranges.py: where webhooks may go."""

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.urls import Target, UrlRefused, read_url
from outbound.ranges import IPV4_RANGES, IPV6_RANGES, ISATAP, UNASSIGNED, special_range
from outbound.targets import THIS_GATEWAY, THIS_MACHINE, TargetGuard
from tests.support.generated_events import examples

Network = IPv4Network | IPv6Network

PUBLIC = TargetGuard(allow_private=False, allow_http=False)
PUBLIC_HTTP = TargetGuard(allow_private=False, allow_http=True)
PRIVATE = TargetGuard(allow_private=True, allow_http=False)
PRIVATE_HTTP = TargetGuard(allow_private=True, allow_http=True)
GUARDS = [PUBLIC, PUBLIC_HTTP, PRIVATE, PRIVATE_HTTP]
HTTPS = Target("https", "receiver.example", 443, "/")
HTTP = Target("http", "receiver.example", 80, "/")

# What the registries and the clouds' manuals say, written down apart from the tables.
REGISTERED = {
    "6to4": "2002::/16",
    "6to4 relay": "192.88.99.0/24",
    "AMT": "192.52.193.0/24",
    "AS112": "192.31.196.0/24 192.175.48.0/24 2620:4f:8000::/48",
    "IETF protocols": "192.0.0.0/24 2001::/23",
    "IPv4-compatible": "::/96",
    "IPv4-mapped": "::ffff:0:0/96",
    "IPv4-translated": "::ffff:0:0:0/96",
    "NAT64": "64:ff9b::/96 64:ff9b:1::/48",
    "ORCHID": "2001:10::/28 2001:20::/28",
    "Teredo": "2001::/32",
    "benchmarking": "198.18.0.0/15 2001:2::/48",
    "broadcast": "255.255.255.255/32",
    "cloud metadata": "169.254.169.254/32 192.0.0.192/32 100.100.100.200/32 168.63.129.16/32 "
    "fd00:ec2::254/128 fd20:ce::254/128",
    "discard-only": "100::/64",
    "documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
    "dummy": "100:0:0:1::/64",
    "link-local": "169.254.0.0/16 fe80::/10",
    "loopback": "127.0.0.0/8 ::1/128",
    "multicast": "224.0.0.0/4 ff00::/8",
    "private network": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7",
    "remote identification": "2001:30::/28",
    "reserved": "240.0.0.0/4",
    "segment routing": "5f00::/16",
    "shared by carriers": "100.64.0.0/10",
    "site-local": "fec0::/10",
    "this network": "0.0.0.0/8",
    "unspecified": "0.0.0.0/32 ::/128",
}
BLOCKS = {ip_network(block): name for name, blocks in REGISTERED.items() for block in blocks.split()}


def registered(address: IPv4Address | IPv6Address) -> str | None:
    """The name of the narrowest block around the address."""
    around = [block for block in BLOCKS if address in block]
    if around:
        return BLOCKS[max(around, key=lambda block: block.prefixlen)]
    return None if address.version == 4 or address in ip_network("2000::/3") else UNASSIGNED


def reason_against(guard: TargetGuard, url: str) -> str | None:
    """Why the guard refuses the URL, or None."""
    try:
        assert guard.check_url(url) == read_url(url)
    except UrlRefused as refusal:
        return str(refusal)
    return None


def reason_to_stay(guard: TargetGuard, target: Target, address: str) -> str | None:
    """Why the guard refuses to dial the address, or None."""
    try:
        guard.check_address(target, address)
    except UrlRefused as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_special_block_is_refused_from_its_first_address_to_its_last_and_no_further(block: Network) -> None:
    assert special_range(block[0]) == registered(block[0])
    assert special_range(block[-1]) == registered(block[-1])
    if int(block[0]):
        assert special_range(block[0] - 1) == registered(block[0] - 1)
    if int(block[-1]) + 1 < 1 << block.max_prefixlen:
        assert special_range(block[-1] + 1) == registered(block[-1] + 1)


def test_every_range_of_the_tables_is_registered_and_names_its_source() -> None:
    tabled = [*IPV4_RANGES, *IPV6_RANGES]
    assert {entry.network: entry.name for entry in tabled} == BLOCKS
    assert all(entry.source for entry in tabled)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "9.9.9.9", "93.184.216.34", "2606:4700::1111", "2001:200::", "2a00:1450:4001::200e"],
)
def test_a_public_address_lies_in_no_range(address: str) -> None:
    assert special_range(ip_address(address)) is None
    assert reason_to_stay(PUBLIC, HTTPS, address) is None


@pytest.mark.parametrize("address", ["1fff:ffff::", "4000::", "5eff::", "fe00::", "::1:0:0:0"])
def test_of_ipv6_only_global_unicast_is_public(address: str) -> None:
    assert special_range(ip_address(address)) == UNASSIGNED


@pytest.mark.parametrize("inner", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "1.1.1.1"])
@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("::ffff:{}", "IPv4-mapped"),
        ("::{}", "IPv4-compatible"),
        ("::ffff:0:{}", "IPv4-translated"),
        ("64:ff9b::{}", "NAT64"),
        ("64:ff9b:1::{}", "NAT64"),
        ("2606:4700::5efe:{}", ISATAP),
        ("2606:4700::200:5efe:{}", ISATAP),
    ],
)
def test_an_ipv4_address_in_an_ipv6_one_is_refused_public_or_not(form: str, name: str, inner: str) -> None:
    assert special_range(IPv6Address(form.format(inner))) == name
    assert f"({name})" in (reason_against(PUBLIC, f"https://[{form.format(inner)}]/") or "it is taken")


@pytest.mark.parametrize("inner", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "1.1.1.1"])
def test_an_ipv4_address_in_6to4_or_teredo_is_refused_public_or_not(inner: str) -> None:
    number = int(IPv4Address(inner))
    assert special_range(IPv6Address(0x2002 << 112 | number << 80 | 1)) == "6to4"
    assert special_range(IPv6Address(0x2001_0000 << 96 | number << 64 | 1)) == "Teredo"
    assert special_range(IPv6Address(0x2001_0000 << 96 | number ^ 0xFFFF_FFFF)) == "Teredo"


@examples(1_000)
@given(st.ip_addresses())
def test_what_is_accepted_is_global_to_python_too_and_lies_in_no_table(
    address: IPv4Address | IPv6Address,
) -> None:
    if reason_to_stay(PUBLIC, HTTPS, str(address)) is not None:
        assert special_range(address) == (registered(address) or ISATAP)
        return
    assert address.is_global
    assert not address.is_multicast
    assert not address.is_reserved
    assert registered(address) is None


# Not 6to4, 192.0.0.0/24 and 3fff::/20: of these patch releases of Python say this or that.
GLOBAL_TO_PYTHON = """
    168.63.129.16 192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1 224.0.0.1 233.252.0.1 2620:4f:8000::1
    ::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 2606:4700::5efe:127.0.0.1
    4000::1 5f00::1 fec0::1 ff02::1 ff0e::1
"""


@pytest.mark.parametrize("address", GLOBAL_TO_PYTHON.split())
def test_python_takes_for_global_what_is_refused_here(address: str) -> None:
    assert ip_address(address).is_global
    assert special_range(ip_address(address)) is not None


def test_python_has_carriers_addresses_neither_private_nor_global() -> None:
    shared = ip_address("100.64.0.1")
    assert not shared.is_private
    assert not shared.is_global
    assert special_range(shared) == "shared by carriers"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://127.0.0.1/", "must not lead to a private address (loopback)"),
        ("https://[::1]/", "must not lead to a private address (loopback)"),
        ("https://10.0.0.1:8443/", "must not lead to a private address (private network)"),
        ("https://169.254.169.254/latest/", "must not lead to a private address (cloud metadata)"),
        ("https://[fd00:0ec2::254]/", "must not lead to a private address (cloud metadata)"),
        ("https://0.0.0.0/", "must not lead to a private address (unspecified)"),
        ("https://localhost/", "must not lead to a private address (localhost)"),
        ("https://a.LocalHost/", "must not lead to a private address (localhost)"),
        ("https://printer.local/", "must not lead to a private address (local)"),
        ("https://metadata.google.internal/", "must not lead to a private address (internal)"),
        ("https://nas.home.arpa/", "must not lead to a private address (home.arpa)"),
        ("https://home.arpa/", "must not lead to a private address (home.arpa)"),
        ("https://redis/", "must not lead to a private address (a name without a dot)"),
        ("https://receiver.example/", None),
        ("https://arpa.example/", None),
        ("https://a.notlocalhost/", None),
        ("https://internal.example/", None),
        ("https://the.mylocal/", None),
        ("https://1.1.1.1/", None),
        ("https://[2606:4700::1111]:8443/", None),
    ],
)
def test_a_webhook_may_not_lead_to_a_private_place_unless_that_is_allowed(
    url: str, reason: str | None
) -> None:
    assert reason_against(PUBLIC, url) == reason
    assert reason_against(PUBLIC_HTTP, url.replace("https:", "http:")) == reason
    if "0.0.0.0" not in url:
        assert reason_against(PRIVATE, url) is None


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost.", "%31", "a@h"])
def test_a_url_with_two_readings_is_refused_whatever_is_allowed(guard: TargetGuard, host: str) -> None:
    assert reason_against(guard, f"https://{host}/") is not None


@pytest.mark.parametrize("address", ["0.0.0.0", "224.0.0.1", "239.1.1.1", "255.255.255.255", "::", "ff02::1"])
def test_an_address_of_no_one_host_is_refused_even_where_private_ones_are_allowed(address: str) -> None:
    mapped = address if ":" in address else f"::ffff:{address}"
    for spelling in (address, mapped):
        assert "one host" in (reason_to_stay(PRIVATE_HTTP, HTTP, spelling) or "it is taken")
    assert "one host" in (reason_against(PRIVATE_HTTP, f"http://[{mapped}]/") or "it is taken")


@pytest.mark.parametrize(
    ("host", "refused_by"),
    [
        ("receiver.example", [PUBLIC, PRIVATE]),
        ("1.1.1.1", [PUBLIC, PRIVATE]),
        ("10.0.0.1", [PUBLIC, PUBLIC_HTTP, PRIVATE]),
        ("[::1]", [PUBLIC, PUBLIC_HTTP]),
        ("127.0.0.2", [PUBLIC, PUBLIC_HTTP]),
        ("localhost", [PUBLIC, PUBLIC_HTTP]),
        ("redis", [PUBLIC, PUBLIC_HTTP, PRIVATE]),
        ("printer.local", [PUBLIC, PUBLIC_HTTP, PRIVATE]),
    ],
)
def test_http_is_for_this_machine_unless_it_is_allowed(host: str, refused_by: list[TargetGuard]) -> None:
    for guard in GUARDS:
        assert (reason_against(guard, f"http://{host}/") is not None) == (guard in refused_by), guard


def test_http_where_tls_is_needed_is_refused_with_the_reason() -> None:
    assert reason_against(PUBLIC, "http://receiver.example/") == "must be https"
    assert reason_against(PRIVATE, "http://10.0.0.1/") == "must be https"


@pytest.mark.parametrize(
    ("target", "address", "refused_by"),
    [
        (HTTPS, "1.1.1.1", []),
        (HTTP, "1.1.1.1", [PUBLIC, PRIVATE]),
        (HTTPS, "10.0.0.1", [PUBLIC, PUBLIC_HTTP]),
        (HTTP, "10.0.0.1", [PUBLIC, PUBLIC_HTTP, PRIVATE]),
        (HTTPS, "127.0.0.1", [PUBLIC, PUBLIC_HTTP]),
        (HTTP, "127.0.0.1", [PUBLIC, PUBLIC_HTTP]),
        (HTTP, "::1", [PUBLIC, PUBLIC_HTTP]),
        (HTTP, "::ffff:127.0.0.1", [PUBLIC, PUBLIC_HTTP]),
        (HTTPS, "fe80::1%eth0", [PUBLIC, PUBLIC_HTTP]),
        (HTTPS, "receiver.example", GUARDS),
        (HTTPS, "127.1", GUARDS),
        (HTTPS, "", GUARDS),
    ],
)
def test_a_name_is_no_promise_so_each_address_is_checked_before_its_dial(
    target: Target, address: str, refused_by: list[TargetGuard]
) -> None:
    assert PRIVATE.check_url("http://localhost/").host == "localhost"
    for guard in GUARDS:
        assert (reason_to_stay(guard, target, address) is not None) == (guard in refused_by), guard


@examples(500)
@given(st.ip_addresses(), st.sampled_from(GUARDS), st.sampled_from(["http", "https"]))
def test_an_address_in_a_url_is_checked_as_if_it_were_dialled(
    address: IPv4Address | IPv6Address, guard: TargetGuard, scheme: str
) -> None:
    url = f"{scheme}://[{address}]/" if address.version == 6 else f"{scheme}://{address}/"
    assert reason_against(guard, url) == reason_to_stay(guard, read_url(url), str(address))


@pytest.mark.parametrize("host", ["receiver.example", "1.1.1.1", "[2606:4700::1111]"])
@pytest.mark.parametrize("guard", GUARDS)
def test_a_port_of_another_protocol_is_refused_unless_private_networks_are_open(
    guard: TargetGuard, host: str
) -> None:
    for port in (1, 22, 25, 79, 81, 442, 444, 587, 1_023):
        reason = reason_against(guard, f"https://{host}:{port}/")
        assert (reason is None) == guard.allow_private
        assert reason in (None, "must have port 80, port 443 or one from 1024 to 65535")
    for port in (80, 443, 1_024, 8_443, 65_535):
        assert reason_against(guard, f"https://{host}:{port}/") is None


@pytest.mark.parametrize("guard", GUARDS)
def test_a_refused_port_is_refused_whatever_is_allowed(guard: TargetGuard) -> None:
    closed = replace(guard, refused_ports={25, 443, 6_379})
    for port in (443, 6_379):
        reason = f"must not have port {port}, which belongs to another protocol"
        assert reason_against(closed, f"https://receiver.example:{port}/") == reason
    assert reason_against(closed, "https://receiver.example:25/") is not None
    assert reason_against(closed, "https://receiver.example:8443/") is None


REFUSED_NETWORKS = (ip_network("1.1.1.0/24"), ip_network("2606:4700::/32"), ip_network("10.1.0.0/16"))


@pytest.mark.parametrize("guard", [PUBLIC, PRIVATE])
@pytest.mark.parametrize(
    ("address", "refused"),
    [
        ("1.1.1.0", True),
        ("1.1.1.255", True),
        ("1.1.2.0", False),
        ("2606:4700::1111", True),
        ("2606:4701::", False),
        ("::ffff:1.1.1.1", True),
    ],
)
def test_a_refused_network_is_refused_whatever_is_allowed(
    guard: TargetGuard, address: str, refused: bool
) -> None:
    closed = replace(guard, refused_networks=REFUSED_NETWORKS)
    reason = reason_to_stay(closed, HTTPS, address)
    assert (reason is not None) == refused
    host = f"[{address}]" if ":" in address else address
    assert reason_against(closed, f"https://{host}/") == reason


def test_a_private_network_may_be_refused_where_the_others_are_open() -> None:
    closed = replace(PRIVATE, refused_networks=REFUSED_NETWORKS)
    assert (
        reason_to_stay(closed, HTTPS, "10.1.2.3")
        == "must not lead to a network that the operator has refused"
    )
    assert reason_to_stay(closed, HTTPS, "10.2.2.3") is None


def owning(*addresses: str) -> Callable[[IPv4Address | IPv6Address], bool]:
    return lambda address: str(address) in addresses


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111"])
def test_an_address_of_this_machine_is_refused_public_as_it_may_be(address: str) -> None:
    guard = replace(PUBLIC, is_here=owning("1.1.1.1", "2606:4700::1111"))
    assert reason_to_stay(guard, HTTPS, address) == THIS_MACHINE
    host = f"[{address}]" if ":" in address else address
    assert reason_against(guard, f"https://{host}:8443/") == THIS_MACHINE
    assert reason_to_stay(guard, HTTPS, "1.1.1.2") is None


@pytest.mark.parametrize(
    ("listening", "refused"),
    [
        ("127.0.0.1", {"127.0.0.1", "::ffff:127.0.0.1"}),
        ("::ffff:127.0.0.1", {"127.0.0.1", "::ffff:127.0.0.1"}),
        ("::1", {"::1"}),
        ("10.0.0.1", {"10.0.0.1"}),
        ("0.0.0.0", {"127.0.0.1", "::ffff:127.0.0.1", "::1", "10.0.0.1"}),
        ("::", {"127.0.0.1", "::ffff:127.0.0.1", "::1", "10.0.0.1"}),
    ],
)
def test_where_private_networks_are_open_this_machine_is_too_but_for_the_gateway_itself(
    listening: str, refused: set[str]
) -> None:
    guard = replace(
        PRIVATE_HTTP,
        is_here=owning("127.0.0.1", "::1", "10.0.0.1"),
        listening=[(ip_address(listening), 8080)],
    )
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "::1", "10.0.0.1", "10.0.0.2"):
        reason = THIS_GATEWAY if address in refused else None
        assert reason_to_stay(guard, HTTP._replace(port=8080), address) == reason
        assert reason_to_stay(guard, HTTP._replace(port=9000), address) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("1.1.1.1", "1.1.1.1", True),
        ("1.1.1.1", "1.1.1.2", False),
        ("::ffff:1.1.1.1", "1.1.1.1", True),
        ("2606:4700::1", "2606:4700::1", True),
        ("2606:4700::1", "2606:4700::2", False),
        ("fe80::1%eth0", "fe80::1%eth0", True),
    ],
)
def test_a_connection_whose_two_ends_have_the_same_address_is_refused(
    ours: str, theirs: str, same: bool
) -> None:
    PRIVATE.check_ends(ours, theirs)
    if same:
        with pytest.raises(UrlRefused, match=THIS_MACHINE):
            PUBLIC.check_ends(ours, theirs)
    else:
        PUBLIC.check_ends(ours, theirs)
