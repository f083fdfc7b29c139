"""Numbers of listings by kind and review, while rows are still being counted and afterwards."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core import listing_table
from core.actors import OPERATOR
from core.events import ChangeDecided, ListingRemoved, ListingReviewed, ListingSaved
from core.listing_table import ReviewCounts, Standing, ref_slices
from core.packing import pack
from core.rows import PendingChange
from core.state import State
from tests.support.examples import examples
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_REF, OWNER, SERVER_REF, listed

REFS = [f"{kind}/{number}" for kind in ("bots", "servers") for number in range(8)]
STANDINGS_AND_NONE = st.sampled_from([None, *listing_table.STANDINGS])


def counted(rows: dict[str, Standing]) -> dict[tuple[str, str], int]:
    return dict(Counter((ref.partition("/")[0], review) for ref, review in rows.items()))


def walk(counts: ReviewCounts, refs: Sequence[str], rows: Mapping[str, Standing]) -> Iterator[None]:
    """A walk like that of `ListingsView.briefs`, in small slices."""
    for some in ref_slices(refs, most=3):
        counts.count((ref, rows[ref]) for ref in some)
        yield
    counts.counted()


@examples(200)
@given(
    st.dictionaries(st.sampled_from(REFS), st.sampled_from(listing_table.STANDINGS)),
    st.lists(st.tuples(st.sampled_from(REFS), STANDINGS_AND_NONE, st.booleans()), max_size=30),
)
def test_the_numbers_are_right_after_any_change_between_two_slices(
    loaded: dict[str, Standing], changes: list[tuple[str, Standing | None, bool]]
) -> None:
    rows, counts = dict(loaded), ReviewCounts()
    refs = sorted(rows)
    counting = walk(counts, refs, rows)
    for ref, after, goes_on in changes:
        before = rows.pop(ref, None)
        if after is not None:
            rows[ref] = after
        refs[:] = sorted(rows)
        counts.changed(ref, before, after)
        if goes_on:
            next(counting, None)
    for _ in counting:
        pass
    assert counts.known is not None
    assert {place: number for place, number in counts.known.items() if number} == counted(rows)


def test_nobody_knows_the_numbers_before_all_rows_are_counted() -> None:
    counts = ReviewCounts()
    counting = walk(counts, ["bots/1"], {"bots/1": "approved"})
    next(counting)
    assert counts.known is None
    assert next(counting, None) is None
    assert counts.known is not None


def of_state(state: State) -> dict[tuple[str, str], int]:
    assert state.listings.by_review is not None
    return {place: number for place, number in state.listings.by_review.items() if number}


def test_packed_rows_are_counted_and_stay_packed() -> None:
    state = empty_state()
    for ref in (BOT_REF, OTHER_REF, SERVER_REF):
        for event in listed(ref):
            state.apply(event)
    state.apply(ListingReviewed(OTHER_REF, "denied", "why", NOW_MS))
    change = PendingChange(BOT_PROFILE, True, OPERATOR, NOW_MS, NOW_MS)
    renamed = replace(BOT_PROFILE, name="Renamed")
    state.apply(ListingSaved(BOT_REF, OWNER, renamed, "approved", NOW_MS, change))
    restarted = empty_state()
    restarted.load_packed(
        state.listings.refs, [pack(state.listings[ref]) for ref in state.listings.refs], 0, []
    )
    restarted.loaded()
    for _ in restarted.listings.count_reviews():
        pass
    found = {("bots", "changed"): 1, ("bots", "denied"): 1, ("servers", "approved"): 1}
    assert of_state(restarted) == found
    assert not list(restarted.listings.unpacked())
    restarted.apply(ChangeDecided(BOT_REF, BOT_PROFILE, False, "Spam.", NOW_MS))
    assert of_state(restarted) == {("bots", "approved"): 1, ("bots", "denied"): 1, ("servers", "approved"): 1}
    restarted.apply(ListingReviewed(BOT_REF, "in_review", None, NOW_MS))
    restarted.apply(ListingRemoved(SERVER_REF))
    assert of_state(restarted) == {("bots", "in_review"): 1, ("bots", "denied"): 1}
