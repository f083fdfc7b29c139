"""The changes of the state, as values. Invariant: an event carries results, never intents.

An event says "the count is now 7, cast at 12:00", not "add one". Applied again, it sets the same values
again, so a start may replay records, in order, over votes that already hold some of them. Each type has a
name and a version in its tag. A record with an unknown tag stops the start, because skipping a change would
be worse than not starting. One `commit` appends one record: a list of events that happen together or not at
all.

A thing whose rules are those of its slot alone has no event of its own: `SlotsSet` writes the slots of a
listing and `UserSlotsSet` those of a user, each as a whole. An event has its own type if it does more: it
derives one field from another, changes a part of a slot, or happens far more often than others.

    of listings     ListingSaved, ListingReviewed, ChangeDecided, SlotsSet, ListingTakenOver, ListingRemoved
    of owners       OwnerSet, CoOwnerSaved, CoOwnersEnded, and the messages to owners
    of keys, votes  KeySaved, StatsUpdated, VoteCast, VoteFlagged, VotesRemoved, ...
    of webhooks     EndpointHealthSet, and the deliveries
    of users        UserSignedIn, UserSlotsSet, QuarantineSet, UserErased, reminders, reviews, ...
    of a fleet      NodeNamed, Merged and the others that end with Merged or Moved: they are what replication
                    makes of other nodes' facts, and name nobody

In a fleet, a stamp orders the changes of several nodes: see `core/sharing.py`.
"""

from collections.abc import Callable, Sequence
from typing import final, get_args

import msgspec
from msgspec import UNSET, UnsetType

from core import rows
from core.actors import OPERATOR, UNKNOWN, Actor
from core.fleet_table import Cooldown
from core.user_rows import (
    AnsweredReport,
    MailChoice,
    MailTopic,
    Naming,
    Quarantine,
    Rating,
    RatingAnswer,
    Role,
    UserProfile,
    UserRow,
    UserSession,
)
from kinds.registry import AnyProfile


class _Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="type"):
    """The base of all events. Fields with a default belong to a fleet, and are not written outside one."""


class Stamped(_Event, frozen=True, kw_only=True):
    """An event with a stamp, 0 outside a fleet. Of two about the same thing, the later stamp wins."""

    stamp_ms: int = 0


class ManagementEvent(Stamped, frozen=True, kw_only=True):
    """A change that somebody makes. If it names nobody, the audit log gets no entry: a merge makes such
    changes, because the entries themselves come with the rows."""

    by: Actor = OPERATOR


class ListingSaved(ManagementEvent, frozen=True, tag="listing_saved.1"):
    """A listing was submitted or edited. `review` is `in_review`, or `approved` if it was before an edit.
    `owner_id` is for a new listing; an edit leaves the owner as they are. `profile` and `change` replace
    those of the row: with a proposed change, the profile is the old one."""

    ref: str
    owner_id: str
    profile: AnyProfile
    review: rows.Review
    at_ms: int
    change: rows.PendingChange | None = None


class OwnerSet(ManagementEvent, frozen=True, tag="owner_set.1"):
    """The owner of a listing, and the hand-over that is offered, if there is one."""

    ref: str
    owner_id: str
    hand_over: rows.HandOver | None
    action: rows.OwnerAction
    at_ms: int


class CoOwnerSaved(ManagementEvent, frozen=True, tag="co_owner_saved.1"):
    """A user was invited to be a co-owner, or has become one."""

    ref: str
    co_owner: rows.CoOwner
    at_ms: int


class CoOwnersEnded(ManagementEvent, frozen=True, tag="co_owners_ended.1"):
    """Invitations and co-ownerships with these ids are over."""

    ref: str
    ids: tuple[str, ...]
    action: rows.CoOwnersAction
    at_ms: int


class ListingReviewed(ManagementEvent, frozen=True, tag="listing_reviewed.1"):
    """A listing was approved or denied, or its approval was withdrawn, which ends a change of it."""

    ref: str
    review: rows.Review
    reason: str | None
    at_ms: int
    withdraws: bool = False


class ChangeDecided(ManagementEvent, frozen=True, tag="change_decided.1"):
    """A moderator has agreed to the change of an approved listing, or has refused it for a reason. `profile`
    is the version that everybody sees from now on."""

    ref: str
    profile: AnyProfile
    is_agreed: bool
    reason: str | None
    at_ms: int


