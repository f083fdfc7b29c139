"""Facts, their timestamps, and the digests that stand for users in them.

A fact stands for itself: it may arrive twice, late, or before its cause. It says how a thing is now, not what
happened to it. It also says how much its author knew: `life` is the time of the listing's last removal, and
`forgotten` that of the user's last erasure, as far as the author had read. Facts are part of entries in
Redis, so nodes of other versions must understand them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from core.clock import Clock
from core.cooldown_table import Cooldown
from core.events import Event, Merged, Stamped
from core.fleet_table import FleetView
from core.rows import Delivery, Listing, NodeCounts
from core.user_rows import UserRow


class _Fact(msgspec.Struct, frozen=True, array_like=True, tag_field="type", forbid_unknown_fields=True):
    pass


class ListingFact(_Fact, frozen=True, tag="l"):
    """A listing. `row` has the form that all nodes share (`core/sharing.py`). Its `pushed` counts are
    those of the day of a push, if the fact tells of one, and none otherwise; in a copy, all."""

    life: int
    row: Listing


class RemovedFact(_Fact, frozen=True, tag="r"):
    """A listing that was removed."""

    ref: str
    ms: int


class VoteFact(_Fact, frozen=True, tag="v"):
    """A user's votes: `count` at the author's node, and the time of the last vote that the author knows.

    With it the author has counted `of_day` votes for the listing on the day, and `of_month` in its month;
    `day` 0 means that of `last_ms`.
    `struck` is when earlier votes of the user were struck out, as far as the author had read.
    """

    ref: str
    user: str
    count: int
    last_ms: int
    life: int = 0
    forgotten: int = 0
    day: int = 0
    of_day: int = 0
    of_month: int = 0
    struck: int = 0


class CountsFact(_Fact, frozen=True, tag="n"):
    """Votes for a listing by day and month, each as the node of its label has counted them."""

    ref: str
    life: int
    counts: tuple[NodeCounts, ...]


class StruckFact(_Fact, frozen=True, tag="s"):
    """Users whose votes for a listing were struck out."""

    ref: str
    users: tuple[str, ...]
    ms: int


class VotesFact(_Fact, frozen=True, tag="w"):
    """Many votes for a listing, in a copy only: see `VotesMerged` in core/events.py."""

    ref: str
    life: int
    nodes: tuple[str, ...]
    leaf: bytes
    parts: tuple[tuple[int, str, int, int], ...] = ()


class DeliveryFact(_Fact, frozen=True, tag="d"):
    """A webhook delivery; `row.owner` is the node that sends it."""

    life: int
    forgotten: int
    row: Delivery


class FinishedFact(_Fact, frozen=True, tag="f"):
    """A delivery that its author has finished and no longer has in its log."""

    ref: str
    delivery_id: str


class UserFact(_Fact, frozen=True, tag="u"):
    """A user who has signed in, or of whom an operator has said something."""

    forgotten: int
    row: UserRow


class ErasedFact(_Fact, frozen=True, tag="e"):
    """An erased user. `pseudonym` is the keyed digest; a copy has no `user`, because no node keeps it."""

    pseudonym: str
    ms: int
    user: str = ""


class CooldownsFact(_Fact, frozen=True, tag="c"):
    """Cooldowns of votes that their users have erased."""

    cooldowns: tuple[Cooldown, ...]


Fact = (
    ListingFact
    | RemovedFact
    | VoteFact
    | CountsFact
    | StruckFact
    | VotesFact
    | DeliveryFact
    | FinishedFact
    | UserFact
    | ErasedFact
    | CooldownsFact
)


class HybridClock:
    """The timestamps of changes. Invariant: a timestamp is later than all that the node has read before.

    A hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014) in one number: it follows the
    wall clock, but never goes back and never gives one time twice.
    """

    def __init__(self, fleet: FleetView, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock

    def __call__(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return the events of a record with timestamps; merged events keep those of their authors."""
        if isinstance(events[0], Merged):
            return events
        ms = max(self._clock.now_ms(), self._fleet.latest_ms + 1)
        return [replace(event, stamp_ms=ms) if isinstance(event, Stamped) else event for event in events]


DIGEST_BYTES = 16


@dataclass(frozen=True)
class KeyedDigests:
    """Keyed digests in place of users' ids: they tell nothing to anybody without the fleet's secret.

    The digests are BLAKE2b, keyed with the secret that also digests API keys; all nodes of a fleet share it.
    They stand for users in Redis, and for erased users in memory and on disk.
    """

    secret: bytes = field(repr=False)
    """At most 64 bytes."""

    def user(self, user: str) -> str:
        """Return the digest of an erased user."""
        return self._digest(b"vg erased user", user)

    def vote(self, ref: str, user: str) -> str:
        """Return the digest of a user's vote for a listing."""
        return self._digest(b"vg vote claim", f"{ref}/{user}")

    @property
    def fleet(self) -> str:
        """A proof of the secret: the same at all nodes that have it."""
        return self._digest(b"vg fleet", "")

    def _digest(self, purpose: bytes, text: str) -> str:
        return hashlib.blake2b(
            text.encode(), key=self.secret, digest_size=DIGEST_BYTES, person=purpose
        ).hexdigest()
