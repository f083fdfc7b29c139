"""Events that hypothesis generates. `state_invariants.py` has the invariants that hold after any of them.

Names come from small pools, so that events often name things that exist, are gone, or never existed.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from core import events as ev
from core.actors import OPERATOR, UNKNOWN, user_actor
from core.audit_log import newest, newest_flags, newest_notes, reports_of
from core.clock import day_of
from core.push_history import with_push
from core.rows import (
    Attempt,
    AuditAction,
    AuditEntry,
    BotCounts,
    BotLimits,
    Claim,
    CoOwner,
    CoOwnersAction,
    Decision,
    Delivery,
    Eligibility,
    HandOver,
    InviteCheck,
    InviteProblem,
    Key,
    Listing,
    NodeCounts,
    NodeDownloads,
    NodeWindow,
    Note,
    Outcome,
    OwnerAction,
    OwnerMessage,
    PendingChange,
    Policy,
    Proof,
    Report,
    ReportReason,
    Review,
    Reviewed,
    Revocation,
    ServerCheck,
    SettledReport,
    Stamp,
    Stamps,
    StatsWindow,
    Suspension,
    Takeover,
    TemplateCheck,
    VoteFlag,
    Webhook,
    WebhookEvent,
)
from core.user_changes import with_sessions
from core.user_rows import (
    AnsweredReport,
    EndedSession,
    MailChoice,
    MailSent,
    MailTopic,
    Naming,
    Quarantine,
    QuarantinedAct,
    Rating,
    RatingAnswer,
    Reminder,
    ReminderMessage,
    UserProfile,
    UserRow,
    UserSession,
    UserStamps,
    user_ref,
)
from core.vote_table import VoteTable
from kinds.kind import Profile
from tests.support.generated_profiles import FILES, REF_OF, profiles_of
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_USER, SERVER_REF, USER

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

texts = st.text(max_size=8)
refs = st.sampled_from([*REF_OF.values()])
users = st.sampled_from([USER, OTHER_USER, str((1 << 64) - 1)])
delivery_ids = st.sampled_from(["first", "second", "third", "fourth"])
key_ids = st.sampled_from(["k1", "k2"])
times = st.integers(NOW_MS, NOW_MS + 4)
labels = st.sampled_from(["a.1", "b.1", "b.2"])
authors = st.just("") | labels
stamp_times = st.just(0) | times
actors = st.sampled_from([OPERATOR, UNKNOWN, *map(user_actor, (USER, OTHER_USER))])
managed = {"by": actors, "stamp_ms": stamp_times}
acts = st.builds(AuditEntry, times, actors, st.sampled_from(["submitted", "edited"]), node=labels)
later_stamps = st.builds(Stamp, times, labels)
stamps = st.just(Stamp()) | later_stamps
other_stamps = [stamps] * (len(Stamps.__struct_fields__) - 1)
counts = st.none() | st.integers(0, 3)
moves = st.tuples(users.map(int), st.integers(0, 2), st.integers(1, 3))
days = st.sampled_from([day_of(NOW_MS) - ago for ago in (0, 1, 31)])
of_days = st.lists(st.tuples(days, st.integers(1, 3)), max_size=2, unique_by=lambda each: each[0]).map(tuple)
of_months = st.lists(st.tuples(st.integers(600, 602), st.integers(1, 4)), max_size=2).map(tuple)
node_counts = st.builds(NodeCounts, labels, of_days, of_months, of_days, of_months, removed=st.integers(0, 3))
counts_moved = st.lists(
    st.tuples(days, st.integers(0, 2), st.integers(1, 3)), max_size=2, unique_by=lambda each: each[0]
).map(tuple)
policies = st.none() | st.builds(Policy, st.integers(1, 3), st.integers(1, 3))
reviews: st.SearchStrategy[Review] = st.sampled_from(get_args(Review))
profiles: Mapping[str, st.SearchStrategy[Profile]] = {
    ref: profiles_of(kind, texts) for kind, ref in REF_OF.items()
}
"""Profiles by ref, each of the ref's kind."""
failures = st.integers(0, 3)
suspensions = st.none() | st.builds(Suspension, times, st.just("timeout"), st.integers(1, 3), times)
taken: st.SearchStrategy[tuple[WebhookEvent, ...]] = st.sampled_from([(), ("review.denied",)])
webhooks = st.builds(
    Webhook, texts, times, st.none() | texts, failed=failures, suspension=suspensions, events=taken
)
attempts = st.builds(
    Attempt,
    times,
    st.integers(0, 1),
    st.none() | st.sampled_from([204, 500]),
    st.none() | st.just("timeout"),
    texts,
)


