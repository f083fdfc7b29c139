"""ratelimit/address.py: only a trusted proxy's header is believed."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratelimit.address import UNIX, Proxy, address_key, client_address
from tests.support.examples import examples

TRUSTED = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
PROXY = "10.0.0.1"

proxies = st.sampled_from([PROXY, "10.9.9.9", "fd00::1"])
addresses = st.ip_addresses().filter(
    lambda address: (
        not any(address in network for network in TRUSTED) and getattr(address, "ipv4_mapped", None) is None
    )
)
anything = st.lists(st.text(st.characters(exclude_characters=",")) | addresses.map(str), max_size=4)


def spelt(address: IPv4Address | IPv6Address, spelling: int) -> str:
    """An address as proxies write it: bare, spaced, or with a port."""
    bracketed = f"[{address}]" if address.version == 6 else str(address)
    return [str(address), f"  {address} ", f"{bracketed}:4711", bracketed][spelling]


@examples(200)
@given(st.text(), st.none() | st.text() | anything.map(",".join))
def test_the_header_of_a_stranger_is_not_believed(peer: str, header: str | None) -> None:
    assert client_address("192.0.2.1", header, TRUSTED) == "192.0.2.1"
    assert client_address(peer, header, ()) == peer
    assert client_address(peer, None, TRUSTED) == peer


@examples(200)
@given(anything, addresses, st.integers(0, 3), st.lists(proxies, max_size=3))
def test_behind_trusted_proxies_the_first_other_address_is_the_client_whatever_it_invents(
    invented: list[str], client: IPv4Address | IPv6Address, spelling: int, path: list[str]
) -> None:
    header = ",".join([*invented, spelt(client, spelling), *path])
    assert client_address(PROXY, header, TRUSTED) == str(client)


@examples(100)
@given(st.lists(proxies, min_size=1, max_size=4))
def test_when_all_are_trusted_the_farthest_is_the_client(path: list[str]) -> None:
    assert client_address(PROXY, ", ".join(path), TRUSTED) == path[0]


@pytest.mark.parametrize(
    "hop",
    [
        "",
        " ",
        "unknown",
        "_hidden",
        "300.0.0.1",
        "1.2.3",
        "2001:db8::g",
        "[]:80",
        "[2001:db8::1",
        "[2001:db8::1]example",
        "192.0.2.1:http",
        "192.0.2.1%eth0",
    ],
)
def test_what_is_no_address_ends_the_walk_at_the_hop_that_wrote_it(hop: str) -> None:
    assert client_address(PROXY, f"198.51.100.1, {hop}, 10.0.0.2", TRUSTED) == "10.0.0.2"
    assert client_address(PROXY, hop, TRUSTED) == PROXY


@pytest.mark.parametrize("peer", ["::ffff:10.0.0.1", "fd00::1%eth0"])
def test_a_proxy_is_known_in_every_clothing(peer: str) -> None:
    assert client_address(peer, "198.51.100.1", TRUSTED) == "198.51.100.1"


def test_a_peer_without_an_address_is_no_proxy() -> None:
    assert client_address("", "198.51.100.1", TRUSTED) == ""


@pytest.mark.parametrize("trusted", [(UNIX,), (UNIX, *TRUSTED), (*TRUSTED, UNIX)])
def test_a_peer_of_a_unix_socket_is_believed_where_unix_sockets_are_trusted(
    trusted: tuple[Proxy, ...],
) -> None:
    assert client_address(UNIX, "203.0.113.9, 198.51.100.1", trusted) == "198.51.100.1"
    assert client_address(UNIX, None, trusted) == UNIX
    assert client_address(UNIX, "unix:", trusted) == UNIX


def test_a_peer_of_a_unix_socket_is_believed_nowhere_else() -> None:
    assert client_address(UNIX, "198.51.100.1", TRUSTED) == UNIX
    assert client_address(UNIX, "198.51.100.1", ()) == UNIX


def test_behind_a_unix_socket_the_walk_goes_on_past_trusted_networks_alone() -> None:
    header = f"203.0.113.9, 198.51.100.1, {PROXY}"
    assert client_address(UNIX, header, (UNIX,)) == PROXY
    assert client_address(UNIX, header, (UNIX, *TRUSTED)) == "198.51.100.1"


def test_a_network_peer_is_not_trusted_because_unix_sockets_are() -> None:
    assert client_address("192.0.2.1", "198.51.100.1", (UNIX,)) == "192.0.2.1"


def test_nobody_becomes_the_peer_of_a_unix_socket_by_writing_so() -> None:
    assert client_address(PROXY, f"198.51.100.1, {UNIX}", (*TRUSTED, UNIX)) == PROXY


def test_a_client_has_one_name_in_every_clothing() -> None:
    for spelling in ("::ffff:198.51.100.1", "198.51.100.1:80", "[::ffff:198.51.100.1]:80"):
        assert client_address(PROXY, spelling, TRUSTED) == "198.51.100.1"
    assert client_address(PROXY, "2001:DB8:0:0::1", TRUSTED) == "2001:db8::1"


@examples(100)
@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_counted_by_itself(address: IPv4Address) -> None:
    assert address_key(str(address)) == str(address)
    assert address_key(f"::ffff:{address}") == str(address)


@examples(200)
@given(st.integers(0, 2**128 - 1), st.integers(0, 2**128 - 1), st.sampled_from([40, 55, 56, 57, 64, 127]))
def test_an_ipv6_address_is_counted_with_its_neighbours_of_the_same_56(
    bits: int, others: int, same_bits: int
) -> None:
    other_bits = bits >> (128 - same_bits) << (128 - same_bits) | others % (1 << (128 - same_bits))
    one, other = IPv6Address(bits), IPv6Address(other_bits)
    if one.ipv4_mapped is None and other.ipv4_mapped is None:
        together = bits >> 72 == other_bits >> 72
        assert (address_key(str(one)) == address_key(str(other))) == together


def test_the_key_of_an_ipv6_address_is_no_address() -> None:
    key = address_key("2001:db8:1:2ff::1")
    assert key == address_key("2001:db8:1:200::") == address_key("2001:db8:1:2ab::1%eth0")
    with pytest.raises(ValueError, match=key):
        ip_address(key)


@pytest.mark.parametrize("peer", ["", "unix", "a:b", "/run/socket:1"])
def test_what_is_no_address_is_its_own_key(peer: str) -> None:
    assert address_key(peer) == peer
