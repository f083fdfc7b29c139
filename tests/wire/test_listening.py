"""wire/listening.py: sockets at real addresses and real files."""

import errno
import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateways import WAIT_SECONDS
from wire.listening import CannotListen, listen, listen_unix, url_of


def served_by(listening: socket.socket, client: socket.socket) -> bool:
    """Return true if a client that has connected is accepted there."""
    listening.settimeout(WAIT_SECONDS)
    connection, _ = listening.accept()
    with closing(connection):
        connection.sendall(b"served")
    client.settimeout(WAIT_SECONDS)
    return client.recv(100) == b"served"


@contextmanager
def connected(address: Any, family: socket.AddressFamily = socket.AF_UNIX) -> Iterator[socket.socket]:
    with socket.socket(family) as client:
        client.settimeout(WAIT_SECONDS)
        client.connect(address if not isinstance(address, Path) else str(address))
        yield client


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "votegate.sock"


def refused(path: Path) -> str:
    with pytest.raises(CannotListen) as raised:
        listen_unix(path)
    return str(raised.value)


def left_behind(path: Path) -> None:
    """The file of a process that was killed."""
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(path))
        gone.listen()


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
        port = listening.getsockname()[1]
        assert url_of(listening) == f"http://{host}:{port}"
        assert url_of(listening, "https") == f"https://{host}:{port}"


def test_a_socket_listens_on_an_address_and_is_inherited_by_no_child() -> None:
    (listening,) = listen("127.0.0.1", 0)
    with listening, connected(listening.getsockname(), socket.AF_INET) as client:
        assert not listening.getblocking()
        assert not listening.get_inheritable()
        assert served_by(listening, client)


def test_a_name_with_several_addresses_is_listened_on_at_one_port() -> None:
    with ExitStack() as stack:
        sockets = [stack.enter_context(listening) for listening in listen("localhost", 0)]
        assert len({listening.getsockname()[1] for listening in sockets}) == 1
        with connected(("localhost", sockets[0].getsockname()[1]), sockets[0].family) as client:
            assert served_by(sockets[0], client)


def families(address: str) -> list[socket.AddressFamily]:
    """Return the families in which one port of the address serves a client on this machine."""
    loopback = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
    with ExitStack() as stack:
        sockets = [stack.enter_context(listening) for listening in listen(address, 0)]
        port = sockets[0].getsockname()[1]
        for listening in sockets:
            with connected((loopback[listening.family], port), listening.family) as client:
                assert served_by(listening, client)
        assert len({listening.getsockname()[1] for listening in sockets}) == 1
        return [listening.family for listening in sockets]


def without(family: socket.AddressFamily, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the kernel of this machine refuse such addresses."""
    create = socket.create_server

    def create_server(place: Any, **options: Any) -> socket.socket:
        if options["family"] == family:
            raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
        return create(place, **options)

    monkeypatch.setattr(socket, "create_server", create_server)


@pytest.mark.parametrize("address", ["::", "0::0"])
@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_all_addresses_of_ipv6_are_all_addresses(address: str) -> None:
    assert families(address) == [socket.AF_INET, socket.AF_INET6]


def test_all_addresses_are_those_of_ipv4_on_a_machine_without_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    without(socket.AF_INET6, monkeypatch)
    assert families("::") == [socket.AF_INET]


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_all_addresses_are_those_of_ipv6_on_a_machine_without_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    without(socket.AF_INET, monkeypatch)
    assert families("::") == [socket.AF_INET6]


def test_all_addresses_of_ipv4_are_no_addresses_of_ipv6() -> None:
    assert families("0.0.0.0") == [socket.AF_INET]


def test_a_port_that_is_taken_is_named() -> None:
    (listening,) = listen("127.0.0.1", 0)
    with listening, pytest.raises(CannotListen) as raised:
        listen("127.0.0.1", port := listening.getsockname()[1])
    assert str(raised.value) == f"cannot listen on 127.0.0.1 port {port}: Address already in use"


@pytest.mark.parametrize("address", ["192.0.2.1", "not an address", "a" * 70 + ".example", "::1::"])
def test_an_address_that_is_not_of_this_machine_is_named(address: str) -> None:
    with pytest.raises(CannotListen, match=r"^cannot listen on .+ port 0: .+") as raised:
        listen(address, 0)
    assert address in str(raised.value)


def test_a_unix_socket_listens_until_it_is_closed_and_then_its_file_is_gone(path: Path) -> None:
    (listening,) = listen_unix(path)
    with listening, connected(path) as client:
        assert url_of(listening) == f"unix:{path}"
        assert not listening.getblocking()
        assert not listening.get_inheritable()
        assert served_by(listening, client)
    assert not path.exists()
    listening.close()  # as often as one likes


def test_the_file_goes_also_when_a_server_has_taken_the_socket_out(path: Path) -> None:
    (listening,) = listen_unix(path)
    os.close(listening.detach())
    listening.close()
    assert not path.exists()


def test_a_relative_path_is_still_known_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (listening,) = listen_unix(Path("votegate.sock"))
    monkeypatch.chdir("/")
    assert url_of(listening) == f"unix:{tmp_path}/votegate.sock"
    listening.close()
    assert not (tmp_path / "votegate.sock").exists()


@pytest.mark.parametrize("umask", [0, 0o077])
def test_owner_and_group_may_connect_whatever_the_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        (listening,) = listen_unix(path)
    finally:
        os.umask(before)
    with listening:
        assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_the_file_of_a_process_that_is_gone_is_replaced(path: Path) -> None:
    left_behind(path)
    assert path.exists()
    (listening,) = listen_unix(path)
    with listening, connected(path) as client:
        assert served_by(listening, client)


def test_a_path_where_another_listens_is_refused_and_the_other_goes_on(path: Path) -> None:
    (listening,) = listen_unix(path)
    with listening:
        assert refused(path) == f"cannot listen on unix:{path}: another process listens there"
        listening.accept()[0].close()  # it was asked whether it is there
        with connected(path) as client:
            assert served_by(listening, client)


def test_another_that_is_too_busy_to_answer_listens_all_the_same(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as busy, ExitStack() as stack:
        busy.bind(str(path))
        busy.listen(0)
        stack.enter_context(connected(path))
        assert "another process listens there" in refused(path)
    assert path.exists()


def file(path: Path) -> None:
    path.write_text("precious")


def folder(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    left_behind(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("make", [file, folder, link])
def test_a_file_that_is_no_socket_is_refused_and_left_alone(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    before = path.lstat()
    assert refused(path) == f"cannot listen on unix:{path}: a file that is no socket is in the way"
    assert path.lstat() == before


def test_a_socket_of_another_kind_that_is_in_use_is_refused(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(path))
        assert refused(path).startswith(f"cannot listen on unix:{path}: ")
    assert path.exists()


@pytest.mark.parametrize("name", ["nowhere/votegate.sock", "x" * 200])
def test_a_path_where_nothing_can_be_is_named(tmp_path: Path, name: str) -> None:
    assert refused(tmp_path / name).startswith(f"cannot listen on unix:{tmp_path / name}: ")


def test_a_file_that_another_has_put_in_the_place_is_not_removed(path: Path) -> None:
    (old,) = listen_unix(path)
    path.unlink()
    (new,) = listen_unix(path)
    with new:
        old.close()
        with connected(path) as client:
            assert served_by(new, client)
    assert not path.exists()