user_refs = st.sampled_from([*map(user_ref, (USER, OTHER_USER))])
user_profiles = st.builds(UserProfile, texts, st.none() | texts)
roles = st.sampled_from(["moderator", None])
quarantined_acts = st.sampled_from(get_args(QuarantinedAct))
quarantines = st.builds(Quarantine, quarantined_acts, texts, actors, times, st.none() | times)


def session_digests(ref: str) -> st.SearchStrategy[str]:
    """Digests are never shared between users: they have 256 bits."""
    return st.sampled_from([f"{ref} {number}" for number in range(3)])


def session_of(ref: str) -> st.SearchStrategy[UserSession]:
    return st.builds(UserSession, session_digests(ref), st.just("Firefox"), times, times)


def signed_in(ref: str) -> st.SearchStrategy[ev.UserSignedIn]:
    ends = st.lists(session_digests(ref), max_size=2, unique=True).map(tuple)
    return st.builds(ev.UserSignedIn, st.just(ref), user_profiles, session_of(ref), ends, **managed)


def sessions_ended(ref: str) -> st.SearchStrategy[ev.SessionsEnded]:
    digests = st.lists(session_digests(ref), max_size=3, unique=True).map(tuple)
    return st.builds(ev.SessionsEnded, st.just(ref), digests, times, **managed)


reminder_messages = st.builds(
    ReminderMessage, times, st.integers(1, 3), st.integers(0, 3), st.none() | times, attempts
)
topics: st.SearchStrategy[MailTopic] = st.sampled_from(get_args(MailTopic))


def mail_choices(marks: st.SearchStrategy[Any] = st.none()) -> st.SearchStrategy[MailChoice]:  # noqa: B008
    chosen = st.lists(topics, max_size=2, unique=True).map(tuple)
    return st.builds(MailChoice, times, chosen, st.none(), st.none() | st.just("a@example.com"), marks)


def mails_of_a_user() -> st.SearchStrategy[Any]:
    """Mails in the order of topics and listings."""
    counts = (st.integers(1, 3), st.integers(0, 3))
    sent = st.builds(MailSent, topics, refs, times, *counts, st.none() | times, attempts)
    found = st.lists(sent, max_size=3, unique_by=lambda each: (each.topic, each.listing))
    return found.map(lambda each: tuple(sorted(each, key=lambda one: (one.topic, one.listing))))


def reminders_of_a_user() -> st.SearchStrategy[Any]:
    """Reminders in the order of their listings."""
    of_listing = st.builds(Reminder, refs, times, st.booleans(), stamps, st.none() | reminder_messages)
    found = st.lists(of_listing, max_size=2, unique_by=lambda each: each.listing)
    return found.map(lambda each: tuple(sorted(each, key=lambda one: one.listing)))


def ratings_of(*given: st.SearchStrategy[Stamp]) -> st.SearchStrategy[Rating]:
    """Reviews, with stamps if they are given: those that are gone have a reason or none."""
    reasons = st.sampled_from(["", "Why."])
    return st.builds(Rating, refs, times, st.integers(0, 5), texts, stamp_times, reasons, *given)


answers_to_ratings = st.builds(RatingAnswer, times, texts)


@st.composite
def ratings_of_a_user(draw: st.DrawFn) -> tuple[Rating, ...]:
    found = st.lists(ratings_of(later_stamps), max_size=2, unique_by=lambda each: each.listing)
    return tuple(
        replace(each, answer=draw(st.none() | st.builds(RatingAnswer, times, texts, later_stamps)))
        for each in sorted(draw(found), key=lambda one: one.listing)
    )


