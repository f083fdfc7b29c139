"""The rows of the state: frozen values. An event replaces a row whole.

A row nests everything that belongs to one listing and changes rarely (keys, webhook settings, limits). So a
reader needs one look-up, and a copy of a table copies pointers only. Rows hold no reference cycles, and the
garbage collector does not track them (`gc=False`), so its pauses do not grow with the tables. Times are Unix
milliseconds.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from core.actors import UNKNOWN, Actor, user_of
from forms.file_fields import FileRef
from kinds.kind import CheckName
from kinds.registry import AnyProfile
from languages.language_names import Language

Review = Literal["in_review", "approved", "denied"]
Decision = Literal["approved", "denied", "withdrawn", "change_agreed", "change_refused"]
"""The decisions of a moderator. A withdrawn approval makes the listing a denied one. The last two are about
the change of an approved listing."""
Outcome = Literal["delivered", "retry", "held", "failed"]
"""`held`: an attempt that failed and does not count as one of the delivery's tries."""
DeliveryState = Literal["pending", "delivered", "failed"]
WebhookEvent = Literal["vote", "review.approved", "review.denied", "vote.struck", "rating.posted"]
"""The events that an endpoint may take. `vote` is a vote or a test; the others are opt in."""
Dropped = Literal["expired", "overflow"]
"""`expired`: the delivery waited for too long. `overflow`: too many others waited already."""
CoOwnersAction = Literal["invitation_withdrawn", "invitation_declined", "co_owner_left", "co_owner_removed"]
OwnerAction = Literal["hand_over_offered", "hand_over_withdrawn", "hand_over_declined", "handed_over"]
AuditAction = Literal[
    Decision,
    CoOwnersAction,
    OwnerAction,
    "submitted",
    "edited",
    "co_owner_invited",
    "co_owner_joined",
    "key_issued",
    "key_rotated",
    "key_deleted",
    "webhook_saved",
    "secret_rotated",
    "webhook_removed",
    "suspension_lifted",
    "endpoint_probed",
    "limits_set",
    "actual_count_set",
    "ownership_proven",
    "votes_struck",
    "rating_removed",
    "reports_settled",
    "found_failing",
    "hidden",
    "shown_again",
    "invite_broken",
    "values_lost",
    "taken_over",
]
FlagRule = Literal["crowded_address", "burst"]
"""Why a vote was flagged: many accounts vote from its address, or many vote for its listing at once."""
InviteProblem = Literal["gone", "elsewhere", "expires"]
"""Why an invite is not valid: it does not exist any more, leads to another server, or ends at a time."""
CheckOutcome = Literal["pass", "fail", "unknown"]
ReportReason = Literal["does_not_work", "not_as_described", "breaks_rules", "broken_invite", "other"]
"""Why a user reports a listing to the moderators."""

VOTES_ALONE: tuple[WebhookEvent, ...] = ("vote",)
_CHAT_TOKEN = re.compile(r"/webhooks/[0-9]+/([^/?#]+)")


T = TypeVar("T")


def greatest_of_each(entries: Iterable[T], key: Callable[[T], str], rank: Callable[[T], Any]) -> list[T]:
    """Return the entry of the greatest rank for each key."""
    found: dict[str, T] = {}
    for each in entries:
        found[key(each)] = max(found.get(key(each), each), each, key=rank)
    return list(found.values())


class MapRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The base of rows that are kept as maps. A field that has its default takes no bytes.

    Invariant: a default is None, (), 0, "", b"" or a boolean. msgspec omits any other default by identity, so
    equal rows would have different bytes and digests.
    """


class PendingChange(MapRow, frozen=True):
    """An edit of an approved listing that waits for a moderator's decision.

    The profile of a listing is always the version that the public sees. `other` is the second version: the
    one that a moderator agreed to last if the change `is_public`, else the proposed one. `by` sent the newest
    version at `sent_ms`. The first edit of the change came at `since_ms`. In a fleet these times are stamps.
    """

    other: AnyProfile
    is_public: bool
    by: Actor
    sent_ms: int
    since_ms: int


class Stamp(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """The time and the node of a fleet at which something was last written. The greater of two stamps wins.

    The time is the node's wall time, or one more than the newest time that the node has seen, if that is
    later. So a change is newer than all changes that its node knew. Outside a fleet there are no stamps.
    """

    ms: int = 0
    node: str = ""


UNSTAMPED = Stamp()


class Stamps(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The stamps of a listing's slots: the table in `core/sharing.py` says which slot has which."""

    profile: Stamp = UNSTAMPED
    owner: Stamp = UNSTAMPED
    counts: Stamp = UNSTAMPED
    actual: Stamp = UNSTAMPED
    limits: Stamp = UNSTAMPED
    webhook: Stamp = UNSTAMPED
    claim: Stamp = UNSTAMPED
    proof: Stamp = UNSTAMPED
    eligibility: Stamp = UNSTAMPED
    invite_check: Stamp = UNSTAMPED
    template: Stamp = UNSTAMPED


