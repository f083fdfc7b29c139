"""core/listing_changes.py: an event changes its slots of a row, and stamps those alone."""

from collections.abc import Sequence
from typing import Literal, get_args

import pytest
from msgspec.structs import replace

from core.actors import ERASED, OPERATOR, UNKNOWN, Actor, user_actor
from core.audit_log import joined_reports, without_actor
from core.clock import day_of
from core.events import (
    ChangeDecided,
    CoOwnerSaved,
    CoOwnersEnded,
    DownloadCounted,
    EndpointHealthSet,
    KeyDeleted,
    KeySaved,
    KeyUsed,
    ListingReported,
    ListingReviewed,
    ListingSaved,
    ListingTakenOver,
    ManagementEvent,
    NoteAdded,
    OwnerMessageEvent,
    OwnerSet,
    ReportsSettled,
    RowEvent,
    SlotsSet,
    StatsUpdated,
    VoteFlagged,
    VotesRemoved,
)
from core.listing_changes import changed, saved
from core.push_history import with_push
from core.rows import (
    UNSTAMPED,
    AuditAction,
    AuditEntry,
    BotCounts,
    BotLimits,
    Claim,
    Eligibility,
    HandOver,
    InviteCheck,
    Key,
    Listing,
    NodeDownloads,
    Note,
    PendingChange,
    Policy,
    Proof,
    Report,
    ReportReason,
    Reports,
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
    Webhook,
)
from core.sharing import joined
from kinds.registry import AnyProfile
from tests.support.co_owners import co_owner
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER
from tests.support.slots_set import (
    actual_count_set,
    eligibility_checked,
    limits_set,
    listing_claimed,
    ownership_proven,
    webhook_removed,
    webhook_saved,
)

Part = Literal[
    "profile",
    "counts",
    "actual",
    "limits",
    "webhook",
    "claim",
    "proof",
    "owner",
    "eligibility",
    "invite_check",
]
KEY = Key("k1", "first", "d1", "d1", NOW_MS)
WEBHOOK = Webhook("https://receiver.example/votes", NOW_MS)
ROW = Listing(
    BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("in_review", NOW_MS), webhook=WEBHOOK, keys=(KEY,)
)
RENAMED = replace(BOT_PROFILE, name="Renamed")
STAMP = Stamp(NOW_MS + 1, "a.1")
LIMIT = Policy(5, 60)
CHECKS = (ServerCheck("members", "fail", 12, 100, NOW_MS), ServerCheck("icon", "pass", 1, 1, NOW_MS))
INVITE = InviteCheck("abc123", NOW_MS, None, 1_250, 180)
OFFERED = HandOver(user_actor(OWNER), NOW_MS, NOW_MS + 5)

PARTS: list[tuple[RowEvent, Part, Listing]] = [
    (
        StatsUpdated(BOT_REF, 1, 2, StatsWindow(NOW_MS, 3), NOW_MS + 4),
        "counts",
        replace(
            ROW,
            counts=BotCounts(1, 2, NOW_MS + 4),
            window=StatsWindow(NOW_MS, 3),
            pushed=with_push(b"", day_of(NOW_MS), 1, 2),
        ),
    ),
    (
        ListingReviewed(BOT_REF, "denied", "Too quiet.", NOW_MS + 4),
        "profile",
        replace(ROW, review=Reviewed("denied", NOW_MS, NOW_MS + 4, "Too quiet.")),
    ),
    (
        ChangeDecided(BOT_REF, RENAMED, True, None, NOW_MS + 4),
        "profile",
        replace(ROW, profile=RENAMED, updated_ms=NOW_MS + 4),
    ),
    (actual_count_set(BOT_REF, 7), "actual", replace(ROW, actual=7)),
    (limits_set(BOT_REF, LIMIT, None), "limits", replace(ROW, limits=BotLimits(LIMIT))),
    (
        webhook_saved(BOT_REF, replace(WEBHOOK, token="t")),
        "webhook",
        replace(ROW, webhook=replace(WEBHOOK, token="t")),
    ),
    (webhook_removed(BOT_REF), "webhook", replace(ROW, webhook=None)),
    (listing_claimed(BOT_REF, True, NOW_MS), "claim", replace(ROW, claim=Claim(NOW_MS, OPERATOR))),
    (listing_claimed(BOT_REF, False, NOW_MS), "claim", ROW),
    (
        OwnerSet(BOT_REF, OTHER_USER, OFFERED, "hand_over_offered", NOW_MS),
        "owner",
        replace(ROW, owner_id=OTHER_USER, hand_over=OFFERED),
    ),
    (ownership_proven(BOT_REF, NOW_MS), "proof", replace(ROW, proof=Proof(NOW_MS, OPERATOR))),
    (
        eligibility_checked(BOT_REF, CHECKS, NOW_MS, 1, 2),
        "eligibility",
        replace(ROW, eligibility=Eligibility(NOW_MS, CHECKS, 1, 2)),
    ),
    (SlotsSet(BOT_REF, NOW_MS, invite_check=INVITE), "invite_check", replace(ROW, invite_check=INVITE)),
]


