"""A receiver that a gateway takes for a chat platform, and what comes into its channel."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.contract import set_webhook
from tests.support.gateways import ThreadGateway, running
from tests.support.webhook_receiver import Received, Receiver

TOKEN = "aB3-the_password-of-a-channel-9Zz"
CHAT_PATH = f"/api/webhooks/123456789/{TOKEN}"


def host_of(receiver: Receiver) -> str:
    return receiver.url.removeprefix("http://")


@contextmanager
def channel(folder: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    """A gateway with a bot whose votes go into a channel."""
    with running(folder, **{"webhooks.chat_hosts": host_of(receiver)}) as gateway:
        gateway.list_bot()
        set_webhook(gateway, receiver.url + CHAT_PATH)
        yield gateway


def described(call: Received) -> str:
    """Return the text of a message's only embed."""
    (embed,) = json.loads(call.body)["embeds"]
    text: str = embed["description"]
    return text


def told(receiver: Receiver) -> list[str]:
    """Return the users of the votes in the channel, in their order."""
    return [described(call)[2:20] for call in receiver.received]
