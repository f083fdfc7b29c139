"""The keys that a developer presses, and the commands that a script writes.

    v          a new user votes; `v USER` is the vote of that user
    t          sends a test
    r          sends the last delivery again, under the same id
    f          makes the next answer to the bot 429; again: 500, slow, as usual. `f 500` chooses one
    c          moves the clock 24 hours ahead
    ?          shows the keys
    q          ends the gateway

Votes, tests and repeats are calls of the management API, so they obey its rules and have its refusals.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from core.clock import MS_PER_DAY
from dev.happenings import DoneCommand
from dev.moved_clock import MovedClock
from dev.next_answer import PLANS, RETRY_SECONDS, SLOW_SECONDS, Planned
from dev.watching import FAILED, Watching, error_text
from handlers.reply import SPOKEN, Reply, reply_to
from handlers.request import Request

log = logging.getLogger(__name__)

HOURS = 24
KEYS = "v vote  t test  r repeat  f next answer  c +24 hours  ? keys  q quit"
LONGER_KEYS = (
    "v  a new user votes for your bot",
    "t  sends a test to your webhook",
    "r  sends the last delivery again, with the same webhook-id",
    "f  the next answer to your bot is 429; again: 500, slow, as usual",
    "c  24 hours pass: users can vote again, and limits are fresh",
    "q  ends the gateway, and deletes its data",
)
_VOTES, _TESTS = "/manage/{kind}/{id}/votes", "/manage/{kind}/{id}/webhook/test"
_REPEATS = "/manage/{kind}/{id}/webhook/deliveries/{delivery_id}/redeliver"
_TEXTS: Mapping[Planned | None, str] = {
    "429": f"the next answer to your bot is 429, with retry-after: {RETRY_SECONDS}",
    "500": "the next answer to your bot is 500",
    "slow": f"the next answer to your bot takes {SLOW_SECONDS} seconds",
    None: "the next answer to your bot is as usual",
}
_OFF = "off"


class _CastVote(msgspec.Struct):
    vote: int


class DevCommands:
    """Runs commands, and reports what they did.

    Args:
        token: the operator token of the gateway.
        bot_id: the demo bot.
        stop: ends the gateway.
    """

    def __init__(
        self, watching: Watching, clock: MovedClock, token: str, bot_id: str, stop: Callable[[], None]
    ) -> None:
        self._watching = watching
        self._clock = clock
        self._token = token
        self._bot_id = bot_id
        self._stop = stop
        self._running = set[asyncio.Task[None]]()
        self._commands: Mapping[str, Callable[[str], Awaitable[DoneCommand | None]]] = {
            "v": self._vote,
            "t": self._test,
            "r": self._repeat,
            "f": self._plan,
            "c": self._move_clock,
            "?": self._show_keys,
            "q": self._quit,
        }

    def begin(self, line: str) -> None:
        """Begin one command, a letter and its argument, in a task of its own."""
        task = asyncio.get_running_loop().create_task(self.run(line))
        self._running.add(task)
        task.add_done_callback(self._end)

    def cancel(self) -> None:
        """Cancel the commands that still run."""
        for task in self._running:
            task.cancel()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a command failed", exc_info=error)

    async def run(self, line: str) -> None:
        """Run one command, and report what it did."""
        letter, _, about = line.strip().partition(" ")
        command = self._commands.get(letter.lower())
        if letter and command is not None:
            done = await command(about.strip())
            if done is not None:
                self._watching.tell(done)
        elif letter:
            self._watching.tell(self._done(letter[:1], "there is no such key; ? shows the keys", ok=False))

    def _done(self, letter: str, text: str, *, ok: bool = True, user: str | None = None) -> DoneCommand:
        return DoneCommand(at=self._watching.machine.now_ms(), command=letter, ok=ok, text=text, user=user)

    async def _vote(self, about: str) -> DoneCommand:
        user = about or new_user()
        reply = await self._call(_VOTES, {"user": user})
        if (error := _error(reply)) is None:
            vote = msgspec.json.decode(reply.body, type=_CastVote).vote
            waits = (
                "; the webhook waits, because the endpoint is suspended" if self._watching.is_paused else ""
            )
            return self._done("v", f"user {user} has voted (vote {vote}){waits}", user=user)
        hint = " The key c moves the clock." if reply.why and reply.why.code == "voted_too_soon" else ""
        return self._done("v", error + hint, ok=False, user=user)

    async def _test(self, about: str) -> DoneCommand | None:
        user = about or new_user()
        sent = self._done("t", f"a test is sent for user {user}", user=user)
        return await self._sent(sent, _TESTS, {"user": user})

    async def _repeat(self, _: str) -> DoneCommand | None:
        latest = self._watching.latest_delivery
        if latest is None:
            return self._done("r", "nothing was delivered yet; press v or t first", ok=False)
        return await self._sent(self._done("r", f"{latest} is sent again"), _REPEATS, {}, latest)

    async def _sent(
        self, sent: DoneCommand, path: str, body: Mapping[str, str], *ids: str
    ) -> DoneCommand | None:
        """Queue a delivery, and tell of it before its attempt. Return the refusal, if there is one."""
        self._watching.sending = sent
        error = _error(await self._call(path, body, *ids))
        if error is None:
            return None
        self._watching.sending = None
        return self._done(sent.command, error, ok=False, user=sent.user)

    async def _plan(self, about: str) -> DoneCommand:
        planned = self._watching.next_answer
        if not about:
            planned.turn()
        elif about == _OFF or about in PLANS:
            planned.plan = next((each for each in PLANS if each == about), None)
        else:
            return self._done("f", f"choose {', '.join(PLANS)} or {_OFF}", ok=False)
        return self._done("f", _TEXTS[planned.plan])

    async def _move_clock(self, _: str) -> DoneCommand:
        self._clock.move(MS_PER_DAY)
        hours = self._clock.ahead_ms // MS_PER_DAY * HOURS
        return self._done("c", f"the clock is {hours} hours ahead, for votes, limits and sessions")

    async def _show_keys(self, _: str) -> DoneCommand:
        return self._done("?", "\n".join(LONGER_KEYS))

    async def _quit(self, _: str) -> DoneCommand:
        self._stop()
        return self._done("q", "the gateway stops")

    async def _call(self, path: str, body: Mapping[str, str], *ids: str) -> Reply:
        """Call the management API as the operator."""
        content = json.dumps(body).encode()
        request = Request(
            method="POST",
            path=path,
            params=(self._bot_id, *ids),
            query={},
            headers={"Authorization": f"Bearer {self._token}"},
            address="127.0.0.1",
            body=content,
            max_body_bytes=len(content),
        )
        endpoint = self._watching.endpoints[path.replace("{kind}", "bots")]["POST"]
        try:
            answer = endpoint(request)
            return await answer if not isinstance(answer, Reply) else answer
        except SPOKEN as error:
            return reply_to(error)


def _error(reply: Reply) -> str | None:
    """Return the text of a refusal; None for a success."""
    return error_text(reply.status, None, reply.body) if reply.status >= FAILED else None


def new_user() -> str:
    """Return a random id of a user, of 18 digits."""
    return str(10**17 + secrets.randbelow(9 * 10**17))