def user_rows(ref: str) -> st.SearchStrategy[UserRow]:
    """Rows that a node may send: everything in order, and no session that has ended."""
    row = st.builds(
        UserRow,
        st.just(ref),
        times,
        st.none() | user_profiles,
        role=roles,
        quarantines=st.lists(quarantines, max_size=3, unique_by=lambda each: each.act).map(
            lambda found: tuple(sorted(found, key=lambda each: each.act))
        ),
        stamps=st.none() | st.builds(UserStamps, later_stamps, stamps),
        reminders=reminders_of_a_user(),
        naming=st.none() | st.builds(Naming, times, st.booleans(), stamps),
        mail=st.none() | mail_choices(stamps),
        mails=mails_of_a_user(),
        settled=st.lists(
            st.builds(AnsweredReport, times, refs), max_size=3, unique_by=lambda each: each.listing
        )
        .map(sorted)
        .map(tuple),
        ratings=ratings_of_a_user(),
    )
    ended = st.lists(st.builds(EndedSession, times, session_digests(ref)), max_size=2)
    return st.builds(with_sessions, row, st.lists(session_of(ref), max_size=3), ended)


def key_of(draw: st.DrawFn, ref: str, key_id: str) -> Key:
    """Digests are never shared between keys: they have 256 bits."""
    version = draw(st.integers(1, 3))
    old = f"{ref} {key_id} {version - 1}" if draw(st.booleans()) else None
    digest = f"{ref} {key_id} {version}"
    return Key(
        key_id,
        draw(texts),
        digest,
        digest[:8],
        draw(times),
        draw(st.none() | times),
        old,
        draw(times) if old else 0,
        draw(stamps),
        draw(st.integers(0, 3)),
        draw(st.lists(actors, max_size=2).map(tuple)),
    )


@st.composite
def keys_saved(draw: st.DrawFn) -> ev.KeySaved:
    ref = draw(refs)
    return ev.KeySaved(ref, key_of(draw, ref, draw(key_ids)), stamp_ms=draw(stamp_times))


decisions: st.SearchStrategy[Decision] = st.sampled_from(get_args(Decision))
user_actors = st.sampled_from([*map(user_actor, (USER, OTHER_USER))])
owner_messages = st.builds(
    OwnerMessage,
    user_actors,
    decisions,
    st.none() | texts,
    times,
    st.none() | times,
    st.integers(0, 3),
    last=st.none() | attempts,
    stamp=stamps,
    node=authors,
    taken_ms=stamp_times,
)


rules_of_flags = st.sampled_from(["crowded_address", "burst"])
flag_ids = st.sampled_from(["f1", "f2", "f3"])
vote_flags = st.lists(
    st.builds(VoteFlag, times, user_actors, rules_of_flags, flag_ids, labels), min_size=1, max_size=3
).map(newest_flags)
report_reasons: st.SearchStrategy[ReportReason] = st.sampled_from(get_args(ReportReason))
rated = st.just(UNKNOWN) | user_actors
settled_reports = st.builds(SettledReport, times, user_actors, labels, rated)
reports = st.none() | st.builds(
    reports_of,
    st.lists(st.builds(Report, times, user_actors, report_reasons, texts, labels, rated), max_size=2),
    st.lists(settled_reports, max_size=2),
)
server_checks = st.lists(
    st.builds(
        ServerCheck,
        st.sampled_from(["members", "nsfw"]),
        st.sampled_from(["pass", "fail", "unknown"]),
        counts,
        st.integers(0, 3),
        times,
    ),
    max_size=2,
    unique_by=lambda check: check.name,
).map(tuple)


@st.composite
def push_histories(draw: st.DrawFn) -> bytes:
    """The history of a few pushes, or of none."""
    history = b""
    for push in draw(st.lists(st.tuples(days, counts, counts), max_size=3)):
        history = with_push(history, *push)
    return history


