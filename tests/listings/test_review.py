"""listings/review.py: claims on reviews, notes of moderators, and proofs of ownership."""

from typing import Any

import pytest
from msgspec.structs import replace

from core.actors import OPERATOR, user_actor
from core.audit_log import KEPT
from core.ledger import Ledger
from core.rows import Listing, Stamp, Stamps
from core.state import State
from forms.reading import read
from kinds.bots import BOTS
from languages.refusals import Invalid, Refusal
from listings import owners, review, rules
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_USER, OWNER, USER

MODERATOR, OTHER = user_actor(USER), user_actor(OTHER_USER)
FIELDS: dict[str, Any] = {
    "owner_id": OWNER,
    "name": "Test bot",
    "short_description": "A bot for the tests",
    "description": "A description of thirty-two letters or more.",
    "categories": ["Utility"],
}


def submitted(ledger: Ledger, at_ms: int = NOW_MS) -> Listing:
    form = read(BOTS.submission, {"id": BOT_REF.partition("/")[2], **FIELDS})
    ledger.commit(rules.submit(ledger.state, BOT_REF, form, at_ms, by=user_actor(OWNER)))
    return ledger.state.listings[BOT_REF]


def edited(ledger: Ledger, at_ms: int) -> Listing:
    form = read(BOTS.edit, {**FIELDS, "name": f"Bot {at_ms}"})
    ledger.commit(rules.edit(ledger.state, BOT_REF, form, at_ms, by=user_actor(OWNER)))
    return ledger.state.listings[BOT_REF]


def test_it_waits_since_its_submission_and_an_edit_does_not_send_it_back(ledger: Ledger) -> None:
    assert review.waiting_since(submitted(ledger)) == NOW_MS
    assert review.waiting_since(edited(ledger, NOW_MS + 5)) == NOW_MS


def test_after_a_denial_it_waits_since_it_was_sent_again(ledger: Ledger) -> None:
    submitted(ledger)
    ledger.commit(
        rules.decide(ledger.state, BOT_REF, rules.Verdict("denied", "Too quiet."), NOW_MS + 1, by=MODERATOR)
    )
    edited(ledger, NOW_MS + 2)
    row = edited(ledger, NOW_MS + 3)
    assert review.waiting_since(row) == NOW_MS + 2
    decision = review.decision_of(row)
    assert decision is not None
    assert (decision.by, decision.action) == (MODERATOR, "denied")


def test_an_owner_who_saves_often_washes_nothing_away(ledger: Ledger, state: State) -> None:
    submitted(ledger)
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("denied", "Malware."), NOW_MS + 1, by=MODERATOR))
    edited(ledger, NOW_MS + 2)
    ledger.commit(review.claim(state, BOT_REF, NOW_MS + 3, by=MODERATOR))
    for number in range(2 * KEPT):
        row = edited(ledger, NOW_MS + 4 + number)
    assert review.waiting_since(row) == NOW_MS + 2
    known = review.claim_of(row)
    assert known is not None
    assert known.by == MODERATOR


def test_in_a_fleet_a_claim_is_later_than_the_decision_that_its_node_has_read(
    ledger: Ledger, state: State
) -> None:
    submitted(ledger)
    ledger.commit(
        rules.decide(state, BOT_REF, rules.Verdict("denied", "No."), NOW_MS + 9, by=OTHER)
    )  # by a clock that is ahead
    edited(ledger, NOW_MS + 2)
    ledger.commit(review.claim(state, BOT_REF, NOW_MS + 3, by=MODERATOR))
    row = state.listings[BOT_REF]
    assert review.claim_of(row) is None
    assert review.claim_of(replace(row, stamps=Stamps(claim=Stamp(NOW_MS + 10, "b.1")))) == row.claim


def test_a_claim_says_who_is_at_it_and_another_moderator_may_take_it_over(
    ledger: Ledger, state: State
) -> None:
    assert review.claim_of(submitted(ledger)) is None
    ledger.commit(review.claim(state, BOT_REF, NOW_MS + 1, by=MODERATOR))
    known = review.claim_of(state.listings[BOT_REF])
    assert known is not None
    assert (known.by, known.at_ms) == (MODERATOR, NOW_MS + 1)
    assert review.claim(state, BOT_REF, NOW_MS + 2, by=MODERATOR) == []
    ledger.commit(review.claim(state, BOT_REF, NOW_MS + 3, by=OTHER))
    known = review.claim_of(state.listings[BOT_REF])
    assert known is not None
    assert known.by == OTHER


def test_one_gives_back_one_s_own_claim_alone(ledger: Ledger, state: State) -> None:
    submitted(ledger)
    ledger.commit(review.claim(state, BOT_REF, NOW_MS, by=MODERATOR))
    assert review.release(state, BOT_REF, NOW_MS, by=OTHER) == []
    ledger.commit(review.release(state, BOT_REF, NOW_MS, by=MODERATOR))
    assert review.claim_of(state.listings[BOT_REF]) is None


def test_a_claim_is_of_one_review(ledger: Ledger, state: State) -> None:
    submitted(ledger)
    ledger.commit(review.claim(state, BOT_REF, NOW_MS, by=MODERATOR))
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("denied", "No."), NOW_MS + 1, by=OTHER))
    assert review.claim_of(state.listings[BOT_REF]) is None
    assert review.claim_of(edited(ledger, NOW_MS + 2)) is None


