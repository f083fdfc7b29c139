"""listings/rules.py: the rules of the life of a listing."""

from collections.abc import Callable

import pytest

from core.actors import OPERATOR, user_actor
from core.events import Event, ListingReviewed, OwnerMessageQueued, VoteCast
from core.ledger import Ledger
from core.rows import BotLimits, Policy, Review
from core.state import State
from forms.reading import read
from kinds.bots import BOTS, BotProfile
from kinds.servers import SERVERS, ServerProfile
from languages.refusals import Refusal
from listings import rules
from listings.forms import Limits
from listings.review import waiting_since
from tests.support.committed_rows import a_key, a_listing, a_webhook
from tests.support.sample_rows import BOT_REF, NOW_MS, OWNER, SERVER_REF, USER

LATER_MS = NOW_MS + 1_000
BOT_FIELDS = {
    "owner_id": OWNER,
    "name": "Test bot",
    "short_description": "A bot for the tests",
    "description": "A longer description of a bot for the tests",
    "categories": ["Utility", "Music"],
    "support_invite": "https://chat.example/invite",
}
SERVER_FIELDS = {
    "owner_id": OWNER,
    "name": "Test server",
    "description": "A server for the tests",
    "keywords": ["tests", "more"],
    "category": "Gaming",
}
BOT_EDIT = read(BOTS.edit, BOT_FIELDS)
SERVER_EDIT = read(SERVERS.edit, SERVER_FIELDS)
BOT_SUBMISSION = read(BOTS.submission, {**BOT_FIELDS, "id": "111111111111111111"})
SERVER_SUBMISSION = read(SERVERS.submission, {**SERVER_FIELDS, "id": "333333333333333333"})


def test_a_submitted_bot_is_in_review(ledger: Ledger, state: State) -> None:
    ledger.commit(rules.submit(state, BOT_REF, BOT_SUBMISSION, NOW_MS, by=OPERATOR))
    listing = state.listings[BOT_REF]
    assert (listing.state, listing.owner_id, listing.created_ms) == ("in_review", OWNER, NOW_MS)
    assert listing.profile == BotProfile(
        "Test bot",
        "A bot for the tests",
        "A longer description of a bot for the tests",
        ("Utility", "Music"),
        "https://chat.example/invite",
    )


def test_a_submitted_server_is_in_review(ledger: Ledger, state: State) -> None:
    ledger.commit(rules.submit(state, SERVER_REF, SERVER_SUBMISSION, NOW_MS, by=OPERATOR))
    assert state.listings[SERVER_REF].state == "in_review"
    assert state.listings[SERVER_REF].profile == ServerProfile(
        "Test server", "A server for the tests", ("tests", "more"), "Gaming"
    )


@pytest.mark.parametrize("review", ["in_review", "approved", "denied"])
def test_an_id_is_listed_once(ledger: Ledger, state: State, review: Review) -> None:
    a_listing(ledger, review=review)
    with pytest.raises(Refusal) as refusal:
        rules.submit(state, BOT_REF, BOT_SUBMISSION, LATER_MS, by=OPERATOR)
    assert refusal.value.code == "listing_exists"


def test_a_bot_and_a_server_may_have_one_id(ledger: Ledger, state: State) -> None:
    a_listing(ledger, "servers/111111111111111111")
    ledger.commit(rules.submit(state, BOT_REF, BOT_SUBMISSION, NOW_MS, by=OPERATOR))
    assert list(state.listings.refs) == [BOT_REF, "servers/111111111111111111"]


