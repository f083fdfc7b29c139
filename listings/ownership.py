"""An index of listings by their owners, of the review queue with its claims, of recent decisions, and of
reported listings.

A start leaves rows packed, so a survey walks through all of them once, in slices. After that the log tells
the changes. The index is complete once the survey has ended; then no question takes a walk through all
listings. The last decisions also tell the time that a decision usually takes.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Sequence
from statistics import median

from core import events as ev
from core.actors import Actor, user_of
from core.events import FREQUENT
from core.packing import Brief
from core.state import State
from kinds.kind import Kind
from kinds.registry import KINDS, kind_of
from listings.review import claim_of, place_ms, waited_ms

USUAL_OF, USUAL_FROM = 20, 5
"""The usual wait is the median of the last 20 decisions. It is unknown with fewer than 5."""
DECIDED_KEPT = 100
"""The decisions that are kept. One that is taken back leaves a gap, because older ones are forgotten."""
_CHANGING = (
    ev.OwnersEvent
    | ev.ListingSaved
    | ev.ListingReviewed
    | ev.ChangeDecided
    | ev.SlotsSet
    | ev.ListingTakenOver
    | ev.ListingRemoved
    | ev.ListingMerged
    | ev.ListingReported
    | ev.ReportsSettled
)
_GONE = Brief("", (), "approved", None, 0, (), ())
"""The part of a listing that is gone."""


class _ByTime:
    """Refs in the order of their times (Unix ms). With a bound, the newest alone."""

    def __init__(self, most: int | None = None) -> None:
        self.order: list[tuple[int, str]] = []
        self.times: dict[str, int] = {}
        self._most = most

    def put(self, ref: str, at_ms: int | None) -> None:
        """Set the time of a ref, in place of its earlier one; None removes it."""
        before = self.times.pop(ref, None)
        if before is not None:
            del self.order[bisect_left(self.order, (before, ref))]
        if at_ms is None:
            return
        self.times[ref] = at_ms
        insort(self.order, (at_ms, ref))
        if self._most is not None and len(self.order) > self._most:
            del self.times[self.order.pop(0)[1]]


class _OfUsers:
    """Refs by users, in order. Most users have one listing, and most listings one user: no list is made of
    one alone, because that takes 200 bytes."""

    def __init__(self) -> None:
        self._refs_of: dict[str, str | list[str]] = {}
        self._users_of: dict[str, str | tuple[str, ...]] = {}

    def refs_of(self, user_id: str) -> Sequence[str]:
        return _several(self._refs_of.get(user_id, ()))

    def put(self, ref: str, users: tuple[str, ...]) -> None:
        """Set the users of a ref, in place of its earlier ones."""
        before = _several(self._users_of.pop(ref, ()))
        if users:
            self._users_of[ref] = users if len(users) > 1 else users[0]
        for user in {*before} - {*users}:
            refs = self._refs_of[user]
            if isinstance(refs, list):
                del refs[bisect_left(refs, ref)]
            if isinstance(refs, str) or not refs:
                del self._refs_of[user]
        for user in {*users} - {*before}:
            refs = self._refs_of.setdefault(user, ref)
            if isinstance(refs, list):
                insort(refs, ref)
            elif refs != ref:
                self._refs_of[user] = sorted((refs, ref))


def _several(texts: str | Sequence[str]) -> Sequence[str]:
    return (texts,) if isinstance(texts, str) else texts


class Ownership:
    def __init__(self, state: State, kinds: Collection[Kind] = KINDS) -> None:
        """`kinds` are those whose listings the index has."""
        self._kinds = kinds
        self._listings = state.listings
        self._owned = _OfUsers()
        self._lost = _OfUsers()
        self._asked = _OfUsers()
        self._waiting = _ByTime()
        self._claimers: dict[str, Actor] = {}
        self._decided = _ByTime(DECIDED_KEPT)
        self._reported = _ByTime()
        self._waits: Sequence[int] | None = None
        """The durations of the last decisions; None until they are asked for again."""
        self.is_complete = False

    def refs_of(self, user_id: str) -> Sequence[str]:
        """Return the listings that a user owns, alone or with others, in order."""
        return self._owned.refs_of(user_id)

    def told_of(self, user_id: str) -> Sequence[str]:
        """Return the listings that a user owns, and those that a claimant took over from the user."""
        lost = self._lost.refs_of(user_id)
        return sorted({*self._owned.refs_of(user_id), *lost}) if lost else self._owned.refs_of(user_id)

    def noticed_by(self, user_id: str) -> Sequence[str]:
        """Return the listings that may have notices for a user."""
        asking = self._asked.refs_of(user_id)
        return sorted({*self.told_of(user_id), *asking}) if asking else self.told_of(user_id)

    def asking(self, user_id: str) -> Sequence[str]:
        """Return the listings that ask a user to become an owner, in order. An offer may have lapsed."""
        return self._asked.refs_of(user_id)

    @property
    def queue(self) -> Sequence[tuple[int, str]]:
        """The listings in review, and the approved ones with a change: since when each waits (Unix ms), and
        its ref. The longest wait comes first, but a new server that meets every condition comes before all
        others, with an earlier time (`review.place_ms`)."""
        return self._waiting.order

    def claimed(self, by: Actor) -> list[tuple[int, str]]:
        """Return the part of the queue that an actor has claimed."""
        refs = [ref for ref, claimer in self._claimers.items() if claimer == by]
        held = (claim_of(self._listings.peek(ref)) for ref in refs)  # not if its claimer was erased meanwhile
        found = zip(refs, held, strict=True)
        return sorted((self._waiting.times[ref], ref) for ref, claim in found if claim and claim.by == by)

    @property
    def decided(self) -> Sequence[tuple[int, str]]:
        """The last decisions that hold: the time (Unix ms) and the ref of each, the newest last."""
        return self._decided.order

    @property
    def reported(self) -> Sequence[tuple[int, str]]:
        """The listings with open reports: the time of the newest report (Unix ms) and the ref, the newest
        last."""
        return self._reported.order

    def place(self, ref: str) -> int | None:
        """Return the place of a listing in the queue, from 1; None for one that is not in it."""
        since_ms = self._waiting.times.get(ref)
        return None if since_ms is None else bisect_left(self.queue, (since_ms, ref)) + 1

    @property
    def usual_wait_ms(self) -> int | None:
        """The median time of the last decisions. None while too few are known."""
        if not self.is_complete:
            return None
        if self._waits is None:
            rows = (self._listings.peek(ref) for _, ref in self.decided[-USUAL_OF:])
            self._waits = [waited for row in rows if (waited := waited_ms(row)) is not None]
        return round(median(self._waits)) if len(self._waits) >= USUAL_FROM else None

    def survey(self) -> Iterator[None]:
        """Index all listings, in slices, unless that was done before."""
        if not self.is_complete:
            for some in self._listings.briefs():
                for ref, brief in some:
                    self._take(ref, brief)
                yield
            self.is_complete = True

    def on_record(self, _: int, events: Sequence[ev.Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) not in FREQUENT and isinstance(event, _CHANGING):
                self._look(event.ref)
            elif isinstance(event, ev.UserErased):
                for ref in event.refs:
                    if ref in self._listings:
                        self._look(ref)

    def _look(self, ref: str) -> None:
        self._take(ref, self._listings.brief(ref) if ref in self._listings else _GONE)

    def _take(self, ref: str, brief: Brief) -> None:
        if kind_of(ref) not in self._kinds:
            return
        self._waits = None
        self._owned.put(ref, brief.owners)
        lost_by = user_of(Actor(brief.lost_by))
        self._lost.put(ref, (lost_by,) if lost_by is not None else ())
        self._asked.put(ref, brief.asked)
        is_in_review = brief.state == "in_review"
        row = self._listings.peek(ref) if is_in_review or brief.changed_ms is not None else None
        self._waiting.put(ref, place_ms(row) if row is not None else None)
        claim = claim_of(row) if row is not None else None
        if claim is not None:
            self._claimers[ref] = claim.by
        else:
            self._claimers.pop(ref, None)
        reports = self._listings.reported.get(ref)  # no packed row has an open report
        self._reported.put(ref, reports[-1].at_ms if reports else None)
        self._decided.put(ref, None if is_in_review else brief.decided_ms)