eligibilities = st.builds(Eligibility, times, server_checks, st.none() | times, st.none() | times)
invite_checks = st.builds(
    InviteCheck, texts, times, st.none() | st.sampled_from(get_args(InviteProblem)), counts, counts
)
some = st.integers(0, 3)
template_checks = st.builds(
    TemplateCheck, times, st.none() | st.just("gone"), counts, some, some, st.none() | FILES
)


@st.composite
def owner_messages_attempted(draw: st.DrawFn) -> ev.OwnerMessageAttempted:
    """A next attempt is due unless this was the last."""
    outcome: Outcome = draw(st.sampled_from(["delivered", "retry", "held", "failed"]))
    next_attempt_ms = draw(times) if outcome in {"retry", "held"} else None
    return ev.OwnerMessageAttempted(
        draw(refs), draw(times), draw(st.integers(1, 3)), draw(attempts), outcome, next_attempt_ms
    )


limits = st.none() | st.builds(BotLimits, policies, policies)
SET_VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "actual": counts,
    "limits": limits,
    "webhook": st.none() | webhooks,
    "claim": st.none() | st.builds(Claim, times, actors),
    "proof": st.none() | st.builds(Proof, times, actors),
    "eligibility": st.none() | eligibilities,
    "invite_check": st.none() | invite_checks,
    "template": st.none() | template_checks,
}
"""The values of the slots that `SlotsSet` writes."""
co_owner_ids = st.sampled_from(["o1", "o2", "o3"])
co_owners = st.builds(CoOwner, co_owner_ids, user_actors, times, st.none() | times, stamps)
co_owner_lists = st.lists(co_owners, max_size=2, unique_by=lambda each: each.id).map(
    lambda found: tuple(sorted(found, key=lambda each: (each.invited_ms, each.id)))
)
hand_overs = st.none() | st.builds(HandOver, user_actors, times, times)


def reviewed_of(ref: str) -> st.SearchStrategy[Reviewed]:
    denied = st.none() | profiles[ref]
    return st.builds(Reviewed, reviews, times, st.none() | times, st.none() | texts, denied)


def changes_of(ref: str) -> st.SearchStrategy[PendingChange | None]:
    return st.none() | st.builds(PendingChange, profiles[ref], st.booleans(), actors, times, times)


@st.composite
def listings_merged(draw: st.DrawFn) -> ev.ListingMerged:
    ref = draw(refs)
    downloads = st.builds(NodeDownloads, labels | st.just(""), st.integers(1, 3))
    windows = st.builds(NodeWindow, labels, times, st.integers(1, 3))
    row = Listing(
        ref,
        draw(users),
        draw(profiles[ref]),
        draw(times),
        draw(times),
        draw(st.none() | reviewed_of(ref)),
        draw(changes_of(ref)),
        stamps=draw(
            st.none() | st.builds(Stamps, later_stamps, *[stamps] * (len(Stamps.__struct_fields__) - 1))
        ),
        counts=draw(st.none() | st.builds(BotCounts, counts, counts, times)),
        window=draw(st.none() | st.builds(StatsWindow, times, st.integers(1, 3))),
        keys=tuple(key_of(draw, ref, key_id) for key_id in draw(st.sets(key_ids))),
        downloads=tuple(sorted(draw(st.lists(downloads, max_size=2, unique_by=lambda each: each.node)))),
        windows=tuple(sorted(draw(st.lists(windows, max_size=2, unique_by=lambda each: each.node)))),
        revoked=tuple(sorted(draw(st.sets(st.builds(Revocation, times, key_ids), max_size=2)))),
        co_owners=draw(co_owner_lists),
        hand_over=draw(hand_overs),
        audit_log=newest(draw(st.lists(acts, max_size=3))),
        notes=newest_notes(draw(st.lists(st.builds(Note, times, actors, texts, labels), max_size=3))),
        message=draw(st.none() | owner_messages),
        flags=draw(vote_flags),
        reports=draw(reports),
        pushed=draw(push_histories()),
        taken=draw(st.none() | st.builds(Takeover, stamps, times, user_actors)),
        **{slot: draw(values) for slot, values in SET_VALUES.items()},
    )
    return ev.ListingMerged(row, draw(st.integers(0, 2)))


