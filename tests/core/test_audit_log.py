"""core/audit_log.py: the same entries at all nodes, in any order of arrival."""

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
deeds: st.SearchStrategy[AuditAction] = st.sampled_from(["denied", "key_issued", "edited"])
nodes = st.sampled_from(["a.1", "b.1"])
acts = st.builds(
    # There is one entry for a moment, node and action.
    lambda at_ms, deed, node: AuditEntry(at_ms, (ME, OTHER, OPERATOR)[at_ms % 3], deed, node=node),
    st.integers(0, 30),
    deeds,
    nodes,
)
trails = st.integers(0, KEPT + 20).flatmap(
    lambda length: st.lists(acts, min_size=length, max_size=length).map(newest)
)


@examples(200)
@given(trails, trails, trails)
def test_two_audit_logs_merge_alike_in_any_order_and_any_number_of_times(
    one: tuple[AuditEntry, ...], two: tuple[AuditEntry, ...], three: tuple[AuditEntry, ...]
) -> None:
    joined = newest((*newest((*one, *two)), *three))
    assert joined == newest((*three, *newest((*two, *one)), *one))
    assert newest(joined) == joined
    assert len(joined) <= KEPT + APART * len(GROUPS)


@examples(200)
@given(trails, trails, st.integers(0, 30))
def test_an_erasure_before_or_after_a_merge_gives_the_same_audit_log(
    one: tuple[AuditEntry, ...], two: tuple[AuditEntry, ...], until_ms: int
) -> None:
    def struck(trail: tuple[AuditEntry, ...]) -> tuple[AuditEntry, ...]:
        return without_name(trail, ME, until_ms)

    assert struck(newest((*struck(one), *two))) == struck(newest((*one, *struck(two))))


@pytest.mark.parametrize(
    "deed",
    [
        *("submitted", "approved", "denied", "votes_struck", "handed_over"),
        *("key_issued", "key_rotated", "key_deleted"),
    ],
)
def test_no_other_acts_push_out_what_was_decided_and_done_with_keys_and_owners(deed: AuditAction) -> None:
    kept = [AuditEntry(NOW_MS + number, OTHER, deed) for number in range(APART + 1)]
    edits = [AuditEntry(NOW_MS + 100 + number, ME, "edited") for number in range(KEPT + 5)]
    assert newest((*kept, *edits)) == (*kept[1:], *edits[5:])


def test_the_oldest_acts_are_forgotten() -> None:
    trail = newest(AuditEntry(NOW_MS + number, OPERATOR, "edited") for number in range(KEPT + 5))
    assert [act.at_ms - NOW_MS for act in trail] == list(range(5, KEPT + 5))


def test_an_erased_user_loses_the_name_and_the_entry_stays() -> None:
    trail = (
        AuditEntry(NOW_MS, ME, "submitted"),
        AuditEntry(NOW_MS + 1, OTHER, "edited"),
        AuditEntry(NOW_MS + 2, ME, "edited"),
    )
    assert [act.by for act in without_name(trail, ME, None)] == [ERASED, OTHER, ERASED]
    assert [act.by for act in without_name(trail, ME, NOW_MS)] == [ERASED, OTHER, ME]
    assert without_name(trail, OPERATOR, None) is trail


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
