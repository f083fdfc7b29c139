"""The part of the composition root that tells owners of decisions, and users that they may vote. No logic.

It is imported only where there is a bot token, because the platform's client takes a tenth of a start.
"""

from collections.abc import Callable

from chatplatform.platform_client import ChatPlatform
from core.clock import Clock
from direct_messages.message_outcomes import MessagePolicy
from direct_messages.reminder_teller import ReminderTeller
from direct_messages.teller import Teller
from gateway.delivery import retry_policy
from gateway.store import Store
from settings.model import WebhooksSettings, WebSettings


def telling(
    platform: ChatPlatform,
    web: WebSettings,
    webhooks: WebhooksSettings,
    store: Store,
    clock: Clock,
    may_send: Callable[[], bool],
) -> Teller:
    """Make the teller of a gateway with pages for people."""
    policy = _policy(webhooks)
    return Teller(
        store.ledger,
        platform,
        policy,
        web.public_url or "",
        clock,
        lambda: store.journal.durable_position,
        may_send,
    )


def reminding(
    platform: ChatPlatform,
    web: WebSettings,
    webhooks: WebhooksSettings,
    cooldown_ms: int,
    store: Store,
    clock: Clock,
    may_send: Callable[[], bool],
) -> ReminderTeller:
    """Make what sends reminders."""
    return ReminderTeller(
        store.ledger,
        platform,
        _policy(webhooks),
        web.public_url or "",
        cooldown_ms,
        clock,
        lambda: store.journal.durable_position,
        may_send,
    )


def _policy(webhooks: WebhooksSettings) -> MessagePolicy:
    return MessagePolicy(retry_policy(webhooks), round(webhooks.kept_seconds * 1_000))
