"""A chat platform in memory, as far as direct messages go, and a sender that speaks to it."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from core.events import Event
from core.ledger import Ledger
from core.state import State
from tests.support.fake_clock import FakeClock
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.sample_rows import NOW_MS
from tests.support.sender_stage import RETRY
from webhook.sender import Notifier, Sender

POLICY = replace(RETRY, retries=1)
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


class ReadingNotifier(Notifier[Any], Protocol):
    """A notifier that reads the log."""

    def on_record(self, position: int, events: Sequence[Event]) -> None: ...


N = TypeVar("N", bound=ReadingNotifier)


class MessageStage(Generic[N]):
    """A sender of messages with everything that it speaks to."""

    def __init__(self, state: State | None = None, now_ms: int = NOW_MS) -> None:
        self.clock = FakeClock(now_ms)
        self.journal = MemoryJournal()
        self.ledger = Ledger(state or empty_state(), self.journal, head=0)
        self.messenger = FakeMessenger()
        self.may_send = True
        self.spawned: list[Coroutine[Any, Any, None]] = []
        self.spawn: Callable[[Coroutine[Any, Any, None]], object] = self.spawned.append
        self.notifier = self.new_notifier()
        self.sender = Sender(
            self.notifier,
            self.ledger,
            self.clock,
            lambda: self.journal.durable_position,
            lambda attempt: self.spawn(attempt),
            lambda: self.may_send,
        )
        self.ledger.subscribe(self.notifier.on_record)

    @abstractmethod
    def new_notifier(self) -> N: ...

    def running(self) -> "asyncio.Task[None]":
        """Let the sender run, with its attempts."""
        self.spawn = asyncio.create_task
        return asyncio.create_task(self.sender.run())

    async def asked(self) -> int:
        """Let the sender do its due work. Return the number of requests to the platform."""
        before = self.messenger.asked
        while self.sender.step(self.clock.steady_ms()) and (self.spawned or self.has_more()):
            while self.spawned:
                await self.spawned.pop()
            self.sync()
        return self.messenger.asked - before

    def has_more(self) -> bool:
        """Return true if the sender has more to do although nothing else happens."""
        due_ms = self.notifier.next_due_ms()
        return due_ms is not None and due_ms <= self.clock.steady_ms()

    def sync(self) -> None:
        self.journal.durable_position = self.ledger.head

    def assert_folds(self) -> None:
        assert fold(self.journal.records).digest() == self.ledger.state.digest()
