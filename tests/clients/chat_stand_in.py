"""The part of the chat platform that a bot's library connects to: a few answers, and the socket of events."""

import asyncio
import json
import threading
import zlib
from types import TracebackType
from typing import Any

from aiohttp import web

HEARTBEAT_MS = 41_250
HELLO, IDENTIFY, HEARTBEAT, HEARTBEAT_ACK, DISPATCH = 10, 2, 1, 11, 0
START_LIMIT = {"total": 1000, "remaining": 1000, "reset_after": 86_400_000, "max_concurrency": 2}


def shard_of(server: int, shards: int) -> int:
    """Return the shard that gets the events of a server, as the platform computes it."""
    return (server >> 22) % shards


class Shard:
    """One connection of a bot."""

    def __init__(self, socket: web.WebSocketResponse, *, is_compressed: bool) -> None:
        self.place = (0, 1)
        self._socket = socket
        self._zlib = zlib.compressobj() if is_compressed else None
        self._sequence = 0

    async def send(self, code: int, payload: Any, event: str | None = None) -> None:
        if event is not None:
            self._sequence += 1
        text = json.dumps({"op": code, "d": payload, "s": self._sequence or None, "t": event})
        if self._zlib is None:
            await self._socket.send_str(text)
        else:
            compressed = self._zlib.compress(text.encode()) + self._zlib.flush(zlib.Z_SYNC_FLUSH)
            await self._socket.send_bytes(compressed)


class ChatStandIn:
    """A chat platform on a thread of its own, with one bot in some servers."""

    def __init__(self, bot: int, servers: list[int], shards: int) -> None:
        self._servers = servers
        self._shard_count = shards
        self._user = {"id": str(bot), "username": "groove", "discriminator": "0", "avatar": None, "bot": True}
        self._shards: list[Shard] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.address = ""

    def __enter__(self) -> "ChatStandIn":
        self._thread.start()
        self._runner, port = self._do(self._serve())
        self.address = f"127.0.0.1:{port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def join(self, server: int) -> None:
        """Let the bot join a server."""
        self._servers.append(server)
        for shard in self._shards:
            if shard_of(server, shard.place[1]) == shard.place[0]:
                self._do(shard.send(DISPATCH, self._server(server), "GUILD_CREATE"))

    def _do(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _serve(self) -> tuple[web.AppRunner, int]:
        app = web.Application()
        app.router.add_get("/api/v10/users/@me", self._answer(self._user))
        app.router.add_get("/api/v10/oauth2/applications/@me", self._answer(self._application()))
        app.router.add_get("/api/v10/gateway", self._gateway)
        app.router.add_get("/api/v10/gateway/bot", self._gateway)
        app.router.add_route("*", "/api/v10/applications/{path:.*}", self._answer([]))  # its commands
        app.router.add_get("/api/v10/soundboard-default-sounds", self._answer([]))
        app.router.add_get("/socket/", self._socket)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return runner, runner.addresses[0][1]

    def _answer(self, value: Any) -> Any:
        async def answer(_: web.Request) -> web.Response:
            return _json(value)

        return answer

    async def _gateway(self, _: web.Request) -> web.Response:
        url = f"ws://{self.address}/socket/"
        return _json({"url": url, "shards": self._shard_count, "session_start_limit": START_LIMIT})

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        shard = Shard(socket, is_compressed=request.query.get("compress") == "zlib-stream")
        await shard.send(HELLO, {"heartbeat_interval": HEARTBEAT_MS})
        async for message in socket:
            asked = json.loads(message.data)
            if asked["op"] == HEARTBEAT:
                await shard.send(HEARTBEAT_ACK, None)
            elif asked["op"] == IDENTIFY:
                shard.place = tuple(asked["d"].get("shard") or (0, 1))
                await self._begin(shard)
        return socket

    async def _begin(self, shard: Shard) -> None:
        """Name the servers of a shard, and then describe each."""
        number, count = shard.place
        servers = [each for each in self._servers if shard_of(each, count) == number]
        ready = {
            "v": 10,
            "user": self._user,
            "guilds": [{"id": str(each), "unavailable": True} for each in servers],
            "session_id": f"session-{number}",
            "resume_gateway_url": f"ws://{self.address}/socket/",
            "shard": [number, count],
            "application": {"id": self._user["id"], "flags": 0},
        }
        await shard.send(DISPATCH, ready, "READY")
        for server in servers:
            await shard.send(DISPATCH, self._server(server), "GUILD_CREATE")
        self._shards.append(shard)

    def _application(self) -> dict[str, Any]:
        owner = {"id": "333333333333333333", "username": "ada", "discriminator": "0", "avatar": None}
        return {
            "id": self._user["id"],
            "name": "Groove Box",
            "icon": None,
            "description": "",
            "bot_public": True,
            "bot_require_code_grant": False,
            "owner": owner,
            "verify_key": "0" * 64,
            "flags": 0,
        }

    def _server(self, server: int) -> dict[str, Any]:
        everyone = {
            "id": str(server),
            "name": "@everyone",
            "color": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "hoist": False,
            "position": 0,
            "permissions": "0",
            "managed": False,
            "mentionable": False,
        }
        return {
            "id": str(server),
            "name": f"Server {server}",
            "unavailable": False,
            "owner_id": "333333333333333333",
            "roles": [everyone],
            "member_count": 2,
            "members": [],
            "channels": [],
            "threads": [],
            "emojis": [],
            "stickers": [],
            "features": [],
            "icon": None,
            "splash": None,
            "discovery_splash": None,
            "banner": None,
            "description": None,
            "afk_timeout": 300,
            "afk_channel_id": None,
            "system_channel_id": None,
            "system_channel_flags": 0,
            "rules_channel_id": None,
            "public_updates_channel_id": None,
            "verification_level": 0,
            "default_message_notifications": 0,
            "explicit_content_filter": 0,
            "mfa_level": 0,
            "nsfw_level": 0,
            "nsfw": False,
            "premium_tier": 0,
            "premium_progress_bar_enabled": False,
            "preferred_locale": "en-US",
            "vanity_url_code": None,
            "large": False,
            "joined_at": "2025-06-15T15:06:40+00:00",
            "presences": [],
            "voice_states": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "soundboard_sounds": [],
        }


def _json(value: Any) -> web.Response:
    # Without a charset, as the platform answers: libraries compare the whole header.
    return web.Response(body=json.dumps(value).encode(), content_type="application/json")