@pytest.mark.parametrize(("event", "part", "expected"), PARTS, ids=lambda value: type(value).__name__)
def test_an_event_changes_its_part_and_stamps_it_in_a_fleet(
    event: RowEvent, part: Part, expected: Listing
) -> None:
    event = replace(event, by=UNKNOWN) if isinstance(event, ManagementEvent) else event
    assert changed(ROW, event, None) == expected
    assert changed(ROW, event, STAMP) == replace(expected, stamps=replace(Stamps(), **{part: STAMP}))


def test_every_event_of_a_row_is_tried_here() -> None:
    without_a_part_of_their_own = {
        *(KeySaved, KeyDeleted, KeyUsed, EndpointHealthSet, NoteAdded, VotesRemoved),
        *(ListingReported, ReportsSettled, DownloadCounted),
        *(CoOwnerSaved, CoOwnersEnded, ListingTakenOver, VoteFlagged, *get_args(OwnerMessageEvent)),
    }
    assert {type(event) for event, _, _ in PARTS} | without_a_part_of_their_own == set(get_args(RowEvent))


def test_an_action_that_concerns_no_slot_stamps_none() -> None:
    probed = SlotsSet(BOT_REF, NOW_MS, "endpoint_probed")
    assert changed(ROW, probed, STAMP).stamps is None


def test_a_key_bears_its_stamp_itself() -> None:
    second, renamed = replace(KEY, id="k2"), replace(KEY, name="renamed")
    assert changed(ROW, KeySaved(BOT_REF, second, by=UNKNOWN), None).keys == (KEY, second)
    assert changed(ROW, KeySaved(BOT_REF, renamed, by=UNKNOWN), None).keys == (renamed,)
    assert changed(ROW, KeySaved(BOT_REF, second, by=UNKNOWN), STAMP) == replace(
        ROW, keys=(KEY, replace(second, stamp=STAMP))
    )


def test_a_take_over_ends_what_the_owner_before_had_and_keeps_the_rest() -> None:
    before = replace(ROW, co_owners=(co_owner(OTHER_USER),), actual=7)
    event = ListingTakenOver(BOT_REF, OTHER_USER, OWNER, NOW_MS + 4, by=UNKNOWN)
    lost_by = user_actor(OWNER)
    expected = replace(
        before,
        owner_id=OTHER_USER,
        updated_ms=NOW_MS + 4,
        co_owners=(),
        keys=(),
        proof=Proof(NOW_MS + 4, user_actor(OTHER_USER)),
        taken=Takeover(UNSTAMPED, NOW_MS + 4, lost_by),
    )
    assert changed(before, event, None) == expected
    assert changed(before, event, STAMP) == replace(
        expected,
        taken=Takeover(STAMP, NOW_MS + 4, lost_by),
        stamps=replace(Stamps(), profile=STAMP, proof=STAMP, owner=STAMP),
    )