@st.composite
def votes_merged(draw: st.DrawFn) -> ev.VotesMerged:
    """One leaf of another node's table. Some of its voters have voted at several nodes."""
    named, ref = tuple(draw(st.permutations(["a.1", "b.1", "c.1"]))), draw(refs)
    table = VoteTable()
    put = st.tuples(users, st.integers(1, 3), times, st.integers(0, len(named) - 1))
    for user, count, last_ms, node in draw(st.lists(put, max_size=4)):
        table.put(ref, int(user), count, last_ms, node)
    leaf, several = table.by_node(ref, table.next_leaf(ref, -1) or b"")
    parts = tuple(
        (user, named[node], count, (table.get(ref, user) or (0, 0))[1])
        for user in several
        for node, count in table.parts(ref, user).items()
    )
    return ev.VotesMerged(ref, named, leaf, parts)


@st.composite
def deliveries_attempted(draw: st.DrawFn) -> ev.DeliveryAttempted:
    """A next attempt is due unless this was the last."""
    outcome: Outcome = draw(st.sampled_from(["delivered", "retry", "held", "failed"]))
    next_attempt_ms = draw(times) if outcome in {"retry", "held"} else None
    return ev.DeliveryAttempted(
        draw(delivery_ids), draw(refs), draw(st.integers(1, 3)), draw(attempts), outcome, next_attempt_ms
    )


# Other nodes tell of these deliveries. An id is never shared between listings: it has 128 bits.
LISTING_OF = {"third": BOT_REF, "fourth": SERVER_REF}


told_events: st.SearchStrategy[tuple[WebhookEvent, str | None]] = st.sampled_from(
    [("vote", None), ("vote", None), ("review.approved", None), ("vote.struck", "Bought.")]
)


@st.composite
def deliveries_queued(draw: st.DrawFn) -> ev.DeliveryQueued:
    id_, ref = draw(delivery_ids), draw(refs)
    kind, reason = draw(told_events)
    user, test = draw(users), draw(st.booleans())
    return ev.DeliveryQueued(id_, LISTING_OF.get(id_, ref), user, test, draw(times), kind, reason)


@st.composite
def deliveries_merged(draw: st.DrawFn) -> ev.DeliveryMerged:
    id_ = draw(st.sampled_from(sorted(LISTING_OF)))
    due_ms = draw(st.none() | times)
    made = draw(st.integers(0, 2))
    owner, owned_ms = draw(authors), draw(stamp_times)
    row = Delivery(
        id_, LISTING_OF[id_], draw(users), False, draw(times), due_ms, made, owner=owner, owned_ms=owned_ms
    )
    return ev.DeliveryMerged(row)


@st.composite
def slots_set(draw: st.DrawFn) -> ev.SlotsSet:
    """Events that write one slot or two."""
    chosen = draw(st.sets(st.sampled_from(sorted(SET_VALUES)), min_size=1, max_size=2))
    fields = {slot: draw(SET_VALUES[slot]) for slot in sorted(chosen)}
    actions: list[AuditAction | None] = [None, "limits_set", "hidden"]
    action, about = draw(st.sampled_from(actions)), draw(texts)
    return ev.SlotsSet(
        draw(refs), draw(times), action, about, **fields, by=draw(actors), stamp_ms=draw(stamp_times)
    )


listings_saved = refs.flatmap(
    lambda ref: st.builds(
        ev.ListingSaved, st.just(ref), users, profiles[ref], reviews, times, changes_of(ref), **managed
    )
)
named = st.builds(ev.NodeNamed, labels)

