"""The sources of actual server counts: none, the operator, an HTTP service, and the chat platform.

Each gives a number or None. Whatever a source does wrong (slow, down, redirecting, wrong types or ranges),
the result is None and never an error.
"""

import asyncio
import logging
import math
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, NamedTuple

import msgspec

from chatplatform.platform_client import PlatformAway
from core.clock import NS_PER_SECOND, Clock
from core.events import FREQUENT, Event, ListingMerged, ListingRemoved, ListingReviewed
from core.newest import Newest
from core.state import State
from core.version import VERSION
from kinds.bots import BOTS
from outbound.client import HttpClient, open_client
from outbound.targets import AnyTarget

log = logging.getLogger(__name__)


class NoCounts:
    """The source `none`: bots cannot update their server_count."""

    async def actual(self, ref: str) -> int | None:  # noqa: ARG002 (the protocol's signature)
        return None

    def missing(self, ref: str) -> str:  # noqa: ARG002 (the protocol's signature)
        return (
            "The bot cannot push server_count, only command_count: guild_counts.source is none. "
            "Set it to operator, http or platform in the gateway's settings."
        )

    def retry_seconds(self, ref: str) -> None:
        """Return None: nothing is on its way."""


class OperatorCounts:
    """The source `operator`: `PUT /manage/bots/{id}/actual-server-count` sets the counts."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def actual(self, ref: str) -> int | None:
        listing = self._state.listings.get(ref)
        return listing.actual if listing is not None else None

    def missing(self, ref: str) -> str | None:
        listing = self._state.listings.get(ref)
        if listing is not None and listing.actual is not None:
            return None
        return f"The bot cannot push server_count before its actual server count is set. {how_to_set(ref)}"

    def retry_seconds(self, ref: str) -> None:
        """Return None: nobody knows when the operator sets it."""


def how_to_set(ref: str) -> str:
    """Return how the operator sets the count of a bot."""
    return (
        f"Set it: votegate admin counts {ref.removeprefix(BOTS.prefix)} <number>, "
        f'or PUT /manage/{ref}/actual-server-count with {{"server_count": <number>}}.'
    )


# -- an HTTP service of the platform -------------------------------------------------------------------------

LOOKUPS_AT_ONCE = 100
MAX_CACHED = 10_000


class _LookupAnswer(msgspec.Struct):
    server_count: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class _NoCount(ValueError):
    """An answer without a count: the class of the failure."""


_decode = msgspec.json.Decoder(_LookupAnswer, strict=True).decode


class HttpCounts:
    """The source `http`: `GET <url with {id} filled in>` has to answer 200, `{"server_count": <integer>}`.

    An answer is cached for `cache_seconds`. Callers who ask for the same bot meanwhile share one request.
    `open_http_counts` makes the source.
    """

    def __init__(
        self, client: HttpClient, url: str, authorization: str | None, cache_seconds: float, clock: Clock
    ) -> None:
        self._client = client
        self._url = url
        self._headers = {"Authorization": authorization} if authorization else {}
        self._turns = asyncio.Semaphore(LOOKUPS_AT_ONCE)
        self._cache_ns = round(cache_seconds * NS_PER_SECOND)
        self._clock = clock
        self._cached = Newest[str, tuple[int, int]](MAX_CACHED)  # ref -> (count, asked at, monotonic ns)
        self._asking: dict[str, asyncio.Task[int | None]] = {}

    async def close(self) -> None:
        """Cancel the requests that run."""
        for asking in self._asking.values():
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    async def actual(self, ref: str) -> int | None:
        known = self._cached.get(ref)
        if known is not None and self._clock.monotonic_ns() - known[1] < self._cache_ns:
            return known[0]
        asking = self._asking.get(ref)
        if asking is None:
            asking = self._asking[ref] = asyncio.create_task(self._ask(ref))
            asking.add_done_callback(lambda _: self._asking.pop(ref, None))
        return await asyncio.shield(asking)

    def missing(self, ref: str) -> str | None:  # noqa: ARG002 (the protocol's signature)
        """Return None: only a request can tell."""
        return None

    def retry_seconds(self, ref: str) -> None:
        """Return None: the push has waited for the answer."""

    async def _ask(self, ref: str) -> int | None:
        asked_ns = self._clock.monotonic_ns()
        try:
            count = await self._fetch(self._url.replace("{id}", ref.partition("/")[2]))
        except (ValueError, RecursionError) as error:
            # A message of the decoder quotes the answer: its class says enough.
            reason = error.args[0] if isinstance(error, _NoCount) else type(error).__name__
            log.warning("guild-count look-up for %s failed: %s", ref, reason)
            return None
        self._cached[ref] = (count, asked_ns)
        return count

    async def _fetch(self, url: str) -> int:
        """Return the count. Raises ValueError for an answer that holds none."""
        async with self._turns:
            result = await self._client.get(url, self._headers)
        if result.status != 200 or not result.is_whole:
            raise _NoCount(result.error or ("cut off" if result.status == 200 else f"http_{result.status}"))
        return _decode(result.body).server_count


@asynccontextmanager
async def open_http_counts(
    url: str, authorization: str | None, timeout_seconds: float, cache_seconds: float, clock: Clock
) -> AsyncIterator[HttpCounts]:
    """Open a source whose connections close with the context.

    Args:
        timeout_seconds: covers a whole exchange.
    """
    opening = open_client(
        AnyTarget(), timeout_seconds=timeout_seconds, user_agent=f"Votegate/{VERSION}", clock=clock
    )
    async with opening as client:
        counts = HttpCounts(client, url, authorization, cache_seconds, clock)
        try:
            yield counts
        finally:
            await counts.close()


# -- the chat platform ---------------------------------------------------------------------------------------

WORKERS = 4
PACE_SECONDS = 0.5
"""Between two questions of one worker. All together ask 4,800 times in 10 minutes at most: the platform bans
an address with 10,000 refused questions in that time, and most of these may be refused."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
"""The pauses of a worker while the platform is away."""
ANSWER_SECONDS = 5
"""A question is answered within this time, unless others wait before it."""
TRIES = 3
FAILURES_TOLD = 3
"""Consecutive questions without an answer before the log says so."""
MOST_WANTED = 10_000
MOST_TOLD = 100_000
"""About 20 MB. Beyond that, the oldest answers are forgotten."""
SLICE = 32
"""Rows that the survey looks at before others have their turn: each may have to be unpacked."""
SURVEYED = 64