def test_a_co_owner_bears_a_stamp_itself_and_is_remembered_when_over_in_a_fleet_alone() -> None:
    invited, accepted = co_owner(OTHER_USER, joined=False), co_owner(OTHER_USER)
    row = changed(ROW, CoOwnerSaved(BOT_REF, invited, NOW_MS, by=UNKNOWN), None)
    assert (row.co_owners, row.extra_owners, row.invited) == ((invited,), (), (OTHER_USER,))
    row = changed(row, CoOwnerSaved(BOT_REF, accepted, NOW_MS, by=UNKNOWN), STAMP)
    assert (row.co_owners, row.extra_owners, row.invited) == (
        (replace(accepted, stamp=STAMP),),
        (OTHER_USER,),
        (),
    )
    over = CoOwnersEnded(BOT_REF, (accepted.id,), "co_owner_left", NOW_MS, by=UNKNOWN)
    assert changed(row, over, None) == ROW
    assert changed(row, over, STAMP) == replace(ROW, revoked=(Revocation(STAMP.ms, accepted.id),))


def test_a_note_bears_its_time_and_node_itself() -> None:
    noted = NoteAdded(BOT_REF, "Ask again.", NOW_MS, by=user_actor(OWNER))
    assert changed(ROW, noted, None).notes == (Note(NOW_MS, user_actor(OWNER), "Ask again."),)
    assert changed(ROW, noted, STAMP).notes == (Note(STAMP.ms, user_actor(OWNER), "Ask again.", STAMP.node),)


REASONS: Sequence[ReportReason] = ("does_not_work", "breaks_rules")


def test_a_user_has_one_open_report_with_its_time_and_node() -> None:
    first, second = (
        ListingReported(BOT_REF, reason, "", NOW_MS + at, by=user_actor(OWNER))
        for at, reason in enumerate(REASONS)
    )
    report = Report(NOW_MS, user_actor(OWNER), REASONS[0])
    assert changed(ROW, first, None).open_reports == (report,)
    in_fleet = replace(report, at_ms=STAMP.ms, node=STAMP.node)
    assert changed(ROW, first, STAMP).open_reports == (in_fleet,)
    again = changed(changed(ROW, first, None), second, None)
    assert again.open_reports == (Report(NOW_MS + 1, user_actor(OWNER), REASONS[1]),)


def test_settled_reports_go_and_later_ones_stay() -> None:
    reports = Reports(
        (
            Report(NOW_MS, user_actor(OWNER), REASONS[0]),
            Report(NOW_MS + 2, user_actor(OTHER_USER), REASONS[1], "Silent."),
        )
    )
    row = replace(ROW, reports=reports)
    closed = tuple(SettledReport(each.at_ms, each.by) for each in reports.open)
    first = ReportsSettled(BOT_REF, closed[:1], NOW_MS + 3, by=UNKNOWN)
    everything = replace(first, settled=closed)
    assert changed(row, first, None) == replace(ROW, reports=Reports(reports.open[1:]))
    assert changed(row, everything, None) == ROW
    assert changed(row, everything, STAMP) == replace(ROW, reports=Reports((), closed))
    assert joined_reports(reports, Reports((), closed[:1])) == Reports(reports.open[1:], closed[:1])


def test_an_older_report_that_comes_after_the_settlement_of_others_stays_open() -> None:
    late = Report(NOW_MS, user_actor(OWNER), REASONS[0], node="b.1")
    seen = Report(NOW_MS + 2, user_actor(OTHER_USER), REASONS[1], node="a.1")
    settled = ReportsSettled(BOT_REF, (SettledReport(seen.at_ms, seen.by, "a.1"),), NOW_MS + 3, by=UNKNOWN)
    here = changed(replace(ROW, reports=Reports((seen,))), settled, STAMP)
    there = replace(ROW, reports=Reports((late, seen)))
    for one, other in ((here, there), (there, here)):
        assert joined(one, other).open_reports == (late,)