OF_TYPE: Mapping[type, st.SearchStrategy[ev.Event]] = {
    ev.ListingSaved: listings_saved,
    ev.OwnerSet: st.builds(
        ev.OwnerSet, refs, users, hand_overs, st.sampled_from(get_args(OwnerAction)), times, **managed
    ),
    ev.CoOwnerSaved: st.builds(ev.CoOwnerSaved, refs, co_owners, times, **managed),
    ev.CoOwnersEnded: st.builds(
        ev.CoOwnersEnded,
        refs,
        st.lists(co_owner_ids, max_size=2, unique=True).map(tuple),
        st.sampled_from(get_args(CoOwnersAction)),
        times,
        **managed,
    ),
    ev.ListingReviewed: st.builds(
        ev.ListingReviewed, refs, reviews, st.none() | texts, times, st.booleans(), **managed
    ),
    ev.ChangeDecided: refs.flatmap(
        lambda ref: st.builds(
            ev.ChangeDecided, st.just(ref), profiles[ref], st.booleans(), st.none() | texts, times, **managed
        )
    ),
    ev.ListingRemoved: st.builds(ev.ListingRemoved, refs, stamp_ms=stamp_times),
    ev.KeySaved: keys_saved(),
    ev.DownloadCounted: st.builds(ev.DownloadCounted, refs, st.integers(1, 3)),
    ev.KeyUsed: st.builds(ev.KeyUsed, refs, key_ids, st.integers(1, 3)),
    ev.KeyDeleted: st.builds(ev.KeyDeleted, refs, key_ids, at_ms=times, **managed),
    ev.StatsUpdated: st.builds(
        ev.StatsUpdated,
        refs,
        counts,
        counts,
        st.builds(StatsWindow, times, st.integers(1, 3)),
        times,
        stamp_ms=stamp_times,
    ),
    ev.SlotsSet: slots_set(),
    ev.UserSlotsSet: st.builds(
        ev.UserSlotsSet,
        user_refs,
        times,
        role=st.just(UNSET) | roles,
        naming=st.just(UNSET) | st.builds(Naming, times, st.booleans()),
        read_ms=st.just(UNSET) | times,
        mail=st.just(UNSET) | mail_choices(),
        settled=st.just(UNSET) | st.builds(AnsweredReport, times, refs),
        **managed,
    ),
    ev.EndpointHealthSet: st.builds(ev.EndpointHealthSet, refs, failures, suspensions),
    ev.VoteCast: st.builds(
        ev.VoteCast,
        *(refs, users, st.integers(1, 3), times, authors),
        *(st.integers(0, 3), st.integers(0, 4), st.just(0) | days),
    ),
    ev.VoteFlagged: st.builds(
        ev.VoteFlagged, refs, users, rules_of_flags, flag_ids, times, stamp_ms=stamp_times
    ),
    ev.NoteAdded: st.builds(ev.NoteAdded, refs, texts, times, **managed),
    ev.ListingReported: st.builds(ev.ListingReported, refs, report_reasons, texts, times, rated, **managed),
    ev.ReportsSettled: st.builds(
        ev.ReportsSettled, refs, st.lists(settled_reports, max_size=2).map(tuple), times, **managed
    ),
    ev.ListingTakenOver: st.builds(ev.ListingTakenOver, refs, users, users, times, **managed),
    ev.VotesRemoved: st.builds(
        ev.VotesRemoved,
        refs,
        st.lists(users, max_size=2, unique=True).map(tuple),
        texts,
        times,
        st.lists(
            st.tuples(st.integers(20_000, 20_001), st.integers(1, 2), st.integers(1, 3)), max_size=1
        ).map(tuple),
        st.integers(0, 3),
        **managed,
    ),
    ev.OwnerMessageQueued: st.builds(
        ev.OwnerMessageQueued,
        refs,
        user_actors,
        decisions,
        st.none() | texts,
        times,
        stamp_ms=stamp_times,
    ),
    ev.OwnerMessageAttempted: owner_messages_attempted(),
    ev.OwnerMessageTaken: st.builds(ev.OwnerMessageTaken, refs, times, times),
    ev.RatingSet: st.builds(ev.RatingSet, user_refs, ratings_of(), times, **managed),
    ev.RatingAnswered: st.builds(ev.RatingAnswered, user_refs, refs, answers_to_ratings, times, **managed),
    ev.ReminderSet: st.builds(ev.ReminderSet, user_refs, refs, times, st.booleans(), **managed),
    ev.ReminderAttempted: st.builds(
        ev.ReminderAttempted,
        user_refs,
        refs,
        times,
        st.integers(1, 3),
        attempts,
        st.sampled_from(get_args(Outcome)),
        st.none() | times,
    ),
    ev.MailAttempted: st.builds(
        ev.MailAttempted,
        user_refs,
        topics,
        refs,
        times,
        st.integers(1, 3),
        attempts,
        st.sampled_from(get_args(Outcome)),
        st.none() | times,
    ),
    ev.UserSignedIn: user_refs.flatmap(signed_in),
    ev.SessionSeen: user_refs.flatmap(
        lambda ref: st.builds(ev.SessionSeen, st.just(ref), session_digests(ref), times)
    ),
    ev.SessionsEnded: user_refs.flatmap(sessions_ended),
    ev.EndingsForgotten: st.builds(ev.EndingsForgotten, user_refs, times),
    ev.UserDropped: st.builds(ev.UserDropped, user_refs),
    ev.QuarantineSet: st.builds(ev.QuarantineSet, user_refs, quarantines, times, **managed),
    ev.UserMerged: user_refs.flatmap(user_rows).map(ev.UserMerged),
    ev.UserErased: st.builds(
        ev.UserErased,
        users,
        st.lists(refs | user_refs, max_size=3).map(tuple),
        st.sampled_from(["", "m1", "m2"]),
        stamp_ms=times,
    ),
    ev.CooldownsKept: st.builds(
        ev.CooldownsKept,
        st.lists(st.tuples(st.sampled_from(["m1", "m2", "m3"]), times), max_size=2).map(tuple),
        times,
    ),
    ev.DeliveryQueued: deliveries_queued(),
    ev.DeliveryAttempted: deliveries_attempted(),
    ev.DeliveryDropped: st.builds(
        ev.DeliveryDropped,
        delivery_ids,
        refs,
        st.integers(0, 3),
        st.sampled_from(["expired", "overflow"]),
        times,
    ),
    ev.DeliveryTaken: st.builds(ev.DeliveryTaken, delivery_ids, refs, times),
    ev.NodeNamed: named,
    ev.Merged: st.builds(ev.Merged, authors, st.integers(0, 5)),
    ev.ListingMerged: listings_merged(),
    ev.VotesMerged: votes_merged(),
    ev.DeliveryForgotten: st.builds(ev.DeliveryForgotten, delivery_ids, refs),
    ev.VotesMoved: st.builds(
        ev.VotesMoved, refs, labels, st.lists(moves, max_size=2).map(tuple), counts_moved, counts_moved
    ),
    ev.VoteCountsMerged: st.builds(
        ev.VoteCountsMerged, refs, st.lists(node_counts, max_size=2, unique_by=lambda it: it.node).map(tuple)
    ),
    ev.DeliveryMerged: deliveries_merged(),
}

