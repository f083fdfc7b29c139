"""The webhook part of the composition root: where webhooks may go, how, and how often. No logic."""

import math
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from ipaddress import ip_address

from core.clock import Clock, moment
from core.version import VERSION
from gateway.store import Store
from grammars.service_urls import read_proxy_url
from listings.webhooks import WebhookPolicy
from outbound.client import HttpClient, open_client
from outbound.local_addresses import LocalAddresses
from outbound.targets import TargetGuard
from settings.model import WebhooksSettings
from webhook.attempts import RetryPolicy
from webhook.messages import RequestBuilder, new_secret
from webhook.notifier import WebhookNotifier
from webhook.outbox import Due, Outbox, OutboxPolicy
from webhook.sender import Sender, Spawn
from webhook.suspension_log import SuspensionLog

USER_AGENT = f"Votegate/{VERSION}"
"""The name under which webhooks are sent."""


@dataclass(frozen=True)
class Egress:
    """The way out for webhooks: the guard of targets, the builder of requests, and the HTTP client."""

    guard: TargetGuard
    requests: RequestBuilder
    client: HttpClient


@dataclass(frozen=True)
class Delivering:
    """Queueing and sending of deliveries."""

    outbox: Outbox
    suspensions: SuspensionLog
    notifier: WebhookNotifier
    sender: Sender[Due]


@asynccontextmanager
async def open_egress(
    webhooks: WebhooksSettings, own: Sequence[socket.socket], clock: Clock, user_agent: str
) -> AsyncIterator[Egress]:
    """Open the way out. No webhook may reach the gateway's `own` sockets."""
    with closing(LocalAddresses()) as addresses:
        guard = target_guard(webhooks, addresses, own)
        client = open_client(
            guard,
            timeout_seconds=webhooks.timeout_seconds,
            user_agent=user_agent,
            proxy=read_proxy_url(webhooks.proxy.get_secret_value()) if webhooks.proxy is not None else None,
            name_servers=webhooks.name_servers,
            clock=clock,
        )
        async with client as opened:
            yield Egress(guard, request_builder(webhooks, guard), opened)


def delivering(
    webhooks: WebhooksSettings,
    egress: Egress,
    store: Store,
    clock: Clock,
    spawn: Spawn,
    may_send: Callable[[], bool],
) -> Delivering:
    retries = retry_policy(webhooks)
    state, journal = store.ledger.state, store.journal
    outbox = Outbox(outbox_policy(webhooks), retries, state, moment(clock))
    notifier = WebhookNotifier(state, outbox, egress.requests, egress.client, retries, clock)
    sender = Sender(notifier, store.ledger, clock, lambda: journal.durable_position, spawn, may_send)
    return Delivering(outbox, SuspensionLog(state, outbox.suspended), notifier, sender)


def target_guard(
    webhooks: WebhooksSettings, addresses: LocalAddresses, own: Sequence[socket.socket] = ()
) -> TargetGuard:
    """Return the guard of targets. No webhook may reach the gateway's `own` sockets."""
    names = [each.getsockname() for each in own if each.family != socket.AF_UNIX]
    return TargetGuard(
        webhooks.allow_private_targets,
        webhooks.allow_http,
        webhooks.refused_networks,
        frozenset(webhooks.refused_ports),
        addresses.has,
        [(ip_address(host), port) for host, port, *_ in names],
    )


def webhook_policy(
    webhooks: WebhooksSettings, requests: RequestBuilder, random: Callable[[int], bytes]
) -> WebhookPolicy:
    return WebhookPolicy(
        requests.is_chat,
        new_secret=lambda: new_secret(random),
        pending_per_endpoint=webhooks.pending_per_endpoint,
        pending_in_all=webhooks.pending_in_all,
    )


def request_builder(webhooks: WebhooksSettings, guard: TargetGuard) -> RequestBuilder:
    return RequestBuilder(guard, frozenset(webhooks.chat_hosts))


def outbox_policy(webhooks: WebhooksSettings) -> OutboxPolicy:
    return OutboxPolicy(
        webhooks.in_flight,
        webhooks.in_flight_per_endpoint,
        catch_up_gap_ms=math.ceil(1_000 / webhooks.catch_up_per_second),
        kept_ms=round(webhooks.kept_seconds * 1_000),
        look_ups=webhooks.look_ups,
    )


def retry_policy(webhooks: WebhooksSettings) -> RetryPolicy:
    return RetryPolicy(
        webhooks.retries,
        round(webhooks.retry_delay_seconds * 1_000),
        webhooks.suspend_after,
        round(webhooks.suspension_seconds * 1_000),
        round(webhooks.longest_suspension_seconds * 1_000),
    )