class SlotsSet(ManagementEvent, frozen=True, tag="slots_set.1"):
    """Slots of a listing were set, each as a whole: None empties a slot, and UNSET leaves it alone.

    With an `action`, the audit log gets an entry that is `about` something, such as the host of a webhook. An
    action that concerns no slot sets none. A webhook that is removed takes its deliveries and their log with
    it.
    """

    ref: str
    at_ms: int
    action: rows.AuditAction | None = None
    about: str = ""
    actual: int | UnsetType | None = UNSET
    limits: rows.BotLimits | UnsetType | None = UNSET
    webhook: rows.Webhook | UnsetType | None = UNSET
    claim: rows.Claim | UnsetType | None = UNSET
    proof: rows.Proof | UnsetType | None = UNSET
    eligibility: rows.Eligibility | UnsetType | None = UNSET
    invite_check: rows.InviteCheck | UnsetType | None = UNSET
    template: rows.TemplateCheck | UnsetType | None = UNSET


class ListingRemoved(ManagementEvent, frozen=True, tag="listing_removed.1"):
    """A listing was removed, with its keys, webhook, votes and deliveries."""

    ref: str
    at_ms: int = 0


class KeySaved(ManagementEvent, frozen=True, tag="key_saved.1"):
    """A key was issued or rotated."""

    ref: str
    key: rows.Key
    at_ms: int = 0


class KeyUsed(_Event, frozen=True, tag="key_used.1"):
    """A key was accepted on this day for the first time. `core/clock.day_of` counts days."""

    ref: str
    key_id: str
    day: int


class DownloadCounted(_Event, frozen=True, tag="download_counted.1"):
    """A visitor has downloaded files of a listing. `count` is the downloads that this node has counted so
    far."""

    ref: str
    count: int


class KeyDeleted(ManagementEvent, frozen=True, tag="key_deleted.1"):
    ref: str
    key_id: str
    at_ms: int = 0


@final
class StatsUpdated(Stamped, frozen=True, tag="stats_updated.1"):
    """A stats update, with both counts as they are now, even if the request has set only one of them."""

    ref: str
    server_count: int | None
    command_count: int | None
    window: rows.StatsWindow
    at_ms: int


@final
class EndpointHealthSet(_Event, frozen=True, tag="endpoint_health_set.1"):
    """The health of an endpoint. The last `failed` events failed for good. A `suspension` may follow."""

    ref: str
    failed: int
    suspension: rows.Suspension | None


@final
class VoteCast(_Event, frozen=True, tag="vote_cast.1"):
    """A vote. `count` is the user's total at the node where it was cast, with this vote.

    `node` is that node, or empty for this one. Of two counts of a node the greater one wins, and of two times
    the later one. The vote was the `of_day`-th that the node has counted for the listing on its day, and the
    `of_month`-th of that month; records of older versions do not say so. `day` is as `core/clock.day_of`
    counts it; 0 means that of `at_ms`. `total` is the user's count over all nodes; 0 where that is `count`. A
    like counts no day here.
    """

    ref: str
    user: str
    count: int
    at_ms: int
    node: str = ""
    of_day: int = 0
    of_month: int = 0
    day: int = 0
    total: int = 0


class VoteFlagged(Stamped, frozen=True, tag="vote_flagged.1"):
    """A rule has flagged the vote beside this event, for moderators to look at. `flag_id` tells the flag from
    others of the listing."""

    ref: str
    user: str
    rule: rows.FlagRule
    flag_id: str
    at_ms: int


class NoteAdded(ManagementEvent, frozen=True, tag="note_added.1"):
    """A moderator has noted something on a listing, for other moderators."""

    ref: str
    text: str
    at_ms: int


class ListingReported(ManagementEvent, frozen=True, tag="listing_reported.1"):
    """The user `by` has reported the listing, or the review by the user `rating`, to the moderators. It
    replaces an open report of the user about the same."""

    ref: str
    reason: rows.ReportReason
    text: str
    at_ms: int
    rating: Actor = UNKNOWN


