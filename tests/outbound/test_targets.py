"""outbound/targets.py: where webhooks may go. `test_targets_ranges.py` tests which addresses are public."""

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.http_urls import Target, UrlRefused, read_url
from languages.said import in_words
from outbound.targets import ISATAP, TargetGuard, special_range
from tests.support.examples import examples

PUBLIC = TargetGuard(allow_private=False, allow_http=False)
PUBLIC_HTTP = TargetGuard(allow_private=False, allow_http=True)
PRIVATE = TargetGuard(allow_private=True, allow_http=False)
PRIVATE_HTTP = TargetGuard(allow_private=True, allow_http=True)
GUARDS = [PUBLIC, PUBLIC_HTTP, PRIVATE, PRIVATE_HTTP]
HTTPS = Target("https", "receiver.example", 443, "/")
HTTP = Target("http", "receiver.example", 80, "/")


def reason_against(guard: TargetGuard, url: str) -> str | None:
    """Return the reason why the guard refuses the URL, or None."""
    try:
        assert guard.check_url(url) == read_url(url)
    except UrlRefused as refusal:
        return str(refusal)
    return None


def reason_to_stay(guard: TargetGuard, target: Target, address: str) -> str | None:
    """Return the reason why the guard refuses the address, or None."""
    try:
        guard.check_address(target, address)
    except UrlRefused as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "9.9.9.9", "93.184.216.34", "2606:4700::1111", "2001:200::", "2a00:1450:4001::200e"],
)
def test_a_public_address_may_be_dialled(address: str) -> None:
    assert reason_to_stay(PUBLIC, HTTPS, address) is None


@examples(1_000)
@given(st.ip_addresses())
def test_an_address_may_be_dialled_if_it_lies_in_no_range(address: IPv4Address | IPv6Address) -> None:
    assert (reason_to_stay(PUBLIC, HTTPS, str(address)) is None) == (special_range(address) is None)


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
def test_a_url_with_an_ipv4_address_in_an_ipv6_one_is_refused(form: str, name: str, inner: str) -> None:
    assert f"({name})" in (reason_against(PUBLIC, f"https://[{form.format(inner)}]/") or "it is taken")


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
    assert reason_to_stay(guard, HTTPS, address) == in_words("this_machine")
    host = f"[{address}]" if ":" in address else address
    assert reason_against(guard, f"https://{host}:8443/") == in_words("this_machine")
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
        reason = in_words("this_gateway") if address in refused else None
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
        with pytest.raises(UrlRefused, match=in_words("this_machine")):
            PUBLIC.check_ends(ours, theirs)
    else:
        PUBLIC.check_ends(ours, theirs)
