"""Work in rounds: removing expired sessions, quarantines and cooldowns, and checking servers and invites
again.

Invariant: a round ends with the gateway, and does not wait for the next one. While the journal takes no
writes, a round stops, and the next one goes on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from heapq import nsmallest

from actions.tools import TemplateQuestions, Tools
from chatplatform.platform_client import PlatformAway
from chatplatform.server_invites import MOST_NOTED, ServerInvites
from core.actors import GATEWAY
from core.clock import MS_PER_DAY, Clock
from core.failures import Unavailable
from core.ledger import Ledger
from core.listing_table import ref_slices
from core.newest import Newest
from core.rows import Listing
from kinds.registry import KINDS, kind_of
from listings import invites, template_checks
from listings.eligibility import check
from pages.platform_facts import ServerChecking
from people.choices import forget_addresses
from people.quarantine import sweep_users
from votes.rules import drop_cooldowns

SWEEP_EVERY_SECONDS = 3_600.0
CHECK_EVERY_SECONDS = 600.0
CHECK_AGE_MS = MS_PER_DAY
"""The age of a check at which the next one is due."""
MOST_UNANSWERED = 10_000
"""The listings that are remembered because their invites got no answer."""
PAUSE_SECONDS, AWAY_SECONDS = 0.5, 60.0
"""The pause between two questions about invites, and the one after a question without an answer."""
_CHECKED = sorted(kind.prefix for kind in KINDS if kind.has("checks"))
_WITH_INVITES = sorted(kind.prefix for kind in KINDS if kind.has("invites"))


async def in_rounds(round_: Callable[[], Awaitable[None]], every_seconds: float, stop: asyncio.Event) -> None:
    """Make a round now and then one every `every_seconds`, until `stop` is set."""
    while not stop.is_set():
        await round_()
        try:
            async with asyncio.timeout(every_seconds):
                await stop.wait()
        except TimeoutError:
            continue


async def sweep(tools: Tools) -> None:
    """Remove expired sessions, quarantines and cooldowns, and addresses that are not to be kept, in slices.

    While the journal takes no writes, the next sweep does it.
    """
    try:
        await tools.in_slices(_slices(tools))
    except Unavailable:
        return


def _slices(tools: Tools) -> Iterator[None]:
    ledger, state, ownership = tools.ledger, tools.ledger.state, tools.ownership

    def is_named(user_id: str) -> bool:
        return not ownership.is_complete or bool(ownership.noticed_by(user_id))

    ledger.commit(drop_cooldowns(state, tools.clock.now_ms()))
    for refs in ref_slices(state.users.refs):
        now_ms = tools.clock.now_ms()
        ledger.commit(tools.sessions.sweep(refs, now_ms))
        ledger.commit(sweep_users(state, refs, now_ms, is_named))
        if not tools.keeps_email:
            ledger.commit(forget_addresses(state, refs, now_ms))
        yield


class ServerRechecks:
    """Checks every listed server and template once a day. Invariant: one question at a time.

    A round walks through the listings that were checked before, in slices. A server without a check, such as
    an operator's, is never hidden for one. The deployment's bot is asked about each that was last checked a
    day ago. Without a bot, or while it is not in the server, the last facts stay known. In a fleet one node
    asks, and the others merge its checks.

    The first question without an answer ends a round, so a platform that is away gets no more questions. The
    next round begins behind that listing, so one that never gets an answer stops no other.

    Args:
        asked: the questions about templates.
        grace_ms: the time for which a listing may fail before it is hidden.
        asks: returns True for a listing that this node asks about.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        checking: ServerChecking,
        asked: TemplateQuestions | None,
        grace_ms: int,
        asks: Callable[[str], bool],
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._checking = checking
        self._templates = asked
        self._grace_ms = grace_ms
        self._asks = asks
        self._after = ""
        """The listing behind which the next round begins."""

    async def run(self, stop: asyncio.Event) -> None:
        """Make a round now and then, until `stop` is set."""
        await in_rounds(self.round, CHECK_EVERY_SECONDS, stop)

    async def round(self) -> None:
        """Check the servers that are due, as far as the platform answers and the journal takes writes."""
        begin = self._after
        try:
            await self._check_between(begin, "")
            await self._check_between("", begin)
        except (PlatformAway, Unavailable):
            return
        self._after = ""

    async def _check_between(self, after: str, last: str) -> None:
        """Check the due servers behind one listing up to another; up to the last server if `last` is empty.

        Raises PlatformAway and Unavailable.
        """
        for prefix in _CHECKED:
            for refs in ref_slices(self._ledger.state.listings.refs, max(after, prefix)):
                wanted = [ref for ref in refs if ref.startswith(prefix) and (not last or ref <= last)]
                await self._check_due(wanted)
                if len(wanted) < len(refs):
                    break
                await asyncio.sleep(0)

    async def _check_due(self, refs: Sequence[str]) -> None:
        listings = self._ledger.state.listings
        for ref in [ref for ref in refs if self._is_due(listings.peek(ref))]:
            self._after = ref
            if ref in listings:
                await self._check(ref)

    def _is_due(self, row: Listing) -> bool:
        if row.state == "denied":
            return False
        known, now_ms = row.eligibility, self._clock.now_ms()
        if kind_of(row.ref).known_as == "template":
            told = row.template
            is_old = self._templates is not None and (told is None or now_ms - told.at_ms >= CHECK_AGE_MS)
        else:
            is_old = known is not None and now_ms - known.at_ms >= CHECK_AGE_MS and self._checking.has_bot
        failing_ms = known.failing_ms if known is not None and known.hidden_ms is None else None
        is_over = failing_ms is not None and now_ms - failing_ms >= self._grace_ms
        return (is_old or is_over) and self._asks(row.ref)

    async def _check(self, ref: str) -> None:
        """Check one listing. Raises PlatformAway and Unavailable."""
        state, listing_id = self._ledger.state, ref.partition("/")[2]
        if kind_of(ref).known_as != "template":
            now = await self._checking.look(listing_id)
            if ref in state.listings:  # not removed while the platform was asked
                events = check(state, ref, now, self._clock.now_ms(), self._grace_ms, by=GATEWAY)
                self._ledger.commit(events)
        elif self._templates is not None:
            found, creator_id = await self._templates.look(listing_id)
            if ref in state.listings:
                now_ms = self._clock.now_ms()
                events = template_checks.checked(
                    state, ref, found, creator_id, now_ms, self._grace_ms, by=GATEWAY
                )
                self._ledger.commit(events)


