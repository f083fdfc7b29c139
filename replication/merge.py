"""Events of other nodes' facts. Invariant: merging commutes and is idempotent.

A rule like any other: it reads the state and returns events that carry results. Nodes that have merged the
same facts are equal, in whatever order and however often the facts came:

    listing    each slot by its rule: see the table in core/sharing.py
    removal    of a listing: wins over authors who had not read it
    votes      of each node the greatest count, and the latest time; see core/vote_table.py
    counts     of votes by day and month: as votes, by node; see core/vote_counts.py
    cooldowns  of votes that are gone: the union; of one the later end
    user       each part by its rule: see core/user_changes.py
    removal    of a user's votes for a listing: wins over authors who had not read it
    erasure    wins over authors who had not read it
    delivery   the last one taken over wins; of one owner, the furthest, until the owner has forgotten it
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from core import audit_log
from core import events as ev
from core.actors import UNKNOWN, Actor, user_of
from core.rows import Delivery, Listing, NodeWindow
from core.sharing import as_own, joined, shared, tenure, without_health
from core.state import State
from core.user_changes import joined_users, without_actor
from core.vote_counts import clamped_day, counts_at
from replication import facts as fa
from replication.capture import DigestOf

NUMBER_BYTES = 8  # in either column of a leaf


@dataclass(frozen=True)
class FactSource:
    """The node whose facts are merged, the users it had erased by then, by digest, and those whose votes it
    had removed, by ref. Only the votes of a copy need those: other facts carry their own `forgotten` and
    `removed_ms`."""

    node_id: str
    erased: Mapping[str, int] = field(default_factory=dict)
    removed_votes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class Merge:
    def __init__(self, state: State, digest_of: DigestOf) -> None:
        self._state = state
        self._digest_of = digest_of
        self._gone: set[str] = set()
        self._gone_as_of: tuple[int, FactSource | None] = (0, None)

    def new_erasure(self, fact: fa.Fact) -> fa.ErasedFact | None:
        """Return what to forget before the fact is merged."""
        match fact:
            case fa.ErasedFact() if fact.user:
                erasure = fact
            case fa.VoteFact() if fact.forgotten:
                erasure = fa.ErasedFact(self._digest_of(fact.user), fact.forgotten, fact.user)
            case fa.DeliveryFact() if fact.forgotten:
                erasure = fa.ErasedFact(self._digest_of(fact.row.user), fact.forgotten, fact.row.user)
            case fa.UserFact() if fact.forgotten:
                erasure = fa.ErasedFact(self._digest_of(fact.row.id), fact.forgotten, fact.row.id)
            case _:
                return None
        return erasure if erasure.ms > self._state.fleet.erased.get(erasure.pseudonym, 0) else None

    def alone(self, fact: fa.Fact) -> object | None:
        """Return the thing that the fact is about, if merging it changes nothing that another merge reads."""
        if isinstance(fact, fa.FinishedFact):
            return fact.ref, fact.delivery_id
        if not isinstance(fact, fa.VoteFact | fa.DeliveryFact):
            return None
        ref, thing = (fact.ref, fact.user) if isinstance(fact, fa.VoteFact) else (fact.row.ref, fact.row.id)
        return (ref, thing) if fact.life <= self._state.fleet.removed.get(ref, 0) else None

    def events(self, fact: fa.Fact, source: FactSource) -> list[ev.Event]:  # noqa: C901 (a case for each kind)
        """Return what the fact changes at this node."""
        match fact:
            case fa.ListingFact():
                row = self._without_erased(fact.row)
                return self._of_life(row.ref, fact.life, lambda known: self._listing(row, known))
            case fa.RemovedFact():
                return self._of_life(fact.ref, fact.ms, lambda _: [])
            case fa.VoteFact():
                return self._vote(fact, source)
            case fa.VotesFact():
                return self._of_life(fact.ref, fact.life, lambda _: self._votes(fact, source))
            case fa.CountsFact():
                merged = ev.VoteCountsMerged(fact.ref, fact.counts)
                return self._of_life(fact.ref, fact.life, lambda _: [merged])
            case fa.DeliveryFact():
                return self._delivery(fact)
            case fa.FinishedFact():
                return self._finished(fact, source)
            case fa.UserFact():
                return self._user(fact)
            case fa.CooldownsFact():
                return self._cooldowns(fact)
            case fa.VotesRemovedFact() | fa.ErasedFact():
                return self._gone_for_good(fact)

    def _of_life(
        self, ref: str, life: int, merged: Callable[[Listing | None], list[ev.Event]]
    ) -> list[ev.Event]:
        """Return what changes of a listing in that life. An earlier life is over; a later one ends the
        known one."""
        known_life = self._state.fleet.removed.get(ref, 0)
        if life < known_life:
            return []
        if life == known_life:
            return merged(self._state.listings.get(ref))
        return [ev.ListingRemoved(ref, stamp_ms=life, by=UNKNOWN), *merged(None)]

    def _listing(self, row: Listing, known: Listing | None) -> list[ev.Event]:
        label = self._state.fleet.label
        if known is None:
            return [ev.ListingMerged(as_own(row, label), _updates(row.windows, (), label))]
        before = shared(known, label)
        after = joined(before, row)
        if after == before:
            return []
        updates = _updates(after.windows, before.windows, label)
        after = replace(after, pushed=row.pushed)
        is_taken = tenure(after) != tenure(before)
        if after.webhook == before.webhook and not is_taken:
            return [ev.ListingMerged(replace(as_own(after, label), webhook=known.webhook), updates)]
        merged = ev.ListingMerged(as_own(after, label), updates)
        # Readers of the log look for these events. Deliveries of the owner before are not for the endpoint of
        # the new one.
        removed = ev.SlotsSet(row.ref, 0, webhook=None, by=UNKNOWN)
        if after.webhook is None:
            return [removed, merged]
        saved = ev.SlotsSet(row.ref, 0, webhook=without_health(after.webhook), by=UNKNOWN)
        return [removed, merged, saved] if is_taken else [merged, saved]

    def _without_erased(self, row: Listing) -> Listing:
        """Return the row without the names of users who were erased after they acted."""
        for actor, erased_ms in self._erased_among(audit_log.actors_of(row)):
            row = audit_log.without_actor(row, actor, erased_ms)
        return row

    def _erased_among(self, actors: Iterable[Actor]) -> Iterator[tuple[Actor, int]]:
        """Yield the actors who were erased here, and when."""
        erased = self._state.fleet.erased
        for actor in actors if erased else ():
            user = user_of(actor)
            erased_ms = erased.get(self._digest_of(user), 0) if user is not None else 0
            if erased_ms:
                yield actor, erased_ms

    def _vote(self, fact: fa.VoteFact, source: FactSource) -> list[ev.Event]:
        news = self._news(fact, source.node_id)
        return self._of_life(fact.ref, fact.life, lambda _: news)

    def _news(self, fact: fa.VoteFact, node_id: str) -> list[ev.Event]:
        """Return the vote of a fact. One that is known already is no event: readers of the log hear of each
        vote once. The counts of its day name nobody, so they stay when the user is erased, or the vote
        removed."""
        counts, of_day = self._counts_of_day(fact, node_id), (fact.of_day, fact.of_month, fact.day)
        if self._is_forgotten(fact.user, fact.forgotten):
            return counts
        removed_here = self._votes_removed_here(fact.ref, fact.user)
        if max(fact.removed_ms, fact.life) < removed_here:
            return counts
        if fact.removed_ms > removed_here:
            cast = ev.VoteCast(fact.ref, fact.user, fact.count, fact.last_ms, node_id, *of_day)
            return [*self._removal(fact.ref, (fact.user,), fact.removed_ms), cast]
        votes, user = self._state.votes, int(fact.user)
        known = votes.get(fact.ref, user) if self._is_known_life(fact) else None
        if known is None:
            return [ev.VoteCast(fact.ref, fact.user, fact.count, fact.last_ms, node_id, *of_day)]
        counted = votes.parts(fact.ref, user).get(self._state.fleet.numbers.get(node_id, -1), 0)
        if fact.count > counted:
            total = known[0] + fact.count - counted
            total = total if total != fact.count else 0
            return [ev.VoteCast(fact.ref, fact.user, fact.count, fact.last_ms, node_id, *of_day, total)]
        if fact.last_ms <= known[1]:
            return counts
        part = (user, node_id, counted, fact.last_ms)  # no vote more, but a later one is known elsewhere
        return [ev.VotesMerged(fact.ref, (node_id,), b"", (part,)), *counts]

    def _counts_of_day(self, fact: fa.VoteFact, node_id: str) -> list[ev.Event]:
        """Return what a fact says of its day, unless that is known."""
        number = self._state.fleet.numbers.get(node_id, -1)
        day = fact.day or clamped_day(fact.last_ms)
        of_day, of_month = self._state.vote_counts.at(fact.ref, number, day)
        is_known = fact.of_day <= of_day and fact.of_month <= of_month
        if not fact.of_day or (is_known and self._is_known_life(fact)):
            return []
        told = counts_at(node_id, day, fact.of_day, fact.of_month)
        return [ev.VoteCountsMerged(fact.ref, (told,))]

    def _is_known_life(self, fact: fa.VoteFact) -> bool:
        return fact.life == self._state.fleet.removed.get(fact.ref, 0)

    def _gone_for_good(self, fact: fa.VotesRemovedFact | fa.ErasedFact) -> list[ev.Event]:
        if isinstance(fact, fa.VotesRemovedFact):
            return self._votes_removed(fact)
        known = fact.ms <= self._state.fleet.erased.get(fact.pseudonym, 0)
        return [] if known else [ev.UserErased("", (), fact.pseudonym, stamp_ms=fact.ms, by=UNKNOWN)]

    def _votes_removed(self, fact: fa.VotesRemovedFact) -> list[ev.Event]:
        """Leave out what is known, and users who were erased since: then there are no such votes."""
        erased = self._state.fleet.erased
        news = tuple(
            user
            for user in fact.users
            if fact.ms > max(self._votes_removed_here(fact.ref, user), erased.get(self._digest_of(user), 0))
        )
        is_over = fact.ms <= self._state.fleet.removed.get(fact.ref, 0)
        return [] if is_over or not news else self._removal(fact.ref, news, fact.ms)

    @staticmethod
    def _removal(ref: str, users: tuple[str, ...], ms: int) -> list[ev.Event]:
        return [ev.VotesRemoved(ref, users, "", 0, stamp_ms=ms, by=UNKNOWN)]

    def _votes_removed_here(self, ref: str, user: str) -> int:
        """Return when the user's votes for the listing were removed, as far as this node has read."""
        return self._state.fleet.removed_votes.get(ref, {}).get(user, 0)

    def _votes(self, fact: fa.VotesFact, source: FactSource) -> list[ev.Event]:
        """Leave out users whom this node has erased, or whose votes it has removed, later than the author
        knew."""
        gone, removed = self._erased_here(source), self._removed_since(fact, source)
        if not gone and not removed:
            return [ev.VotesMerged(fact.ref, fact.nodes, fact.leaf, fact.parts)]

        def is_kept(user: int) -> bool:
            return str(user) not in removed and self._digest_of(str(user)) not in gone

        half = len(fact.leaf) // 2
        kept = [at for at, user in enumerate(self._state.votes.users(fact.leaf)) if is_kept(user)]
        columns = (fact.leaf[:half], fact.leaf[half:])
        leaf = b"".join(column[at * NUMBER_BYTES :][:NUMBER_BYTES] for column in columns for at in kept)
        parts = tuple(part for part in fact.parts if is_kept(part[0]))
        return [ev.VotesMerged(fact.ref, fact.nodes, leaf, parts)]

    def _removed_since(self, fact: fa.VotesFact, source: FactSource) -> set[str]:
        """Return the users whose votes this node has removed later than the source knew."""
        known = source.removed_votes.get(fact.ref, {})
        here = self._state.fleet.removed_votes.get(fact.ref, {})
        return {user for user, ms in here.items() if ms > max(known.get(user, 0), fact.life)}

    def _erased_here(self, source: FactSource) -> set[str]:
        """Return the digests of users whom this node has erased later than the source knew."""
        fleet, (gone, known_source) = self._state.fleet, self._gone_as_of
        if gone != fleet.tombstones or known_source is not source:
            self._gone_as_of = (fleet.tombstones, source)
            self._gone = {digest for digest, ms in fleet.erased.items() if ms > source.erased.get(digest, 0)}
        return self._gone

    def _delivery(self, fact: fa.DeliveryFact) -> list[ev.Event]:
        row = fact.row
        listing = self._state.listings.get(row.ref)
        if listing is None or fact.life != self._state.fleet.removed.get(row.ref, 0):
            return []
        if self._is_forgotten(row.user, fact.forgotten) or (
            row.next_attempt_ms is not None and listing.webhook is None
        ):
            return []
        if listing.taken is not None and row.queued_ms < listing.taken.at_ms:
            return []  # it was for the endpoint of the owner before
        label = self._state.fleet.label
        known = self._state.deliveries.find(row.ref, row.id)
        if known is not None and _progress(row, label) <= _progress(known, label):
            return []
        own = replace(row, owner="") if row.owner == label else row
        return [ev.DeliveryMerged(own)]

    def _user(self, fact: fa.UserFact) -> list[ev.Event]:
        if self._is_forgotten(fact.row.id, fact.forgotten):
            return []
        row, known = fact.row, self._state.users.get(fact.row.ref)
        for actor, erased_ms in self._erased_among({each.by for each in row.quarantines}):
            row = without_actor(row, actor, erased_ms)
        after = joined_users(known if known is not None else row, row)
        return [ev.UserMerged(after)] if after != known else []

    def _cooldowns(self, fact: fa.CooldownsFact) -> list[ev.Event]:
        known = self._state.cooldowns
        news = tuple(
            (pseudonym, end_ms) for pseudonym, end_ms in fact.cooldowns if end_ms > known.get(pseudonym, 0)
        )
        return [ev.CooldownsKept(news, 0)] if news else []

    def _finished(self, fact: fa.FinishedFact, source: FactSource) -> list[ev.Event]:
        """Return nothing if another node has taken the delivery over."""
        row = self._state.deliveries.remote.get(fact.ref, {}).get(fact.delivery_id)
        if row is None or row.owner != source.node_id:
            return []
        return [ev.DeliveryForgotten(fact.delivery_id, fact.ref)]

    def _is_forgotten(self, user: str, forgotten: int) -> bool:
        """Return True if this node has erased the user later than the author knew."""
        erased = self._state.fleet.erased
        return bool(erased) and forgotten < erased.get(self._digest_of(user), 0)


def _updates(after: tuple[NodeWindow, ...], before: tuple[NodeWindow, ...], label: str) -> int:
    """Count the updates of other nodes that the windows of `after` have beyond those of `before`."""
    known = {window.node: window for window in before}
    updates = 0
    for window in after:
        old = known.get(window.node)
        if window.node != label:
            same = old is not None and old.started_ms == window.started_ms
            updates += window.used - (old.used if same and old is not None else 0)
    return updates


def _progress(row: Delivery, node_id: str) -> tuple[int, str, int, int, bool]:
    """Rank a delivery by its progress. `node_id` is this node's."""
    return (row.owned_ms, row.owner or node_id, row.round_ms or 0, row.made, row.next_attempt_ms is None)
