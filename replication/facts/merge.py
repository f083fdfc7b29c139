"""How facts of other nodes become events of this one. Law: merging commutes, and twice is once.

A rule like any other: it reads the state and returns events that carry results. Whatever order facts come in,
and however often, the nodes that have heard the same end up with the same:

    listing    each part on its own: the later stamp stands; removal takes all that did not know of it
    keys       all that were issued; of one, the later stamp stands; a deletion stands against everything
    stats      counts as parts of a listing; of each node's window of updates the greatest
    votes      of each node the greatest count, and the latest time; see votes/table.py
    erasure    takes all that did not know of it
    delivery   the one taken over last; of one owner, the furthest, until the owner has forgotten it
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from core import events as ev
from core.rows import Delivery, Key, Listing, NodeWindow, Revocation, Stamp, Stamps
from core.sharing import as_own, remembered, shared, well
from core.state import State
from replication.facts.kinds import (
    DeliveryFact,
    ErasedFact,
    Fact,
    FinishedFact,
    ListingFact,
    RemovedFact,
    VoteFact,
    VotesFact,
)

PARTS: Mapping[str, tuple[str, ...]] = {
    "profile": ("owner_id", "profile", "review", "reason", "updated_ms", "reviewed_ms"),
    "counts": ("server_count", "command_count", "counts_ms"),
    "actual": ("actual_server_count",),
    "limits": ("stats_limit", "voters_limit"),
    "webhook": ("webhook",),
}
"""The fields that are written together, by the name of their stamp."""
NUMBER_BYTES = 8  # in either column of a leaf
_encode = msgspec.msgpack.Encoder().encode


class Erasure(NamedTuple):
    """A user who was erased elsewhere, and of whom this node may know things."""

    user: str
    mark: str
    ms: int


class Merge:
    def __init__(self, state: State, mark: Callable[[str], str]) -> None:
        self._state = state
        self._mark = mark
        self.donor_erased: Mapping[str, int] = {}
        """Whom the author of votes in leaves had erased, by mark."""
        self._known_gone: set[str] = set()
        self._gone_as_of = (0, 0, 0)

    def unheard_erasure(self, fact: Fact) -> Erasure | None:
        """What has to be forgotten before the fact is merged."""
        match fact:
            case ErasedFact(user=user) if user:
                erasure = Erasure(user, fact.mark, fact.ms)
            case VoteFact() if fact.forgotten:
                erasure = Erasure(fact.user, self._mark(fact.user), fact.forgotten)
            case DeliveryFact() if fact.forgotten:
                erasure = Erasure(fact.row.user, self._mark(fact.row.user), fact.forgotten)
            case _:
                return None
        return erasure if erasure.ms > self._state.fleet.erased.get(erasure.mark, 0) else None

    def alone(self, fact: Fact) -> object | None:
        """What the fact is about, if merging it changes nothing else that merging reads."""
        if isinstance(fact, FinishedFact):
            return fact.ref, fact.delivery_id
        if not isinstance(fact, VoteFact | DeliveryFact):
            return None
        ref, thing = (fact.ref, fact.user) if isinstance(fact, VoteFact) else (fact.row.ref, fact.row.id)
        return (ref, thing) if fact.life <= self._state.fleet.removed.get(ref, 0) else None

    def events(self, fact: Fact, author: str) -> list[ev.Event]:
        """What the fact changes here; `author` is the label of the node that told it."""
        match fact:
            case ListingFact():
                return self._of_life(fact.row.ref, fact.life, lambda known: self._listing(fact.row, known))
            case RemovedFact():
                return self._of_life(fact.ref, fact.ms, lambda _: [])
            case VoteFact():
                return self._vote(fact, author)
            case VotesFact():
                return self._of_life(fact.ref, fact.life, lambda _: self._votes(fact))
            case DeliveryFact():
                return self._delivery(fact)
            case FinishedFact():
                return self._finished(fact, author)
            case ErasedFact():
                known = fact.ms <= self._state.fleet.erased.get(fact.mark, 0)
                return [] if known else [ev.UserErased("", (), fact.mark, stamp_ms=fact.ms)]

    def _of_life(
        self, ref: str, life: int, merged: Callable[[Listing | None], list[ev.Event]]
    ) -> list[ev.Event]:
        """What is told of a listing in that life. An earlier life is over; a later one ends the one known."""
        known_life = self._state.fleet.removed.get(ref, 0)
        if life < known_life:
            return []
        if life == known_life:
            return merged(self._state.listings.get(ref))
        return [ev.ListingRemoved(ref, stamp_ms=life), *merged(None)]

    def _listing(self, row: Listing, known: Listing | None) -> list[ev.Event]:
        label = self._state.fleet.label
        if known is None:
            return [ev.ListingMerged(as_own(row, label), _updates(row.windows, (), label))]
        before = shared(known, label)
        after = joined(before, row)
        if after == before:
            return []
        updates = _updates(after.windows, before.windows, label)
        if after.webhook == before.webhook:
            return [ev.ListingMerged(replace(as_own(after, label), webhook=known.webhook), updates)]
        merged = ev.ListingMerged(as_own(after, label), updates)
        if after.webhook is None:
            return [ev.WebhookRemoved(row.ref), merged]
        return [merged, ev.WebhookSaved(row.ref, well(after.webhook))]  # for those who read of settings

    def _vote(self, fact: VoteFact, author: str) -> list[ev.Event]:
        if self._is_forgotten(fact.user, fact.forgotten):
            return []
        cast = ev.VoteCast(fact.ref, fact.user, fact.count, fact.last_ms, author)
        return self._of_life(fact.ref, fact.life, lambda _: [cast])

    def _votes(self, fact: VotesFact) -> list[ev.Event]:
        """Without those of users who were erased here later than the author knew of."""
        gone = self._gone()
        if not gone:
            return [ev.VotesMerged(fact.ref, fact.nodes, fact.leaf, fact.parts)]
        half = len(fact.leaf) // 2
        users = self._state.votes.users(fact.leaf)
        kept = [at for at, user in enumerate(users) if self._mark(str(user)) not in gone]
        columns = (fact.leaf[:half], fact.leaf[half:])
        leaf = b"".join(column[at * NUMBER_BYTES :][:NUMBER_BYTES] for column in columns for at in kept)
        parts = tuple(part for part in fact.parts if self._mark(str(part[0])) not in gone)
        return [ev.VotesMerged(fact.ref, fact.nodes, leaf, parts)]

    def _gone(self) -> set[str]:
        """The marks of those whom this node has erased later than the author knew of."""
        fleet, donor = self._state.fleet, self.donor_erased
        as_of = (fleet.latest_ms, len(fleet.erased), len(donor))
        if self._gone_as_of != as_of:
            self._gone_as_of = as_of
            self._known_gone = {mark for mark, ms in fleet.erased.items() if ms > donor.get(mark, 0)}
        return self._known_gone

    def _delivery(self, fact: DeliveryFact) -> list[ev.Event]:
        row = fact.row
        listing = self._state.listings.get(row.ref)
        if listing is None or fact.life != self._state.fleet.removed.get(row.ref, 0):
            return []
        if self._is_forgotten(row.user, fact.forgotten) or (
            row.next_attempt_ms is not None and listing.webhook is None
        ):
            return []
        label = self._state.fleet.label
        known = self._state.delivery(row.ref, row.id)
        if known is not None and _progress(row, label) <= _progress(known, label):
            return []
        own = replace(row, owner="") if row.owner == label else row
        return [ev.DeliveryMerged(own)]

    def _finished(self, fact: FinishedFact, author: str) -> list[ev.Event]:
        """Nothing, if another node has taken the delivery over."""
        row = self._state.elsewhere.get(fact.ref, {}).get(fact.delivery_id)
        if row is None or row.owner != author:
            return []
        return [ev.DeliveryForgotten(fact.delivery_id, fact.ref)]

    def _is_forgotten(self, user: str, forgotten: int) -> bool:
        """Whether the user was erased here later than the author knew of."""
        erased = self._state.fleet.erased
        return bool(erased) and forgotten < erased.get(self._mark(user), 0)


def joined(one: Listing, other: Listing) -> Listing:
    """Two shared rows of a listing's one life as one."""
    fields: dict[str, Any] = {}
    stamps: dict[str, Any] = {}
    for part, names in PARTS.items():
        later = max(one, other, key=lambda row: _rank(row, part))
        fields |= {name: getattr(later, name) for name in names}
        stamps[part] = getattr(later.stamps, part)
    revoked = remembered((*one.revoked, *other.revoked))
    return replace(
        one,
        **fields,
        created_ms=min(one.created_ms, other.created_ms),
        stamps=Stamps(**stamps),
        revoked=revoked,
        keys=_keys(one.keys, other.keys, revoked),
        windows=_windows(one.windows, other.windows),
    )


