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
    cooldown_ms: int,
    store: Store,
    clock: Clock,
    may_send: Callable[[], bool],
    may_remind: Callable[[], bool],
) -> tuple[Teller, ReminderTeller]:
    """Make what tells owners, and what reminds users, of a gateway with pages for people."""
    policy = MessagePolicy(retry_policy(webhooks), round(webhooks.kept_seconds * 1_000))
    sent = (store.ledger, platform, policy, web.public_url or "")

    def durable() -> int:
        return store.journal.durable_position

    return (
        Teller(*sent, clock, durable, may_send),
        ReminderTeller(*sent, cooldown_ms, clock, durable, may_remind),
    )
