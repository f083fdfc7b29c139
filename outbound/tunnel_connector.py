"""Connections of aiohttp through our proxy. Law: if the proxy fails, nothing goes around it.

aiohttp itself takes every proxy for one of HTTP: it would speak CONNECT to SOCKS5, and send a request for
plain http to the proxy whole. Here each connection is a tunnel, as those of webhooks are, to an address that
the gateway has resolved itself. Nothing guards the address, because the operator chooses what is asked.
`TlsStream` is made for short answers of strangers, so the loop's own TLS is used here.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address

import aiohttp
from aiohttp.client_proto import ResponseHandler

from grammars.service_urls import TunnelProxy
from outbound.bounded_answers import bounded
from outbound.client import client_tls
from outbound.dial import TunnelProtocol
from outbound.failures import ExchangeFailed
from outbound.proxies import TunnelHandshake
from outbound.resolver import Resolver


class TunnelConnector(aiohttp.BaseConnector):
    """`open_tunnels` makes one."""

    def __init__(self, proxy: TunnelProxy, resolver: Resolver, tls: ssl.SSLContext) -> None:
        super().__init__()
        self._factory = bounded(self._loop)
        self._proxy = proxy
        self._resolver = resolver
        self._tls = tls

    async def _create_connection(self, req: aiohttp.ClientRequest, *_: object) -> ResponseHandler:
        """Open a tunnel for a request. aiohttp calls this if its pool has no connection, within its time."""
        host, port = req.url.raw_host or "", req.url.port or 0
        try:
            transport = await self._tunnel(await self._address(host), port)
            try:
                return await self._connected(transport, host if req.is_ssl() else None)
            except BaseException:
                transport.abort()
                raise
        except ExchangeFailed as failed:
            raise aiohttp.ClientConnectionError(failed.error) from None

    async def _address(self, host: str) -> str:
        try:
            return str(ip_address(host))
        except ValueError:
            return (await self._resolver.resolve(host))[0]

    async def _tunnel(self, address: str, port: int) -> asyncio.Transport:
        proxy, loop = self._proxy, asyncio.get_running_loop()
        is_tls = proxy.scheme == "https"
        transport, tunnel = await loop.create_connection(
            lambda: TunnelProtocol(loop, TunnelHandshake(proxy, address, port)),
            await self._address(proxy.host),
            proxy.port,
            ssl=self._tls if is_tls else None,
            server_hostname=proxy.host if is_tls else None,
        )
        try:
            await tunnel.opened()
        except BaseException:
            transport.abort()
            raise
        return transport

    async def _connected(self, transport: asyncio.Transport, tls_host: str | None) -> ResponseHandler:
        """Connect aiohttp's protocol to the tunnel, through TLS if a host has to prove its name."""
        protocol: ResponseHandler = self._factory()
        above: asyncio.Transport | None = transport
        if tls_host is None:
            transport.set_protocol(protocol)
        else:
            loop = asyncio.get_running_loop()
            above = await loop.start_tls(transport, protocol, self._tls, server_hostname=tls_host)
        if above is None or above.is_closing():
            raise ExchangeFailed("reset")
        protocol.connection_made(above)
        return protocol


@asynccontextmanager
async def open_tunnels(
    proxy: TunnelProxy, name_servers: Sequence[str] = ()
) -> AsyncIterator[TunnelConnector]:
    """Open a connector whose tunnels close with the context.

    Args:
        name_servers: addresses, or "address:port"; without any, the system's name servers.
    """
    resolver = Resolver(name_servers)
    connector = TunnelConnector(proxy, resolver, client_tls(os.environ.get("SSL_CERT_FILE")))
    try:
        yield connector
    finally:
        await connector.close()
        await resolver.close()
