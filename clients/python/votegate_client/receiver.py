"""The receiver of webhooks. It checks that a request is genuine and new, and calls the handlers.

    request -> 413 -> 401 -> 400 -> claim -> 204, and the handlers run

It knows no web framework. An adapter reads headers and body, awaits `receive`, and sends the answer.

Invariant: an answer never waits for a handler. A gateway waits for 5 seconds at most, and then sends the
event again.
"""

import asyncio
import inspect
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar, cast

from votegate_client.clock import Clock, SystemClock
from votegate_client.events import Event, Test, Vote, read_event
from votegate_client.signatures import is_recent, is_same, is_signed, key_of
from votegate_client.stores import MemoryStore, Store

log: logging.Logger = logging.getLogger("votegate_client")

MOST_BYTES = 64 * 1024
"""The longest body that is accepted. An adapter may stop reading after one byte more."""

VoteHandler = TypeVar("VoteHandler", bound=Callable[[Vote], Awaitable[object] | object])
TestHandler = TypeVar("TestHandler", bound=Callable[[Test], Awaitable[object] | object])
EventHandler = TypeVar("EventHandler", bound=Callable[[Event], Awaitable[object] | object])
_Result = TypeVar("_Result")


class Answer(NamedTuple):
    """The answer to a webhook. The gateway shows its text in the delivery log."""

    status: int
    text: str = ""


TOO_LARGE = Answer(413, f"The body is larger than {MOST_BYTES} bytes.")