events = st.one_of(*OF_TYPE.values())
# Deliveries have the longest lives, so their events come oftener.
frequent = st.sampled_from(
    [
        events,
        OF_TYPE[ev.KeySaved],
        OF_TYPE[ev.VoteCast],
        OF_TYPE[ev.DeliveryQueued],
        OF_TYPE[ev.DeliveryQueued],
        OF_TYPE[ev.DeliveryAttempted],
        OF_TYPE[ev.DeliveryAttempted],
        OF_TYPE[ev.DeliveryMerged],
        OF_TYPE[ev.UserSignedIn],
        OF_TYPE[ev.OwnerMessageQueued],
        OF_TYPE[ev.OwnerMessageAttempted],
    ]
).flatmap(lambda chosen: chosen)


def histories(steps: st.SearchStrategy[T], most: int) -> st.SearchStrategy[list[T]]:
    """Lists whose length is evenly distributed."""
    return st.integers(0, most).flatmap(lambda length: st.lists(steps, min_size=length, max_size=length))


# Most events need a listing to be about, and many mean more at a node that has a name.
sequences = st.builds(
    lambda name, first, then: [*name, *first, *then],
    st.lists(named, max_size=1),
    st.lists(listings_saved, min_size=1, max_size=3),
    histories(frequent, 40),
)