def test_what_is_decided_is_claimed_by_nobody(ledger: Ledger, state: State) -> None:
    submitted(ledger)
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("approved"), NOW_MS, by=MODERATOR))
    for rule in (review.claim, review.release):
        with pytest.raises(Refusal, match="not_in_review"):
            rule(state, BOT_REF, NOW_MS, by=MODERATOR)
    with pytest.raises(Refusal, match="no_such"):
        review.claim(state, "bots/1", NOW_MS, by=MODERATOR)


def renamed(ledger: Ledger, name: str, now_ms: int) -> Listing:
    """The approved listing under another name, which everybody sees at once."""
    form = read(BOTS.edit, {**FIELDS, "name": name})
    ledger.commit(rules.edit(ledger.state, BOT_REF, form, now_ms, by=user_actor(OWNER)))
    return ledger.state.listings[BOT_REF]


def test_a_change_waits_and_is_claimed_like_a_submission(ledger: Ledger, state: State) -> None:
    submitted(ledger)
    ledger.commit(review.claim(state, BOT_REF, NOW_MS, by=OTHER))
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("approved"), NOW_MS + 1, by=OTHER))
    row = renamed(ledger, "Renamed", NOW_MS + 5)
    assert (review.waits(row), review.waiting_since(row), review.claim_of(row)) == (True, NOW_MS + 5, None)
    ledger.commit(review.claim(state, BOT_REF, NOW_MS + 6, by=MODERATOR))
    known = review.claim_of(state.listings[BOT_REF])
    assert known is not None
    assert known.by == MODERATOR
    version = rules.change_version(row)
    ledger.commit(
        rules.decide(
            state, BOT_REF, rules.Verdict("change_refused", "Spam.", version), NOW_MS + 7, by=MODERATOR
        )
    )
    row = state.listings[BOT_REF]
    assert (review.waits(row), review.claim_of(row)) == (False, None)
    assert review.claim_of(renamed(ledger, "Again", NOW_MS + 8)) is None


def test_a_no_is_remembered_whatever_it_was_about(ledger: Ledger, state: State) -> None:
    submitted(ledger)
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("approved"), NOW_MS + 1, by=OTHER))
    version = rules.change_version(renamed(ledger, "Renamed", NOW_MS + 2))
    ledger.commit(
        rules.decide(state, BOT_REF, rules.Verdict("change_refused", "Spam.", version), NOW_MS + 3, by=OTHER)
    )
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("withdrawn", "Again."), NOW_MS + 4, by=OTHER))
    row = state.listings[BOT_REF]
    decision = review.review_of(row)
    assert decision is not None
    assert decision.action == "withdrawn"


def test_nobody_has_waited_for_a_withdrawn_approval(ledger: Ledger, state: State) -> None:
    submitted(ledger)
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("approved"), NOW_MS + 9, by=OTHER))
    assert review.waited_ms(state.listings[BOT_REF]) == 9
    ledger.commit(rules.decide(state, BOT_REF, rules.Verdict("withdrawn", "Spam."), NOW_MS + 99, by=OTHER))
    assert review.waited_ms(state.listings[BOT_REF]) is None


def test_notes_are_kept_in_order(ledger: Ledger, state: State) -> None:
    submitted(ledger)
    ledger.commit(review.add_note(state, BOT_REF, " First. ", NOW_MS, by=MODERATOR))
    ledger.commit(review.add_note(state, BOT_REF, "Second.", NOW_MS + 1, by=OTHER))
    notes = state.listings[BOT_REF].notes
    assert [(note.by, note.text) for note in notes] == [(MODERATOR, "First."), (OTHER, "Second.")]


@pytest.mark.parametrize("text", ["", " \n", "x" * (review.NOTE_CHARACTERS + 1)])
def test_a_note_has_a_text_of_bounded_length(ledger: Ledger, state: State, text: str) -> None:
    submitted(ledger)
    with pytest.raises(Invalid):
        review.add_note(state, BOT_REF, text, NOW_MS, by=MODERATOR)


def test_an_owner_proves_the_bot_with_the_code_in_its_description(ledger: Ledger, state: State) -> None:
    assert not owners.is_proven(submitted(ledger))
    owner = user_actor(OWNER)
    with pytest.raises(Refusal, match="no_code"):
        owners.prove_ownership(state.listings[BOT_REF], "A bot.", "vg-abc", NOW_MS, by=owner)
    with pytest.raises(Refusal, match="owner_proves"):
        owners.prove_ownership(state.listings[BOT_REF], "vg-abc", "vg-abc", NOW_MS, by=OPERATOR)
    proven = owners.prove_ownership(state.listings[BOT_REF], "A bot. vg-abc", "vg-abc", NOW_MS, by=owner)
    ledger.commit(proven)
    assert owners.is_proven(state.listings[BOT_REF])
    assert owners.prove_ownership(state.listings[BOT_REF], "vg-abc", "vg-abc", NOW_MS, by=owner) == []


def test_a_new_owner_has_proven_nothing(ledger: Ledger, state: State) -> None:
    submitted(ledger)
    owner = user_actor(OWNER)
    ledger.commit(owners.prove_ownership(state.listings[BOT_REF], "vg-abc", "vg-abc", NOW_MS, by=owner))
    handed_over = read(BOTS.edit, {**FIELDS, "owner_id": USER})
    ledger.commit(rules.edit(state, BOT_REF, handed_over, NOW_MS, by=OPERATOR))
    assert not owners.is_proven(state.listings[BOT_REF])


def test_the_parts_of_a_reason_are_sentences() -> None:
    assert (
        review.denial_text("It is a copy", " Of what? ", "", "Write to us")
        == "It is a copy. Of what? Write to us."
    )
    assert review.denial_text("", " ") == ""
