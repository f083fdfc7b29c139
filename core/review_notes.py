"""The private notes of moderators on a listing. Law: notes may come in any order, and more than once."""

from collections.abc import Iterable

from core.rows import Note
from core.trail import in_order_once

KEPT = 10  # of one listing


def newest_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the notes that a listing keeps, in the order of their times."""
    return in_order_once(notes, lambda note: (note.at_ms, note.node, note.text))[-KEPT:]
