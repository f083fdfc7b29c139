"""The way to the chat platform. No logic.

Only a gateway with pages for people imports it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chatplatform.platform_client import ChatPlatform, PlatformAccess, open_chat_platform
from core.clock import Clock
from grammars.service_urls import read_proxy_url
from settings.model import ChatPlatformSettings, WebhooksSettings, WebSettings


@asynccontextmanager
async def open_platform(
    platform: ChatPlatformSettings, web: WebSettings, webhooks: WebhooksSettings, clock: Clock
) -> AsyncIterator[ChatPlatform]:
    """Open the client for the platform. It goes out the same way as webhooks."""
    proxy = read_proxy_url(webhooks.proxy.get_secret_value()) if webhooks.proxy is not None else None
    opening = open_chat_platform(
        platform_access(platform, web),
        clock,
        deadline_seconds=platform.timeout_seconds,
        cache_seconds=platform.cache_seconds,
        proxy=proxy,
        name_servers=webhooks.name_servers if proxy is not None else (),
    )
    async with opening as opened:
        yield opened


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
