"""listings/rules.py: changes of approved listings, and withdrawn approvals."""

from typing import Any

import pytest
from msgspec.structs import replace

from core.actors import OPERATOR, Actor, user_actor
from core.events import DeliveryQueued, Event, ListingReviewed, OwnerMessageQueued
from core.ledger import Ledger
from core.rows import Listing, PendingChange, Review
from core.state import State
from core.webhook_events import NewDeliveries
from forms.reading import read
from kinds.bots import BOTS, BotProfile
from languages.refusals import Refusal
from listings import rules
from listings.keys import is_granted
from listings.rules import EditsShown
from tests.support.committed_rows import a_key, a_listing, a_webhook
from tests.support.form_bodies import as_body, without
from tests.support.sample_rows import BOT_REF, NOW_MS, OWNER, USER
from votes.rules import cast_vote

MODERATOR = user_actor("777777777777777777")
OTHER_OWNER = user_actor("888888888888888888")
DIGEST = "d1" * 32
GOOD = BotProfile("Good bot", "A bot for the tests", "A description of a bot for all tests", ("Music",))


def saved(
    ledger: Ledger, profile: BotProfile, at: int, shown: EditsShown, by: Actor | None = None
) -> Listing:
    """Return the listing after an edit at that time."""
    form = read(BOTS.edit, {"owner_id": OWNER, **without(as_body(profile), "kind")})
    by = by or user_actor(OWNER)
    ledger.commit(rules.edit(ledger.state, BOT_REF, form, NOW_MS + at, by=by, shown=shown))
    return ledger.state.listings[BOT_REF]


def renamed(name: str, **fields: Any) -> BotProfile:
    return replace(GOOD, name=name, **fields)


@pytest.fixture
def approved(ledger: Ledger) -> Listing:
    """A bot that a moderator has approved as it is."""
    a_listing(ledger, review="in_review")
    saved(ledger, GOOD, 1, "after")
    ledger.commit(rules.decide(ledger.state, BOT_REF, rules.Verdict("approved"), NOW_MS + 2, by=MODERATOR))
    return ledger.state.listings[BOT_REF]


def shown_and_other(row: Listing) -> tuple[BotProfile, BotProfile]:
    assert isinstance(row.profile, BotProfile)
    assert row.change is not None
    assert isinstance(row.change.other, BotProfile)
    return row.profile, row.change.other


@pytest.mark.usefixtures("approved")
def test_an_edit_of_an_approved_listing_is_public_and_the_agreed_version_is_kept_until_a_decision(
    ledger: Ledger,
) -> None:
    row = saved(ledger, renamed("Free Nitro"), 5, "after")
    by = user_actor(OWNER)
    assert row.change == PendingChange(GOOD, True, by, NOW_MS + 5, NOW_MS + 5)
    assert (row.state, row.profile, row.updated_ms) == ("approved", renamed("Free Nitro"), NOW_MS + 5)
    row = saved(ledger, renamed("Free Nitro!"), 9, "after", OTHER_OWNER)
    assert shown_and_other(row) == (renamed("Free Nitro!"), GOOD)
    assert row.change == PendingChange(GOOD, True, OTHER_OWNER, NOW_MS + 9, NOW_MS + 5)


def test_a_proposed_edit_leaves_the_profile_as_it_was_and_a_further_one_takes_its_place(
    ledger: Ledger, approved: Listing
) -> None:
    row = saved(ledger, renamed("Free Nitro"), 5, "before")
    assert row.change == PendingChange(
        renamed("Free Nitro"), False, user_actor(OWNER), NOW_MS + 5, NOW_MS + 5
    )
    assert (row.profile, row.updated_ms) == (GOOD, approved.updated_ms)
    row = saved(ledger, renamed("Free Nitro!"), 9, "before")
    assert shown_and_other(row) == (GOOD, renamed("Free Nitro!"))


@pytest.mark.parametrize("shown", ["after", "before"])
@pytest.mark.usefixtures("approved")
def test_an_edit_back_to_the_agreed_version_ends_the_change(ledger: Ledger, shown: EditsShown) -> None:
    saved(ledger, renamed("Free Nitro"), 5, shown)
    row = saved(ledger, GOOD, 6, shown)
    assert (row.profile, row.change, row.state) == (GOOD, None, "approved")


@pytest.mark.parametrize("shown", ["after", "before"])
@pytest.mark.usefixtures("approved")
def test_a_save_of_the_same_leaves_no_trace(ledger: Ledger, shown: EditsShown) -> None:
    once = saved(ledger, renamed("Renamed"), 5, shown)
    assert saved(ledger, renamed("Renamed"), 6, shown) == once


