"""outbound/local_addresses.py: it asks the kernel, and a kernel of the test whose addresses change."""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path

import pytest

from outbound.local_addresses import LocalAddresses
from tests.support.gateways import ROOT, WAIT_SECONDS

NOT_YET = 0x48  # IFA_F_TENTATIVE | IFA_F_DADFAILED: nobody answers at such an address
IN_A_NETWORK_OF_ITS_OWN = """
import subprocess
import time
from ipaddress import ip_address
from outbound.local_addresses import LocalAddresses

machine = LocalAddresses()
def knows(*addresses):
    print(*(machine.has(ip_address(each)) for each in addresses))
def ip(*words):
    subprocess.run(["ip", *words], check=True)

ip("link", "set", "lo", "up")
knows("8.8.8.8", "8.8.8.9", "2606:4700::1", "9.9.9.9")
ip("address", "add", "8.8.8.8/24", "dev", "lo")
ip("address", "add", "8.8.8.9/24", "dev", "lo")
ip("address", "add", "2606:4700::1/64", "dev", "lo")
ip("route", "add", "local", "9.9.9.0/24", "dev", "lo")
deadline = time.monotonic() + 10  # the kernel takes a moment before it answers at a new IPv6 address
while not machine.has(ip_address("2606:4700::1")) and time.monotonic() < deadline:
    time.sleep(0.001)  # between two looks; the address alone ends the wait
knows("8.8.8.8", "8.8.8.9", "2606:4700::1", "9.9.9.9")
knows("8.8.7.8", "9.9.8.1", "2606:4700::2", "1.1.1.1")
ip("address", "delete", "8.8.8.8/24", "dev", "lo")
knows("8.8.8.8")
"""


@pytest.fixture
def machine() -> Iterator[LocalAddresses]:
    with closing(LocalAddresses()) as asked:
        yield asked


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "127.255.255.255", "::1"])
def test_loopback_is_this_machine(machine: LocalAddresses, address: str) -> None:
    assert machine.has(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "192.0.2.77"])
def test_an_address_elsewhere_is_not_reachable_or_not(machine: LocalAddresses, address: str) -> None:
    assert not machine.has(ip_address(address))


def test_every_address_of_the_interfaces_is_this_machine(machine: LocalAddresses) -> None:
    routes = Path("/proc/self/net/fib_trie").read_text()
    addresses = [ip_address(found) for found in re.findall(r"\|-- (\S+)\s+/32 host LOCAL", routes)]
    for line in Path("/proc/self/net/if_inet6").read_text().splitlines():
        packed, *_, flags, _ = line.split()
        if not int(flags, 16) & NOT_YET:
            addresses.append(ip_address(bytes.fromhex(packed)))
    assert len(addresses) >= 2
    assert [address for address in addresses if not machine.has(address)] == []


def test_a_question_is_answered_however_often_it_is_asked(machine: LocalAddresses) -> None:
    for _ in range(1_000):
        assert machine.has(ip_address("127.0.0.1"))
        assert not machine.has(ip_address("8.8.8.8"))


def test_an_address_that_comes_or_goes_while_the_gateway_runs_is_known_at_once() -> None:
    """Second addresses of an interface are local, and so are routes that make a whole network local."""
    unshare = [shutil.which("unshare") or "unshare", "--user", "--map-root-user", "--net"]
    try:
        subprocess.run([*unshare, "ip", "link"], check=True, capture_output=True, timeout=WAIT_SECONDS)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine gives nobody a network of its own")
    asked = subprocess.run(
        [*unshare, sys.executable, "-c", IN_A_NETWORK_OF_ITS_OWN],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert asked.stdout.splitlines() == [
        "False False False False",
        "True True True True",
        "False False False False",
        "False",
    ]


def test_a_kernel_that_leaves_questions_open_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asking, answering = socket.socketpair()
    asking.setblocking(False)
    monkeypatch.setattr("outbound.local_addresses._opened", lambda: asking)
    with closing(LocalAddresses()) as machine, answering:
        assert not machine.has(ip_address("8.8.8.8"))
    assert asking.fileno() == -1
    assert len(caplog.messages) == 1


def test_in_a_sandbox_without_netlink_loopback_alone_is_known_and_the_log_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(socket, "AF_NETLINK", 45)  # a family that no kernel has
    with closing(LocalAddresses()) as machine:
        assert machine.has(ip_address("127.0.0.2"))
        assert not machine.has(ip_address("8.8.8.8"))
    (line,) = caplog.messages
    assert "webhooks.refused_networks" in line
    assert "AF_NETLINK" in line