class ReportsSettled(ManagementEvent, frozen=True, tag="reports_settled.1"):
    """A moderator has looked at these reports of a listing."""

    ref: str
    settled: tuple[rows.SettledReport, ...]
    at_ms: int


class VotesRemoved(ManagementEvent, frozen=True, tag="votes_removed.1"):
    """A moderator has removed all votes of these users for a listing. The reason is for its owner; it is
    empty in further parts of one removal, and where a user has taken back a like.

    `of_all` is the number of votes for the listing that the node has removed so far. `days` counts the last
    votes of the users among them: (day, votes of that day, votes of its month).
    """

    ref: str
    users: tuple[str, ...]
    reason: str
    at_ms: int
    days: tuple[tuple[int, int, int], ...] = ()
    of_all: int = 0


class ListingTakenOver(ManagementEvent, frozen=True, tag="listing_taken_over.1"):
    """A user has proven to own a listing of somebody else, and owns it now. Its keys and its extra owners are
    gone. `lost_by` is the id of the owner before."""

    ref: str
    owner_id: str
    lost_by: str
    at_ms: int


class OwnerMessageQueued(Stamped, frozen=True, tag="owner_message_queued.1"):
    """A decision was made, and a direct message will tell the owner. It replaces the message of an earlier
    decision."""

    ref: str
    to: Actor
    decision: rows.Decision
    reason: str | None
    at_ms: int


class OwnerMessageAttempted(_Event, frozen=True, tag="owner_message_attempted.1"):
    """An attempt to tell the owner of the decision of that time. `number` counts the attempts from 1.
    `next_attempt_ms` is None after the last."""

    ref: str
    decided_ms: int
    number: int
    attempt: rows.Attempt
    outcome: rows.Outcome
    next_attempt_ms: int | None


class OwnerMessageTaken(_Event, frozen=True, tag="owner_message_taken.1"):
    """This node has taken over the message of another node, and sends it from now on."""

    ref: str
    decided_ms: int
    at_ms: int


OwnerMessageEvent = OwnerMessageQueued | OwnerMessageAttempted | OwnerMessageTaken
"""The events that change the message of a listing to its owner."""


class UserSignedIn(ManagementEvent, frozen=True, tag="user_signed_in.1"):
    """A user has signed in. Sessions with the digests in `ends` are over: the one that the browser had, and
    the oldest ones of a user with too many."""

    ref: str
    profile: UserProfile
    session: UserSession
    ends: tuple[str, ...] = ()


@final
class SessionSeen(_Event, frozen=True, tag="session_seen.1"):
    """A session was used. It is written now and then only."""

    ref: str
    digest: str
    at_ms: int


class SessionsEnded(ManagementEvent, frozen=True, tag="sessions_ended.1"):
    ref: str
    digests: tuple[str, ...]
    at_ms: int


class EndingsForgotten(_Event, frozen=True, tag="endings_forgotten.1"):
    """This node no longer remembers a user's sessions that were ended before a time."""

    ref: str
    before_ms: int


class UserDropped(_Event, frozen=True, tag="user_dropped.1"):
    """This node dropped the row of a user, because nothing in it is in force any more."""

    ref: str


class UserSlotsSet(ManagementEvent, frozen=True, tag="user_slots_set.1"):
    """Slots of a user were set: the role, the choice about the name, the time up to which notices are read,
    or the choice to get mails. Of the reports that were settled, `settled` is one more. A user without a row
    gets one with a role only."""

    ref: str
    at_ms: int
    role: Role | UnsetType | None = UNSET
    naming: Naming | UnsetType = UNSET
    read_ms: int | UnsetType = UNSET
    mail: MailChoice | UnsetType = UNSET
    settled: AnsweredReport | UnsetType = UNSET


class QuarantineSet(ManagementEvent, frozen=True, tag="quarantine_set.1"):
    """A user was put under quarantine, or taken out of it: then its end is the time of the event."""

    ref: str
    quarantine: Quarantine
    at_ms: int


class ReminderSet(ManagementEvent, frozen=True, tag="reminder_set.1"):
    """A user turned the reminder of a listing on or off."""

    ref: str
    listing: str
    at_ms: int
    is_on: bool = True


