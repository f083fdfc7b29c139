"""The HTTP part of the composition root: the sockets, and the server that reads requests. No logic."""

import logging
import os
import resource
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tornado.web import Application

from core.clock import Clock
from grammars.service_urls import is_loopback
from handlers.public import PublicApi
from ratelimit.address import UNIX, address_key, is_trusted
from serving.access_log import AccessLog
from serving.direct import Answered, DirectVoteCheck, Refusals
from serving.log_output import LogOutput
from serving.traffic import Traffic
from settings.model import ChatPlatformSettings, ServerSettings, stand_in_mistakes
from watchers.refused_addresses import RefusedAddresses
from wire.http_server import WireServer
from wire.limits import ConnectionLimits
from wire.listening import CannotListen, activated, forget_activation, listen, listen_unix, url_of
from wire.tls import Certificates

SPARE_DESCRIPTORS = 64  # for the disk, the look-ups and what Python opens itself
log = logging.getLogger("votegate")


@dataclass(frozen=True)
class Front:
    """The address of a gateway. Its sockets listen already."""

    sockets: list[socket.socket]
    certificates: Certificates | None
    access: AccessLog | None

    @property
    def urls(self) -> list[str]:
        """The address of each socket; the first one is the one to show."""
        return [url_of(each, "http" if self.certificates is None else "https") for each in self.sockets]

    def reload(self) -> None:
        """Read the certificate again. An unusable one is logged, and the old one stays."""
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


@contextmanager
def open_front(
    server: ServerSettings, platform: ChatPlatformSettings, clock: Clock, output: LogOutput
) -> Iterator[Front]:
    """Listen. Raises OSError for a taken address or an unusable certificate, and names it."""
    tls = server.tls
    certificates = Certificates(tls.certificate, tls.key) if tls.certificate and tls.key else None
    sockets = activated(os.environ)
    forget_activation(os.environ)
    if not sockets and server.unix_socket is not None:
        sockets = listen_unix(server.unix_socket)
    elif not sockets:
        sockets = listen(server.address, server.port)
    access = AccessLog(clock, output, sample=server.access_log_sample) if server.access_log else None
    with ExitStack() as stack:
        for listening in sockets:
            stack.callback(listening.close)
        _refuse_stand_in(platform, sockets)
        yield Front(sockets, certificates, access)


def _refuse_stand_in(platform: ChatPlatformSettings, sockets: Sequence[socket.socket]) -> None:
    """Refuse a stand-in for the chat platform on the sockets of systemd, which no setting describes."""
    names = [each.getsockname() for each in sockets if each.family != socket.AF_UNIX]
    beyond = [f"{host} port {port}" for host, port, *_ in names if not is_loopback(host)]
    for mistake in stand_in_mistakes(platform, beyond):
        raise CannotListen(mistake)


def http_server(
    server: ServerSettings,
    clock: Clock,
    front: Front,
    application: Application,
    public: PublicApi,
    traffic: Traffic,
    refused: RefusedAddresses,
    webhooks_in_flight: int,
) -> WireServer:
    """Return the server. Its connections leave file descriptors for `webhooks_in_flight`."""
    limits = connection_limits(server, _connections(server.connections, webhooks_in_flight))
    direct = DirectVoteCheck(public, clock, server.trusted_proxies, traffic, front.answered)
    refused.direct_id = direct.latest_id
    certificates = front.certificates
    tls = (lambda: certificates.context) if certificates is not None else None

    def counted_as(peer: str) -> str | None:
        of_all = peer == UNIX or is_trusted(peer, server.trusted_proxies)
        return None if of_all else address_key(peer)

    return WireServer(application, limits, Refusals(public, traffic, front.answered), direct, tls, counted_as)


def connection_limits(server: ServerSettings, connections: int) -> ConnectionLimits:
    return ConnectionLimits(
        connections=connections,
        header_bytes=server.max_header_bytes,
        headers=server.max_headers,
        header_seconds=server.header_seconds,
        body_seconds=server.body_seconds,
        idle_seconds=server.idle_seconds,
        write_seconds=server.write_seconds,
        connections_per_address=server.connections_per_address,
    )


def _connections(allowed: int, webhooks_in_flight: int) -> int:
    """Raise the soft limit of file descriptors; return how many connections are allowed and affordable."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    affordable = max(hard - webhooks_in_flight - SPARE_DESCRIPTORS, 1)
    if affordable < allowed:
        log.warning("server.connections is %d: there are %d file descriptors", affordable, hard)
    return min(allowed, affordable)
