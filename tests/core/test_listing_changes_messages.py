"""core/listing_changes.py: the message to an owner after events, and joined with that of another node."""

import pytest
from msgspec.structs import replace

from core.actors import user_actor
from core.events import OwnerMessageAttempted, OwnerMessageEvent, OwnerMessageQueued, OwnerMessageTaken
from core.listing_changes import changed_message
from core.rows import Attempt, Outcome, OwnerMessage, Stamp
from core.sharing import joined_messages
from tests.support.sample_rows import BOT_REF, NOW_MS, OWNER

TO = user_actor(OWNER)
QUEUED = OwnerMessageQueued(BOT_REF, TO, "denied", "It is silent.", NOW_MS)
WAITING = OwnerMessage(TO, "denied", "It is silent.", NOW_MS, NOW_MS)
ELSEWHERE = replace(WAITING, node="b.1", stamp=Stamp(NOW_MS, "b.1"))
FAILED = Attempt(NOW_MS, 5, 500, "http_500", "")


def attempted(
    outcome: Outcome, next_ms: int | None, *, number: int = 1, decided_ms: int = NOW_MS
) -> OwnerMessageAttempted:
    return OwnerMessageAttempted(BOT_REF, decided_ms, number, FAILED, outcome, next_ms)


def test_a_decision_makes_a_message_that_is_due_at_once() -> None:
    assert changed_message(None, QUEUED, None) == WAITING
    stamp = Stamp(NOW_MS, "a.1")
    assert changed_message(None, QUEUED, stamp) == replace(WAITING, stamp=stamp)


def test_a_later_decision_takes_the_place_of_the_message_before() -> None:
    approved = OwnerMessageQueued(BOT_REF, TO, "approved", None, NOW_MS + 1)
    told = replace(WAITING, made=3, next_attempt_ms=None, delivered=True, last=FAILED)
    assert changed_message(told, approved, None) == OwnerMessage(TO, "approved", None, NOW_MS + 1, NOW_MS + 1)


def test_a_decision_that_is_known_changes_nothing() -> None:
    told = replace(WAITING, made=3, next_attempt_ms=None, delivered=True, last=FAILED)
    assert changed_message(told, QUEUED, None) is told


@pytest.mark.parametrize(
    ("outcome", "next_ms", "tries", "delivered"),
    [
        ("retry", NOW_MS + 5, 1, False),
        ("held", NOW_MS + 5, 0, False),
        ("failed", None, 1, False),
        ("delivered", None, 1, True),
    ],
)
def test_an_attempt_is_counted_with_its_outcome(
    outcome: Outcome, next_ms: int | None, tries: int, delivered: bool
) -> None:
    after = changed_message(WAITING, attempted(outcome, next_ms), None)
    expected = replace(WAITING, made=1, tries=tries, next_attempt_ms=next_ms, delivered=delivered)
    assert after == replace(expected, last=FAILED)


@pytest.mark.parametrize(
    "known",
    [
        None,
        replace(WAITING, decided_ms=NOW_MS + 1),
        replace(WAITING, made=1),
        replace(WAITING, next_attempt_ms=None),
        ELSEWHERE,
    ],
)
def test_an_attempt_at_something_else_changes_nothing(known: OwnerMessage | None) -> None:
    assert changed_message(known, attempted("delivered", None), None) is known


def test_a_message_of_another_node_is_taken_over_and_due_at_once() -> None:
    ahead = replace(ELSEWHERE, next_attempt_ms=NOW_MS + 90_000)
    taken = OwnerMessageTaken(BOT_REF, NOW_MS, NOW_MS + 9)
    expected = replace(ELSEWHERE, node="", taken_ms=NOW_MS + 9, next_attempt_ms=NOW_MS + 9)
    assert changed_message(ahead, taken, None) == expected
    behind = replace(ahead, taken_ms=NOW_MS + 50)
    assert changed_message(behind, taken, None) == replace(expected, taken_ms=NOW_MS + 51)


@pytest.mark.parametrize(
    "known",
    [None, WAITING, replace(ELSEWHERE, next_attempt_ms=None), replace(ELSEWHERE, decided_ms=NOW_MS + 1)],
)
def test_there_is_nothing_else_to_take_over(known: OwnerMessage | None) -> None:
    taken: OwnerMessageEvent = OwnerMessageTaken(BOT_REF, NOW_MS, NOW_MS + 9)
    assert changed_message(known, taken, None) is known


def test_of_two_nodes_messages_that_of_the_later_decision_wins_and_then_the_later_sender() -> None:
    told = replace(ELSEWHERE, made=1, next_attempt_ms=None, delivered=True)
    taken = replace(ELSEWHERE, node="a.1", taken_ms=NOW_MS)
    later = replace(ELSEWHERE, stamp=Stamp(NOW_MS + 1, "a.1"), node="a.1")
    in_order: list[OwnerMessage | None] = [
        None,
        ELSEWHERE,
        replace(ELSEWHERE, made=1),
        told,
        taken,
        later,
    ]
    for number, winner in enumerate(in_order):
        for loser in in_order[: number + 1]:
            assert joined_messages(winner, loser) == winner
            assert joined_messages(loser, winner) == winner
