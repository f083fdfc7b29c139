"""The emojis of servers."""

import base64
import re
from typing import Any

from stand_in.answers import ANIMATED_FULL, INVALID_FORM, NO_PERMISSION, SLOTS_FULL
from stand_in.known import BOT
from stand_in.lookups import Server

FIRST_EMOJI = 700000000000000000
MOST_BYTES = 256 << 10
NAME = re.compile(r"\w{2,32}", re.ASCII)
PICTURE = re.compile(r"data:image/(?:png|gif|webp|jpeg);base64,([A-Za-z0-9+/=]+)")


class Emojis(Server):
    """`GET` and `POST /guilds/{id}/emojis`, for a bot that is in the server."""

    def get(self, server_id: str) -> None:
        self.inside(server_id)
        self.show(self.platform.emojis[server_id])

    async def post(self, server_id: str) -> None:
        server, body = self.inside(server_id), self.json_body()
        if not server["bot_adds_emojis"]:
            raise NO_PERMISSION
        name, picture = str(body.get("name")), PICTURE.fullmatch(str(body.get("image")))
        content = base64.b64decode(picture[1]) if picture is not None else b""
        if not NAME.fullmatch(name) or not 0 < len(content) <= MOST_BYTES:
            raise INVALID_FORM
        known = self.platform.emojis[server_id]
        is_animated = content.startswith(b"GIF")
        if sum(each["animated"] == is_animated for each in known) >= server["emoji_slots"]:
            raise ANIMATED_FULL if is_animated else SLOTS_FULL
        emoji: dict[str, Any] = {
            "id": str(FIRST_EMOJI + sum(map(len, self.platform.emojis.values()))),
            "name": name,
            "roles": [],
            "user": BOT,
            "require_colons": True,
            "managed": False,
            "animated": is_animated,
            "available": True,
        }
        known.append(emoji)
        if self.fault == "lost":
            await self.cut()
        self.answer(emoji, 201)
