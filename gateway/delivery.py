"""The builder of delivery: the ways out of the gateway, webhooks, and direct messages. No logic."""

import math
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from chatplatform.platform_client import ChatPlatform, PlatformAccess, open_chat_platform
from chatplatform.server_invites import ServerInvites
from core.clock import Clock, moment
from core.state import State
from core.version import VERSION
from direct_messages.owner_notifier import OwnerNotifier
from direct_messages.reminder_notifier import ReminderNotifier
from gateway.fleet import Fleet
from gateway.store import Runtime, Store
from grammars.service_urls import read_proxy_url
from guild_counts.counts import NoCounts, OperatorCounts, PlatformCounts, open_http_counts
from handlers.public import GuildCounts
from listings.ownership import Ownership
from listings.webhooks import WebhookPolicy
from outbound.client import HttpClient, open_client
from outbound.local_addresses import LocalAddresses
from outbound.targets import TargetGuard
from settings.model import ChatPlatformSettings, Settings, WebhooksSettings, WebSettings
from webhook.attempts import RetryPolicy
from webhook.messages import RequestBuilder, new_secret
from webhook.notifier import WebhookNotifier
from webhook.outbox import Outbox, OutboxPolicy
from webhook.sender import Notifier, Sender
from webhook.suspension_log import SuspensionLog

if TYPE_CHECKING:
    from mail.mail_notifier import MailNotifier


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


USER_AGENT = f"Votegate/{VERSION}"
"""The name under which webhooks are sent."""


@dataclass(frozen=True)
class Egress:
    """The ways out: to receivers of webhooks, the source of server counts, the chat platform, and images."""

    guard: TargetGuard
    requests: RequestBuilder
    client: HttpClient
    guild_counts: GuildCounts
    """The source of actual server counts."""
    platform: ChatPlatform | None
    invites: ServerInvites | None
    """The questions about invites to servers. Without pages for people, there are none."""
    images: HttpClient | None = None
    """The client for images in descriptions; None if pages show links in their place."""

    @property
    def asked_counts(self) -> PlatformCounts | None:
        """The source of server counts if that is the chat platform, which a loop asks."""
        return self.guild_counts if isinstance(self.guild_counts, PlatformCounts) else None


@dataclass(frozen=True)
class Delivering:
    """Queueing and sending of deliveries, of direct messages if there is a bot token, and of mails."""

    outbox: Outbox
    suspensions: SuspensionLog
    webhooks: WebhookNotifier
    direct_messages: Sequence[OwnerNotifier | ReminderNotifier]
    """Empty without a bot token."""
    mails: "MailNotifier | None"
    """None without a mail server."""
    senders: Sequence[Sender[Any]]
    """The sender of webhooks, and those of direct messages and mails."""

    @property
    def has_messages(self) -> bool:
        """True if users get messages outside of the site."""
        return bool(self.direct_messages) or self.mails is not None


@asynccontextmanager
async def open_egress(runtime: Runtime, state: State, own: Sequence[socket.socket]) -> AsyncIterator[Egress]:
    """Open the ways out. No webhook may reach the gateway's `own` sockets."""
    webhooks, settings = runtime.settings.webhooks, runtime.settings
    async with AsyncExitStack() as stack:
        addresses = stack.enter_context(closing(LocalAddresses()))
        guard = target_guard(webhooks, addresses, own)
        guarded = partial(
            open_client,
            guard,
            user_agent=USER_AGENT,
            proxy=read_proxy_url(webhooks.proxy.get_secret_value()) if webhooks.proxy is not None else None,
            name_servers=webhooks.name_servers,
            clock=runtime.clock,
        )
        opening_client = guarded(timeout_seconds=webhooks.timeout_seconds)
        client = await stack.enter_async_context(opening_client)
        counts = await stack.enter_async_context(_open_guild_counts(settings, state, runtime.clock))
        platform, invites, images = None, None, None
        if settings.web.public_url is not None:
            opening = open_platform(settings.chat_platform, settings.web, webhooks, runtime.clock)
            platform = await stack.enter_async_context(opening)
            invites = ServerInvites(platform, runtime.clock)
            if settings.images.enabled:
                asked = settings.images
                fetching = guarded(timeout_seconds=asked.timeout_seconds, read_bytes=asked.bytes)
                images = await stack.enter_async_context(fetching)
        yield Egress(guard, request_builder(webhooks, guard), client, counts, platform, invites, images)


@asynccontextmanager
async def _open_guild_counts(settings: Settings, state: State, clock: Clock) -> AsyncIterator[GuildCounts]:
    source, counts = settings.counts_source, settings.guild_counts
    if source == "none":
        yield NoCounts()
    elif source == "operator":
        yield OperatorCounts(state)
    elif source == "platform":
        yield PlatformCounts(state, clock, counts.cache_seconds, counts.kept_seconds)
    else:
        authorization = counts.authorization.get_secret_value() if counts.authorization else None
        looking_up = open_http_counts(
            counts.url or "", authorization, counts.timeout_seconds, counts.cache_seconds, clock
        )
        async with looking_up as opened:
            yield opened


def delivering(
    runtime: Runtime, store: Store, fleet: Fleet, egress: Egress, ownership: Ownership
) -> Delivering:
    settings, clock, ledger = runtime.settings, runtime.clock, store.ledger
    retries = retry_policy(settings.webhooks)
    outbox = Outbox(outbox_policy(settings.webhooks), retries, ledger.state, moment(clock))
    webhooks = WebhookNotifier(ledger.state, outbox, egress.requests, egress.client, retries, clock)
    suspensions = SuspensionLog(ledger.state, outbox.suspended)

    def sender(notifier: Notifier[Any], may_send: Callable[[], bool]) -> Sender[Any]:
        return Sender(
            notifier, ledger, clock, lambda: store.journal.durable_position, runtime.spawn, may_send
        )

    senders, mails = [sender(webhooks, fleet.may_send_webhooks)], None
    if settings.mail.host is not None:
        from gateway.mailing import mail_notifier

        mails = mail_notifier(runtime, store, ownership, retries)
        senders.append(sender(mails, fleet.may_send_reminders))
    if egress.platform is None or settings.chat_platform.bot_token is None:
        return Delivering(outbox, suspensions, webhooks, (), mails, senders)
    public_url = settings.web.public_url or ""
    owners = OwnerNotifier(ledger.state, egress.platform, retries, public_url, clock)
    reminders = ReminderNotifier(
        ledger, egress.platform, retries, public_url, settings.votes.cooldown_ms, clock
    )
    senders += [sender(owners, fleet.may_send_webhooks), sender(reminders, fleet.may_send_reminders)]
    return Delivering(outbox, suspensions, webhooks, (owners, reminders), mails, senders)


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
        look_ups=webhooks.look_ups,
    )


def retry_policy(webhooks: WebhooksSettings) -> RetryPolicy:
    return RetryPolicy(
        webhooks.retries,
        round(webhooks.retry_delay_seconds * 1_000),
        webhooks.suspend_after,
        round(webhooks.suspension_seconds * 1_000),
        round(webhooks.longest_suspension_seconds * 1_000),
        round(webhooks.kept_seconds * 1_000),
    )
