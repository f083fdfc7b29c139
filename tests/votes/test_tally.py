"""votes/numbers.py: votes since the start."""

from core.events import DeliveryQueued, VoteCast
from tests.support.sample_rows import BOT_REF, NOW_MS
from votes.numbers import VoteTally


def test_votes_are_counted_by_where_they_were_cast() -> None:
    tally = VoteTally()
    tally.on_record(1, [VoteCast(BOT_REF, "1", 1, NOW_MS), DeliveryQueued("d", BOT_REF, "1", False, NOW_MS)])
    tally.on_record(2, [VoteCast(BOT_REF, "2", 1, NOW_MS, node="oslo-1")] * 2)
    assert (tally.here, tally.elsewhere) == (1, 2)
