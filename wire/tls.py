"""TLS for the listening sockets. Invariant: a certificate is served only after it was found to fit its key.

Both files are read at the start and whenever they are asked to be, so that a renewed certificate needs no
restart and a broken one changes nothing.
"""

import ssl
from pathlib import Path
from typing import NoReturn

PROTOCOLS = ["http/1.1"]
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"  # of TLS 1.2: forward secrecy, and no CBC; those of 1.3 are all fine


class CertificateUnusable(OSError):
    """Names the file and says what is wrong with it."""


class Certificates:
    """A certificate with its chain, and its key, as they are in two PEM files."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Raises CertificateUnusable."""
        self._certificate = certificate
        self._key = key
        self._current = self._read()
        self._served = _new_context()  # has none of its own
        self._served.sni_callback = self._use_current  # called without a server name, too

    @property
    def context(self) -> ssl.SSLContext:
        """Good for as long as the process lives: each handshake is given the certificate last read."""
        return self._served

    def reload(self) -> None:
        """Reads both files again. Raises CertificateUnusable, and then the ones before it stay in use."""
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
        except (OSError, ValueError) as error:  # what ssl.SSLError is
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
        reason = getattr(error, "reason", None)  # not always told: then the text is OpenSSL's line number
        why = f" ({reason})" if reason else ""
        return f"{self._key}: has no key in PEM that fits {self._certificate}{why}"


def _new_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION  # a client could make the server work for nothing
    context.set_alpn_protocols(PROTOCOLS)
    return context