def test_a_removed_listing_may_be_submitted_again(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit(rules.remove(state, BOT_REF, NOW_MS, by=OPERATOR))
    ledger.commit(rules.submit(state, BOT_REF, BOT_SUBMISSION, LATER_MS, by=OPERATOR))
    assert state.listings[BOT_REF].created_ms == LATER_MS


@pytest.mark.parametrize(
    ("review", "after"), [("in_review", "in_review"), ("approved", "approved"), ("denied", "in_review")]
)
def test_only_a_denied_listing_is_reviewed_again_after_an_edit(
    ledger: Ledger, state: State, review: Review, after: Review
) -> None:
    before = a_listing(ledger, review=review)
    ledger.commit(rules.edit(state, BOT_REF, BOT_EDIT, LATER_MS, by=OPERATOR))
    listing = state.listings[BOT_REF]
    assert (listing.state, listing.created_ms, listing.updated_ms) == (after, NOW_MS, LATER_MS)
    assert listing.profile != before.profile
    assert listing.reason is None


@pytest.mark.parametrize("review", ["in_review", "approved"])
def test_an_edit_that_changes_nothing_is_none(ledger: Ledger, state: State, review: Review) -> None:
    a_listing(ledger, review=review)
    ledger.commit(rules.edit(state, BOT_REF, BOT_EDIT, LATER_MS, by=OPERATOR))
    assert rules.edit(state, BOT_REF, BOT_EDIT, LATER_MS, by=OPERATOR) == []
    handed_over = read(BOTS.edit, {**BOT_FIELDS, "owner_id": USER})
    assert rules.edit(state, BOT_REF, handed_over, LATER_MS, by=OPERATOR) != []


def test_a_denied_listing_is_sent_again_as_it_is(ledger: Ledger, state: State) -> None:
    ledger.commit(rules.submit(state, BOT_REF, BOT_SUBMISSION, NOW_MS, by=OPERATOR))
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("denied", "Too quiet."), NOW_MS, by=OPERATOR))
    ledger.commit(rules.edit(state, BOT_REF, BOT_EDIT, LATER_MS, by=OPERATOR))
    assert state.listings[BOT_REF].state == "in_review"


def test_a_server_is_edited_like_a_bot(ledger: Ledger, state: State) -> None:
    a_listing(ledger, SERVER_REF)
    ledger.commit(rules.edit(state, SERVER_REF, SERVER_EDIT, LATER_MS, by=OPERATOR))
    assert state.listings[SERVER_REF].profile == ServerProfile(
        "Test server", "A server for the tests", ("tests", "more"), "Gaming"
    )


def test_a_listing_in_review_is_approved(ledger: Ledger, state: State) -> None:
    a_listing(ledger, review="in_review")
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("approved"), LATER_MS, by=OPERATOR))
    listing = state.listings[BOT_REF]
    assert (listing.state, listing.reason, listing.decided_ms) == ("approved", None, LATER_MS)


def test_a_listing_in_review_is_denied_with_a_reason(ledger: Ledger, state: State) -> None:
    a_listing(ledger, review="in_review")
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("denied", "Too quiet."), LATER_MS, by=OPERATOR))
    listing = state.listings[BOT_REF]
    assert (listing.state, listing.reason, listing.decided_ms) == ("denied", "Too quiet.", LATER_MS)


def test_a_decision_and_the_message_that_tells_of_it_are_one_record(ledger: Ledger, state: State) -> None:
    a_listing(ledger, review="in_review")
    denied = rules.decide(
        state, BOT_REF, rules.Verdict("denied", "Too quiet."), LATER_MS, by=OPERATOR, tells_owner=True
    )
    assert denied == [
        ListingReviewed(BOT_REF, "denied", "Too quiet.", LATER_MS),
        OwnerMessageQueued(BOT_REF, user_actor(OWNER), "denied", "Too quiet.", LATER_MS),
    ]
    approved = rules.decide(
        state, BOT_REF, rules.Verdict("approved"), LATER_MS, by=OPERATOR, tells_owner=True
    )
    assert approved[1:] == [OwnerMessageQueued(BOT_REF, user_actor(OWNER), "approved", None, LATER_MS)]


@pytest.mark.parametrize("review", ["approved", "denied"])
def test_what_was_reviewed_is_not_reviewed_again(ledger: Ledger, state: State, review: Review) -> None:
    a_listing(ledger, review=review)
    with pytest.raises(Refusal) as refusal:
        rules.decide(state, BOT_REF, rules.Verdict("approved"), LATER_MS, by=OPERATOR)
    assert refusal.value.code == ("not_in_review" if review == "approved" else "is_denied")
    with pytest.raises(Refusal) as refusal:
        rules.decide(state, BOT_REF, rules.Verdict("denied", "Too quiet."), LATER_MS, by=OPERATOR)
    assert refusal.value.code == f"is_{review}"


