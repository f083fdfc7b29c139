"""Every change of the state, as a value. Law: an event carries results, never intents.

"The count is now 7, cast at 12:00", not "add one": what an event sets it sets again when it is applied
again, so records may be replayed, in order, over votes that already hold some of them. Each type has a
name and a version in its tag; a record with an unknown one stops the start, because skipping a change would
be worse than not starting.

A record is what one `commit` appends: a list of events that happen together or not at all.
"""

from collections.abc import Sequence

import msgspec

from core.rows import (
    Attempt,
    BotProfile,
    Dropped,
    Key,
    Outcome,
    Policy,
    Review,
    ServerProfile,
    StatsWindow,
    Suspension,
    Webhook,
)


class _Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    pass


class ListingSaved(_Event, frozen=True, tag="listing_saved.1"):
    """Submitted or edited. `review` is in_review, or what it was when an approved listing is edited."""

    ref: str
    owner_id: str
    profile: BotProfile | ServerProfile
    review: Review
    at_ms: int


class ListingReviewed(_Event, frozen=True, tag="listing_reviewed.1"):
    ref: str
    review: Review
    reason: str | None
    at_ms: int


class ListingRemoved(_Event, frozen=True, tag="listing_removed.1"):
    """Takes its keys, webhook, votes and deliveries with it."""

    ref: str


class KeySaved(_Event, frozen=True, tag="key_saved.1"):
    """Issued or rotated."""

    ref: str
    key: Key


class KeyDeleted(_Event, frozen=True, tag="key_deleted.1"):
    ref: str
    key_id: str


class StatsUpdated(_Event, frozen=True, tag="stats_updated.1"):
    """Both counts as they are now, also the one that the request left alone."""

    ref: str
    server_count: int | None
    command_count: int | None
    window: StatsWindow
    at_ms: int


class ActualCountSet(_Event, frozen=True, tag="actual_count_set.1"):
    ref: str
    server_count: int


class LimitsSet(_Event, frozen=True, tag="limits_set.1"):
    """None means the deployment's default."""

    ref: str
    stats: Policy | None
    voters: Policy | None


class WebhookSaved(_Event, frozen=True, tag="webhook_saved.1"):
    ref: str
    webhook: Webhook


class WebhookRemoved(_Event, frozen=True, tag="webhook_removed.1"):
    """Takes what is pending for it, and its log, with it."""

    ref: str


class EndpointHealthSet(_Event, frozen=True, tag="endpoint_health_set.1"):
    """`failed` events in a row have failed for good; `suspension` is None while events flow."""

    ref: str
    failed: int
    suspension: Suspension | None


class VoteCast(_Event, frozen=True, tag="vote_cast.1"):
    """`count` is the user's cumulative count, this vote included."""

    ref: str
    user: str
    count: int
    at_ms: int


class UserErased(_Event, frozen=True, tag="user_erased.1"):
    """Takes the user's votes for these listings, and their deliveries that name the user."""

    user: str
    refs: tuple[str, ...]


class DeliveryQueued(_Event, frozen=True, tag="delivery_queued.1"):
    """A new delivery, due at once, or a finished one sent again under the same id."""

    delivery_id: str
    ref: str
    user: str
    test: bool
    at_ms: int


class DeliveryAttempted(_Event, frozen=True, tag="delivery_attempted.1"):
    """`number` counts the delivery's attempts from 1; `next_attempt_ms` is set when there will be another."""

    delivery_id: str
    ref: str
    number: int
    attempt: Attempt
    outcome: Outcome
    next_attempt_ms: int | None


class DeliveryDropped(_Event, frozen=True, tag="delivery_dropped.1"):
    """Given up without a further attempt, after `made` of them."""

    delivery_id: str
    ref: str
    made: int
    reason: Dropped
    at_ms: int


Event = (
    ListingSaved
    | ListingReviewed
    | ListingRemoved
    | KeySaved
    | KeyDeleted
    | StatsUpdated
    | ActualCountSet
    | LimitsSet
    | WebhookSaved
    | WebhookRemoved
    | EndpointHealthSet
    | VoteCast
    | UserErased
    | DeliveryQueued
    | DeliveryAttempted
    | DeliveryDropped
)


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
