"""gateway/start_check.py: mistakes and warnings about certificates and keys."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption

from gateway.start_check import Findings, certificate_findings
from server import cli
from settings.model import load_settings
from tests.support.certificate_authority import Authority
from tests.support.certificate_files import PASSPHRASE, Files, key_pem, new_key

pytestmark = pytest.mark.usefixtures("no_settings_around")

NOW = datetime(2025, 6, 15, tzinfo=UTC)
BEFORE = datetime(2019, 12, 31, tzinfo=UTC)  # the certificates begin with 2020, for a hundred years
AFTER = datetime(2120, 1, 2, tzinfo=UTC)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path)
    files.write()
    return files


def findings(files: Files, now: datetime = NOW, **environment: str) -> Findings:
    tls = {"server.tls.certificate": files.certificate, "server.tls.key": files.key}
    return certificate_findings(load_settings(None, {}, tls), environment, int(now.timestamp() * 1_000))


def redis_findings(ca: Path, now: datetime = NOW) -> Findings:
    redis = {"redis.url": "rediss://redis.example", "redis.node": "a", "redis.ca": ca}
    return certificate_findings(load_settings(None, {}, redis), {}, int(now.timestamp() * 1_000))


def check_config(**environment: object) -> Result:
    names = {f"VOTEGATE_{name}": str(value) for name, value in environment.items()}
    names |= {"VOTEGATE_SERVER__PORT": "0", "VOTEGATE_WEBHOOKS__NAME_SERVERS": "127.0.0.1:1"}
    return CliRunner(env=names).invoke(cli, ["check-config"])


def test_a_certificate_with_its_key_is_fine(files: Files) -> None:
    assert findings(files) == Findings([], [])


@pytest.mark.parametrize("missing", ["certificate", "key"])
def test_a_file_that_is_missing_is_a_mistake(files: Files, missing: str) -> None:
    path: Path = getattr(files, missing)
    path.unlink()
    mistake = f"server.tls: {path}: cannot be read: No such file or directory"
    assert findings(files) == Findings([mistake], [])


def test_two_files_that_are_missing_are_told_at_once(files: Files) -> None:
    files.certificate.unlink()
    files.key.unlink()
    (mistake,) = findings(files).mistakes
    assert f"{files.certificate}: cannot be read" in mistake
    assert f"{files.key}: cannot be read" in mistake


def test_a_key_of_another_certificate_is_a_mistake(files: Files) -> None:
    files.key.write_bytes(key_pem(new_key()))
    mistake = f"server.tls: {files.key}: is not the key of the certificate in {files.certificate}"
    assert findings(files) == Findings([mistake], [])


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (BEFORE, "is valid from 2020-01-01 00:00:00 UTC only"),
        (AFTER, "has expired on 2119-12-08 00:00:00 UTC"),
    ],
)
def test_a_certificate_that_is_not_valid_today_is_a_warning(files: Files, now: datetime, why: str) -> None:
    warning = f"server.tls.certificate: {files.certificate}: the certificate {why}"
    assert findings(files, now) == Findings([], [warning])


def test_the_authority_of_redis_is_read(files: Files, tmp_path: Path) -> None:
    authority = Authority(tmp_path).file
    expired = f"redis.ca: {authority}: the certificate has expired on 2120-01-01 00:00:00 UTC"
    assert redis_findings(authority) == Findings([], [])
    assert redis_findings(authority, AFTER) == Findings([], [expired])
    assert redis_findings(files.key) == Findings([f"redis.ca: {files.key}: holds no certificate in PEM"], [])


def test_authorities_of_the_environment_that_vouch_for_nobody_are_a_warning(files: Files) -> None:
    for path, why in (
        (files.key, "holds no certificate in PEM"),
        (Path("/nowhere"), "cannot be read: No such"),
    ):
        (warning,) = findings(files, SSL_CERT_FILE=str(path)).warnings
        assert warning.startswith(f"SSL_CERT_FILE: {path}: {why}")
    assert findings(files, SSL_CERT_FILE=str(files.certificate)) == Findings([], [])
    assert findings(files, SSL_CERT_FILE="") == Findings([], [])


def test_check_config_ends_with_2_for_a_mistake_and_with_0_for_a_warning(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    tls = {"SERVER__TLS__CERTIFICATE": files.certificate, "SERVER__TLS__KEY": files.key}
    warned = check_config(**tls)
    assert (warned.exit_code, warned.stdout) == (0, "The settings are valid.\n")
    assert "warning: SSL_CERT_FILE: /nowhere: cannot be read" in warned.stderr

    files.key.unlink()
    refused = check_config(**tls)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"error: server.tls: {files.key}: cannot be read" in " ".join(refused.stderr.split())


def test_an_encrypted_key_is_a_mistake_and_nobody_is_asked_for_its_passphrase(files: Files) -> None:
    key = new_key()
    files.write(key)
    files.key.write_bytes(key_pem(key, BestAvailableEncryption(PASSPHRASE)))
    (mistake,) = findings(files).mistakes
    assert mistake == f"server.tls: {files.key}: is encrypted; store the key without a passphrase"
