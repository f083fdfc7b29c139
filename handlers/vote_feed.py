"""All votes, in the order of the log, for platforms that have their own site.

Invariant: a vote is sent once, when it is durable.

A reader begins without a cursor. Its pages have two parts, and the cursor says how far the reader is in each:

1. The *log*: every vote since the reader began, as a line of the type `vote`, in the order of the journal. A
   vote removal, an erasure and the removal of a listing have lines, too. The log comes first on every page:
   a reader who needs hours for the table must not fall behind the oldest segment of the journal.
2. The *table*: the vote status of each user for each listing, as lines of the type `standing`, in the order
   of refs and users, once, while there is room on the page. A line has the status at the time of the reading.
   So it may count votes that the log has sent already, or is going to send.

A line has totals, never "one more". A reader who stores `vote` and `at` of each line, by listing and user,
has the platform's own numbers, no matter which part the line came from.

A cursor is `<position>-<sent>-<proof>`, and `-<kind>-<id>-<user>` while the table is read. All records before
the position are sent. Of the record at the position, `sent` lines are sent, or all if that is 0. The proof
ties the cursor to this journal (journal/record_pages.py), so it outlives restarts and belongs to one node.
Votes that the state no longer has are left out: a journal may still hold votes of users who were erased
since.
"""

import asyncio
import re
from bisect import bisect_right
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Annotated, Literal, NamedTuple, Protocol

from msgspec import Meta

from actions.views import KindName, ListingId, Moment, Positive, Success, UserId, View, described
from core.events import Event, ListingRemoved, UserErased, VoteCast, VotesMerged, VotesRemoved
from core.failures import PlaceLost
from core.ledger import FoundPage
from core.state import State
from forms.fields import Form
from forms.reading import read_query
from forms.rules import About, Between, Says, matching
from grammars.patterns import MAX_SNOWFLAKE
from handlers.reply import EVENT_STREAM, Reply, encode_json, reply_to, success
from handlers.request import Request
from kinds.registry import KINDS, id_pattern, kind_of
from languages.refusals import Invalid, Refusal
from languages.said import Fault

PAGE, MAX_PAGE = 500, 1_000
STREAM_PAGE = 250
MOST_READERS = 64
"""Pages that may be under way at once."""
SLICE = 128
"""Lines or listings before the feed yields to the event loop."""
MOST_LISTINGS = 20_000
"""Listings that one page looks at: most may be without votes."""
HEARTBEAT_SECONDS = 15.0
PACE_SECONDS = 0.1
"""The shortest time between two reads of a stream. Votes that come in between are read together."""
_REF = rf"({'|'.join(map(str, KINDS))})-{id_pattern('[0-9]{1,20}')}"
_CURSOR = rf"[0-9]{{1,18}}-[0-9]{{1,9}}-[0-9a-f]{{8}}(-{_REF}-[0-9]{{1,20}})?"
NOW = "now"
TAGS = (
    *(
        str(kind.__struct_config__.tag)
        for kind in (VoteCast, VotesMerged, VotesRemoved, UserErased, ListingRemoved)
    ),
    *("user_erased.1", "listing_removed.1"),
)
"""The events that a line can come from, older versions included."""

_NO_CURSOR = Fault("not_an_event_id")
FeedCursor = Annotated[str, Meta(pattern=f"^{_CURSOR}$", examples=["4711-0-9f2c4e6a"])]
LineType = Literal["vote", "standing", "struck", "erased", "removed"]


class VoteLine(View):
    """A line of the feed. What its type does not need is null."""

    type: Annotated[
        LineType,
        described(
            "`vote`: a user has voted. `standing`: a user's votes for a listing up to now. `struck`: "
            "moderators have removed the user's votes for the listing. `erased`: all votes of the "
            "user are gone. `removed`: the listing and its votes are gone.",
            "vote",
        ),
    ]
    kind: Annotated[KindName | None, described("The kind of the listing.")] = None
    id: Annotated[ListingId | None, described("The id of the listing.")] = None
    user: UserId | None = None
    at: Annotated[Moment | None, described("The time of the vote, or of the latest one.")] = None
    vote: Annotated[
        Positive | None,
        described("The number of the user's votes for the listing, over all time, including this one."),
    ] = None


class VotePage(Success):
    """Votes in the order of the log."""

    votes: tuple[VoteLine, ...]
    next: Annotated[
        FeedCursor, described("Send it as `after` to read on: now, later, or after a restart. Never null.")
    ]
    more: Annotated[bool, described("False if there are no more lines for now.")]


class FeedQuery(Form, frozen=True):
    """The query of the feed. A parameter that is None was left out."""

    after: Annotated[
        Annotated[str, matching(f"^({NOW}|{_CURSOR})$", _NO_CURSOR)] | None,
        About(
            "The `next` of the previous page. `now` starts after the newest vote, and leaves out the "
            "`standing` lines.",
            "4711-0-9f2c4e6a",
        ),
    ] = None
    limit: Annotated[
        int,
        Between(1, MAX_PAGE),
        Says(Fault("page_out_of_range", {"most": MAX_PAGE})),
        About("The most lines on a page."),
    ] = PAGE