NO_STAMPS = Stamps()


class Reviewed(MapRow, frozen=True):
    """The review of a listing, which its owner sent to it last at `sent_ms`. Once it is decided, `decided_ms`
    is set, and `reason` may be. While a denied listing waits for another decision, `denied_profile` is the
    profile that was denied."""

    state: Review
    sent_ms: int
    decided_ms: int | None = None
    reason: str | None = None
    denied_profile: AnyProfile | None = None


class BotCounts(MapRow, frozen=True):
    """The counts that a bot has pushed last, each None until it was pushed."""

    server_count: int | None
    command_count: int | None
    at_ms: int


class Revocation(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """A deleted key, or an invitation or a co-ownership that is over. The row remembers its id, so that no
    other node brings it back."""

    ms: int
    id: str


class Key(MapRow, frozen=True):
    """An API key without its value: the row has only keyed digests.

    After a rotation with overlap, `old_digest` is accepted too, before `old_until_ms`. `used_day` is the last
    day on which the key was accepted (`core/clock.day_of`), whatever its value was then; 0 means never.
    `makers` made the value, and after a rotation with overlap the old one: they may know it.
    """

    id: str
    name: str
    digest: str
    fingerprint: str
    created_ms: int
    rotated_ms: int | None = None
    old_digest: str | None = None
    old_until_ms: int = 0
    stamp: Stamp | None = None
    used_day: int = 0
    makers: tuple[Actor, ...] = ()


class KeyGrant(NamedTuple):
    """The listing that a key opens. `until_ms` ends the overlap of a rotated key; None means no end."""

    ref: str
    key_id: str
    until_ms: int | None


class Suspension(MapRow, frozen=True):
    """The suspension of an endpoint. It gets no event before `probe_ms`, and then one as a probe.

    `reason` is the error class of its last failure. `times` counts the suspension and each failed probe.
    """

    since_ms: int
    reason: str
    times: int
    probe_ms: int


class Webhook(MapRow, frozen=True):
    """The endpoint for the events of a listing, and its health.

    `language` is set for a chat platform's webhook URL and for no other. Such a URL has no token and no
    secrets. After a rotation with overlap, `old_secret` signs too, before `old_secret_until_ms`. `failed`
    counts the latest events in a row that failed for good. Without `events` the endpoint takes votes alone.
    """

    url: str
    saved_ms: int
    token: str | None = None
    language: Language | None = None
    secret: str | None = None
    old_secret: str | None = None
    old_secret_until_ms: int = 0
    failed: int = 0
    suspension: Suspension | None = None
    events: tuple[WebhookEvent, ...] = ()

    @property
    def taken(self) -> tuple[WebhookEvent, ...]:
        """The events that the endpoint takes."""
        return self.events or VOTES_ALONE

    @property
    def host(self) -> str:
        """The host of the URL, which is no secret. Other parts of a URL may be."""
        return urlsplit(self.url).hostname or ""

    @property
    def chat_token(self) -> str | None:
        """The last part of a chat platform's URL. It is a secret: everyone who knows it may post there."""
        found = self._chat_token()
        return found[1] if found is not None else None

    @property
    def shown_url(self) -> str:
        """The URL for views, without the chat token."""
        found = self._chat_token()
        return self.url if found is None else f"{self.url[: found.start(1)]}...{self.url[found.end(1) :]}"

    def _chat_token(self) -> re.Match[str] | None:
        return _CHAT_TOKEN.search(self.url) if self.language is not None else None

    def __repr__(self) -> str:
        return f"Webhook(url=..., saved_ms={self.saved_ms}, token=...)"


class Policy(MapRow, frozen=True):
    """A rate limit: `requests` per window of `window_seconds`."""

    requests: int
    window_seconds: int


class BotLimits(MapRow, frozen=True):
    """A bot's own limits. None means the deployment's default."""

    stats: Policy | None = None
    voters: Policy | None = None


class StatsWindow(MapRow, frozen=True):
    """The rate-limit window of the last committed stats update, so that it survives a restart."""

    started_ms: int
    used: int


class NodeWindow(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """The rate-limit window of the updates that another node of the fleet has committed."""

    node: str
    started_ms: int
    used: int


class NodeDownloads(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """The downloads of a listing that a node has counted; an empty label is that of this node."""

    node: str
    count: int


class AuditEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entry of the audit log. `about` names the object of the action, such as a key, or says why. In a
    fleet, time and node are those of its stamp."""

    at_ms: int
    by: Actor
    action: AuditAction
    about: str = ""
    node: str = ""


class Claim(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A moderator's claim on the review that was open at that time, and on no other."""

    at_ms: int
    by: Actor


class Note(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A moderator's note on a listing, for other moderators. In a fleet, time and node are those of its
    stamp."""

    at_ms: int
    by: Actor
    text: str
    node: str = ""


class Proof(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A user's proof to control the bot at the chat platform. It counts while that user is the owner."""

    at_ms: int
    by: Actor


class Takeover(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The last time that somebody proved to own a listing and took it over. `lost_by` owned it before.

    A key, a webhook or a profile from before it says nothing about the listing of now, so a fleet orders them
    by it first: see `replication/merge.py`.
    """

    stamp: Stamp
    at_ms: int
    lost_by: Actor


class CoOwner(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A user who owns a listing together with its owner. Until `joined_ms` is set, the user is invited only,
    and has no rights. `id` tells the invitation from others of the same user."""

    id: str
    user: Actor
    invited_ms: int
    joined_ms: int | None = None
    stamp: Stamp = UNSTAMPED


class HandOver(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An offer of the ownership. Nothing changes unless the successor accepts it before `until_ms`."""

    successor: Actor
    at_ms: int
    until_ms: int


class VoteFlag(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A vote that a rule has flagged: it counts, and moderators look at it. `id` tells it from others. In a
    fleet, time and node are those of its stamp."""

    at_ms: int
    by: Actor
    rule: FlagRule
    id: str
    node: str = ""


class Report(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A report of a listing by a user; if it names a `rating`, of the review by that user. In a fleet, time
    and node are those of its stamp."""

    at_ms: int
    by: Actor
    reason: ReportReason
    text: str = ""
    node: str = ""
    rating: Actor = UNKNOWN

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.at_ms, self.node)


class SettledReport(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A report that a moderator has settled. Nothing of its content is kept."""

    at_ms: int
    by: Actor
    node: str = ""
    rating: Actor = UNKNOWN

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.at_ms, self.node)


class Reports(MapRow, frozen=True):
    """The open reports of a listing and of its reviews, the oldest first: of each user one about each. A
    fleet remembers the last one that was settled, too, so that no other node brings one back."""

    open: tuple[Report, ...] = ()
    closed: tuple[SettledReport, ...] = ()

    @property
    def known(self) -> tuple[Report | SettledReport, ...]:
        return (*self.open, *self.closed)


class ServerCheck(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One condition that a server must meet to be listed, as it was at a time.

    `need` is the least number of `members` and of days (`age`), and the greatest of `nsfw`: channels that
    everyone can see, of which `channels` names the first. The others have 1 for yes and 0 for no. `have` is
    None while it is unknown.
    """

    name: CheckName
    outcome: CheckOutcome
    have: int | None
    need: int
    at_ms: int
    channels: tuple[str, ...] = ()


class Eligibility(MapRow, frozen=True):
    """The last check of a server's conditions. Of an approved listing, `failing_ms` says since when it fails,
    and `hidden_ms` since when it is hidden for that."""

    at_ms: int
    checks: tuple[ServerCheck, ...]
    failing_ms: int | None = None
    hidden_ms: int | None = None

    @property
    def outcome(self) -> CheckOutcome:
        """The outcome of all conditions together: one failure is enough to fail."""
        outcomes = {check.outcome for check in self.checks}
        return "fail" if "fail" in outcomes else "unknown" if "unknown" in outcomes else "pass"


class InviteCheck(MapRow, frozen=True):
    """The last answer of the chat platform about an invite. A valid one has no `problem`.

    `members` and `online` count the people on its server, approximately; None if the platform does not say.
    """

    code: str
    at_ms: int
    problem: InviteProblem | None = None
    members: int | None = None
    online: int | None = None


class TemplateCheck(MapRow, frozen=True):
    """The last answer of the chat platform about a template of servers. One that exists has no `problem`.

    `uses` counts the servers that were made of it; None if the platform does not say. `tree` is the file with
    its channels and roles, and `channels` and `roles` are their numbers.
    """

    at_ms: int
    problem: Literal["gone"] | None = None
    uses: int | None = None
    channels: int = 0
    roles: int = 0
    tree: FileRef | None = None


class Attempt(MapRow, frozen=True):
    """One request to an endpoint. Without an answer, `status` is None and `error` the class of the failure.

    `excerpt` is the beginning of the answer's body, decoded loosely. It is never trusted and always escaped.
    """

    at_ms: int
    duration_ms: int
    status: int | None
    error: str | None
    excerpt: str


class OwnerMessage(MapRow, frozen=True):
    """The direct message that tells an owner of the last decision on a listing, with its outcome.

    `to` was the owner then. `made` counts all attempts, and `tries` those that count. `next_attempt_ms` is
    None once it is finished: `delivered`, or failed for the error of the `last` attempt. `stamp` is that of
    the decision. `node` is the node of the fleet that sends it, or empty for this node. A node other than
    that of the decision has done so since `taken_ms`.
    """

    to: Actor
    decision: Decision
    reason: str | None
    decided_ms: int
    next_attempt_ms: int | None
    made: int = 0
    tries: int = 0
    delivered: bool = False
    last: Attempt | None = None
    stamp: Stamp | None = None
    node: str = ""
    taken_ms: int = 0


class Listing(MapRow, frozen=True):
    """A bot or a server. `ref` is its path in the API: "bots/<id>" or "servers/<id>".

    The fields after `updated_ms` are slots: each is written and merged as one, as `core/sharing.py` says. An
    approved listing that was edited has a `change` until a moderator decides about it. `window` counts the
    stats updates of this node, and `windows` those of other nodes, by their labels. `actual` is the number of
    servers that a bot is really in. `pushed` has the counts that it has pushed by day: see
    `core/push_history.py`. `downloads` has a count for each node. `revoked` remembers
    what was deleted in a fleet.
    """

    ref: str
    owner_id: str
    profile: AnyProfile
    created_ms: int
    updated_ms: int
    review: Reviewed | None = None
    change: PendingChange | None = None
    stamps: Stamps | None = None
    audit_log: tuple[AuditEntry, ...] = ()
    hand_over: HandOver | None = None
    co_owners: tuple[CoOwner, ...] = ()
    taken: Takeover | None = None
    proof: Proof | None = None
    claim: Claim | None = None
    notes: tuple[Note, ...] = ()
    message: OwnerMessage | None = None
    flags: tuple[VoteFlag, ...] = ()
    reports: Reports | None = None
    eligibility: Eligibility | None = None
    invite_check: InviteCheck | None = None
    template: TemplateCheck | None = None
    webhook: Webhook | None = None
    keys: tuple[Key, ...] = ()
    revoked: tuple[Revocation, ...] = ()
    counts: BotCounts | None = None
    actual: int | None = None
    limits: BotLimits | None = None
    window: StatsWindow | None = None
    windows: tuple[NodeWindow, ...] = ()
    pushed: bytes = b""
    downloads: tuple[NodeDownloads, ...] = ()

    @property
    def state(self) -> Review:
        """The state of its review. A listing that nobody reviews is approved at once."""
        return "approved" if self.review is None else self.review.state

    @property
    def decided_ms(self) -> int | None:
        """The time of the last decision; None while one is pending."""
        return None if self.review is None else self.review.decided_ms

    @property
    def reason(self) -> str | None:
        """The reason of the last decision, if one was given and none is pending."""
        return None if self.review is None else self.review.reason

    @property
    def known_stamps(self) -> Stamps:
        return self.stamps or NO_STAMPS

    @property
    def is_hidden(self) -> bool:
        """True for a server that no longer meets the conditions: nobody but its owners finds it meanwhile."""
        return self.eligibility is not None and self.eligibility.hidden_ms is not None

    @property
    def is_public(self) -> bool:
        """True for a listing that everybody may see and vote for."""
        return self.state == "approved" and not self.is_hidden

    @property
    def agreed(self) -> AnyProfile:
        """The version that a moderator agreed to last; of a listing that is not approved, its profile."""
        return self.change.other if self.change is not None and self.change.is_public else self.profile

    @property
    def latest(self) -> AnyProfile:
        """The version that its owners saved last."""
        return self.profile if self.change is None or self.change.is_public else self.change.other

    @property
    def open_reports(self) -> tuple[Report, ...]:
        """The reports that no moderator has settled yet, the oldest first."""
        return self.reports.open if self.reports is not None else ()

    @property
    def id(self) -> str:
        return self.ref.partition("/")[2]

    @property
    def extra_owners(self) -> tuple[str, ...]:
        """The ids of the users who have accepted to own it together with its owner."""
        return joined_users(self.owner_id, self.co_owners)

    @property
    def invited(self) -> tuple[str, ...]:
        """The ids of the users who are invited to own it, too."""
        return invited_users(self.owner_id, self.co_owners)

    @property
    def asked(self) -> tuple[str, ...]:
        """The ids of all who are asked to own it: the invited, and the successor of a hand-over."""
        return asked_users(self.owner_id, self.co_owners, self.hand_over)

    @property
    def download_count(self) -> int:
        """The downloads that all nodes have counted."""
        return sum(each.count for each in self.downloads)

    @property
    def own_downloads(self) -> int:
        """The downloads that this node has counted."""
        return sum(each.count for each in self.downloads if not each.node)

    def key(self, key_id: str) -> Key | None:
        return next((key for key in self.keys if key.id == key_id), None)


def joined_users(owner_id: str, co_owners: Sequence[CoOwner]) -> tuple[str, ...]:
    """Return the ids of the users who have accepted, each once, without the owner."""
    if not co_owners:  # of nearly all listings, and a start asks for each
        return ()
    joined = (user_of(each.user) for each in co_owners if each.joined_ms is not None)
    return tuple(dict.fromkeys(user for user in joined if user is not None and user != owner_id))


def invited_users(owner_id: str, co_owners: Sequence[CoOwner]) -> tuple[str, ...]:
    """Return the ids of the users who are invited and have not accepted, each once."""
    found = {owner_id, *joined_users(owner_id, co_owners)}
    users = dict.fromkeys(user_of(each.user) for each in co_owners)
    return tuple(user for user in users if user is not None and user not in found)


def asked_users(owner_id: str, co_owners: Sequence[CoOwner], hand_over: HandOver | None) -> tuple[str, ...]:
    """Return the ids of the invited and of the successor of a hand-over, each once."""
    if not co_owners and hand_over is None:
        return ()
    successor = user_of(hand_over.successor) if hand_over is not None else None
    return tuple(
        dict.fromkeys((*invited_users(owner_id, co_owners), *([successor] if successor is not None else [])))
    )


class Delivery(MapRow, frozen=True):
    """One webhook event for one endpoint, with its outcome.

    `made` counts all attempts, and `tries` the attempts of the current round that count. A redelivery starts
    a new round at `round_ms`, under the same id. `attempts` holds the latest attempts. `next_attempt_ms` is
    the time of the next attempt; None means that the delivery is finished. `dropped` is the reason for giving
    it up without a further attempt. `owner` is the node of the fleet that sends it, or empty for this node. A
    node other than that of the vote has done so since `owned_ms`.

    `kind` is None for votes and tests. Another kind has the `reason` of the decision, if one was given. The
    deliveries of a review have no `user`. That of a user's review has its `stars`.
    """

    id: str
    ref: str
    user: str
    test: bool
    queued_ms: int
    next_attempt_ms: int | None
    made: int = 0
    tries: int = 0
    delivered: bool = False
    attempts: tuple[Attempt, ...] = ()
    round_ms: int | None = None
    dropped: Dropped | None = None
    dropped_ms: int | None = None
    owner: str = ""
    owned_ms: int = 0
    kind: WebhookEvent | None = None
    reason: str | None = None
    stars: int = 0

    @property
    def event(self) -> WebhookEvent:
        return self.kind or "vote"

    @property
    def state(self) -> DeliveryState:
        if self.next_attempt_ms is not None:
            return "pending"
        return "delivered" if self.delivered else "failed"

    @property
    def since_ms(self) -> int:
        """The beginning of the current round."""
        return self.queued_ms if self.round_ms is None else self.round_ms


class NodeCounts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The votes for a listing that one node of a fleet has counted: see `core/vote_counts.py`.

    `days` and `months` are (key, votes), in order. The same of votes that were removed at that node, and
    their number of all time.
    """

    node: str
    days: tuple[tuple[int, int], ...] = ()
    months: tuple[tuple[int, int], ...] = ()
    removed_days: tuple[tuple[int, int], ...] = ()
    removed_months: tuple[tuple[int, int], ...] = ()
    removed: int = 0


class FleetRow(MapRow, frozen=True):
    """The memory of a node about its fleet: see `core/fleet_table.py`."""

    label: str
    labels: tuple[str, ...]
    cursors: dict[str, int]
    removed: dict[str, int]
    erased: dict[str, int]
    removed_votes: dict[str, dict[str, int]]
    latest_ms: int
    is_copy: bool = False
