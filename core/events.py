"""Every change of the state, as a value. Law: an event carries results, never intents.

"The count is now 7, cast at 12:00", not "add one": what an event sets it sets again when it is applied
again, so records may be replayed, in order, over votes that already hold some of them. Each type has a
name and a version in its tag; a record with an unknown one stops the start, because skipping a change would
be worse than not starting.

A record is what one `commit` appends: a list of events that happen together or not at all.
"""

from collections.abc import Sequence
from typing import final

import msgspec

from core.rows import (
    Attempt,
    BotProfile,
    Delivery,
    Dropped,
    Key,
    Listing,
    Outcome,
    Policy,
    Review,
    ServerProfile,
    StatsWindow,
    Suspension,
    Webhook,
)


class _Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="type"):
    """What has a default is of a fleet, and not written outside of one."""


class Stamped(_Event, frozen=True, kw_only=True):
    """Of two that are about the same, the one with the later stamp stands. 0 outside of a fleet."""

    stamp_ms: int = 0


class ListingSaved(Stamped, frozen=True, tag="listing_saved.1"):
    """Submitted or edited. `review` is in_review, or what it was when an approved listing is edited."""

    ref: str
    owner_id: str
    profile: BotProfile | ServerProfile
    review: Review
    at_ms: int


class ListingReviewed(Stamped, frozen=True, tag="listing_reviewed.1"):
    ref: str
    review: Review
    reason: str | None
    at_ms: int


class ListingRemoved(Stamped, frozen=True, tag="listing_removed.1"):
    """Takes its keys, webhook, votes and deliveries with it."""

    ref: str


class KeySaved(Stamped, frozen=True, tag="key_saved.1"):
    """Issued or rotated."""

    ref: str
    key: Key


class KeyDeleted(Stamped, frozen=True, tag="key_deleted.1"):
    ref: str
    key_id: str


@final
class StatsUpdated(Stamped, frozen=True, tag="stats_updated.1"):
    """Both counts as they are now, also the one that the request left alone."""

    ref: str
    server_count: int | None
    command_count: int | None
    window: StatsWindow
    at_ms: int


class ActualCountSet(Stamped, frozen=True, tag="actual_count_set.1"):
    ref: str
    server_count: int


class LimitsSet(Stamped, frozen=True, tag="limits_set.1"):
    """None means the deployment's default."""

    ref: str
    stats: Policy | None
    voters: Policy | None


class WebhookSaved(Stamped, frozen=True, tag="webhook_saved.1"):
    ref: str
    webhook: Webhook


class WebhookRemoved(Stamped, frozen=True, tag="webhook_removed.1"):
    """Takes what is pending for it, and its log, with it."""

    ref: str


@final
class EndpointHealthSet(_Event, frozen=True, tag="endpoint_health_set.1"):
    """`failed` events in a row have failed for good; `suspension` is None while events flow."""

    ref: str
    failed: int
    suspension: Suspension | None


@final
class VoteCast(_Event, frozen=True, tag="vote_cast.1"):
    """`count` is the user's cumulative count at the node where the vote was cast, this vote included.

    `node` is where, if it was another one. The greater of two counts of a node stands, and the later time.
    """

    ref: str
    user: str
    count: int
    at_ms: int
    node: str = ""


class UserErased(Stamped, frozen=True, tag="user_erased.1"):
    """Takes the user's votes for these listings, and their deliveries that name the user.

    `mark` stands for the user where a fleet remembers who was erased; empty outside of one.
    """

    user: str
    refs: tuple[str, ...]
    mark: str = ""


@final
class DeliveryQueued(_Event, frozen=True, tag="delivery_queued.1"):
    """A new delivery, due at once, or a finished one sent again under the same id."""

    delivery_id: str
    ref: str
    user: str
    test: bool
    at_ms: int


@final
class DeliveryAttempted(_Event, frozen=True, tag="delivery_attempted.1"):
    """`number` counts the delivery's attempts from 1; `next_attempt_ms` is set when there will be another."""

    delivery_id: str
    ref: str
    number: int
    attempt: Attempt
    outcome: Outcome
    next_attempt_ms: int | None


@final
class DeliveryDropped(_Event, frozen=True, tag="delivery_dropped.1"):
    """Given up without a further attempt, after `made` of them."""

    delivery_id: str
    ref: str
    made: int
    reason: Dropped
    at_ms: int


class DeliveryTaken(_Event, frozen=True, tag="delivery_taken.1"):
    """From now on this node sends what another one was to send."""

    delivery_id: str
    ref: str
    at_ms: int


class NodeNamed(_Event, frozen=True, tag="node_named.1"):
    """What this journal holds behind it was done by the node of this label."""

    label: str


class Merged(_Event, frozen=True, tag="merged.1"):
    """First of a record: the others in it say what came of other nodes' changes. All that the node of this
    label has told up to `position` is merged then; without a label, nothing is said about that."""

    label: str
    position: int


class ListingMerged(_Event, frozen=True, tag="listing_merged.1"):
    """The whole row. `updates` counts the other nodes' stats updates in it that are news here."""

    row: Listing
    updates: int = 0

    @property
    def ref(self) -> str:
        return self.row.ref


class VotesMerged(_Event, frozen=True, tag="votes_merged.1"):
    """Votes for a listing, in a leaf as `core/vote_port.py` has it.

    `nodes` are the labels of the nodes that the leaf numbers. `parts` are of voters of several nodes: (user,
    label, count there, last vote).
    """

    ref: str
    nodes: tuple[str, ...]
    leaf: bytes
    parts: tuple[tuple[int, str, int, int], ...] = ()


class VotesMoved(_Event, frozen=True, tag="votes_moved.1"):
    """Votes that this node counted under a label which was another node's count under its own. `users` are
    (user, what the count under that label is, what it is under the own one)."""

    ref: str
    label: str
    users: tuple[tuple[int, int, int], ...]


class DeliveryMerged(_Event, frozen=True, tag="delivery_merged.1"):
    """The whole row."""

    row: Delivery

    @property
    def ref(self) -> str:
        return self.row.ref


class DeliveryForgotten(_Event, frozen=True, tag="delivery_forgotten.1"):
    """The node that was to send it has finished it, and has it in its log no more."""

    delivery_id: str
    ref: str


FrequentEvent = (
    VoteCast | DeliveryQueued | DeliveryAttempted | StatsUpdated | DeliveryDropped | EndpointHealthSet
)
"""The events of daily work, final so that `type(event) is` tells them apart."""

RareEvent = (
    ListingSaved
    | ListingReviewed
    | ListingRemoved
    | KeySaved
    | KeyDeleted
    | ActualCountSet
    | LimitsSet
    | WebhookSaved
    | WebhookRemoved
    | UserErased
    | DeliveryTaken
    | NodeNamed
    | Merged
    | ListingMerged
    | VotesMerged
    | VotesMoved
    | DeliveryMerged
    | DeliveryForgotten
)

Event = FrequentEvent | RareEvent


class UnknownEvent(ValueError):
    """A record holds something that this version cannot apply."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Event]).decode


def encode_record(events: Sequence[Event]) -> bytes:
    """One line of JSON without a newline: a list of tagged objects."""
    return _encode(events)


def decode_record(record: bytes) -> list[Event]:
    """The events of a record. Raises UnknownEvent."""
    try:
        return _decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnknownEvent(str(error)) from error