class TableMark(NamedTuple):
    """The table was sent up to this user of this listing."""

    ref: str
    user: int


START = TableMark(f"{min(kind.prefix for kind in KINDS)}0", 0)
"""Before every listing: no id is 0, and no user is 0."""


class Cursor(NamedTuple):
    """The place of a reader. `table` is None once the table was sent."""

    position: int
    sent: int
    proof: int
    table: TableMark | None

    def __str__(self) -> str:
        text = f"{self.position}-{self.sent}-{self.proof:08x}"
        return text if self.table is None else f"{text}-{self.table.ref.replace('/', '-')}-{self.table.user}"


class SentLine(NamedTuple):
    """A line, and the cursor behind it."""

    line: VoteLine
    cursor: Cursor


class Lines(NamedTuple):
    sent: Sequence[SentLine]
    cursor: Cursor
    more: bool


class Log(Protocol):
    """The durable records, which `JournalPages` of journal/record_pages.py reads from disk."""

    @property
    def end(self) -> tuple[int, int]:
        """The position of the newest durable record, and its proof."""

    def behind(self, position: int, proof: int, most: int, *, again: bool = False) -> Awaitable[FoundPage]:
        """Return the next records with events of `TAGS`, or with `again` from the position itself on. Raises
        PlaceLost and OSError."""


