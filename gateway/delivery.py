"""The webhook part of the composition root: where webhooks may go, how, and how often. No logic."""

import math
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from ipaddress import ip_address

from core.clock import Clock
from grammars.service_urls import read_proxy_url
from listings.webhooks import WebhookPolicy
from outbound.client import HttpClient, open_client
from outbound.local_addresses import LocalAddresses
from outbound.targets import TargetGuard
from settings.model import Settings
from webhook.attempts import RetryPolicy
from webhook.messages import RequestBuilder
from webhook.outbox import OutboxPolicy
from webhook.signature import new_secret


def target_guard(
    settings: Settings, local: LocalAddresses, serving: Sequence[socket.socket] = ()
) -> TargetGuard:
    """`serving` are the gateway's own sockets."""
    webhooks = settings.webhooks
    names = [each.getsockname() for each in serving if each.family != socket.AF_UNIX]
    return TargetGuard(
        webhooks.allow_private_targets,
        webhooks.allow_http,
        webhooks.refused_networks,
        frozenset(webhooks.refused_ports),
        local.has,
        [(ip_address(host), port) for host, port, *_ in names],
    )


def webhook_policy(settings: Settings, guard: TargetGuard, random: Callable[[int], bytes]) -> WebhookPolicy:
    return WebhookPolicy(
        request_builder(settings, guard).is_chat,
        new_secret=lambda: new_secret(random),
        pending_per_endpoint=settings.webhooks.pending_per_endpoint,
        pending_in_all=settings.webhooks.pending_in_all,
    )


def request_builder(settings: Settings, guard: TargetGuard) -> RequestBuilder:
    return RequestBuilder(guard, frozenset(settings.webhooks.chat_hosts))


def webhook_client(
    settings: Settings, guard: TargetGuard, clock: Clock, user_agent: str
) -> AbstractAsyncContextManager[HttpClient]:
    webhooks = settings.webhooks
    return open_client(
        guard,
        timeout_seconds=webhooks.timeout_seconds,
        user_agent=user_agent,
        proxy=read_proxy_url(webhooks.proxy.get_secret_value()) if webhooks.proxy is not None else None,
        name_servers=webhooks.name_servers,
        clock=clock,
    )


def outbox_policy(settings: Settings) -> OutboxPolicy:
    webhooks = settings.webhooks
    return OutboxPolicy(
        webhooks.in_flight,
        webhooks.in_flight_per_endpoint,
        catch_up_gap_ms=math.ceil(1_000 / webhooks.catch_up_per_second),
        kept_ms=round(webhooks.kept_seconds * 1_000),
        look_ups=webhooks.look_ups,
    )


def retry_policy(settings: Settings) -> RetryPolicy:
    webhooks = settings.webhooks
    return RetryPolicy(
        webhooks.retries,
        round(webhooks.retry_delay_seconds * 1_000),
        webhooks.suspend_after,
        round(webhooks.suspension_seconds * 1_000),
        round(webhooks.longest_suspension_seconds * 1_000),
    )
