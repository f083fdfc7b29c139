"""The certificate and the key of a gateway in files, as an operator has them."""

import ssl
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from wire.listening import Certificates

HOST = "gateway.example"
PASSPHRASE = b"the-passphrase"
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def new_key() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: Key, encryption: KeySerializationEncryption = NoEncryption()) -> bytes:  # noqa: B008 (a constant)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def certificate_pem(key: Key, name: str = HOST) -> bytes:
    """Return a self-signed certificate."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = datetime(2020, 1, 1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )


class Files:
    """The two files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.certificate, self.key = folder / "certificate.pem", folder / "key.pem"

    def write(self, key: Key | None = None) -> bytes:
        """Write a new certificate and its key. Return the certificate."""
        key = key or new_key()
        self.certificate.write_bytes(certificate_pem(key))
        self.key.write_bytes(key_pem(key))
        return self.certificate.read_bytes()

    def read(self) -> Certificates:
        return Certificates(self.certificate, self.key)


def trusting(certificate: bytes) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate.decode())