def test_a_report_that_its_user_has_replaced_does_not_come_back_once_the_later_one_is_settled() -> None:
    first = Report(NOW_MS, user_actor(OWNER), REASONS[0], node="b.1")
    closed = (SettledReport(NOW_MS + 2, user_actor(OWNER), "a.1"),)
    assert joined_reports(Reports((first,)), Reports((), closed)) == Reports((), closed)


def test_a_deleted_key_is_remembered_in_a_fleet_alone() -> None:
    assert changed(ROW, KeyDeleted(BOT_REF, "k1", by=UNKNOWN), None) == replace(ROW, keys=())
    assert changed(ROW, KeyDeleted(BOT_REF, "k1", by=UNKNOWN), STAMP) == replace(
        ROW, keys=(), revoked=(Revocation(STAMP.ms, "k1"),)
    )


def test_the_health_of_an_endpoint_is_of_one_node_and_has_no_stamp() -> None:
    event = EndpointHealthSet(BOT_REF, 10, Suspension(NOW_MS, "timeout", 1, NOW_MS + 60_000))
    ill = replace(WEBHOOK, failed=10, suspension=event.suspension)
    assert changed(ROW, event, None) == replace(ROW, webhook=ill)
    without = replace(ROW, webhook=None)
    assert changed(without, event, STAMP) == without


def test_a_listing_that_is_edited_keeps_its_owner_and_its_review_only_if_it_was_approved() -> None:
    new = ListingSaved(BOT_REF, OTHER_USER, BOT_PROFILE, "in_review", NOW_MS, by=UNKNOWN)
    assert saved(None, new, STAMP) == Listing(
        *(BOT_REF, OTHER_USER, BOT_PROFILE, NOW_MS, NOW_MS),
        Reviewed("in_review", NOW_MS),
        stamps=Stamps(profile=STAMP, owner=STAMP),
    )
    denied = replace(ROW, review=Reviewed("denied", NOW_MS, NOW_MS, "Too quiet."))
    again = saved(denied, replace(new, at_ms=NOW_MS + 1), None)
    waiting = Reviewed("in_review", NOW_MS + 1, denied_profile=BOT_PROFILE)
    assert again == replace(ROW, review=waiting, updated_ms=NOW_MS + 1)
    approved = replace(ROW, review=Reviewed("approved", NOW_MS, NOW_MS))
    assert saved(approved, replace(new, review="approved"), None) == approved


ACTIONS: list[tuple[ManagementEvent, AuditAction, str]] = [
    (ListingReviewed(BOT_REF, "approved", None, NOW_MS + 4), "approved", ""),
    (ListingReviewed(BOT_REF, "denied", "Too quiet.", NOW_MS + 4), "denied", "Too quiet."),
    (ListingReviewed(BOT_REF, "denied", "Spam.", NOW_MS + 4, withdraws=True), "withdrawn", "Spam."),
    (ChangeDecided(BOT_REF, RENAMED, True, None, NOW_MS + 4), "change_agreed", ""),
    (ChangeDecided(BOT_REF, BOT_PROFILE, False, "Spam.", NOW_MS + 4), "change_refused", "Spam."),
    (KeySaved(BOT_REF, replace(KEY, id="k2"), at_ms=NOW_MS + 4), "key_issued", "first"),
    (KeySaved(BOT_REF, replace(KEY, rotated_ms=NOW_MS + 4), at_ms=NOW_MS + 4), "key_rotated", "first"),
    (KeyDeleted(BOT_REF, "k1", at_ms=NOW_MS + 4), "key_deleted", "first"),
    (actual_count_set(BOT_REF, 7, at_ms=NOW_MS + 4), "actual_count_set", "7"),
    (limits_set(BOT_REF, LIMIT, None, at_ms=NOW_MS + 4), "limits_set", ""),
    (
        webhook_saved(BOT_REF, replace(WEBHOOK, saved_ms=NOW_MS + 4), at_ms=NOW_MS + 4),
        *("webhook_saved", "receiver.example"),
    ),
    (webhook_removed(BOT_REF, at_ms=NOW_MS + 4), "webhook_removed", ""),
    (SlotsSet(BOT_REF, NOW_MS + 4, "endpoint_probed"), "endpoint_probed", ""),
]


