"""listings/ownership.py: the owners of listings and the review queue, after any history."""

from hypothesis import given
from msgspec.structs import replace

from core.events import Event, ListingRemoved, ListingReviewed, ListingSaved, OwnerSet
from core.packing import pack
from core.state import State
from listings.ownership import DECIDED_KEPT, USUAL_FROM, USUAL_OF, Ownership
from listings.review import place_ms, waited_ms, waits
from tests.support.examples import examples
from tests.support.generated_events import sequences, users
from tests.support.memory_ledger import empty_state, state_after
from tests.support.sample_rows import (
    BOT_PROFILE,
    BOT_REF,
    HOUR_MS,
    NOW_MS,
    OTHER_REF,
    OTHER_USER,
    OWNER,
    SERVER_REF,
    listed,
)


def surveyed(state: State) -> Ownership:
    ownership = Ownership(state)
    for _ in ownership.survey():
        pass
    return ownership


def queue_of(state: State) -> list[tuple[int, str]]:
    rows = state.listings.values()
    return sorted((place_ms(row), row.ref) for row in rows if waits(row))


def decided_in(state: State) -> list[tuple[int, str]]:
    rows = state.listings.values()
    decided = (row for row in rows if row.state != "in_review")
    return sorted((row.decided_ms, row.ref) for row in decided if row.decided_ms is not None)


def owned(state: State, user: str) -> list[str]:
    rows = state.listings.values()
    return sorted(row.ref for row in rows if user in {row.owner_id, *row.extra_owners})


@examples(100)
@given(sequences, users)
def test_the_log_leads_to_what_a_look_at_everything_finds(sequence: list[Event], user: str) -> None:
    state = empty_state()
    reading = Ownership(state)
    for event in sequence:
        state.apply(event)
        reading.on_record(1, [event])
    for ownership in (reading, surveyed(state)):
        assert list(ownership.refs_of(user)) == owned(state, user)
        assert list(ownership.asking(user)) == sorted(
            row.ref for row in state.listings.values() if user in row.asked
        )
        assert list(ownership.queue) == queue_of(state)
        assert list(ownership.decided) == decided_in(state)
        assert [ownership.place(ref) for _, ref in queue_of(state)] == [*range(1, len(queue_of(state)) + 1)]


def test_a_survey_leaves_packed_rows_packed_and_is_made_once() -> None:
    source, state = empty_state(), empty_state()
    for event in (
        *listed(),
        *listed(OTHER_REF),
        ListingSaved(SERVER_REF, OWNER, BOT_PROFILE, "in_review", 5),
    ):
        source.apply(event)
    refs = list(source.listings.refs)
    state.load_packed(refs, [pack(source.listings[ref]) for ref in refs], 0, ())
    state.loaded()
    ownership = surveyed(state)
    assert list(ownership.refs_of(OWNER)) == refs
    assert list(ownership.queue) == [(5, SERVER_REF)]
    assert list(ownership.decided) == [(NOW_MS, BOT_REF), (NOW_MS, OTHER_REF)]
    assert not list(state.listings.unpacked())
    assert list(ownership.survey()) == []


def test_of_many_decisions_the_newest_are_known() -> None:
    state = empty_state()
    ownership = surveyed(state)

    def happen(*events: Event) -> None:
        for event in events:
            state.apply(event)
        ownership.on_record(1, events)

    refs = [f"bots/{10**17 + number}" for number in range(DECIDED_KEPT + 5)]
    for at_ms, ref in enumerate(refs):
        happen(
            ListingSaved(ref, OWNER, BOT_PROFILE, "in_review", 0), ListingReviewed(ref, "denied", "No", at_ms)
        )
    assert [ref for _, ref in ownership.decided] == refs[5:]
    assert list(surveyed(state).decided) == list(ownership.decided)
    happen(ListingRemoved(refs[-1], 0), ListingSaved(refs[-2], OWNER, BOT_PROFILE, "in_review", 0))
    assert [ref for _, ref in ownership.decided] == refs[5:-2]


def test_who_has_left_a_listing_owns_it_no_more() -> None:
    state = empty_state()
    ownership = surveyed(state)
    for event in (
        ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS),
        OwnerSet(BOT_REF, OTHER_USER, None, "handed_over", NOW_MS),
    ):
        state.apply(event)
        ownership.on_record(1, [event])
    assert ([*ownership.refs_of(OWNER)], [*ownership.refs_of(OTHER_USER)]) == ([], [BOT_REF])
    assert ownership.place(OTHER_REF) is None


def decision_after(waited_ms: int, number: int) -> list[Event]:
    """A bot that was denied so long after it was submitted, later than those with lower numbers."""
    ref, at_ms = f"bots/{10**17 + number}", NOW_MS + number * HOUR_MS
    return [
        ListingSaved(ref, OWNER, BOT_PROFILE, "in_review", at_ms),
        ListingReviewed(ref, "denied", "No", at_ms + waited_ms),
    ]


def test_the_usual_wait_is_the_median_of_the_last_decisions() -> None:
    state = empty_state()
    reading = surveyed(state)
    told = []
    for number in range(USUAL_FROM + USUAL_OF):
        for event in decision_after(1_000 + 1_000 * number, number):
            state.apply(event)
            reading.on_record(1, [event])
        told.append(reading.usual_wait_ms)
    assert told[: USUAL_FROM - 1] == [None] * (USUAL_FROM - 1)
    assert told[USUAL_FROM - 1] == 500 * (USUAL_FROM + 1)
    assert told[-1] == surveyed(state).usual_wait_ms == 1_000 * USUAL_FROM + 500 * (USUAL_OF + 1)
    assert Ownership(state).usual_wait_ms is None


def test_an_owner_waits_anew_after_a_denial_and_an_edit_meanwhile_counts_nothing() -> None:
    def saved(at_ms: int) -> ListingSaved:
        return ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", at_ms)

    events: list[Event] = [saved(0), ListingReviewed(BOT_REF, "denied", "No", 100), saved(150), saved(300)]
    assert waited_ms(state_after(events[:2]).listings[BOT_REF]) == 100
    assert waited_ms(state_after(events).listings[BOT_REF]) is None
    approved = ListingReviewed(BOT_REF, "approved", None, 400)
    later = ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "approved", 900)
    row = state_after([*events, approved, later]).listings[BOT_REF]
    assert waited_ms(row) == 250
    assert waited_ms(replace(row, audit_log=())) == 250
