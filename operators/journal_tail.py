"""The newest events of the log, for the operator. Invariant: a field that is not in the list is not shown.

The tail is a ring in memory, filled by a reader of the log, and not read from disk: a segment is encrypted,
up to 64 MB long and read from its beginning, so a look at its end would cost the process more than the ring
does in a day. The price is that the tail begins with the process.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, NamedTuple

from msgspec import UNSET, Meta
from msgspec.structs import replace

from actions.query_forms import AFTER, IS_CURSOR
from actions.views import NULL, Count, Moment, Positive, Success, View, example
from core import events as ev
from core.actors import ERASED, user_actor
from core.clock import Clock
from core.events import Event, ManagementEvent, UserErased
from core.rows import Claim, Policy
from forms.fields import Form
from forms.rules import About, Between
from kinds.registry import KINDS, SAMPLE_REF

EVENTS = 500
PAGE_EVENTS = 100
TEXT = 120
"""The characters of a field that are shown."""

SHOWN: Mapping[type[Event], Sequence[str]] = {
    ev.ListingSaved: ("profile.name", "owner_id", "review", "by"),
    ev.OwnerSet: ("owner_id", "action", "by"),
    ev.CoOwnerSaved: ("co_owner.id", "by"),
    ev.CoOwnersEnded: ("ids", "action", "by"),
    ev.ListingReviewed: ("review", "withdraws", "reason", "by"),
    ev.ChangeDecided: ("profile.name", "is_agreed", "reason", "by"),
    ev.ListingRemoved: ("by",),
    ev.KeySaved: ("key.id", "key.name", "key.fingerprint", "by"),
    ev.KeyUsed: ("key_id",),
    ev.DownloadCounted: ("count",),
    ev.KeyDeleted: ("key_id", "by"),
    ev.StatsUpdated: ("server_count", "command_count"),
    ev.SlotsSet: (
        *("action", "actual", "limits.stats", "limits.voters", "webhook.host", "webhook.language", "claim"),
        *("eligibility.failing_ms", "eligibility.hidden_ms", "invite_check.problem", "by"),
    ),
    ev.EndpointHealthSet: ("failed", "suspension.reason", "suspension.times"),
    ev.VoteCast: ("user", "count", "node"),
    ev.VoteCountsMerged: (),
    ev.VoteFlagged: ("user", "rule"),
    ev.NoteAdded: ("by",),
    ev.ListingReported: ("reason", "rating", "by"),
    ev.ReportsSettled: ("by",),
    ev.ListingTakenOver: ("owner_id", "lost_by", "by"),
    ev.VotesRemoved: ("users", "reason", "by"),
    ev.OwnerMessageQueued: ("to", "decision"),
    ev.OwnerMessageAttempted: ("number", "outcome", "attempt.status", "attempt.error", "attempt.duration_ms"),
    ev.OwnerMessageTaken: (),
    ev.UserSignedIn: ("session.label", "ends"),
    ev.SessionSeen: (),
    ev.SessionsEnded: ("digests", "by"),
    ev.EndingsForgotten: ("before_ms",),
    ev.UserDropped: (),
    ev.UserSlotsSet: ("role", "naming.is_allowed", "mail.topics", "by"),
    ev.ReminderSet: ("listing", "is_on"),
    ev.RatingSet: ("rating.listing", "rating.stars", "rating.reason", "by"),
    ev.RatingAnswered: ("listing", "by"),
    ev.ReminderAttempted: (
        *("listing", "number", "outcome"),
        *("attempt.status", "attempt.error", "attempt.duration_ms"),
    ),
    ev.MailAttempted: (
        *("topic", "listing", "number", "outcome"),
        *("attempt.status", "attempt.error", "attempt.duration_ms"),
    ),
    ev.QuarantineSet: ("quarantine.act", "quarantine.reason", "quarantine.until_ms", "by"),
    ev.CooldownsKept: ("cooldowns",),
    ev.UserErased: ("refs", "by"),
    ev.DeliveryQueued: ("delivery_id", "kind", "user", "test"),
    ev.DeliveryAttempted: (
        *("delivery_id", "number", "outcome"),
        *("attempt.status", "attempt.error", "attempt.duration_ms"),
    ),
    ev.DeliveryDropped: ("delivery_id", "made", "reason"),
    ev.DeliveryTaken: ("delivery_id",),
    ev.NodeNamed: ("label",),
    ev.Merged: ("label", "position"),
    ev.ListingMerged: ("row.profile.name", "row.state", "updates"),
    ev.UserMerged: ("row.role",),
    ev.VotesMerged: ("nodes", "leaf"),
    ev.VotesMoved: ("label", "users", "days"),
    ev.DeliveryMerged: ("row.id", "row.owner"),
    ev.DeliveryForgotten: ("delivery_id",),
}
"""The fields that are shown of each event. A collection is shown by its size, a claim as "set"."""
EMPTIED = frozenset({"claim", "role"})
"""The slots that an event may empty without an `action` that says so."""


class JournalQuery(Form, frozen=True):
    """The query of the journal's tail. A parameter that is None was left out."""

    before: Annotated[Annotated[int, Between(1)] | None, IS_CURSOR, About(AFTER)] = None


