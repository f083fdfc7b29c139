"""The way to the chat platform. No logic.

Only a gateway with pages for people imports it, because aiohttp takes a tenth of a start.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp

from chatplatform.platform_client import ChatPlatform, PlatformAccess, open_chat_platform
from core.clock import Clock
from grammars.service_urls import read_proxy_url
from outbound.bounded_answers import BoundedConnector
from outbound.tunnel_connector import open_tunnels
from settings.model import ChatPlatformSettings, WebhooksSettings, WebSettings


@asynccontextmanager
async def open_platform(
    platform: ChatPlatformSettings, web: WebSettings, webhooks: WebhooksSettings, clock: Clock
) -> AsyncIterator[ChatPlatform]:
    """Open the client for the platform. It goes out the same way as webhooks."""
    async with AsyncExitStack() as stack:
        connector: aiohttp.BaseConnector
        if webhooks.proxy is None:
            connector = BoundedConnector()
        else:
            proxy = read_proxy_url(webhooks.proxy.get_secret_value())
            connector = await stack.enter_async_context(open_tunnels(proxy, webhooks.name_servers))
        yield await stack.enter_async_context(
            open_chat_platform(
                platform_access(platform, web),
                clock,
                deadline_seconds=platform.timeout_seconds,
                cache_seconds=platform.cache_seconds,
                connector=connector,
            )
        )


def platform_access(platform: ChatPlatformSettings, web: WebSettings) -> PlatformAccess:
    """Return how a deployment with a public URL is known at the platform."""
    secret, token = platform.client_secret, platform.bot_token
    return PlatformAccess(
        platform.api_url,
        platform.client_id or "",
        secret.get_secret_value() if secret is not None else "",
        web.public_url or "",
        token.get_secret_value() if token is not None else "",
    )
