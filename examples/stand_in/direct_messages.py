"""Direct messages of the bot: a channel with a user, and the messages in it."""

import asyncio
import time
from datetime import UTC, datetime

from stand_in.answers import CANNOT_MESSAGE, INVALID_FORM, SLOW_SECONDS, UNKNOWN_CHANNEL, UNKNOWN_USER, Api
from stand_in.known import BOT, CLOSED, Message, public_user

FIRST_CHANNEL, FIRST_MESSAGE = 500000000000000000, 600000000000000000
CONTENT_CHARACTERS, NONCE_CHARACTERS = 2_000, 25
NONCE_SECONDS = 300


class Channels(Api):
    """`POST /users/@me/channels`: open the channel of direct messages with a user, or find it again."""

    def post(self) -> None:
        self.only_bot()
        user_id = str(self.json_body().get("recipient_id"))
        if user_id not in self.platform.users:
            raise UNKNOWN_USER
        channel_id = str(FIRST_CHANNEL + int(user_id) % 1_000)
        self.platform.channels[channel_id] = user_id
        recipients = [public_user(self.platform.users[user_id])]
        self.show(
            {"id": channel_id, "type": 1, "last_message_id": None, "flags": 0, "recipients": recipients}
        )


class Messages(Api):
    """`POST /channels/{id}/messages`: a message with the nonce of one of the last minutes is that one."""

    async def post(self, channel_id: str) -> None:
        self.only_bot()
        body, user_id = self.json_body(), self.platform.channels.get(channel_id)
        if user_id is None:
            raise UNKNOWN_CHANNEL
        if user_id == CLOSED:
            raise CANNOT_MESSAGE
        content, nonce = body.get("content"), body.get("nonce")
        if not isinstance(content, str) or not 1 <= len(content) <= CONTENT_CHARACTERS:
            raise INVALID_FORM
        if nonce is not None and (not isinstance(nonce, str) or len(nonce) > NONCE_CHARACTERS):
            raise INVALID_FORM
        known = self._known(user_id, nonce) if body.get("enforce_nonce") is True else None
        message = known or self._take(user_id, channel_id, content, nonce)
        if self.fault == "lost":
            await self.cut()
        elif self.fault == "late":
            await asyncio.sleep(SLOW_SECONDS)
        self.show(message.shown)

    def _known(self, user_id: str, nonce: str | None) -> Message | None:
        since = time.monotonic() - NONCE_SECONDS
        found = (each for each in self.platform.messages if (each.to, each.nonce) == (user_id, nonce))
        return next((each for each in found if nonce is not None and each.at > since), None)

    def _take(self, user_id: str, channel_id: str, content: str, nonce: str | None) -> Message:
        shown = {
            "id": str(FIRST_MESSAGE + len(self.platform.messages)),
            "channel_id": channel_id,
            "author": BOT,
            "type": 0,
            "content": content,
            "mentions": [],
            "mention_roles": [],
            "mention_everyone": False,
            "attachments": [],
            "embeds": [],
            "components": [],
            "timestamp": datetime.now(UTC).isoformat(),
            "edited_timestamp": None,
            "flags": 0,
            "pinned": False,
            "tts": False,
            "nonce": nonce,
        }
        message = Message(user_id, nonce, time.monotonic(), shown)
        self.platform.messages.append(message)
        return message
