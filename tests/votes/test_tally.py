"""votes/numbers.py: votes since the start."""

from msgspec.structs import replace

from core.events import DeliveryQueued, DownloadCounted, RatingSet, VoteCast
from core.user_rows import Rating
from tests.support.sample_rows import BOT_REF, NOW_MS
from votes.numbers import UseTally


def test_votes_are_counted_by_where_they_were_cast() -> None:
    tally = UseTally()
    tally.on_record(1, [VoteCast(BOT_REF, "1", 1, NOW_MS), DeliveryQueued("d", BOT_REF, "1", False, NOW_MS)])
    tally.on_record(2, [VoteCast(BOT_REF, "2", 1, NOW_MS, node="oslo-1")] * 2)
    assert (tally.here, tally.elsewhere) == (1, 2)


def test_what_users_do_is_counted_by_the_kind_of_the_listing() -> None:
    tally, sound = UseTally(), "sounds/5c9a51e07f24"
    tally.on_record(1, [VoteCast(BOT_REF, "1", 1, NOW_MS), VoteCast(sound, "1", 1, NOW_MS)])
    tally.on_record(2, [VoteCast(sound, "2", 1, NOW_MS, node="oslo-1")])
    tally.on_record(3, [DownloadCounted(sound, 7), DownloadCounted(sound, 8)])
    first = Rating(BOT_REF, NOW_MS, 4, "It plays all day.")
    for rating in (first, replace(first, edited_ms=NOW_MS + 1), Rating(BOT_REF, NOW_MS)):
        tally.on_record(4, [RatingSet("users/1", rating, NOW_MS)])
    assert tally.uses == {
        ("bots", "votes"): 1,
        ("bots", "reviews"): 1,
        ("sounds", "likes"): 1,
        ("sounds", "downloads"): 2,
    }
