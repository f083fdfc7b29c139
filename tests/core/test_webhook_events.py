"""core/webhook_events.py: the endpoints that get an event."""

from itertools import count

import msgspec
import pytest

from core.events import DeliveryDropped, DeliveryQueued, decode_record, encode_record
from core.ledger import Ledger
from core.packing import pack
from core.rows import Delivery, Listing, Reviewed, Webhook
from core.state import State
from core.webhook_events import NewDeliveries, told
from tests.support.committed_rows import a_delivery, a_listing, a_webhook
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER
from tests.support.slots_set import webhook_saved


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def ledger(journal: MemoryJournal) -> Ledger:
    return Ledger(empty_state(), journal, 0)


@pytest.fixture
def state(ledger: Ledger) -> State:
    return ledger.state


def room(most: int = 10) -> NewDeliveries:
    numbers = count(1)
    return NewDeliveries(lambda: f"d{next(numbers)}", most)


def test_an_endpoint_that_takes_an_event_gets_one_for_each_user(ledger: Ledger, state: State) -> None:
    row = a_listing(ledger)
    a_webhook(ledger, events=("vote", "vote.struck"))
    row = state.listings[row.ref]
    users = (USER, OTHER_USER)
    assert told(state, row, "vote.struck", room(), NOW_MS, users=users, reason="Bought.") == (
        DeliveryQueued("d1", BOT_REF, USER, False, NOW_MS, "vote.struck", "Bought."),
        DeliveryQueued("d2", BOT_REF, OTHER_USER, False, NOW_MS, "vote.struck", "Bought."),
    )


def test_an_endpoint_that_does_not_take_an_event_gets_none(ledger: Ledger, state: State) -> None:
    row = a_listing(ledger)
    assert told(state, row, "review.approved", room(), NOW_MS, users=("",)) == ()
    a_webhook(ledger)
    row = state.listings[row.ref]
    assert told(state, row, "review.approved", room(), NOW_MS, users=("",)) == ()


def test_events_beyond_the_room_are_in_the_log_and_not_sent(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger, events=("vote.struck",))
    a_delivery(ledger, "first")
    row = state.listings[BOT_REF]
    events = told(state, row, "vote.struck", room(2), NOW_MS, users=(USER, OTHER_USER))
    assert [type(event) for event in events] == [DeliveryQueued, DeliveryQueued, DeliveryDropped]
    ledger.commit(events)
    assert len(state.deliveries.pending_of(BOT_REF)) == 2
    dropped = state.deliveries.find(BOT_REF, "d2")
    assert dropped is not None
    assert (dropped.state, dropped.dropped) == ("failed", "overflow")


def test_a_delivery_keeps_its_event_and_its_reason_after_a_start(
    ledger: Ledger, journal: MemoryJournal
) -> None:
    a_listing(ledger)
    a_webhook(ledger, events=("review.denied",))
    row = ledger.state.listings[BOT_REF]
    ledger.commit(told(ledger.state, row, "review.denied", room(), NOW_MS, users=("",), reason="Too quiet."))
    found = fold(journal.records).deliveries.find(BOT_REF, "d1")
    assert found is not None
    assert (found.event, found.reason, found.user) == (
        "review.denied",
        "Too quiet.",
        "",
    )


def test_votes_and_who_takes_them_alone_have_the_bytes_of_older_versions() -> None:
    queued = DeliveryQueued("d", BOT_REF, USER, False, NOW_MS)
    assert b"kind" not in encode_record([queued])
    webhook = Webhook("https://receiver.example", NOW_MS)
    assert b"events" not in msgspec.json.encode(webhook)
    assert b"events" not in encode_record([webhook_saved(BOT_REF, webhook)])
    assert b"events" not in pack(
        Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS), webhook=webhook)
    )
    content = msgspec.json.encode(Delivery("d", BOT_REF, USER, False, NOW_MS, NOW_MS))
    assert b"kind" not in content
    assert b"reason" not in content
    assert msgspec.json.decode(content, type=Delivery).event == "vote"


def test_a_record_of_an_older_version_is_of_a_vote() -> None:
    record = (
        b'[{"type":"delivery_queued.1","delivery_id":"d","ref":"bots/1","user":"2","test":false,"at_ms":3}]'
    )
    (event,) = decode_record(record)
    assert isinstance(event, DeliveryQueued)
    assert event.kind == "vote"