@pytest.mark.parametrize("by", [OPERATOR, user_actor(OWNER)])
@pytest.mark.parametrize(("event", "action", "about"), ACTIONS)
def test_an_action_is_in_the_audit_log_with_its_actor_and_its_time(
    event: ManagementEvent, action: AuditAction, about: str, by: Actor
) -> None:
    event = replace(event, by=by)
    assert isinstance(event, RowEvent)
    assert changed(ROW, event, None).audit_log == (AuditEntry(NOW_MS + 4, by, action, about),)
    assert changed(ROW, event, STAMP).audit_log == (AuditEntry(STAMP.ms, by, action, about, STAMP.node),)


@pytest.mark.parametrize("event", [event for event, _, _ in ACTIONS])
def test_an_action_that_is_applied_again_is_in_the_audit_log_once(event: ManagementEvent) -> None:
    assert isinstance(event, RowEvent)
    once = changed(ROW, event, STAMP)
    assert changed(once, event, STAMP).audit_log == once.audit_log


def test_a_first_save_is_a_submission_also_when_it_is_applied_again() -> None:
    first = ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS, by=user_actor(OWNER))
    edit = replace(first, at_ms=NOW_MS + 1)
    submitted = saved(None, first, None)
    assert saved(submitted, first, None) == submitted
    acts = saved(submitted, edit, None).audit_log
    assert [(act.at_ms, act.by, act.action) for act in acts] == [
        (NOW_MS, f"users/{OWNER}", "submitted"),
        (NOW_MS + 1, f"users/{OWNER}", "edited"),
    ]


def test_of_two_counts_of_downloads_the_greater_one_holds() -> None:
    others = (NodeDownloads("a.1", 5),)
    counted = replace(ROW, downloads=(NodeDownloads("", 2), *others))
    for count, kept in ((3, 3), (2, 2), (1, 2)):
        after = changed(counted, DownloadCounted(BOT_REF, count), STAMP)
        assert after == replace(ROW, downloads=(NodeDownloads("", kept), *others))


@pytest.mark.parametrize(("key_id", "day", "kept"), [("k1", 5, 5), ("k1", 7, 7), ("k1", 3, 5), ("k9", 7, 5)])
def test_the_later_of_two_days_of_use_holds(key_id: str, day: int, kept: int) -> None:
    used = replace(ROW, keys=(replace(KEY, used_day=5),))

    assert changed(used, KeyUsed(BOT_REF, key_id, day), None) == replace(
        ROW, keys=(replace(KEY, used_day=kept),)
    )


def test_the_version_that_was_denied_is_kept_from_the_first_edit_to_the_next_decision() -> None:
    def denied_profile(row: Listing) -> AnyProfile | None:
        assert row.review is not None
        return row.review.denied_profile

    def edited(row: Listing, name: str) -> Listing:
        review: Review = "approved" if row.state == "approved" else "in_review"
        profile = replace(BOT_PROFILE, name=name)
        return saved(row, ListingSaved(BOT_REF, OWNER, profile, review, NOW_MS + 5), None)

    def decided(row: Listing, review: Review) -> Listing:
        return changed(row, ListingReviewed(BOT_REF, review, None, NOW_MS + 5), None)

    submitted = edited(ROW, "first")
    assert denied_profile(submitted) is None
    denied = decided(submitted, "denied")
    assert denied_profile(denied) is None
    sent_again = edited(denied, "second")
    kept = replace(BOT_PROFILE, name="first")
    assert denied_profile(sent_again) == denied_profile(edited(sent_again, "third")) == kept
    approved = decided(sent_again, "approved")
    assert denied_profile(approved) is denied_profile(edited(approved, "fourth")) is None
    assert denied_profile(decided(sent_again, "denied")) is None


