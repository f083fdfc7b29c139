"""Certificates in real files, and real handshakes with a server that keeps running."""

import asyncio
import os
import pty
import select
import shutil
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
import uvloop
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption

from tests.support.certificate_files import (
    HOST,
    PASSPHRASE,
    Files,
    Key,
    certificate_pem,
    key_pem,
    new_key,
    trusting,
)
from tests.support.gateways import ROOT, WAIT_SECONDS
from wire.listening import CertificateUnusable


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path)
    files.write()
    return files


@contextmanager
def serving(
    context: ssl.SSLContext, loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
) -> Iterator[int]:
    """Return a port where a server greets each client that completes a handshake."""
    ready, ports, loop = Event(), list[int](), loop_factory()

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async def main() -> None:
        loop.set_exception_handler(lambda *_: None)  # handshakes that fail are the tests' own
        server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context)
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await stopped.wait()
        server.close()
        await server.wait_closed()

    stopped = asyncio.Event()
    thread = Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    assert ready.wait(WAIT_SECONDS)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join(WAIT_SECONDS)
        loop.close()


@contextmanager
def handshake(port: int, client: ssl.SSLContext, name: str | None = HOST) -> Iterator[ssl.SSLSocket]:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as plain,
        client.wrap_socket(plain, server_hostname=name) as secured,
    ):
        assert secured.recv(100) == b"hello"
        yield secured


def is_trusted(port: int, certificate: bytes, name: str | None = HOST) -> bool:
    """Return true if the server, asked by name or without one, proves that it has this certificate."""
    client = trusting(certificate)
    client.check_hostname = name is not None
    try:
        with handshake(port, client, name):
            return True
    except ssl.SSLCertVerificationError:
        return False


def is_refused(port: int, client: ssl.SSLContext) -> bool:
    try:
        with handshake(port, client):
            return False
    except (ssl.SSLError, ConnectionError):
        return True


@pytest.mark.parametrize(
    "make_key", [new_key, lambda: rsa.generate_private_key(65_537, 2_048)], ids=["ec", "rsa"]
)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_handshake_proves_the_certificate(
    files: Files, make_key: Callable[[], Key], version: ssl.TLSVersion
) -> None:
    client = trusting(files.write(make_key()))
    client.minimum_version = client.maximum_version = version
    client.set_alpn_protocols(["h2", "http/1.1"])
    with serving(files.read().context) as port, handshake(port, client) as secured:
        assert secured.version() == version.name.replace("_", ".")
        assert secured.selected_alpn_protocol() == "http/1.1"


def test_a_client_that_speaks_an_old_tls_is_refused(files: Files) -> None:
    client = trusting(files.certificate.read_bytes())
    client.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        client.minimum_version = client.maximum_version = ssl.TLSVersion.TLSv1_1
    with serving(files.read().context) as port:
        assert is_refused(port, client)


def test_a_client_without_forward_secrecy_is_refused(files: Files) -> None:
    client = trusting(files.write(rsa.generate_private_key(65_537, 2_048)))
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.set_ciphers("AES128-GCM-SHA256")
    with serving(files.read().context) as port:
        assert is_refused(port, client)


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("name", [HOST, None])
def test_a_renewed_certificate_is_in_the_next_handshake_of_a_server_that_runs(
    files: Files, name: str | None, loop_factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    certificates, old = files.read(), files.certificate.read_bytes()
    with serving(certificates.context, loop_factory) as port:
        new = files.write()
        assert is_trusted(port, old, name), "files alone change nothing"
        certificates.reload()
        assert is_trusted(port, new, name)
        assert not is_trusted(port, old, name)


def folder_for_key(files: Files) -> None:
    files.key.unlink()
    files.key.mkdir()


def half_a_certificate(files: Files) -> None:
    files.certificate.write_bytes(files.certificate.read_bytes()[:300])


def key_for_certificate(files: Files) -> None:
    files.certificate.write_bytes(files.key.read_bytes())


def key_that_is_a_certificate(files: Files) -> None:
    shutil.copy(files.certificate, files.key)


def another_key(files: Files) -> None:
    files.key.write_bytes(key_pem(new_key()))


def key_of_another_kind(files: Files) -> None:
    files.key.write_bytes(key_pem(rsa.generate_private_key(65_537, 2_048)))


def encrypted_key(files: Files) -> None:
    key = new_key()
    files.certificate.write_bytes(certificate_pem(key))
    files.key.write_bytes(key_pem(key, BestAvailableEncryption(PASSPHRASE)))


BROKEN: list[tuple[Callable[[Files], object], str, str]] = [
    (lambda files: files.certificate.unlink(), "certificate.pem", "cannot be read: No such file"),
    (lambda files: files.key.unlink(), "key.pem", "cannot be read: No such file"),
    (folder_for_key, "key.pem", "cannot be read: Is a directory"),
    (lambda files: files.certificate.write_bytes(b""), "certificate.pem", "holds no certificate in PEM"),
    (half_a_certificate, "certificate.pem", "holds no certificate in PEM"),
    (key_for_certificate, "certificate.pem", "holds no certificate in PEM"),
    (lambda files: files.key.write_bytes(b""), "key.pem", "has no key in PEM that fits"),
    (key_that_is_a_certificate, "key.pem", "has no key in PEM that fits"),
    (another_key, "key.pem", "is not the key of the certificate in"),
    (key_of_another_kind, "key.pem", "has no key in PEM that fits"),
    (encrypted_key, "key.pem", "is encrypted"),
]


@pytest.mark.parametrize(("break_files", "file", "why"), BROKEN)
def test_what_is_wrong_is_said_of_the_file_that_it_is_wrong_with(
    tmp_path: Path, files: Files, break_files: Callable[[Files], object], file: str, why: str
) -> None:
    break_files(files)
    with pytest.raises(CertificateUnusable) as raised:
        files.read()
    assert str(raised.value).startswith(f"{tmp_path / file}: {why}")
    assert raised.value.__cause__ is None
    assert "PRIVATE" not in str(raised.value)


@pytest.mark.parametrize(("break_files", "file", "why"), BROKEN)
def test_broken_files_leave_the_certificate_before_them_in_use(
    files: Files, break_files: Callable[[Files], object], file: str, why: str
) -> None:
    certificates, old = files.read(), files.certificate.read_bytes()
    break_files(files)
    with serving(certificates.context) as port:
        with pytest.raises(CertificateUnusable, match=f"{file}: {why}"):
            certificates.reload()
        assert is_trusted(port, old)


def test_nobody_is_asked_for_a_passphrase_on_the_terminal(files: Files) -> None:
    """In a child whose controlling terminal would be asked, and would wait for an answer."""
    encrypted_key(files)
    program = (
        "import sys; from pathlib import Path; from wire.listening import Certificates\n"
        "try: Certificates(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "except OSError as error: print(error)"
    )
    arguments = [sys.executable, "-c", program, str(files.certificate), str(files.key)]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, arguments)
    shown = b""
    try:
        while select.select([terminal], [], [], WAIT_SECONDS)[0]:
            shown += os.read(terminal, 4_096)
    except OSError:  # the terminal's sign that its child has gone
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (
        shown.decode().replace("\r\n", "") == f"{files.key}: is encrypted; store the key without a passphrase"
    )