class ReminderAttempted(_Event, frozen=True, tag="reminder_attempted.1"):
    """An attempt to tell a user by a direct message that a cooldown has ended, at `ends_ms`. `number` counts
    the attempts from 1. `next_attempt_ms` is None after the last."""

    ref: str
    listing: str
    ends_ms: int
    number: int
    attempt: rows.Attempt
    outcome: rows.Outcome
    next_attempt_ms: int | None


class MailAttempted(_Event, frozen=True, tag="mail_attempted.1"):
    """An attempt at a mail to a user, about what happened up to `about_ms`: see `MailSent`. `number` counts
    the attempts from 1. `next_attempt_ms` is None after the last."""

    ref: str
    topic: MailTopic
    listing: str
    about_ms: int
    number: int
    attempt: rows.Attempt
    outcome: rows.Outcome
    next_attempt_ms: int | None


class RatingSet(ManagementEvent, frozen=True, tag="rating_set.1"):
    """A user has written or edited a review, or it is gone. The answer to it stays as it is."""

    ref: str
    rating: Rating
    at_ms: int


class RatingAnswered(ManagementEvent, frozen=True, tag="rating_answered.1"):
    """An owner of a listing has answered the review of the user, or taken the answer back."""

    ref: str
    listing: str
    answer: RatingAnswer
    at_ms: int


RatingEvent = RatingSet | RatingAnswered
"""The events that change the reviews in the row of a user."""
ReminderEvent = ReminderSet | ReminderAttempted
"""The events that change the reminders in the row of a user."""
UserEvent = (
    UserSignedIn
    | SessionSeen
    | SessionsEnded
    | UserSlotsSet
    | QuarantineSet
    | ReminderEvent
    | RatingEvent
    | MailAttempted
)
"""The events that change the row of a user."""


class UserErased(ManagementEvent, frozen=True, tag="user_erased.1"):
    """A user was erased from everything with these refs: a listing loses the user's votes, its deliveries
    that name the user, and the user's name in its audit log. The user's own row goes.

    `pseudonym` stands for the user in a fleet's memory of erased users. It is empty outside a fleet.
    """

    user: str
    refs: tuple[str, ...]
    pseudonym: str = ""
    at_ms: int = 0


class CooldownsKept(_Event, frozen=True, tag="cooldowns_kept.1"):
    """The cooldowns of votes that are removed run on. Those that are over at `at_ms` are dropped. See
    core/fleet_table.py."""

    cooldowns: tuple[Cooldown, ...]
    at_ms: int


@final
class DeliveryQueued(_Event, frozen=True, tag="delivery_queued.1"):
    """A new delivery, due at once, or a finished one sent again under the same id. `kind`, `user`, `reason`
    and `stars` are as in the row of a delivery."""

    delivery_id: str
    ref: str
    user: str
    test: bool
    at_ms: int
    kind: rows.WebhookEvent = "vote"
    reason: str | None = None
    stars: int = 0


@final
class DeliveryAttempted(_Event, frozen=True, tag="delivery_attempted.1"):
    """An attempt. `number` counts a delivery's attempts from 1. `next_attempt_ms` is None after the last."""

    delivery_id: str
    ref: str
    number: int
    attempt: rows.Attempt
    outcome: rows.Outcome
    next_attempt_ms: int | None


@final
class DeliveryDropped(_Event, frozen=True, tag="delivery_dropped.1"):
    """A delivery was given up after `made` attempts, without a further one."""

    delivery_id: str
    ref: str
    made: int
    reason: rows.Dropped
    at_ms: int


class DeliveryTaken(_Event, frozen=True, tag="delivery_taken.1"):
    """This node has taken over a delivery of another node, and sends it from now on."""

    delivery_id: str
    ref: str
    at_ms: int


class NodeNamed(_Event, frozen=True, tag="node_named.1"):
    """The label of the node that commits all later records of this journal."""

    label: str


class Merged(_Event, frozen=True, tag="merged.1"):
    """The first event of a record that merges other nodes' changes.

    With this record, everything that the node of this label has told up to `position` is merged. An empty
    label says nothing about that.
    """

    label: str
    position: int


class ListingMerged(_Event, frozen=True, tag="listing_merged.1"):
    """A merged listing, as a whole row, but for `pushed`: it has only days that the merge told of, and those
    that are known stay. `updates` counts stats updates of other nodes that are new here."""

    row: rows.Listing
    updates: int = 0

    @property
    def ref(self) -> str:
        return self.row.ref


