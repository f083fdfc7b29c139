"""The addresses of a gateway: sockets that listen to clients and to Prometheus. No logic.

They are opened here, or systemd hands them over, or a worker inherits them from its supervisor.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from grammars.service_urls import is_loopback
from settings.model import ChatPlatformSettings, Settings, stand_in_mistakes
from wire.listening import CannotListen, activated, forget_activation, listen, listen_unix


class Sockets(NamedTuple):
    """All of them listen."""

    clients: list[socket.socket]
    metrics: list[socket.socket]


@contextmanager
def open_sockets(settings: Settings) -> Iterator[Sockets]:
    """Listen. Raises OSError for a taken address, and names it."""
    server, own = settings.server, settings.metrics
    clients = activated(os.environ)
    forget_activation(os.environ)
    if not clients and server.unix_socket is not None:
        clients = listen_unix(server.unix_socket)
    elif not clients:
        clients = listen(server.address, server.port)
    with ExitStack() as stack:
        for listening in clients:
            stack.callback(listening.close)
        _refuse_stand_in(settings.chat_platform, clients)
        metrics = listen(own.address, own.port) if own.address is not None else []
        for listening in metrics:
            stack.callback(listening.close)
        yield Sockets(clients, metrics)


def _refuse_stand_in(platform: ChatPlatformSettings, sockets: list[socket.socket]) -> None:
    """Refuse a stand-in for the chat platform on the sockets of systemd, which no setting describes."""
    names = [each.getsockname() for each in sockets if each.family != socket.AF_UNIX]
    beyond = [f"{host} port {port}" for host, port, *_ in names if not is_loopback(host)]
    for mistake in stand_in_mistakes(platform, beyond):
        raise CannotListen(mistake)
