"""Where a client reaches a bound socket. What the edge refuses is told in `tests/contract`."""

import socket

import pytest

from handlers.edge import url_of


@pytest.mark.parametrize(
    ("family", "address", "host"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET, "0.0.0.0", "127.0.0.1"),
        (socket.AF_INET6, "::1", "[::1]"),
        (socket.AF_INET6, "::", "[::1]"),
    ],
)
def test_a_bound_socket_has_a_url_that_a_client_on_this_machine_can_use(
    family: socket.AddressFamily, address: str, host: str
) -> None:
    with socket.socket(family) as listening:
        listening.bind((address, 0))
        assert url_of(listening) == f"http://{host}:{listening.getsockname()[1]}"