def changed_to(name: str, *, is_public: bool, sent_ms: int = NOW_MS + 5) -> ListingSaved:
    """An edit of the approved listing, shown at once or proposed."""
    new = replace(BOT_PROFILE, name=name)
    public, other = (new, BOT_PROFILE) if is_public else (BOT_PROFILE, new)
    change = PendingChange(other, is_public, user_actor(OWNER), sent_ms, NOW_MS + 5)
    return ListingSaved(BOT_REF, OWNER, public, "approved", sent_ms, change)


APPROVED = replace(ROW, review=Reviewed("approved", NOW_MS, NOW_MS + 1))


@pytest.mark.parametrize("is_public", [True, False])
def test_a_changed_listing_has_the_version_agreed_to_and_the_latest_one(is_public: bool) -> None:
    row = saved(APPROVED, changed_to("Renamed", is_public=is_public), None)
    assert (row.agreed, row.latest) == (BOT_PROFILE, RENAMED)
    assert row.profile == (RENAMED if is_public else BOT_PROFILE)
    assert row.updated_ms == (NOW_MS + 5 if is_public else APPROVED.updated_ms)
    assert (row.state, row.decided_ms) == ("approved", NOW_MS + 1)
    assert (APPROVED.agreed, APPROVED.latest) == (BOT_PROFILE, BOT_PROFILE)


@pytest.mark.parametrize("is_public", [True, False])
def test_a_decision_ends_a_change_and_leaves_the_time_of_the_approval(is_public: bool) -> None:
    row = saved(APPROVED, changed_to("Renamed", is_public=is_public), None)
    agreed = changed(row, ChangeDecided(BOT_REF, row.latest, True, None, NOW_MS + 6), None)
    refused = changed(row, ChangeDecided(BOT_REF, row.agreed, False, "Spam.", NOW_MS + 6), None)
    assert (agreed.profile, agreed.change, agreed.decided_ms) == (RENAMED, None, NOW_MS + 1)
    assert (refused.profile, refused.change, refused.decided_ms) == (BOT_PROFILE, None, NOW_MS + 1)
    assert agreed.updated_ms == (NOW_MS + 5 if is_public else NOW_MS + 6)


@pytest.mark.parametrize("is_public", [True, False])
def test_after_a_withdrawn_approval_the_owner_goes_on_with_the_latest_version(
    is_public: bool,
) -> None:
    row = saved(APPROVED, changed_to("Renamed", is_public=is_public), None)
    event = ListingReviewed(BOT_REF, "denied", "Spam.", NOW_MS + 6, withdraws=True)
    withdrawn = changed(row, event, None)
    assert (withdrawn.state, withdrawn.profile, withdrawn.change) == ("denied", RENAMED, None)
    assert changed(withdrawn, event, None) == withdrawn
    sent = saved(withdrawn, ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS + 7), None)
    assert sent.review == Reviewed("in_review", NOW_MS + 7, denied_profile=RENAMED)


def test_in_a_fleet_the_times_of_a_change_are_stamps_so_that_an_erasure_is_before_or_after_it() -> None:
    first = saved(APPROVED, changed_to("Renamed", is_public=True), STAMP)
    assert first.change is not None
    assert (first.change.sent_ms, first.change.since_ms) == (STAMP.ms, STAMP.ms)
    later = Stamp(STAMP.ms + 9, "a.1")
    event = changed_to("Again", is_public=True, sent_ms=NOW_MS + 7)
    assert event.change is not None
    event = replace(event, change=replace(event.change, since_ms=first.change.since_ms))
    second = saved(first, event, later)
    assert second.change is not None
    assert (second.change.sent_ms, second.change.since_ms) == (later.ms, STAMP.ms)
    assert without_actor(second, user_actor(OWNER), STAMP.ms) == second
    erased = without_actor(second, user_actor(OWNER), later.ms)
    assert erased.change == replace(second.change, by=ERASED)