Ask = Callable[[str], Awaitable[int | None]]
"""Return the count of an application, or None if the platform does not tell it. Raises PlatformAway."""


class _Told(NamedTuple):
    """The platform's answer: a number, or None if it tells none. `at_ns` is monotonic."""

    servers: int | None
    at_ns: int


class PlatformCounts:
    """The source `platform`. Invariant: no push waits for the platform.

    A push, an approval or a start makes a bot wanted. It is asked for in the background, and the next push
    uses the answer. An answer holds for `kept_seconds`. A push that finds one older than `cache_seconds` uses
    it, and asks for the bot again. Answers are lost with a restart, so the bots that push are asked for after
    every start. The platform states no count of most bots: then the count that the operator has set is used.
    """

    def __init__(
        self,
        state: State,
        clock: Clock,
        cache_seconds: float,
        kept_seconds: float,
        *,
        pace_seconds: float = PACE_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self._state = state
        self._clock = clock
        self._cache_ns = round(min(cache_seconds, kept_seconds) * NS_PER_SECOND)
        self._kept_ns = round(kept_seconds * NS_PER_SECOND)
        self._pace_seconds = pace_seconds
        self._first_pause_seconds = first_pause_seconds
        self._of_operator = OperatorCounts(state)
        self._told = Newest[str, _Told](MOST_TOLD)
        self._wanted = OrderedDict[str, int]()
        """The bots to ask for, in this order, and how often each was asked for in vain."""
        self._surveyed = asyncio.Queue[str](SURVEYED)
        """Bots to ask for when nobody else is wanted."""
        self._asking = set[str]()
        self._ready = asyncio.Event()
        self._failures = 0
        """Questions without an answer since the last one."""
        self._pause_seconds = 0.0
        """The pause after the last of these."""

    async def actual(self, ref: str) -> int | None:
        """Return the count at once. It may be asked for in the background."""
        told, now_ns = self._told.get(ref), self._clock.monotonic_ns()
        age_ns = now_ns - told.at_ns if told is not None else self._kept_ns
        if told is None or age_ns >= self._cache_ns:
            self._want(ref)
        if told is not None and told.servers is not None and age_ns < self._kept_ns:
            return told.servers
        return await self._of_operator.actual(ref)

    def missing(self, ref: str) -> str | None:
        told = self._told.get(ref)
        if (told is not None and told.servers is not None) or self._of_operator.missing(ref) is None:
            return None
        if told is None:
            return (
                "The chat platform is asked how many servers the bot is in, and has not told it yet. "
                f"If it does not tell it in a few minutes, set the count yourself. {how_to_set(ref)}"
            )
        return (
            "The bot cannot push server_count before its actual server count is set: the chat platform tells "
            f"the counts of applications in its directory alone. {how_to_set(ref)}"
        )

    def retry_seconds(self, ref: str) -> int | None:
        told = self._told.get(ref)
        if told is not None and told.servers is None:
            return None
        turns = len(self._wanted) / WORKERS * self._pace_seconds
        return math.ceil(max(ANSWER_SECONDS, turns, self._pause_seconds))

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Ask for a bot once it is approved, so that its first push finds a count."""
        for event in events:
            if type(event) in FREQUENT:
                continue
            match event:
                case ListingReviewed(ref=ref, review="approved") if ref.startswith(BOTS.prefix):
                    self._want(ref)
                case ListingMerged(row=row) if row.state == "approved" and row.ref.startswith(BOTS.prefix):
                    # Many may come at once. One that finds no room is asked for when it pushes.
                    if row.ref not in self._told and not self._surveyed.full():
                        self._surveyed.put_nowait(row.ref)
                        self._ready.set()
                case ListingRemoved(ref=ref):
                    self._told.pop(ref, None)
                    self._wanted.pop(ref, None)

    def _want(self, ref: str, tries: int = 0) -> None:
        if ref in self._wanted or ref in self._asking:
            return
        self._wanted[ref] = tries
        if len(self._wanted) > MOST_WANTED:
            self._wanted.popitem(last=False)
        self._ready.set()

    # -- Asking -------------------------------------------------------------------------------------------

    async def run(self, ask: Ask) -> None:
        """Ask until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._survey())
            for _ in range(WORKERS):
                tasks.create_task(self._work(ask))

    async def _survey(self) -> None:
        """Find the bots that have pushed a server count. Those that are pushed for meanwhile come first."""
        refs, after, looked = self._state.listings.refs, BOTS.prefix, 0
        while (at := bisect_right(refs, after)) < len(refs) and refs[at].startswith(BOTS.prefix):
            after = refs[at]
            row = self._state.listings.peek(after)
            has_pushed = row.counts is not None and row.counts.server_count is not None
            if row.state == "approved" and has_pushed and after not in self._told:
                await self._surveyed.put(after)
                self._ready.set()
            looked += 1
            if looked % SLICE == 0:
                await asyncio.sleep(0)

    async def _work(self, ask: Ask) -> None:
        while True:
            ref, tries = await self._next()
            await asyncio.sleep(await self._step(ref, tries, ask))

    async def _next(self) -> tuple[str, int]:
        while True:
            if self._wanted:
                return self._wanted.popitem(last=False)
            if self._surveyed.empty():
                self._ready.clear()
                await self._ready.wait()
                continue
            ref = self._surveyed.get_nowait()
            if ref not in self._told and ref not in self._asking:
                return ref, 0

    async def _step(self, ref: str, tries: int, ask: Ask) -> float:
        """Ask for a bot, and return the pause after it (seconds)."""
        if ref not in self._state.listings:
            return 0
        self._asking.add(ref)
        try:
            count = await ask(ref.removeprefix(BOTS.prefix))
        except PlatformAway as away:
            return self._failed(ref, tries + 1, away)
        finally:
            self._asking.discard(ref)
        if self._failures >= FAILURES_TOLD:
            log.info("the chat platform answers questions for server counts again")
        self._failures, self._pause_seconds = 0, 0.0
        if ref in self._state.listings:  # it may have been removed meanwhile
            self._told[ref] = _Told(count, self._clock.monotonic_ns())
        return self._pace_seconds

    def _failed(self, ref: str, tries: int, away: PlatformAway) -> float:
        if tries < TRIES:
            self._wanted.setdefault(ref, tries)
        self._failures += 1
        if self._failures == FAILURES_TOLD:
            log.warning("the chat platform answers no questions for server counts: %s", away.reason)
        backoff = self._first_pause_seconds * 2.0 ** min(self._failures - 1, 10)
        self._pause_seconds = min(max(backoff, away.retry_seconds or 0.0), LONGEST_PAUSE_SECONDS)
        return self._pause_seconds
