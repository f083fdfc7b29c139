"""The private notes of moderators on a listing. Law: notes may come in any order, and more than once."""

from collections.abc import Iterable

from core.actors import ERASED
from core.rows import Note

KEPT = 10  # of one listing


def newest_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the notes that a listing keeps, in the order of their times."""
    known: dict[tuple[int, str, str], Note] = {}
    for note in notes:
        key = (note.at_ms, note.node, note.text)
        known[key] = max(note, known.get(key, note), key=lambda each: (each.by == ERASED, each.by))
    return tuple(known[key] for key in sorted(known)[-KEPT:])