def _rank(row: Listing, part: str) -> tuple[Stamp, list[bool], bytes]:
    """What was written before there was a fleet has no stamp: then something stands against nothing, and
    of two things the content decides, for all alike."""
    values = [getattr(row, name) for name in PARTS[part]]
    return getattr(row.stamps, part), [value is not None for value in values], _encode(values)


def _keys(one: tuple[Key, ...], other: tuple[Key, ...], revoked: tuple[Revocation, ...]) -> tuple[Key, ...]:
    keys: dict[str, Key] = {}
    for key in (*one, *other):
        known = keys.get(key.id, key)
        keys[key.id] = max(known, key, key=lambda key: (key.stamp, _encode(key)))
    gone = {each.key_id for each in revoked}
    return tuple(sorted((key for key in keys.values() if key.id not in gone), key=_issued))


def _issued(key: Key) -> tuple[int, str]:
    return key.created_ms, key.id


def _windows(one: tuple[NodeWindow, ...], other: tuple[NodeWindow, ...]) -> tuple[NodeWindow, ...]:
    windows: dict[str, NodeWindow] = {}
    for window in (*one, *other):
        windows[window.node] = max(window, windows.get(window.node, window))
    return tuple(sorted(windows.values()))


def _updates(after: tuple[NodeWindow, ...], before: tuple[NodeWindow, ...], label: str) -> int:
    """How many updates of other nodes are in the windows of `after` that were not in those of `before`."""
    known = {window.node: window for window in before}
    updates = 0
    for window in after:
        old = known.get(window.node)
        if window.node != label:
            same = old is not None and old.started_ms == window.started_ms
            updates += window.used - (old.used if same and old is not None else 0)
    return updates


def _progress(row: Delivery, label: str) -> tuple[int, str, int, int, bool]:
    """How far the delivery is; greater is further. `label` is this node's."""
    return (row.owned_ms, row.owner or label, row.round_ms or 0, row.made, row.next_attempt_ms is None)
