"""core/audit_log.py: the actors that a row names, and the row without one of them."""

from msgspec.structs import replace

from core.actors import ERASED, OPERATOR, user_actor
from core.audit_log import actors_of, without_actor
from core.rows import (
    AuditEntry,
    Claim,
    Listing,
    Note,
    OwnerMessage,
    Proof,
    Report,
    Reports,
    Reviewed,
    Stamp,
    Stamps,
    VoteFlag,
)
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER

ME, OTHER = user_actor(USER), user_actor(OTHER_USER)
MESSAGE = OwnerMessage(ME, "denied", "It is silent.", NOW_MS, NOW_MS)
BARE = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("in_review", NOW_MS))
ROW = replace(
    BARE,
    audit_log=(AuditEntry(NOW_MS, ME, "submitted"), AuditEntry(NOW_MS, OTHER, "edited")),
    notes=(Note(NOW_MS, ME, "Mine."), Note(NOW_MS + 5, ME, "Later."), Note(NOW_MS, OTHER, "Yours.")),
    claim=Claim(NOW_MS, ME),
    proof=Proof(NOW_MS, ME),
)


def test_everybody_whom_a_row_names_is_found() -> None:
    assert actors_of(BARE) == set()
    assert actors_of(ROW) == {ME, OTHER}
    assert actors_of(replace(BARE, claim=Claim(NOW_MS, ME))) == {ME}
    assert actors_of(replace(BARE, proof=Proof(NOW_MS, OPERATOR))) == {OPERATOR}
    assert actors_of(replace(BARE, message=MESSAGE)) == {ME}


def test_a_message_goes_with_whom_it_is_to_unless_its_decision_came_later() -> None:
    row = replace(BARE, message=MESSAGE)
    assert without_actor(row, ME, None).message is None
    assert without_actor(row, ME, NOW_MS).message is None
    assert without_actor(row, ME, NOW_MS - 1) == row
    assert without_actor(row, OTHER, None) == row
    later = replace(BARE, message=replace(MESSAGE, stamp=Stamp(NOW_MS + 5, "a.1")))
    assert without_actor(later, ME, NOW_MS) == later


def test_a_name_goes_and_what_was_done_stays() -> None:
    struck = without_actor(ROW, ME, None)
    assert actors_of(struck) == {ERASED, OTHER}
    assert [(act.by, act.action) for act in struck.audit_log] == [(ERASED, "submitted"), (OTHER, "edited")]
    assert [note.text for note in struck.notes] == ["Mine.", "Later.", "Yours."]
    assert (struck.claim, struck.proof) == (None, None)


def test_what_came_after_the_erasure_stays() -> None:
    later = replace(ROW, claim=Claim(NOW_MS + 5, ME), stamps=Stamps(proof=Stamp(NOW_MS + 5, "a.1")))
    struck = without_actor(later, ME, NOW_MS)
    assert [(note.by, note.text) for note in struck.notes] == [
        (ERASED, "Mine."),
        (ME, "Later."),
        (OTHER, "Yours."),
    ]
    assert (struck.claim, struck.proof) == (later.claim, later.proof)


def test_a_flag_of_a_vote_stays_without_its_voter() -> None:
    flags = (
        VoteFlag(NOW_MS, ME, "burst", "f1"),
        VoteFlag(NOW_MS, OTHER, "burst", "f2"),
        VoteFlag(NOW_MS + 5, ME, "burst", "f3"),
    )
    row = replace(BARE, flags=flags)
    assert actors_of(row) == {ME, OTHER}
    struck = without_actor(row, ME, NOW_MS)
    assert struck.flags == (replace(flags[0], by=ERASED), *flags[1:])


def test_a_report_goes_with_its_user() -> None:
    reports = (Report(NOW_MS, ME, "other", "My words."), Report(NOW_MS + 5, OTHER, "breaks_rules"))
    row = replace(BARE, reports=Reports(reports))
    assert actors_of(row) == {ME, OTHER}
    assert without_actor(row, ME, NOW_MS).reports == Reports(reports[1:])
    assert without_actor(row, OTHER, NOW_MS) == row
    assert without_actor(replace(BARE, reports=Reports(reports[:1])), ME, None) == BARE


def test_nobody_else_is_struck_out() -> None:
    assert without_actor(ROW, OPERATOR, None) is ROW