class VoteFeed:
    def __init__(
        self,
        state: State,
        log: Log,
        head_durable: Callable[[], Awaitable[None]],
        most_streams: int,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        """`head_durable()` returns once all that the state holds now is durable. Raises Unavailable."""
        self._state = state
        self._log = log
        self._head_durable = head_durable
        self._most_streams = most_streams
        self._heartbeat_seconds = heartbeat_seconds
        self._streams: set[asyncio.Event] = set()
        self._readers = 0
        self._is_stopping = False

    def wake(self) -> None:
        """Tell the streams that more is durable."""
        for stream in self._streams:
            stream.set()

    async def run(self, stop: asyncio.Event) -> None:
        """End the streams when `stop` is set."""
        await stop.wait()
        self._is_stopping = True
        self.wake()

    async def page(self, request: Request) -> Reply:
        """Answer with a page, or with a stream to a client that accepts one."""
        query = read_query(FeedQuery, request.query)
        if "text/event-stream" in request.headers.get("Accept", "").lower():
            last_id = request.headers.get("Last-Event-ID")
            return await self._stream(
                _cursor(last_id, "Last-Event-ID") if last_id else self._first(query.after)
            )
        found = await self.lines(self._first(query.after), query.limit)
        return success(
            VotePage(votes=tuple(each.line for each in found.sent), next=str(found.cursor), more=found.more)
        )

    def _first(self, after: str | None) -> Cursor:
        if after is None or after == NOW:
            position, proof = self._log.end
            return Cursor(position, 0, proof, START if after is None else None)
        return _cursor(after, "after")

    # -- Pages --------------------------------------------------------------------------------------------

    async def lines(self, cursor: Cursor, limit: int) -> Lines:
        """Return at most `limit` lines behind a cursor. Raises PlaceLost, Refusal, Unavailable."""
        with self._reading():
            found, cursor, is_last = await self._of_log(cursor, limit)
            if not is_last or cursor.table is None or len(found) >= limit:
                return Lines(found, cursor, not is_last or cursor.table is not None)
            standings, cursor = await self._of_table(cursor, limit - len(found))
            return Lines([*found, *standings], cursor, cursor.table is not None)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        if self._readers >= MOST_READERS:
            raise Refusal("not_ready", reason="too many pages of votes are being read")
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1

    async def _of_log(self, cursor: Cursor, limit: int) -> tuple[list[SentLine], Cursor, bool]:
        """Return lines of the log, the cursor behind them, and whether these were the last."""
        again = cursor.sent > 0
        try:
            page = await self._log.behind(cursor.position, cursor.proof, limit, again=again)
        except OSError as error:
            raise Refusal("not_ready", reason=f"the journal cannot be read ({error.strerror})") from None
        found: list[SentLine] = []
        for number, record in enumerate(page.records, 1):
            begin = cursor.sent if record.position == cursor.position else 0
            lines = self._lines_of(record.events)
            # None is a line that the state no longer knows. It counts, so that a cursor means the same later.
            for sent, line in islice(enumerate(lines, 1), begin, None):
                if line is None:
                    continue
                if len(found) >= limit:
                    return found, found[-1].cursor, False
                found.append(SentLine(line, Cursor(record.position, sent, record.proof, cursor.table)))
                if sent % SLICE == 0:
                    await asyncio.sleep(0)
            if found and found[-1].cursor.position == record.position:
                whole = Cursor(record.position, 0, record.proof, cursor.table)
                found[-1] = found[-1]._replace(cursor=whole)
            if number % SLICE == 0:
                await asyncio.sleep(0)
        return found, Cursor(page.position, 0, page.proof, cursor.table), page.is_last

    def _lines_of(self, events: Sequence[Event]) -> Iterator[VoteLine | None]:
        for event in events:
            match event:
                case VoteCast():
                    is_known = self._state.votes.get(event.ref, int(event.user)) is not None
                    yield (
                        _line("vote", event.ref, event.user, event.at_ms, event.total or event.count)
                        if is_known
                        else None
                    )
                case VotesMerged():
                    users = dict.fromkeys(
                        [*self._state.votes.users(event.leaf), *(each[0] for each in event.parts)]
                    )
                    for user in users:
                        yield self._standing(event.ref, user)
                case VotesRemoved():
                    yield from (_line("struck", event.ref, name) for name in event.users)
                case UserErased() if event.user:
                    yield VoteLine(type="erased", user=event.user)
                case ListingRemoved():
                    yield _line("removed", event.ref)

    def _standing(self, ref: str, user: int) -> VoteLine | None:
        vote = self._state.votes.get(ref, user)
        return _line("standing", ref, str(user), vote[1], vote[0]) if vote is not None else None

    async def _of_table(self, cursor: Cursor, limit: int) -> tuple[list[SentLine], Cursor]:
        """Return standings behind the mark, and the cursor behind them, once they are durable."""
        found: list[SentLine] = []
        mark = cursor.table
        for number in range(MOST_LISTINGS):
            if mark is None or len(found) >= limit:
                break
            leaf = self._state.votes.next_leaf(mark.ref, mark.user)
            if leaf is None:
                ref = self._next_ref(mark.ref)
                mark = TableMark(ref, 0) if ref is not None else None
            else:
                for user in self._state.votes.users(leaf)[: limit - len(found)]:
                    mark = TableMark(mark.ref, user)
                    line = self._standing(mark.ref, user)
                    if line is not None:
                        found.append(SentLine(line, cursor._replace(table=mark)))
                await asyncio.sleep(0)
            if number % SLICE == 0:
                await asyncio.sleep(0)
        await self._head_durable()
        return found, cursor._replace(table=mark)

    def _next_ref(self, after: str) -> str | None:
        """Return the next listing, or the next one that has votes and no row (yet)."""
        listings = self._state.listings
        found = [
            refs[at]
            for refs in (listings.refs, listings.unlisted)
            if (at := bisect_right(refs, after)) < len(refs)
        ]
        return min(found) if found else None

    # -- Streams ------------------------------------------------------------------------------------------

    async def _stream(self, cursor: Cursor) -> Reply:
        first = await self.lines(cursor, STREAM_PAGE)  # a cursor is refused before the head is sent
        if len(self._streams) >= self._most_streams or self._is_stopping:
            raise Refusal(
                "not_ready",
                reason="too many streams of votes are open" if not self._is_stopping else "stopping",
            )
        return Reply(200, b"", {"x-accel-buffering": "no"}, None, EVENT_STREAM, self._events(first))

    async def _events(self, lines: Lines) -> AsyncGenerator[bytes, None]:
        """Yield a page at a time. Only one page is in memory: the next is read once this one was taken."""
        ready = asyncio.Event()
        self._streams.add(ready)
        try:
            yield _heartbeat(lines.cursor) if not lines.sent else b"".join(map(_event, lines.sent))
            while not self._is_stopping:
                if not lines.more and not await self._is_woken(ready):
                    yield _heartbeat(lines.cursor)
                    continue
                await asyncio.sleep(PACE_SECONDS if not lines.more else 0)
                ready.clear()
                try:
                    lines = await self.lines(lines.cursor, STREAM_PAGE)
                except PlaceLost as lost:
                    yield b"event: lost\ndata: %s\n\n" % reply_to(lost).body
                    return
                if lines.sent:
                    yield b"".join(map(_event, lines.sent))
        finally:
            self._streams.discard(ready)

    async def _is_woken(self, ready: asyncio.Event) -> bool:
        try:
            async with asyncio.timeout(self._heartbeat_seconds):
                await ready.wait()
        except TimeoutError:
            return False
        return True


def _line(
    its_type: LineType, ref: str, user: str | None = None, at_ms: int | None = None, vote: int | None = None
) -> VoteLine:
    return VoteLine(
        type=its_type, kind=kind_of(ref).plural, id=ref.partition("/")[2], user=user, at=at_ms, vote=vote
    )


def _event(sent: SentLine) -> bytes:
    return b"id: %s\ndata: %s\n\n" % (str(sent.cursor).encode(), encode_json(sent.line))


def _heartbeat(cursor: Cursor) -> bytes:
    """Return bytes that keep a connection open. A browser keeps the id, and tells nobody of an event."""
    return b": here\nid: %s\n\n" % str(cursor).encode()


def _cursor(text: str, field: str) -> Cursor:
    """Read a cursor. Raises Invalid."""
    if re.fullmatch(_CURSOR, text, re.ASCII) is None:
        raise Invalid({field: Fault("not_an_event_id")})
    position, sent, proof, *table = text.split("-")
    mark = TableMark(f"{table[0]}/{table[1]}", int(table[2])) if table else None
    if mark is not None and mark.user > MAX_SNOWFLAKE:
        raise Invalid({field: Fault("not_an_event_id")})
    return Cursor(int(position), int(sent), int(proof, 16), mark)
