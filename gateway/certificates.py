"""The check of PEM files that settings name, for `check-config`.

Invariant: it reports everything wrong with them.

A mistake stops a start. A warning does not, but peers will refuse: a certificate that has expired, or
authorities of which none is valid.
"""

import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from cryptography.x509 import load_pem_x509_certificate

from settings.model import Settings
from wire.listening import Certificates, CertificateUnusable

AUTHORITIES = "SSL_CERT_FILE"
"""The variable that replaces the system's authorities in OpenSSL, for webhooks and guild counts."""


class Dates(NamedTuple):
    """The period in which a certificate is valid."""

    begin_seconds: float
    end_seconds: float


class Findings(NamedTuple):
    mistakes: list[str]
    warnings: list[str]


def certificate_findings(settings: Settings, environment: Mapping[str, str], now_ms: int) -> Findings:
    """Read every certificate and key that the settings and the environment name."""
    mistakes, warnings = list[str](), list[str]()
    now_seconds = now_ms / 1_000
    tls, redis, authorities = settings.server.tls, settings.redis, environment.get(AUTHORITIES)
    if tls.certificate is not None and tls.key is not None:
        try:
            Certificates(tls.certificate, tls.key)
        except CertificateUnusable as error:
            mistakes.append(f"server.tls: {error}")
        else:
            problem = _date_problem([_dates_of(tls.certificate)], now_seconds)
            warnings += [f"server.tls.certificate: {tls.certificate}: {problem}"] if problem else []
    if redis.url is not None and redis.ca is not None:
        try:
            problem = _date_problem(_dates_of_authorities(redis.ca), now_seconds)
            warnings += [f"redis.ca: {redis.ca}: {problem}"] if problem else []
        except OSError as error:
            mistakes.append(f"redis.ca: {redis.ca}: {_reason(error)}")
    if authorities:
        try:
            problem = _date_problem(_dates_of_authorities(Path(authorities)), now_seconds)
        except OSError as error:
            problem = _reason(error)
        warnings += [f"{AUTHORITIES}: {authorities}: {problem}; nobody is trusted by it"] if problem else []
    return Findings(mistakes, warnings)


def _dates_of(path: Path) -> Dates:
    """Return the dates of the server's own certificate: the first one, because clients ignore the others'."""
    certificate = load_pem_x509_certificate(path.read_bytes())
    return Dates(certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp())


def _dates_of_authorities(path: Path) -> list[Dates]:
    """Return the dates of each authority. Raises OSError, which ssl.SSLError is, if there are none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(path)
    return [
        Dates(*(ssl.cert_time_to_seconds(str(told[name])) for name in ("notBefore", "notAfter")))
        for told in context.get_ca_certs()
    ]


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return "holds no certificate in PEM"
    return f"cannot be read: {error.strerror}"


def _date_problem(dates: list[Dates], now_seconds: float) -> str | None:
    """Return the first problem if every certificate has one, else None."""
    problems = [_wrong_at(now_seconds, each) for each in dates]
    return problems[0] if problems and all(problems) else None


def _wrong_at(now_seconds: float, dates: Dates) -> str | None:
    if now_seconds > dates.end_seconds:
        return f"the certificate has expired on {_day(dates.end_seconds)}"
    if now_seconds < dates.begin_seconds:
        return f"the certificate is valid from {_day(dates.begin_seconds)} only"
    return None


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