class EventView(View):
    """An event of the journal."""

    position: Annotated[
        Count, Meta(description="The position of the event's record. Events of one record happen together.")
    ]
    at: Annotated[
        Moment, Meta(description="The time when this node committed the event, in Unix milliseconds.")
    ]
    type: Annotated[str, Meta(description="The name and version of the event."), example("vote_cast.1")]
    ref: Annotated[
        str | None,
        Meta(description=f"The listing of the event: {' or '.join(f'`{kind}/<id>`' for kind in KINDS)}."),
        example(SAMPLE_REF),
    ]
    text: Annotated[
        str,
        Meta(description="Some fields of the event, without secrets."),
        example("user 323456789012345678, count 3"),
    ]


class JournalPage(Success):
    """Events of the journal, the newest first."""

    events: Annotated[
        tuple[EventView, ...],
        Meta(
            description=f"The list has the last {EVENTS} events of this process, in pages, the newest first."
        ),
    ]
    next: Annotated[
        Positive | None,
        Meta(description="Send it as `before` to get older events; null if there are none."),
        NULL,
    ]


class _Kept(NamedTuple):
    position: int
    at_ms: int
    event: Event


class JournalTail:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: deque[_Kept] = deque(maxlen=EVENTS)

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record. An erased user is erased here too."""
        now_ms = self._clock.now_ms()
        for event in events:
            if type(event) is UserErased:
                self._forget(event.user)
            self._kept.append(_Kept(position, now_ms, event))

    def page(self, before: int | None = None) -> JournalPage:
        """Return a page of the newest events of records before that position. A record is never split over
        two pages."""
        kept = [each for each in self._kept if before is None or each.position < before]
        found: list[EventView] = []
        for position, of_record in groupby(reversed(kept), key=lambda each: each.position):
            if len(found) >= PAGE_EVENTS:
                return JournalPage(events=tuple(found), next=position + 1)
            found += map(_told, of_record)
        return JournalPage(events=tuple(found), next=None)

    def _forget(self, user: str) -> None:
        """Take the user's name out of all events. Those about the user alone go whole."""
        actor, left = user_actor(user), list[_Kept]()
        for each in self._kept:
            event = each.event
            if getattr(event, "ref", None) == actor:
                continue
            if getattr(event, "user", None) == user:
                event = replace(event, user=ERASED)
            if isinstance(event, ManagementEvent) and event.by == actor:
                event = replace(event, by=ERASED)
            if isinstance(event, ev.SlotsSet):
                event = replace(event, claim=UNSET, proof=UNSET)  # they name somebody
            if isinstance(event, ev.OwnerMessageQueued) and event.to == actor:
                event = replace(event, to=ERASED)
            if isinstance(event, ev.VotesRemoved) and user in event.users:
                event = replace(event, users=tuple(ERASED if it == user else it for it in event.users))
            left.append(each._replace(event=event))
        self._kept = deque(left, EVENTS)


def _told(kept: _Kept) -> EventView:
    event = kept.event
    tag = str(type(event).__struct_config__.tag)
    text = ", ".join(f"{name} {value}" for name, value in _shown_fields(event))
    ref = getattr(event, "ref", None)
    return EventView(position=kept.position, at=kept.at_ms, type=tag, ref=ref, text=text)


def _shown_fields(event: Event) -> Iterator[tuple[str, str]]:
    for path in SHOWN[type(event)]:
        value: object = event
        for name in path.split("."):
            value = getattr(value, name) if value is not None and value is not UNSET else None
        if value is None and path in EMPTIED:
            yield path, "none"
        elif value is not None and value is not UNSET and value != "":
            yield path.removeprefix("row."), _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, Policy):
        return f"{value.requests} in {value.window_seconds} s"
    if isinstance(value, Claim):
        return "set"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, tuple):
        return f"({len(value)})"
    return str(value).lower() if isinstance(value, bool) else str(value)[:TEXT]
