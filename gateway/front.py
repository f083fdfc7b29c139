"""The HTTP half of the composition root: where requests come in, and the server that reads them. No logic."""

import logging
import os
import resource
import socket
from dataclasses import dataclass

from tornado.web import Application

from core.clock import Clock
from handlers.public import PublicApi
from handlers.redaction import Redactor
from ratelimit.address import UNIX, address_key, is_trusted
from serving.access_log import AccessLog
from serving.direct import Answered, DirectVoteCheck, Refusals
from settings.model import Settings
from wire.listening import activated, forget_activation, listen, listen_unix, url_of
from wire.server import Limits, WireServer
from wire.tls import Certificates

SPARE_DESCRIPTORS = 64  # for the disk, the look-ups and what Python opens itself
log = logging.getLogger("votegate")


@dataclass(frozen=True)
class Front:
    """Where a gateway is reached; its sockets listen already."""

    sockets: list[socket.socket]
    certificates: Certificates | None
    access: AccessLog | None

    @property
    def url(self) -> str:
        return url_of(self.sockets[0], "http" if self.certificates is None else "https")

    def reload(self) -> None:
        """Reads the certificate anew; one that is of no use is reported, and the old one stays."""
        if self.certificates is None:
            return
        try:
            self.certificates.reload()
        except OSError as error:
            log.error("the certificate stays as it was: %s", error)
        else:
            log.info("the certificate was read anew")

    @property
    def answered(self) -> Answered | None:
        return self.access.answered if self.access is not None else None


def open_front(settings: Settings, clock: Clock, redactor: Redactor) -> Front:
    """Raises OSError, naming the place or the file, for a place that is taken or a certificate of no use."""
    server, tls = settings.server, settings.server.tls
    certificates = Certificates(tls.certificate, tls.key) if tls.certificate and tls.key else None
    sockets = activated(os.environ)
    forget_activation(os.environ)
    if not sockets and server.unix_socket is not None:
        sockets = listen_unix(server.unix_socket)
    elif not sockets:
        sockets = listen(server.address, server.port)
    form = server.access_log
    access = None
    if form != "off":
        access = AccessLog(clock, form, sample=server.access_log_sample, redactor=redactor)
    return Front(sockets, certificates, access)


def http_server(
    settings: Settings, clock: Clock, front: Front, application: Application, public: PublicApi
) -> WireServer:
    server = settings.server
    limits = Limits(
        connections=_connections(settings),
        header_bytes=server.max_header_bytes,
        headers=server.max_headers,
        pipelined=server.pipelined,
        header_seconds=server.header_seconds,
        body_seconds=server.body_seconds,
        idle_seconds=server.idle_seconds,
        write_seconds=server.write_seconds,
        connections_per_address=server.connections_per_address,
    )
    direct = DirectVoteCheck(public, clock, server.trusted_proxies, front.answered)
    certificates = front.certificates
    tls = (lambda: certificates.context) if certificates is not None else None

    def counted_as(peer: str) -> str | None:
        of_all = peer == UNIX or is_trusted(peer, server.trusted_proxies)
        return None if of_all else address_key(peer)

    return WireServer(application, limits, Refusals(public, front.answered), direct, tls, counted_as)


def _connections(settings: Settings) -> int:
    """As many as the settings allow and the process has file descriptors for; its soft limit is raised."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    affordable = max(hard - settings.webhooks.in_flight - SPARE_DESCRIPTORS, 1)
    if affordable < settings.server.connections:
        log.warning("server.connections is %d: there are %d file descriptors", affordable, hard)
    return min(settings.server.connections, affordable)