class InviteRechecks:
    """Asks about the invite of every listing that has one: once a day, and when somebody wants it sooner.

    A round notes the listings that are due, and `answer` asks about one noted listing after the other. In a
    fleet one node asks about a listing that is due.

    The oldest answer is the first to be renewed. A listing without an answer is due in the next round again,
    but behind all others: invites that never get an answer stop no other.

    Args:
        asks: returns True for a listing that this node asks about.
    """

    def __init__(
        self, ledger: Ledger, clock: Clock, asked: ServerInvites, asks: Callable[[str], bool]
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._asked = asked
        self._asks = asks
        self._unanswered = Newest[str, int](MOST_UNANSWERED)
        """By listing: the time of the last question, if it had no answer (monotonic ns)."""

    async def run(self, stop: asyncio.Event) -> None:
        """Make a round now and then, until `stop` is set."""
        await in_rounds(self.round, CHECK_EVERY_SECONDS, stop)

    async def round(self) -> None:
        """Note the listings whose invites are due, as many as are asked about until the next round."""
        listings = self._ledger.state.listings
        due = list[tuple[int, int, str]]()
        for prefix in _WITH_INVITES:
            for refs in ref_slices(listings.refs, prefix):
                wanted = [ref for ref in refs if ref.startswith(prefix)]
                rows = (listings.peek(ref) for ref in wanted)
                due = nsmallest(MOST_NOTED, (*due, *(self._place(row) for row in rows if self._is_due(row))))
                if len(wanted) < len(refs):
                    break
                await asyncio.sleep(0)
        self._asked.set_due(ref for *_, ref in due)

    def _place(self, row: Listing) -> tuple[int, int, str]:
        """Return the place of a listing among those that are due."""
        known = invites.check_of(row)
        return self._unanswered.get(row.ref, -1), known.at_ms if known is not None else 0, row.ref

    async def answer(self) -> None:
        """Ask about noted listings until it is cancelled. It may run again after a failure."""
        while True:
            is_there = await self.check(await self._asked.next_noted())
            await asyncio.sleep(PAUSE_SECONDS if is_there else AWAY_SECONDS)

    async def check(self, ref: str) -> bool:
        """Ask about the invite of a listing. Returns False if nobody answers or the journal takes no
        writes."""
        ledger, code = self._ledger, self._code(ref)
        self._unanswered.pop(ref, None)
        if code is None:
            return True
        self._unanswered[ref] = self._clock.monotonic_ns()
        try:
            found = await self._asked.look(ref.partition("/")[2], code)
            if found is not None and self._code(ref) == code:
                ledger.commit(invites.checked(ledger.state, ref, found, self._clock.now_ms(), by=GATEWAY))
                del self._unanswered[ref]
        except PlatformAway as away:
            return away.reason == "refused"
        except Unavailable:
            return False
        return True

    def _code(self, ref: str) -> str | None:
        row = self._ledger.state.listings.get(ref)
        return kind_of(ref).invite_code(row.profile) if row is not None else None

    def _is_due(self, row: Listing) -> bool:
        is_due = row.state != "denied" and invites.is_due(row, self._clock.now_ms(), CHECK_AGE_MS)
        return is_due and self._asks(row.ref)
