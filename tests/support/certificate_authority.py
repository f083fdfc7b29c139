"""A certificate authority, and the certificates of its servers."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
END = datetime(2120, 1, 1, tzinfo=UTC)
SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)
"""The uses of an authority's key.

Python 3.13 requires them, and in each certificate the key of its signer.
"""


class Authority:
    """`file` holds its own certificate, to be trusted."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "authority.pem"
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("An authority of the tests")
        certificate = (
            _builder(self._name, self._name, self._key, END)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(SIGNS, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def server(
        self, *names: str, expired: bool = False, self_signed: bool = False, chain: int = 0
    ) -> ssl.SSLContext:
        """Return the TLS of a server with a certificate for these names and addresses.

        `chain` is the number of needless certificates that it sends, too, of about 300 bytes each.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _named(names[0])
        issuer, signer = (subject, key) if self_signed else (self._name, self._key)
        end = BEGIN + timedelta(days=1) if expired else END
        certificate = (
            _builder(subject, issuer, key, end)
            .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
            )
            .sign(signer, hashes.SHA256())
        )
        file = self._folder / f"{certificate.serial_number}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        further = [_builder(subject, subject, key, END).sign(key, hashes.SHA256()) for _ in range(chain)]
        file.write_bytes(
            private + b"".join(each.public_bytes(Encoding.PEM) for each in [certificate, *further])
        )
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(file)
        return context


def trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that is trusted as a deployment trusts one of its own."""
    authority = Authority(folder)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEGIN)
        .not_valid_after(end)
    )