def test_a_removed_listing_is_gone_with_all_it_had(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_key(ledger)
    a_webhook(ledger)
    ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    ledger.commit(rules.remove(state, BOT_REF, NOW_MS, by=OPERATOR))
    assert not any([state.listings, state.listings.grants, len(state.votes)])


def test_an_operator_sets_the_actual_count(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit(rules.set_actual_count(state, BOT_REF, 1_000, NOW_MS, by=OPERATOR))
    assert state.listings[BOT_REF].actual == 1_000


def test_an_operator_sets_limits_and_takes_them_back(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    limit = {"requests": 5, "window_seconds": 60}
    ledger.commit(rules.set_limits(state, BOT_REF, read(Limits, {"stats": limit}), NOW_MS, by=OPERATOR))
    assert state.listings[BOT_REF].limits == BotLimits(Policy(5, 60), None)
    ledger.commit(
        rules.set_limits(state, BOT_REF, read(Limits, {"voters": limit, "stats": None}), NOW_MS, by=OPERATOR)
    )
    assert state.listings[BOT_REF].limits == BotLimits(None, Policy(5, 60))
    ledger.commit(rules.set_limits(state, BOT_REF, read(Limits, {}), NOW_MS, by=OPERATOR))
    assert state.listings[BOT_REF].limits is None


@pytest.mark.parametrize(
    "rule",
    [
        rules.listing_of,
        lambda state, ref: rules.edit(state, ref, BOT_EDIT, NOW_MS, by=OPERATOR),
        lambda state, ref: rules.decide(state, ref, rules.Verdict("approved"), NOW_MS, by=OPERATOR),
        lambda state, ref: rules.decide(
            state, ref, rules.Verdict("denied", "Too quiet."), NOW_MS, by=OPERATOR
        ),
        lambda state, ref: rules.decide(
            state, ref, rules.Verdict("withdrawn", "Too quiet."), NOW_MS, by=OPERATOR
        ),
        lambda state, ref: rules.decide(
            state, ref, rules.Verdict("change_agreed", version="v"), NOW_MS, by=OPERATOR
        ),
        lambda state, ref: rules.decide(
            state, ref, rules.Verdict("change_refused", "Too quiet.", "v"), NOW_MS, by=OPERATOR
        ),
        lambda state, ref: rules.remove(state, ref, NOW_MS, by=OPERATOR),
        lambda state, ref: rules.set_actual_count(state, ref, 5, NOW_MS, by=OPERATOR),
        lambda state, ref: rules.set_limits(state, ref, Limits(), NOW_MS, by=OPERATOR),
    ],
)
def test_what_is_not_listed_is_not_found(
    ledger: Ledger, state: State, rule: Callable[[State, str], list[Event]]
) -> None:
    a_listing(ledger, SERVER_REF)
    with pytest.raises(Refusal) as refusal:
        rule(state, BOT_REF)
    assert refusal.value.code == "no_such_listing"


def test_an_edit_of_the_operator_with_another_owner_is_a_hand_over_at_once(
    ledger: Ledger, state: State
) -> None:
    ledger.commit(rules.submit(state, BOT_REF, BOT_SUBMISSION, NOW_MS, by=OPERATOR))
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("denied", "No."), NOW_MS + 1, by=OPERATOR))
    for now_ms, name in ((LATER_MS, "Jukebox"), (LATER_MS + 5, "Another name")):
        form = read(BOTS.edit, {**BOT_FIELDS, "owner_id": USER, "name": name})
        ledger.commit(rules.edit(state, BOT_REF, form, now_ms, by=OPERATOR))
    listing = state.listings[BOT_REF]
    actions = [act.action for act in listing.audit_log if act.at_ms >= LATER_MS]
    assert (listing.owner_id, actions) == (USER, ["edited", "handed_over", "edited"])
    assert waiting_since(listing) == LATER_MS


def test_an_edit_of_a_user_with_another_owner_offers_the_listing(ledger: Ledger, state: State) -> None:
    ledger.commit(rules.submit(state, BOT_REF, BOT_SUBMISSION, NOW_MS, by=OPERATOR))
    form = read(BOTS.edit, {**BOT_FIELDS, "owner_id": USER})
    ledger.commit(rules.edit(state, BOT_REF, form, LATER_MS, by=user_actor(OWNER)))
    listing = state.listings[BOT_REF]
    assert (listing.owner_id, listing.asked) == (OWNER, (USER,))
