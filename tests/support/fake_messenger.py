"""A chat platform in memory, as far as direct messages go."""

import asyncio
from collections.abc import Callable

from webhook.attempts import RetryPolicy

RETRIES = RetryPolicy(1, 5_000, suspend_after=10, suspension_ms=60_000, longest_suspension_ms=3_600_000)
URL = "https://bots.example"


class FakeMessenger:
    """Fails as a list says, and posts when that is used up. A nonce that is known is posted once."""

    def __init__(self) -> None:
        self.posted: dict[str, tuple[str, str]] = {}
        self.asked = 0
        self.failures: list[Exception] = []
        self.opened: Callable[[], object] = lambda: None
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def channel(self, user_id: str) -> str:
        self.asked += 1
        await self.may_answer.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.opened()
        return f"channel of {user_id}"

    async def post(self, channel_id: str, content: str, nonce: str) -> None:
        self.posted.setdefault(nonce, (channel_id, content))
