"""Sockets to serve on, and TLS for them.

Invariants. Every returned socket listens, and none is taken from another process. A served certificate fits
its key.

A socket is bound to an address, or to a path as a Unix socket, or systemd hands over one that it has bound.
Certificate and key are read at the start and at each `reload`. So a renewed certificate needs no restart, and
a broken one changes nothing.
"""

import contextlib
import errno
import os
import re
import socket
import ssl
import stat
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, NoReturn

PROTOCOLS = ["http/1.1"]
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"  # of TLS 1.2: forward secrecy, and no CBC; those of 1.3 are all fine


class CertificateUnusable(OSError):
    """The text names the file and the fault."""


class Certificates:
    """A certificate with its chain, and its key, from two PEM files."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Raises CertificateUnusable."""
        self._certificate = certificate
        self._key = key
        self._current = self._read()
        self._served = _new_context()  # has none of its own
        self._served.sni_callback = self._use_current  # called without a server name, too

    @property
    def context(self) -> ssl.SSLContext:
        """One context for the life of the process: each handshake gets the certificate that was read last."""
        return self._served

    def reload(self) -> None:
        """Read both files again. Raises CertificateUnusable; then the previous certificate stays in use."""
        self._current = self._read()

    def _use_current(self, handshake: ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> None:
        handshake.context = self._current

    def _read(self) -> ssl.SSLContext:
        problems = []
        for path in (self._certificate, self._key):
            try:
                path.open("rb").close()
            except OSError as error:
                problems.append(f"{path}: cannot be read: {error.strerror}")
        if problems:
            raise CertificateUnusable("; ".join(problems))
        context = _new_context()
        try:
            context.load_cert_chain(self._certificate, self._key, password=self._refuse_passphrase)
        except CertificateUnusable:
            raise
        except (OSError, ValueError) as error:  # ssl.SSLError is both
            raise CertificateUnusable(self._blame(error)) from None
        return context

    def _refuse_passphrase(self) -> NoReturn:
        """Without it, OpenSSL would ask on the terminal."""
        raise CertificateUnusable(f"{self._key}: is encrypted; store the key without a passphrase")

    def _blame(self, error: Exception) -> str:
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            return f"{self._key}: is not the key of the certificate in {self._certificate}"
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(self._certificate)
        except (OSError, ValueError):
            return f"{self._certificate}: holds no certificate in PEM"
        reason = getattr(error, "reason", None)  # may be missing: then the text is OpenSSL's line number
        why = f" ({reason})" if reason else ""
        return f"{self._key}: has no key in PEM that fits {self._certificate}{why}"


def _new_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION  # a client could make the server work for nothing
    context.set_alpn_protocols(PROTOCOLS)
    return context


BACKLOG = 1_024
"""Connections that may wait to be accepted; Linux lowers it to net.core.somaxconn."""
UNIX_MODE = 0o660
FIRST_DESCRIPTOR = 3  # SD_LISTEN_FDS_START
_ACTIVATION = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
_STREAMS = (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)
_ALL_IPV4, _ALL_IPV6 = "0.0.0.0", "::"  # noqa: S104 (the operator asks for it by its name)


class CannotListen(OSError):
    """The text names the place and the cause. It has no errno, because the cure depends on the place."""


def listen(address: str, port: int) -> list[socket.socket]:
    """Return listening sockets, one for each address of a name, on the same port. Raises CannotListen.

    The address "::" means all addresses. Those of IPv4 get a socket of their own: then clients have IPv4
    addresses there, and a machine needs only one of the two families.
    """
    sockets: list[socket.socket] = []
    absent: OSError | None = None
    with contextlib.ExitStack() as stack:
        try:
            for family, place in _places(address, port):
                if sockets and port == 0:
                    place = (place[0], sockets[0].getsockname()[1], *place[2:])
                try:
                    listening = socket.create_server(place, family=family, backlog=BACKLOG)
                except OSError as error:
                    if error.errno not in _NOT_HERE:
                        raise
                    absent = error  # such as ::1 of "localhost" on a machine without IPv6
                    continue
                stack.callback(listening.close)
                listening.setblocking(False)
                sockets.append(listening)
            if absent is not None and not sockets:
                raise absent
        except socket.gaierror as error:
            raise CannotListen(f"cannot listen on {address} port {port}: {error.strerror}") from None
        except UnicodeError:
            raise CannotListen(f"cannot listen on {address} port {port}: this is no address") from None
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise CannotListen(f"cannot listen on {address} port {port}: {why}") from None
        stack.pop_all()
    return sockets


def listen_unix(path: Path) -> list[socket.socket]:
    """Return a listening Unix socket. Closing it removes its file. Raises CannotListen.

    The socket file of a process that is gone is replaced. Any other file, and a socket that a process listens
    on, is left alone. Owner and group may connect (mode 0660): a proxy belongs in the gateway's group, and
    needs the right to pass through the folders above.
    """
    path = path.absolute()
    listening = _UnixSocket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _make_way(path)
        listening.bind(str(path))
        listening.file = path, _identity(path)
        listening.setblocking(False)
        path.chmod(UNIX_MODE)  # before it listens: nobody can have connected yet
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if isinstance(error, CannotListen):
            raise
        raise CannotListen(f"cannot listen on unix:{path}: {error.strerror or error}") from None
    return [listening]


def activated(environment: Mapping[str, str]) -> list[socket.socket]:
    """Return the sockets that systemd opened for this process, if any. Raises CannotListen for an unfit one.

    They are descriptors from 3 on (sd_listen_fds(3)). Call this once: each call takes them over.
    """
    if environment.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = environment.get("LISTEN_FDS", "")
    if not re.fullmatch("[0-9]{1,4}", count):
        raise CannotListen("cannot listen on the sockets of systemd: LISTEN_FDS is no number")
    names = dict(enumerate(environment.get("LISTEN_FDNAMES", "").split(":")))
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(_adopted(FIRST_DESCRIPTOR + index, names.get(index, "")))
            for index in range(int(count))
        ]
        stack.pop_all()
    return sockets


