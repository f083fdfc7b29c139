"""core/review_notes.py: the same notes at all nodes, whoever heard of one first."""

from hypothesis import given
from hypothesis import strategies as st

from core.actors import ERASED, OPERATOR, user_actor
from core.review_notes import KEPT, newest_notes
from core.rows import Note
from tests.support.examples import examples
from tests.support.sample_rows import NOW_MS, USER

notes = st.lists(
    st.builds(Note, st.integers(0, 15), st.just(OPERATOR), st.sampled_from("xy"), st.sampled_from("ab")),
    max_size=KEPT + 10,
).map(newest_notes)


@examples(200)
@given(notes, notes, notes)
def test_notes_are_joined_alike_in_any_order_and_however_often(
    one: tuple[Note, ...], two: tuple[Note, ...], three: tuple[Note, ...]
) -> None:
    joined = newest_notes((*newest_notes((*one, *two)), *three))
    assert joined == newest_notes((*three, *newest_notes((*two, *one)), *one))
    assert newest_notes(joined) == joined
    assert len(joined) <= KEPT


def test_the_oldest_notes_are_forgotten() -> None:
    kept = newest_notes(Note(NOW_MS + number, OPERATOR, "x") for number in range(KEPT + 5))
    assert [note.at_ms - NOW_MS for note in kept] == list(range(5, KEPT + 5))


def test_a_struck_out_name_stays_struck_out() -> None:
    written, struck = Note(NOW_MS, user_actor(USER), "x"), Note(NOW_MS, ERASED, "x")
    assert newest_notes((written, struck)) == newest_notes((struck, written)) == (struck,)
