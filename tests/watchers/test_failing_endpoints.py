"""watchers/failing_endpoints.py: the endpoints whose last events failed."""

from core.events import EndpointHealthSet, Event, ListingMerged, ListingRemoved
from core.rows import Suspension, Webhook
from core.state import State
from snapshot import files
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF, listed
from tests.support.slots_set import webhook_removed, webhook_saved
from watchers.failing_endpoints import FailingEndpoints

URL = "https://hooks.example/votes"


def found_after(state: State, failing: FailingEndpoints, *events: Event) -> set[str]:
    for event in events:
        state.apply(event)
    failing.on_record(1, events)
    return {ref for _, ref in failing.found()}


def with_webhooks() -> State:
    state = empty_state()
    for ref in (BOT_REF, OTHER_REF, SERVER_REF):
        for event in listed(ref, URL):
            state.apply(event)
    return state


def test_it_begins_and_ends_with_what_the_log_says() -> None:
    state = with_webhooks()
    failing = FailingEndpoints(state)
    suspended = Suspension(NOW_MS, "timeout", 1, NOW_MS)

    assert failing.found() == []
    assert found_after(state, failing, EndpointHealthSet(BOT_REF, 1, None)) == {BOT_REF}
    assert found_after(state, failing, EndpointHealthSet(OTHER_REF, 0, suspended)) == {BOT_REF, OTHER_REF}
    assert found_after(state, failing, EndpointHealthSet(BOT_REF, 0, None)) == {OTHER_REF}
    assert found_after(state, failing, webhook_saved(OTHER_REF, Webhook(URL, NOW_MS))) == set()
    assert found_after(state, failing, EndpointHealthSet(SERVER_REF, 3, None)) == {SERVER_REF}
    assert found_after(state, failing, webhook_removed(SERVER_REF)) == set()


def test_a_listing_that_is_gone_or_merged_is_looked_at_again() -> None:
    state = with_webhooks()
    failing = FailingEndpoints(state)
    found_after(state, failing, EndpointHealthSet(BOT_REF, 1, None), EndpointHealthSet(OTHER_REF, 1, None))
    healthy = with_webhooks().listings[OTHER_REF]

    assert found_after(state, failing, ListingRemoved(BOT_REF)) == {OTHER_REF}
    assert found_after(state, failing, ListingMerged(healthy)) == set()


def test_a_start_knows_them_and_leaves_all_others_packed() -> None:
    source, state = with_webhooks(), empty_state()
    source.apply(EndpointHealthSet(OTHER_REF, 4, None))
    chunk = files.packed(list(source.listings.values()))
    state.load_packed(chunk.refs, chunk.rows, chunk.keys, chunk.at_once)
    state.loaded()
    failing = FailingEndpoints(state)

    assert [ref for _, ref in failing.found()] == [OTHER_REF]
    assert [row.ref for row in state.listings.unpacked()] == [OTHER_REF]


def test_suspended_ones_sort_before_those_that_fail_most() -> None:
    state = with_webhooks()
    failing = FailingEndpoints(state)
    suspended = Suspension(NOW_MS, "timeout", 1, NOW_MS)
    found_after(
        state,
        failing,
        EndpointHealthSet(BOT_REF, 3, None),
        EndpointHealthSet(OTHER_REF, 7, None),
        EndpointHealthSet(SERVER_REF, 0, suspended),
    )

    assert [ref for _, ref in sorted(failing.found())] == [SERVER_REF, OTHER_REF, BOT_REF]
    assert len(failing) == 3