class UserMerged(_Event, frozen=True, tag="user_merged.1"):
    """A merged user, as a whole row."""

    row: UserRow

    @property
    def ref(self) -> str:
        return self.row.ref


class VotesMerged(_Event, frozen=True, tag="votes_merged.1"):
    """Merged votes for a listing, in a leaf as `core/vote_table.py` describes it.

    `nodes` are the labels of the nodes that the leaf numbers. `parts` holds the users who voted at several
    nodes: (user, label, count there, last vote).
    """

    ref: str
    nodes: tuple[str, ...]
    leaf: bytes
    parts: tuple[tuple[int, str, int, int], ...] = ()


class VotesMoved(_Event, frozen=True, tag="votes_moved.1"):
    """Votes that moved from another node's label to this node's own, because this node had counted them.

    `users`, `days` and `months` are (id or key, count under that label now, count under the own label now).
    """

    ref: str
    label: str
    users: tuple[tuple[int, int, int], ...] = ()
    days: tuple[tuple[int, int, int], ...] = ()
    months: tuple[tuple[int, int, int], ...] = ()


class VoteCountsMerged(_Event, frozen=True, tag="vote_counts_merged.1"):
    """Merged counts of a listing's votes by day and month, of other nodes or of this one."""

    ref: str
    counts: tuple[rows.NodeCounts, ...]


class DeliveryMerged(_Event, frozen=True, tag="delivery_merged.1"):
    """A merged delivery, as a whole row."""

    row: rows.Delivery

    @property
    def ref(self) -> str:
        return self.row.ref


class DeliveryForgotten(_Event, frozen=True, tag="delivery_forgotten.1"):
    """The node that sent a delivery has finished it and no longer keeps it in its log."""

    delivery_id: str
    ref: str


FrequentEvent = (
    VoteCast | DeliveryQueued | DeliveryAttempted | StatsUpdated | DeliveryDropped | EndpointHealthSet
)
"""The events of daily work, final so that `type(event) is` tells them apart."""
FREQUENT = frozenset[type](get_args(FrequentEvent))
"""The same as types. Nearly every reader of the log passes over them, and asks for the type first: to look it
up costs a tenth of `isinstance`, which is slow for a class with a metaclass, such as an event's."""

FleetEvent = (
    DeliveryTaken
    | NodeNamed
    | Merged
    | ListingMerged
    | UserMerged
    | VotesMerged
    | VotesMoved
    | VoteCountsMerged
    | DeliveryMerged
    | DeliveryForgotten
)
"""The events about other nodes of a fleet."""
OwnersEvent = OwnerSet | CoOwnerSaved | CoOwnersEnded
"""The events that change who owns a listing."""
ManagedRowEvent = (
    OwnersEvent
    | ListingReviewed
    | ChangeDecided
    | SlotsSet
    | KeySaved
    | KeyDeleted
    | NoteAdded
    | ListingReported
    | ReportsSettled
    | ListingTakenOver
    | VotesRemoved
)
"""The events that change a listing because somebody acts."""
RowEvent = (
    ManagedRowEvent
    | VoteFlagged
    | StatsUpdated
    | KeyUsed
    | DownloadCounted
    | EndpointHealthSet
    | OwnerMessageEvent
)
"""The events that change a listing that is there, and do nothing when it is not."""
RareEvent = (
    RowEvent
    | UserEvent
    | ListingSaved
    | ListingRemoved
    | EndingsForgotten
    | UserDropped
    | UserErased
    | CooldownsKept
    | FleetEvent
)
Event = FrequentEvent | RareEvent


class UnknownEvent(ValueError):
    """A record holds something that this version cannot apply."""


_encode = msgspec.json.Encoder().encode
_decode: Callable[[bytes], list[Event]] = msgspec.json.Decoder(list[Event]).decode


def encode_record(events: Sequence[Event]) -> bytes:
    """Return a record as one line of JSON without a newline: a list of tagged objects."""
    return _encode(events)


def decode_record(record: bytes) -> list[Event]:
    """Return the events of a record. Raises UnknownEvent."""
    try:
        return _decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnknownEvent(str(error)) from error