class Receiver:
    """Receives webhooks, and calls handlers for those that are genuine and new.

        receiver = Receiver(secret=os.environ["WEBHOOK_SECRET"], store=SQLiteStore("votes.db"))

        @receiver.on_vote
        async def reward(vote: Vote) -> None:
            ...

    A handler is `async def`, or a `def`, which runs in a thread and so may block.
    """

    def __init__(
        self,
        *,
        secret: str | Sequence[str] | None = None,
        token: str | Sequence[str] | None = None,
        store: Store | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Make a receiver without handlers. Raises ValueError for a secret or token that cannot be right.

        Args:
            secret: the signing secret of the webhook. During a rotation, the old and the new one.
            token: the token of the webhook. With a secret and a token, both are checked.
            store: where the ids of events are kept; without one, in memory.
        """
        self._keys = [key_of(each) for each in _several(secret)]
        self._tokens = _several(token)
        if not self._keys and not self._tokens:
            raise ValueError("Give the receiver the secret or the token of the webhook.")
        if "" in self._tokens:
            raise ValueError("The token is empty.")
        self._clock = clock or SystemClock()
        self._store = store if store is not None else MemoryStore(clock=self._clock)
        self._handlers: dict[type, list[Callable[[Any], Any]]] = {Vote: [], Test: [], Event: []}
        self._running: set[asyncio.Task[Any]] = set()
        self._logged: set[str] = set()
        self._threads = ThreadPoolExecutor(thread_name_prefix="votegate-handler")
        """For handlers alone, so that the store never waits for one."""

    def on_vote(self, handler: VoteHandler) -> VoteHandler:
        """Call a function for each vote."""
        self._handlers[Vote].append(handler)
        return handler

    def on_test(self, handler: TestHandler) -> TestHandler:
        """Call a function for each test, which nobody should be rewarded for."""
        self._handlers[Test].append(handler)
        return handler

    def on_event(self, handler: EventHandler) -> EventHandler:
        """Call a function for each other event, also of types that this version does not know."""
        self._handlers[Event].append(handler)
        return handler

    async def receive(self, headers: Mapping[str, str] | Iterable[tuple[str, str]], body: bytes) -> Answer:
        """Check a request, start the handlers of its event if it is new, and return the answer.

        Args:
            headers: the headers, or their lines, under names in any case.
            body: the bytes as they came, before any parser.
        """
        answer = await self._received(_by_lower_name(headers), body)
        if answer.status != 204:
            self._warn_once(f"A webhook was refused with {answer.status}: {answer.text}")
        return answer

    async def finish(self) -> None:
        """Wait until the handlers that run have ended. Call it before the process ends."""
        while self._running:
            await asyncio.wait(self._running)

    async def _received(self, headers: Mapping[str, str], body: bytes) -> Answer:
        if len(body) > MOST_BYTES:
            return TOO_LARGE
        if (reason := self._doubt(headers, body)) is not None:
            return Answer(401, reason)
        event_id = headers.get("webhook-id", "")
        if not event_id:
            return Answer(400, "The header webhook-id is missing.")
        if not _is_text(event_id):
            return Answer(400, "The header webhook-id is not text in UTF-8.")
        try:
            event = read_event(event_id, body)
        except ValueError as error:
            return Answer(400, str(error))
        # Some frameworks cancel a request whose sender goes away. Its event would be claimed, and then lost.
        return await asyncio.shield(self._start(self._claim(event)))

    async def _claim(self, event: Vote | Test | Event) -> Answer:
        """Start the handlers of an event that has not come before."""
        try:
            is_new = await _called(self._store.claim, event.id)
        except Exception as error:
            _log_error("The store of webhook ids", error)
            return Answer(503, "The receiver cannot store the event now.")
        if is_new:
            self._start_handlers(event)
        return Answer(204)

    def _doubt(self, headers: Mapping[str, str], body: bytes) -> str | None:
        """Return why a request may not be genuine; None if it is genuine."""
        sent = headers.get("authorization", "")
        if self._tokens and not any(is_same(each, sent) for each in self._tokens):
            return "The header Authorization is not the webhook's token."
        if not self._keys:
            return None
        event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        signatures = headers.get("webhook-signature", "")
        if not (event_id and timestamp and signatures):
            return "A header is missing: webhook-id, webhook-timestamp or webhook-signature."
        if not is_recent(timestamp, self._clock.time()):
            return "webhook-timestamp differs from the receiver's clock by more than 5 minutes."
        if not is_signed(self._keys, event_id, timestamp, signatures, body):
            return "No signature is right: another secret was used, or the body was changed on its way."
        return None

    def _start_handlers(self, event: Vote | Test | Event) -> None:
        handlers = self._handlers[type(event)]
        if not handlers:
            name = type(event).__name__.lower()
            self._warn_once(f"A webhook has no handler: write one with @receiver.on_{name}.")
        for handler in handlers:
            self._start(self._run(handler, event))

    def _warn_once(self, line: str) -> None:
        """Log a line once: strangers may send any number of requests."""
        if line not in self._logged:
            self._logged.add(line)
            log.warning(line)

    async def _run(self, handler: Callable[[Any], Any], event: Vote | Test | Event) -> None:
        try:
            await _called(handler, event, self._threads)
        except Exception as error:
            name = getattr(handler, "__qualname__", type(handler).__name__)
            _log_error(f"The handler {name}", error)

    def _start(self, work: Coroutine[Any, Any, _Result]) -> "asyncio.Task[_Result]":
        task = asyncio.create_task(work)
        self._running.add(task)  # the loop refers to a task only weakly
        task.add_done_callback(self._running.discard)
        return task


async def _called(function: Callable[[Any], Any], value: object, threads: Executor | None = None) -> Any:
    """Return the result of an `async def`, or of a `def`, which runs in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(value)
    result = await asyncio.get_running_loop().run_in_executor(threads, _returned, function, value)
    return await result if inspect.isawaitable(result) else result


def _returned(function: Callable[[Any], Any], value: object) -> Any:
    """Return a function's result. Before Python 3.12, a future that fails with StopIteration never ends."""
    try:
        return function(value)
    except StopIteration as error:
        raise RuntimeError("StopIteration").with_traceback(error.__traceback__) from None


def _by_lower_name(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers under lower-case names. Lines of one name are joined by a space, as signatures are."""
    joined: dict[str, str] = {}
    lines = headers.items() if isinstance(headers, Mapping) else headers
    for any_case, value in cast("Iterable[tuple[str, str]]", lines):
        name = any_case.lower()
        joined[name] = f"{joined[name]} {value}" if name in joined else value
    return joined


def _is_text(value: str) -> bool:
    """Return false for a text with bytes that a server could not decode: no store takes it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _several(given: str | Sequence[str] | None) -> list[str]:
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def _log_error(name: str, error: Exception) -> None:
    """Log the class and the places of an error, without its message, which may quote the body."""
    places = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s failed: %s\n%s", name, type(error).__name__, places)