@pytest.mark.parametrize(("first", "then"), [("after", "before"), ("before", "after")])
@pytest.mark.usefixtures("approved")
def test_a_changed_setting_holds_from_the_next_edit_on(
    ledger: Ledger, first: EditsShown, then: EditsShown
) -> None:
    saved(ledger, renamed("One"), 5, first)
    row = saved(ledger, renamed("Two"), 6, then)
    assert (row.agreed, row.latest) == (GOOD, renamed("Two"))
    assert row.profile == (renamed("Two") if then == "after" else GOOD)


@pytest.mark.parametrize(
    "fields", [{"categories": ("Fun & Games",)}, {"support_invite": "https://a.example/"}]
)
@pytest.mark.usefixtures("approved")
def test_every_field_of_the_profile_is_looked_at(ledger: Ledger, fields: dict[str, Any]) -> None:
    assert saved(ledger, replace(GOOD, **fields), 5, "after").change is not None


@pytest.mark.parametrize("review", ["in_review", "denied"])
def test_a_listing_that_is_not_approved_has_no_change(ledger: Ledger, review: Review) -> None:
    a_listing(ledger, review=review)
    row = saved(ledger, GOOD, 5, "before")
    assert (row.state, row.profile, row.change) == ("in_review", GOOD, None)


@pytest.mark.parametrize("shown", ["after", "before"])
@pytest.mark.usefixtures("approved")
def test_a_moderator_agrees_and_the_proposed_version_is_the_agreed_one(
    ledger: Ledger, state: State, shown: EditsShown
) -> None:
    row = saved(ledger, renamed("Renamed"), 5, shown)
    events = rules.decide(
        state,
        BOT_REF,
        rules.Verdict("change_agreed", version=rules.change_version(row)),
        NOW_MS + 6,
        by=MODERATOR,
        tells_owner=True,
    )
    assert events[1:] == [
        OwnerMessageQueued(BOT_REF, user_actor(OWNER), "change_agreed", None, NOW_MS + 6),
    ]
    ledger.commit(events)
    row = state.listings[BOT_REF]
    assert (row.profile, row.agreed, row.change) == (renamed("Renamed"), renamed("Renamed"), None)
    assert (row.state, row.decided_ms) == ("approved", NOW_MS + 2)
    assert row.audit_log[-1].action == "change_agreed"


@pytest.mark.parametrize("shown", ["after", "before"])
@pytest.mark.usefixtures("approved")
def test_a_refused_change_is_gone_and_the_agreed_version_comes_back(
    ledger: Ledger, state: State, shown: EditsShown
) -> None:
    saved(ledger, renamed("Free"), 4, shown)
    row = saved(ledger, renamed("Free Nitro"), 5, shown)
    events = rules.decide(
        state,
        BOT_REF,
        rules.Verdict("change_refused", "Spam.", rules.change_version(row)),
        NOW_MS + 6,
        by=MODERATOR,
        tells_owner=True,
    )
    assert events[1:] == [
        OwnerMessageQueued(BOT_REF, user_actor(OWNER), "change_refused", "Spam.", NOW_MS + 6),
    ]
    ledger.commit(events)
    row = state.listings[BOT_REF]
    assert (row.profile, row.change, row.state, row.reason) == (GOOD, None, "approved", None)
    assert (row.audit_log[-1].action, row.audit_log[-1].about) == ("change_refused", "Spam.")


@pytest.mark.usefixtures("approved")
def test_a_decision_names_the_version_that_the_moderator_saw(ledger: Ledger, state: State) -> None:
    seen = rules.change_version(saved(ledger, renamed("Nice bot"), 5, "after"))
    saved(ledger, renamed("Free Nitro"), 6, "after")
    with pytest.raises(Refusal) as refusal:
        rules.decide(state, BOT_REF, rules.Verdict("change_agreed", version=seen), NOW_MS + 7, by=MODERATOR)
    assert refusal.value.code == "other_version"
    with pytest.raises(Refusal) as refusal:
        rules.decide(state, BOT_REF, rules.Verdict("change_refused", "Spam.", seen), NOW_MS + 7, by=MODERATOR)
    assert refusal.value.code == "other_version"
    seen = rules.change_version(state.listings[BOT_REF])
    ledger.commit(
        rules.decide(state, BOT_REF, rules.Verdict("change_refused", "Spam.", seen), NOW_MS + 7, by=MODERATOR)
    )
    with pytest.raises(Refusal) as refusal:
        rules.decide(state, BOT_REF, rules.Verdict("change_agreed", version=seen), NOW_MS + 8, by=MODERATOR)
    assert refusal.value.code == "no_change"


