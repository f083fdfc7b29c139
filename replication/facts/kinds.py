"""The kinds of facts. A fact stands for itself: it may arrive twice, late, or before its cause.

A fact says how a thing is now, not what happened to it. It also says how much its author knew: `life` is the
time of the listing's last removal, and `forgotten` that of the user's last erasure, as far as the author had
read. Facts are part of entries in Redis, so nodes of other versions must understand them.
"""

import msgspec

from core.cooldown_table import Cooldown
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
