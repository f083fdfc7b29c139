"""The builder of delivery: the ways out of the gateway, webhooks, and direct messages. No logic."""

import math
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Protocol

from core.clock import Clock, moment
from core.state import State
from core.version import VERSION
from gateway.fleet import Fleet
from gateway.runtime import Runtime
from gateway.store import Store
from grammars.service_urls import read_proxy_url
from guild_counts.counts import NoCounts, OperatorCounts
from handlers.public import GuildCounts
from listings.webhooks import WebhookPolicy
from outbound.client import HttpClient, open_client
from outbound.local_addresses import LocalAddresses
from outbound.targets import TargetGuard
from settings.model import Settings, WebhooksSettings
from webhook.attempts import RetryPolicy
from webhook.dispatcher import Dispatcher
from webhook.messages import RequestBuilder
from webhook.outbox import Outbox, OutboxPolicy
from webhook.signature import new_secret
from webhook.suspension_log import SuspensionLog

if TYPE_CHECKING:
    from chatplatform.platform_client import ChatPlatform
    from direct_messages.reminder_teller import ReminderTeller
    from direct_messages.teller import Teller
    from guild_counts.platform_counts import PlatformCounts

USER_AGENT = f"Votegate/{VERSION}"
"""The name under which webhooks are sent."""


class Sender(Protocol):
    """A loop that sends webhooks, messages to owners, or reminders."""

    async def run(self) -> None: ...
    def wake(self) -> None: ...
    def stop(self) -> None: ...
    async def idle(self) -> None: ...
    def abandon(self) -> None: ...


@dataclass(frozen=True)
class GuildCountsSource:
    """The source of actual server counts."""

    counts: GuildCounts
    platform: "PlatformCounts | None" = None
    """The same source if it is the chat platform, which is asked by a loop."""


@dataclass(frozen=True)
class Egress:
    """The ways out: to receivers of webhooks, to the source of server counts, and to the chat platform."""

    guard: TargetGuard
    requests: RequestBuilder
    client: HttpClient
    guild_counts: GuildCountsSource
    platform: "ChatPlatform | None"
    """None without pages for people."""


@dataclass(frozen=True)
class Delivering:
    """Queueing and sending of deliveries, and of direct messages if there is a bot token."""

    outbox: Outbox
    suspensions: SuspensionLog
    dispatcher: Dispatcher
    teller: "Teller | None"
    reminder_teller: "ReminderTeller | None"

    @property
    def messengers(self) -> list[Sender]:
        """The senders of direct messages."""
        return [each for each in (self.teller, self.reminder_teller) if each is not None]

    @property
    def senders(self) -> list[Sender]:
        return [self.dispatcher, *self.messengers]


@asynccontextmanager
async def open_egress(runtime: Runtime, state: State, own: Sequence[socket.socket]) -> AsyncIterator[Egress]:
    """Open the ways out. No webhook may reach the gateway's `own` sockets."""
    webhooks, settings = runtime.settings.webhooks, runtime.settings
    async with AsyncExitStack() as stack:
        addresses = stack.enter_context(closing(LocalAddresses()))
        guard = target_guard(webhooks, addresses, own)
        opening_client = open_client(
            guard,
            timeout_seconds=webhooks.timeout_seconds,
            user_agent=USER_AGENT,
            proxy=read_proxy_url(webhooks.proxy.get_secret_value()) if webhooks.proxy is not None else None,
            name_servers=webhooks.name_servers,
            clock=runtime.clock,
        )
        client = await stack.enter_async_context(opening_client)
        counts = await stack.enter_async_context(_open_guild_counts(settings, state, runtime.clock))
        platform = None
        if settings.web.public_url is not None:
            from gateway.platform import open_platform  # aiohttp takes a tenth of a start

            opening = open_platform(settings.chat_platform, settings.web, webhooks, runtime.clock)
            platform = await stack.enter_async_context(opening)
        yield Egress(guard, request_builder(webhooks, guard), client, counts, platform)


@asynccontextmanager
async def _open_guild_counts(
    settings: Settings, state: State, clock: Clock
) -> AsyncIterator[GuildCountsSource]:
    source, counts = settings.counts_source, settings.guild_counts
    if source == "none":
        yield GuildCountsSource(NoCounts())
    elif source == "operator":
        yield GuildCountsSource(OperatorCounts(state))
    elif source == "platform":
        from guild_counts.platform_counts import PlatformCounts  # its HTTP client is a fifth of a start

        asking = PlatformCounts(state, clock, counts.cache_seconds, counts.kept_seconds)
        yield GuildCountsSource(asking, asking)
    else:
        from guild_counts.http_counts import open_http_counts  # the same
        from outbound.bounded_answers import BoundedConnector

        authorization = counts.authorization.get_secret_value() if counts.authorization else None
        looking_up = open_http_counts(
            counts.url or "",
            authorization,
            counts.timeout_seconds,
            counts.cache_seconds,
            clock,
            BoundedConnector(),
        )
        async with looking_up as opened:
            yield GuildCountsSource(opened)


def delivering(runtime: Runtime, store: Store, fleet: Fleet, egress: Egress) -> Delivering:
    webhooks, clock = runtime.settings.webhooks, runtime.clock
    retries = retry_policy(webhooks)
    outbox = Outbox(outbox_policy(webhooks), retries, store.ledger.state, moment(clock))

    def durable() -> int:
        return store.journal.durable_position

    dispatcher = Dispatcher(
        store.ledger,
        outbox,
        egress.requests,
        egress.client,
        retries,
        clock,
        durable,
        runtime.spawn,
        fleet.may_send_webhooks,
    )
    suspensions = SuspensionLog(store.ledger.state, outbox.suspended)
    if egress.platform is None or runtime.settings.chat_platform.bot_token is None:
        return Delivering(outbox, suspensions, dispatcher, None, None)
    # The platform's client, which they import, takes a tenth of a start.
    from direct_messages.message_outcomes import MessagePolicy
    from direct_messages.reminder_teller import ReminderTeller
    from direct_messages.teller import Teller

    ledger, platform, public_url = store.ledger, egress.platform, runtime.settings.web.public_url or ""
    policy = MessagePolicy(retries, round(webhooks.kept_seconds * 1_000))
    teller = Teller(ledger, platform, policy, public_url, clock, durable, fleet.may_send_webhooks)
    reminder_teller = ReminderTeller(
        ledger,
        platform,
        policy,
        public_url,
        runtime.settings.votes.cooldown_ms,
        clock,
        durable,
        fleet.may_send_reminders,
    )
    return Delivering(outbox, suspensions, dispatcher, teller, reminder_teller)


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
