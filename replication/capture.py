"""Facts of this node's records. Invariant: a fact says the state of now, however old the record is.

A record may be captured long after its commit: what it changed may have changed again since, or be gone.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from core import events as ev
from core.clock import day_of
from core.push_history import on_day
from core.sharing import shared
from core.state import State
from core.vote_counts import clamped_day, counts_at
from replication import facts as fa

OfDelivery = ev.DeliveryQueued | ev.DeliveryAttempted | ev.DeliveryDropped | ev.DeliveryTaken
DigestOf = Callable[[str], str]
"""Returns the keyed digest by which a fleet remembers an erased user."""


_LOCAL = ev.EndpointHealthSet | ev.EndingsForgotten | ev.UserDropped | ev.NodeNamed | ev.VotesMoved
"""Events that concern this node alone, or begin an epoch, which others take as a copy."""
_MERGED = (
    ev.Merged
    | ev.ListingMerged
    | ev.UserMerged
    | ev.VotesMerged
    | ev.VoteCountsMerged
    | ev.DeliveryMerged
    | ev.DeliveryForgotten
)


class Capture:
    def __init__(self, state: State, digest_of: DigestOf) -> None:
        self._state = state
        self._digest_of = digest_of

    def facts(self, events: Sequence[ev.Event]) -> list[fa.Fact]:
        """Return the facts of a record; none if the record merged those of another node."""
        if events and isinstance(events[0], ev.Merged):
            return []
        facts: dict[object, fa.Fact] = {}  # one for each thing, in the order of their first changes
        for event in events:
            match event:
                case _ if isinstance(event, ev.UserEvent):
                    self._add(facts, ("user", event.ref), self.user(event.ref))
                case ev.ListingRemoved() | ev.VotesRemoved() | ev.UserErased():
                    self._add_gone(facts, event)
                case ev.CooldownsKept():
                    self._add(facts, ("cooldowns", event.cooldowns), self._cooldowns(event))
                case ev.VoteCast():
                    self._add(facts, ("vote", event.ref, event.user), self._vote(event))
                case ev.StatsUpdated():
                    day = day_of(event.at_ms)
                    self._add(facts, ("listing", event.ref, day), self._changed_listing(event.ref, day))
                case ev.DeliveryQueued() | ev.DeliveryAttempted() | ev.DeliveryDropped() | ev.DeliveryTaken():
                    self._add(facts, ("delivery", event.delivery_id), self._of_delivery(event))
                case _ if isinstance(event, _LOCAL | _MERGED):
                    pass
                case _:
                    self._add(facts, ("listing", event.ref), self._changed_listing(event.ref))
        return list(facts.values())

    def _add_gone(
        self, facts: dict[object, fa.Fact], event: ev.ListingRemoved | ev.VotesRemoved | ev.UserErased
    ) -> None:
        ms = event.stamp_ms
        match event:
            case ev.ListingRemoved(ref=ref):
                facts["removed", ref] = fa.RemovedFact(ref, ms)
            case ev.UserErased(pseudonym=pseudonym):
                facts["erased", pseudonym] = fa.ErasedFact(pseudonym, ms, event.user)
            case ev.VotesRemoved(ref=ref, users=users):
                facts["votes removed", ref, users] = fa.VotesRemovedFact(ref, users, ms)
                self._add(facts, ("listing", ref), self._changed_listing(ref))
                self._add(facts, ("counts", ref), self.counts(ref))

    @staticmethod
    def _add(facts: dict[object, fa.Fact], thing: object, fact: fa.Fact | None) -> None:
        if fact is not None:
            facts[thing] = fact

    def listing(self, ref: str) -> fa.ListingFact | None:
        row, fleet = self._state.listings.get(ref), self._state.fleet
        life = fleet.removed.get(ref, 0)
        return fa.ListingFact(life, shared(row, fleet.label)) if row is not None else None

    def _changed_listing(self, ref: str, pushed_day: int | None = None) -> fa.ListingFact | None:
        """Return the listing with the pushes of one day alone: each push tells of its own, once."""
        fact = self.listing(ref)
        if fact is None or not fact.row.pushed:
            return fact
        pushed = on_day(fact.row.pushed, pushed_day) if pushed_day is not None else b""
        return fa.ListingFact(fact.life, replace(fact.row, pushed=pushed))

    def user(self, ref: str) -> fa.UserFact | None:
        row = self._state.users.get(ref)
        return fa.UserFact(self._forgotten(row.id), row) if row is not None else None

    def _vote(self, event: ev.VoteCast) -> fa.VoteFact | fa.CountsFact | None:
        """Return the vote and the counts with it; of one that is gone, the counts alone."""
        fleet, votes, ref, user = self._state.fleet, self._state.votes, event.ref, event.user
        vote, life = votes.get(ref, int(user)), fleet.removed.get(ref, 0)
        day = clamped_day(event.at_ms)
        of_day, of_month = self._state.vote_counts.at(ref, fleet.own, day) if event.of_day else (0, 0)
        if vote is not None:
            count = votes.parts(ref, int(user)).get(fleet.own, 0)
            removed_ms = fleet.removed_votes.get(ref, {}).get(user, 0)
            counts = (day if of_day and day != clamped_day(vote[1]) else 0, of_day, of_month)
            return fa.VoteFact(ref, user, count, vote[1], life, self._forgotten(user), *counts, removed_ms)
        return fa.CountsFact(ref, life, (counts_at(fleet.label, day, of_day, of_month),)) if of_day else None

    def counts(self, ref: str) -> fa.CountsFact | None:
        """Return the votes for the listing by day and month, of all nodes."""
        fleet = self._state.fleet
        counts = self._state.vote_counts.of_nodes(ref, [*fleet.numbers])
        return fa.CountsFact(ref, fleet.removed.get(ref, 0), tuple(counts)) if counts else None

    def delivery(self, ref: str, delivery_id: str) -> fa.DeliveryFact | None:
        row, fleet = self._state.deliveries.find(ref, delivery_id), self._state.fleet
        if row is None:
            return None
        told = row if row.owner else replace(row, owner=fleet.label)
        return fa.DeliveryFact(fleet.removed.get(ref, 0), self._forgotten(row.user), told)

    @staticmethod
    def _cooldowns(event: ev.CooldownsKept) -> fa.CooldownsFact | None:
        return fa.CooldownsFact(event.cooldowns) if event.cooldowns else None

    def _of_delivery(self, event: OfDelivery) -> fa.Fact | None:
        """Return the delivery, or that it is finished. The log keeps only the newest finished deliveries, and
        other nodes must not wait for the rest, or take them over one day."""
        row = self.delivery(event.ref, event.delivery_id)
        is_last = isinstance(event, ev.DeliveryDropped) or (
            isinstance(event, ev.DeliveryAttempted) and event.next_attempt_ms is None
        )
        return fa.FinishedFact(event.ref, event.delivery_id) if row is None and is_last else row

    def _forgotten(self, user: str) -> int:
        erased = self._state.fleet.erased
        return erased.get(self._digest_of(user), 0) if erased else 0
