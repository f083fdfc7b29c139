"""outbound/targets.py: addresses that are not the public internet."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outbound.targets import IPV4_RANGES, IPV6_RANGES, ISATAP, UNASSIGNED, special_range
from tests.support.examples import examples

Network = IPv4Network | IPv6Network

# From the registries and the manuals of cloud providers, written down independently of the tables.
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
    """Return the name of the narrowest block around the address."""
    around = [block for block in BLOCKS if address in block]
    if around:
        return BLOCKS[max(around, key=lambda block: block.prefixlen)]
    return None if address.version == 4 or address in ip_network("2000::/3") else UNASSIGNED


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


@pytest.mark.parametrize("address", ["1fff:ffff::", "4000::", "5eff::", "fe00::", "::1:0:0:0"])
def test_of_ipv6_only_global_unicast_is_public(address: str) -> None:
    assert special_range(ip_address(address)) == UNASSIGNED


@pytest.mark.parametrize("inner", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "1.1.1.1"])
def test_an_ipv4_address_in_6to4_or_teredo_is_refused_public_or_not(inner: str) -> None:
    number = int(IPv4Address(inner))
    assert special_range(IPv6Address(0x2002 << 112 | number << 80 | 1)) == "6to4"
    assert special_range(IPv6Address(0x2001_0000 << 96 | number << 64 | 1)) == "Teredo"
    assert special_range(IPv6Address(0x2001_0000 << 96 | number ^ 0xFFFF_FFFF)) == "Teredo"


@examples(1_000)
@given(st.ip_addresses())
def test_what_lies_in_no_range_is_global_to_python_too(address: IPv4Address | IPv6Address) -> None:
    name = special_range(address)
    if name is not None:
        assert name == (registered(address) or ISATAP)
        return
    assert address.is_global
    assert not address.is_multicast
    assert not address.is_reserved
    assert registered(address) is None


# Without 6to4, 192.0.0.0/24 and 3fff::/20, on which patch releases of Python disagree.
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
