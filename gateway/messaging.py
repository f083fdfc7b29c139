"""The part of the composition root that sends direct messages: to owners on decisions, and reminders to
users.

It is imported only where there is a bot token.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chatplatform.platform_client import ChatPlatform
from core.clock import Clock
from direct_messages.message_attempts import MessagePolicy
from direct_messages.owner_notifier import OwnerNotifier
from direct_messages.reminder_notifier import ReminderNotifier
from gateway.delivery import retry_policy
from gateway.store import Store
from settings.model import WebhooksSettings, WebSettings
from webhook.sender import Sender, Spawn


@dataclass(frozen=True)
class Sending:
    """What senders of direct messages need. In a fleet, other nodes may be about to send what is due here.

    Args:
        spawn: starts a task that belongs to the caller.
    """

    store: Store
    clock: Clock
    spawn: Spawn
    may_send: Callable[[], bool]
    may_remind: Callable[[], bool]


@dataclass(frozen=True)
class DirectMessages:
    """The notifiers, and their senders in the same order."""

    notifiers: tuple[OwnerNotifier, ReminderNotifier]
    senders: tuple[Sender[Any], Sender[Any]]


def direct_messages(
    platform: ChatPlatform, web: WebSettings, webhooks: WebhooksSettings, cooldown_ms: int, sending: Sending
) -> DirectMessages:
    """Make the notifiers of a gateway with pages for people."""
    policy = MessagePolicy(retry_policy(webhooks), round(webhooks.kept_seconds * 1_000))
    ledger, journal, clock = sending.store.ledger, sending.store.journal, sending.clock
    url = web.public_url or ""
    owners = OwnerNotifier(ledger.state, platform, policy, url, clock)
    reminders = ReminderNotifier(ledger, platform, policy, url, cooldown_ms, clock)

    def durable() -> int:
        return journal.durable_position

    return DirectMessages(
        (owners, reminders),
        (
            Sender(owners, ledger, clock, durable, sending.spawn, sending.may_send),
            Sender(reminders, ledger, clock, durable, sending.spawn, sending.may_remind),
        ),
    )