@pytest.mark.usefixtures("approved")
def test_the_name_of_a_version_is_of_both_versions(ledger: Ledger, state: State) -> None:
    one = rules.change_version(saved(ledger, renamed("One"), 5, "after"))
    row = saved(ledger, renamed("Two"), 6, "after")
    two = rules.change_version(row)
    ledger.commit(
        rules.decide(state, BOT_REF, rules.Verdict("change_agreed", version=two), NOW_MS + 7, by=MODERATOR)
    )
    from_two = rules.change_version(saved(ledger, renamed("One"), 8, "after"))
    assert len({one, two, from_two}) == 3


# -- withdrawing ---------------------------------------------------------------------------------------


def withdrawn(state: State, at: int = 6) -> list[Event]:
    deliveries = NewDeliveries(lambda: "delivery", 10)
    return rules.decide(
        state,
        BOT_REF,
        rules.Verdict("withdrawn", "Spam."),
        NOW_MS + at,
        by=MODERATOR,
        tells_owner=True,
        deliveries=deliveries,
    )


def test_a_withdrawn_approval_makes_a_denied_listing_that_nobody_votes_for(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    ledger.commit(withdrawn(state))
    row = state.listings[BOT_REF]
    assert (row.state, row.reason, row.decided_ms, row.is_public) == ("denied", "Spam.", NOW_MS + 6, False)
    assert [(act.action, act.by, act.about) for act in row.audit_log][-1] == ("withdrawn", MODERATOR, "Spam.")
    with pytest.raises(Refusal) as refusal:
        cast_vote(state, BOT_REF, USER, NewDeliveries(lambda: "d", 1), now_ms=NOW_MS + 7, cooldown_ms=1)
    assert refusal.value.code == "votes_need_approval"


def test_the_keys_of_a_withdrawn_bot_open_nothing_until_it_is_approved_again(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    a_key(ledger, digest=DIGEST)
    ledger.commit(withdrawn(state))
    assert not is_granted(state, BOT_REF, DIGEST, NOW_MS + 7)
    saved(ledger, GOOD, 8, "after")
    assert state.listings[BOT_REF].state == "in_review"
    assert not is_granted(state, BOT_REF, DIGEST, NOW_MS + 9)
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("approved"), NOW_MS + 9, by=MODERATOR))
    assert is_granted(state, BOT_REF, DIGEST, NOW_MS + 10)
    assert state.listings.key_count == 1


def test_the_owner_and_an_endpoint_that_takes_denials_are_told_of_a_withdrawn_approval(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    a_webhook(ledger, events=("review.denied",))
    assert withdrawn(state) == [
        ListingReviewed(BOT_REF, "denied", "Spam.", NOW_MS + 6, withdraws=True, by=MODERATOR),
        OwnerMessageQueued(BOT_REF, user_actor(OWNER), "withdrawn", "Spam.", NOW_MS + 6),
        DeliveryQueued("delivery", BOT_REF, "", False, NOW_MS + 6, "review.denied", "Spam."),
    ]


def test_an_approved_listing_is_not_denied_and_another_one_not_withdrawn(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    with pytest.raises(Refusal) as refusal:
        rules.decide(state, BOT_REF, rules.Verdict("denied", "Spam."), NOW_MS, by=OPERATOR)
    assert refusal.value.code == "is_approved"
    ledger.commit(withdrawn(state))
    with pytest.raises(Refusal) as refusal:
        withdrawn(state, 7)
    assert refusal.value.code == "not_approved"


@pytest.mark.parametrize("shown", ["after", "before"])
@pytest.mark.usefixtures("approved")
def test_a_withdrawn_approval_ends_the_change_and_the_owner_goes_on_from_the_latest_version(
    ledger: Ledger, state: State, shown: EditsShown
) -> None:
    saved(ledger, renamed("Free Nitro"), 5, shown)
    ledger.commit(withdrawn(state))
    row = state.listings[BOT_REF]
    assert (row.profile, row.change) == (renamed("Free Nitro"), None)
    sent = saved(ledger, GOOD, 7, shown)
    assert sent.review is not None
    assert (sent.state, sent.review.denied_profile) == ("in_review", renamed("Free Nitro"))