def forget_activation(environment: MutableMapping[str, str]) -> None:
    """Take the variables of `activated` out of `os.environ`: child processes must not read them."""
    for name in _ACTIVATION:
        environment.pop(name, None)


def url_of(listening: socket.socket, scheme: str = "http") -> str:
    """Return the URL by which a client on this machine reaches a bound socket, or "unix:" and the path."""
    name = listening.getsockname()
    if listening.family == socket.AF_UNIX:
        # A name without a file begins with a null byte, and is written with an @ in its place.
        return f"unix:@{os.fsdecode(name[1:])}" if isinstance(name, bytes) else f"unix:{name}"
    host, port, *_ = name
    host = {_ALL_IPV4: "127.0.0.1", _ALL_IPV6: "::1"}.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _places(address: str, port: int) -> list[tuple[socket.AddressFamily, tuple[Any, ...]]]:
    """Return the addresses for `bind`, IPv4 first."""
    found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    places = {(family, place) for family, *_, place in found}
    if any(place[0] == _ALL_IPV6 for _, place in places):
        places.add((socket.AF_INET, (_ALL_IPV4, port)))
    return sorted(places)


class _UnixSocket(socket.socket):
    """A socket that removes its file when it is closed, unless another socket has taken the place."""

    file: tuple[Path, tuple[int, ...]] | None = None

    def close(self) -> None:
        if self.file is not None:
            (path, identity), self.file = self.file, None
            with contextlib.suppress(OSError):
                if _identity(path) == identity:
                    path.unlink()
        super().close()


def _identity(path: Path) -> tuple[int, ...]:
    """Identify a file. The time is a part, because the system reuses the number of a deleted file."""
    found = path.lstat()
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _make_way(path: Path) -> None:
    """Remove a socket file that nobody listens on any more."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise CannotListen(f"cannot listen on unix:{path}: a file that is no socket is in the way")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            path.unlink(missing_ok=True)
            return
        except BlockingIOError:  # somebody listens, and has a full backlog
            pass
    raise CannotListen(f"cannot listen on unix:{path}: another process listens there")


def _adopted(descriptor: int, name: str) -> socket.socket:
    def refusal(why: str) -> CannotListen:
        return CannotListen(
            f"cannot listen on descriptor {descriptor} ({name or 'no name'}) of systemd: {why}"
        )

    try:
        adopted = socket.socket(fileno=descriptor)
    except OSError as error:
        raise refusal(error.strerror or str(error)) from None
    if adopted.family not in _STREAMS or adopted.type != socket.SOCK_STREAM:
        adopted.close()
        raise refusal("it is no stream socket")
    if not adopted.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        adopted.close()
        raise refusal("it does not listen; Accept= must be no")
    adopted.set_inheritable(False)
    adopted.setblocking(False)
    return adopted
