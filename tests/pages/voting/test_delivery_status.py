"""pages/voting/vote_page.py: the status of a vote's delivery, in each of its states."""

from msgspec.structs import replace

from core.events import (
    DeliveryAttempted,
    DeliveryDropped,
    DeliveryMerged,
    DeliveryQueued,
    EndpointHealthSet,
    Event,
    ListingSaved,
    VoteCast,
)
from core.rows import Attempt, Delivery, Suspension, Webhook
from pages.voting.vote_page import DeliveryStatus, delivery_status, look_again_seconds
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER
from tests.support.slots_set import webhook_saved

LISTED = ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "approved", NOW_MS)
WEBHOOK = Webhook("https://receiver.example/votes", NOW_MS)
HOOKED = webhook_saved(BOT_REF, WEBHOOK)
CAST = VoteCast(BOT_REF, USER, 1, NOW_MS)
QUEUED = DeliveryQueued("d1", BOT_REF, USER, False, NOW_MS)
ATTEMPT = Attempt(NOW_MS + 5, 3, 503, "http_503", "")


def told(*events: Event, user: str = USER, cast_ms: int = NOW_MS) -> DeliveryStatus:
    state = empty_state()
    for event in (LISTED, *events):
        state.apply(event)
    return delivery_status(state, state.listings[BOT_REF], user, cast_ms)


def attempted(attempt: Attempt, outcome: str, next_ms: int | None) -> DeliveryAttempted:
    return DeliveryAttempted("d1", BOT_REF, 1, attempt, outcome, next_ms)  # type: ignore[arg-type]


def test_every_state_of_a_delivery_is_told() -> None:
    accepted = replace(ATTEMPT, status=204, error=None)
    again_ms = NOW_MS + 5_000
    assert told(CAST) == DeliveryStatus("no webhook")
    assert told(CAST, HOOKED) == DeliveryStatus("unknown")
    assert told(HOOKED, CAST, QUEUED) == DeliveryStatus("waiting")
    assert told(HOOKED, CAST, QUEUED, attempted(ATTEMPT, "retry", again_ms)) == DeliveryStatus(
        "retrying", again_ms, 503, "http_503"
    )
    assert told(HOOKED, CAST, QUEUED, attempted(accepted, "delivered", None)) == DeliveryStatus(
        "told", NOW_MS + 5, 204
    )
    assert told(HOOKED, CAST, QUEUED, attempted(ATTEMPT, "failed", None)) == DeliveryStatus(
        "failed", NOW_MS + 5, 503, "http_503"
    )
    dropped = DeliveryDropped("d1", BOT_REF, 0, "overflow", NOW_MS)
    assert told(HOOKED, CAST, QUEUED, dropped) == DeliveryStatus("failed", NOW_MS, None, "overflow")


def test_a_vote_waits_as_long_as_its_endpoint_is_suspended() -> None:
    suspended = EndpointHealthSet(BOT_REF, 10, Suspension(NOW_MS, "http_503", 1, NOW_MS + 60_000))
    failed_once = attempted(ATTEMPT, "held", NOW_MS + 5_000)
    assert told(HOOKED, CAST, QUEUED, suspended) == DeliveryStatus("held")
    assert told(HOOKED, CAST, QUEUED, failed_once, suspended) == DeliveryStatus("held")


def test_a_webhook_that_takes_no_votes_is_none() -> None:
    of_reviews = webhook_saved(BOT_REF, replace(WEBHOOK, events=("review.approved",)))
    assert told(of_reviews, CAST) == DeliveryStatus("no webhook")


def test_an_open_page_looks_again_soon_and_then_ever_more_rarely() -> None:
    ages = [0, 7, 12, 100, 239, 240, 100_000]
    seconds = [look_again_seconds(NOW_MS, NOW_MS + age * 1_000) for age in ages]
    assert seconds == [2, 2, 3, 25, 59, 60, 60]
    assert look_again_seconds(NOW_MS, NOW_MS - 5_000) == 2


def test_deliveries_of_others_of_other_votes_and_tests_say_nothing() -> None:
    assert told(HOOKED, QUEUED, user=OTHER_USER) == DeliveryStatus("unknown")
    assert told(HOOKED, QUEUED, cast_ms=NOW_MS + 1) == DeliveryStatus("unknown")
    assert told(HOOKED, replace(QUEUED, test=True)) == DeliveryStatus("unknown")
    assert told(HOOKED, replace(QUEUED, kind="vote.struck")) == DeliveryStatus("unknown")


def test_a_delivery_that_another_node_sends_is_known() -> None:
    remote = Delivery("d1", BOT_REF, USER, False, NOW_MS, NOW_MS, owner="b.1")
    assert told(HOOKED, DeliveryMerged(remote)) == DeliveryStatus("waiting")
