"""core/audit_log.py: all nodes have the same entries, in whatever order they heard of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.actors import ERASED, OPERATOR, user_actor
from core.audit_log import (
    APART,
    FLAGS_KEPT,
    GROUPS,
    KEPT,
    NOTES_KEPT,
    newest,
    newest_flags,
    newest_notes,
    without_name,
)
from core.rows import AuditAction, AuditEntry, Note, VoteFlag
from tests.support.examples import examples
from tests.support.sample_rows import NOW_MS, OTHER_USER, USER

ME, OTHER = user_actor(USER), user_actor(OTHER_USER)
actions: st.SearchStrategy[AuditAction] = st.sampled_from(["denied", "key_issued", "edited"])
nodes = st.sampled_from(["a.1", "b.1"])
acts = st.builds(
    # There is one entry for a moment, node and action.
    lambda at_ms, action, node: AuditEntry(at_ms, (ME, OTHER, OPERATOR)[at_ms % 3], action, node=node),
    st.integers(0, 30),
    actions,
    nodes,
)
logs = st.integers(0, KEPT + 20).flatmap(
    lambda length: st.lists(acts, min_size=length, max_size=length).map(newest)
)


@examples(200)
@given(logs, logs, logs)
def test_trails_are_joined_alike_in_any_order_and_however_often(
    one: tuple[AuditEntry, ...], two: tuple[AuditEntry, ...], three: tuple[AuditEntry, ...]
) -> None:
    joined = newest((*newest((*one, *two)), *three))
    assert joined == newest((*three, *newest((*two, *one)), *one))
    assert newest(joined) == joined
    assert len(joined) <= KEPT + APART * len(GROUPS)


@examples(200)
@given(logs, logs, st.integers(0, 30))
def test_a_user_is_struck_out_alike_before_and_after_two_trails_are_joined(
    one: tuple[AuditEntry, ...], two: tuple[AuditEntry, ...], until_ms: int
) -> None:
    def struck(log: tuple[AuditEntry, ...]) -> tuple[AuditEntry, ...]:
        return without_name(log, ME, until_ms)

    assert struck(newest((*struck(one), *two))) == struck(newest((*one, *struck(two))))


@pytest.mark.parametrize(
    "action",
    [
        *("submitted", "approved", "denied", "votes_struck", "handed_over"),
        *("key_issued", "key_rotated", "key_deleted"),
    ],
)
def test_no_other_actions_push_out_decisions_and_actions_on_keys_and_owners(action: AuditAction) -> None:
    kept = [AuditEntry(NOW_MS + number, OTHER, action) for number in range(APART + 1)]
    edits = [AuditEntry(NOW_MS + 100 + number, ME, "edited") for number in range(KEPT + 5)]
    assert newest((*kept, *edits)) == (*kept[1:], *edits[5:])


def test_the_oldest_acts_are_forgotten() -> None:
    log = newest(AuditEntry(NOW_MS + number, OPERATOR, "edited") for number in range(KEPT + 5))
    assert [entry.at_ms - NOW_MS for entry in log] == list(range(5, KEPT + 5))


def test_a_user_is_struck_out_and_the_act_stays() -> None:
    log = (
        AuditEntry(NOW_MS, ME, "submitted"),
        AuditEntry(NOW_MS + 1, OTHER, "edited"),
        AuditEntry(NOW_MS + 2, ME, "edited"),
    )
    assert [entry.by for entry in without_name(log, ME, None)] == [ERASED, OTHER, ERASED]
    assert [entry.by for entry in without_name(log, ME, NOW_MS)] == [ERASED, OTHER, ME]
    assert without_name(log, OPERATOR, None) is log


def test_the_oldest_notes_and_flags_are_forgotten() -> None:
    notes = newest_notes(Note(NOW_MS + number, OPERATOR, "x") for number in range(NOTES_KEPT + 5))
    assert [note.at_ms - NOW_MS for note in notes] == list(range(5, NOTES_KEPT + 5))
    flags = newest_flags(VoteFlag(NOW_MS + number, ME, "burst", "f") for number in range(FLAGS_KEPT + 5))
    assert [flag.at_ms - NOW_MS for flag in flags] == list(range(5, FLAGS_KEPT + 5))


def test_an_erased_author_stays_erased() -> None:
    written, erased = Note(NOW_MS, ME, "x"), Note(NOW_MS, ERASED, "x")
    assert newest_notes((written, erased)) == newest_notes((erased, written)) == (erased,)


def test_two_votes_of_one_moment_are_two_flags() -> None:
    assert len(newest_flags(VoteFlag(NOW_MS, ME, "burst", id_) for id_ in ("f1", "f2", "f1"))) == 2
