"""webhook/outbox.py: the order of deliveries in turns, probes, slow endpoints and catching up."""

from collections import Counter

import pytest

from core.events import DeliveryDropped, DeliveryQueued, EndpointHealthSet, Event, ListingRemoved, UserErased
from core.rows import Webhook
from tests.support.outbox_model import ONE_EACH, WIDE, Post
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF
from tests.support.sender_stage import URL
from tests.support.slots_set import webhook_removed, webhook_saved
from webhook.outbox import PATIENT_PROBES, Due, OutboxPolicy

SLOW = [f"bots/{10**17 + number}" for number in range(6)]


@pytest.mark.parametrize("policy", [ONE_EACH, WIDE])
def test_votes_of_one_millisecond_leave_in_the_order_in_which_they_came(policy: OutboxPolicy) -> None:
    post = Post(policy, BOT_REF)
    names = [f"d{number}" for number in range(9)]
    post.queue(*names)
    assert post.left() == names


def test_an_event_that_comes_back_keeps_its_place_among_those_of_its_millisecond() -> None:
    post = Post(ONE_EACH, BOT_REF)
    post.queue("first", "second", "third")
    (due,) = post.take()
    post.come_back(due)
    post.outbox.release(due)
    assert post.left() == ["first", "second", "third"]


def test_events_of_one_millisecond_that_come_back_the_other_way_round_leave_in_the_order_of_votes() -> None:
    post = Post(WIDE, BOT_REF)
    post.queue("first", "second", "third")
    for due in reversed(post.take()):
        post.come_back(due)
        post.outbox.release(due)
    assert post.left() == ["first", "second", "third"]


def test_what_was_sent_again_before_it_was_durable_leaves_once() -> None:
    post = Post(WIDE, BOT_REF)
    dropped = DeliveryDropped("d1", BOT_REF, made=0, reason="overflow", at_ms=NOW_MS)
    post.commit(DeliveryQueued("d1", BOT_REF, "5", test=False, at_ms=NOW_MS), dropped)
    post.queue("d1")
    assert post.left() == ["d1"]


def test_an_older_event_that_is_tried_again_goes_before_younger_ones() -> None:
    post = Post(ONE_EACH, BOT_REF)
    post.queue("older")
    (due,) = post.take()
    post.now_ms += 1
    post.queue("younger", "youngest")
    post.come_back(due)
    post.outbox.release(due)
    assert post.left() == ["older", "younger", "youngest"]


def test_an_endpoint_with_a_long_backlog_does_not_delay_another_s_single_vote() -> None:
    post = Post(ONE_EACH, BOT_REF, OTHER_REF)
    post.queue(*[f"d{number}" for number in range(100)])
    post.queue("single", ref=OTHER_REF)
    assert [due.delivery_id for due in post.take()] == ["d0", "single"]


def test_endpoints_take_turns_when_there_are_fewer_places_than_events() -> None:
    post = Post(OutboxPolicy(1, 1, catch_up_gap_ms=20, look_ups=4), BOT_REF, OTHER_REF, SERVER_REF)
    for ref, names in ((BOT_REF, "abc"), (OTHER_REF, "de"), (SERVER_REF, "f")):
        post.queue(*names, ref=ref)
    assert post.left() == ["a", "d", "f", "b", "e", "c"]


def test_a_suspended_endpoint_gets_one_probe_at_a_time_and_none_before_its_time() -> None:
    post = Post(WIDE, BOT_REF)
    post.suspend(BOT_REF, for_ms=60)
    post.queue("first")
    assert post.take() == []
    assert post.outbox.next_due_ms() == NOW_MS + 60
    post.now_ms += 60
    post.queue("second", "third")
    (probe,) = post.take()
    assert probe == Due("first", BOT_REF, probe=True, slow=False, urgent=False, expired=False)
    post.now_ms += 3_600_000
    assert post.take() == [], "no second one before the first is judged"
    post.come_back(probe)
    post.suspend(BOT_REF, for_ms=120)
    post.outbox.release(probe)
    assert post.take() == []
    post.now_ms += 120
    (probe,) = post.take()
    assert (probe.delivery_id, probe.probe) == ("first", True), "held, and still the first of its line"


def test_without_a_probe_to_send_the_first_vote_after_the_suspension_is_one() -> None:
    post = Post(WIDE, BOT_REF)
    post.suspend(BOT_REF, for_ms=60)
    post.now_ms += 60
    assert post.take() == []
    assert post.outbox.next_due_ms() is None
    post.queue("first", "second")
    assert [(due.delivery_id, due.probe) for due in post.take()] == [("first", True)]


def test_a_probe_that_is_removed_before_it_leaves_makes_the_next_one_the_probe() -> None:
    post = Post(WIDE, BOT_REF)
    post.suspend(BOT_REF, for_ms=60)
    post.commit(DeliveryQueued("erased", BOT_REF, "6", test=False, at_ms=post.now_ms))
    post.queue("next")
    post.commit(UserErased("6", (BOT_REF,)))
    post.now_ms += 60
    assert [(due.delivery_id, due.probe) for due in post.take()] == [("next", True)]


def test_an_event_that_always_fails_does_not_keep_its_endpoint_from_recovering() -> None:
    post = Post(WIDE, BOT_REF)
    post.queue("bad", "b", "c")
    probes = []
    for times in range(1, PATIENT_PROBES + 3):
        post.suspend(BOT_REF, for_ms=60, times=times)
        post.now_ms += 60
        (probe,) = post.take()
        probes.append(probe.delivery_id)
        post.come_back(probe)
        post.outbox.release(probe)
    assert probes == [*["bad"] * PATIENT_PROBES, "b", "c"]
    post.recover(BOT_REF)
    assert post.leaving() == ["bad", "b", "c"]


def test_a_test_goes_ahead_of_the_line_and_past_the_suspension_but_is_no_probe() -> None:
    post = Post(ONE_EACH, BOT_REF)
    post.queue("vote 1", "vote 2")
    (vote,) = post.take()
    post.queue("test", test=True)
    post.queue("another", test=True)
    (test,) = post.take()
    assert test == Due("test", BOT_REF, probe=False, slow=False, urgent=True, expired=False)
    post.suspend(BOT_REF, for_ms=60)
    post.outbox.release(vote)
    assert post.take() == [], "one test at a time"
    post.outbox.release(test)
    assert post.take() == [test._replace(delivery_id="another")]


def test_not_even_a_test_goes_to_an_endpoint_that_is_to_be_left_alone() -> None:
    post = Post(ONE_EACH, BOT_REF, OTHER_REF)
    post.outbox.hold(BOT_REF, NOW_MS + 30)
    post.outbox.hold(BOT_REF, NOW_MS + 10)
    post.queue("test", test=True)
    post.queue("vote")
    post.queue("elsewhere", ref=OTHER_REF)
    assert post.timetable() == [(0, 1), (30, 2)]


def test_what_an_endpoint_asked_for_holds_although_it_recovers() -> None:
    post = Post(ONE_EACH, BOT_REF)
    post.queue("vote")
    post.outbox.hold(BOT_REF, NOW_MS + 30)
    post.recover(BOT_REF)
    assert post.timetable() == [(30, 1)]


def test_saving_the_settings_ends_every_wait() -> None:
    post = Post(ONE_EACH, BOT_REF)
    post.suspend(BOT_REF, for_ms=60)
    post.outbox.hold(BOT_REF, NOW_MS + 30)
    post.queue("vote")
    assert post.take() == []
    post.commit(webhook_saved(BOT_REF, Webhook(URL, NOW_MS)))
    assert post.left() == ["vote"]


def test_all_slow_endpoints_together_take_at_most_half_of_the_places() -> None:
    post = Post(ONE_EACH, BOT_REF, OTHER_REF, SERVER_REF, *SLOW)
    post.make_slow(*SLOW)
    for ref in (*SLOW, BOT_REF, OTHER_REF, SERVER_REF):
        post.queue(f"second of {ref}", ref=ref)
    taken = post.take()
    assert [due.slow for due in taken] in ([True, False] * 2, [False, True] * 2)
    assert [due.ref for due in taken if due.slow] == SLOW[:2]
    assert [due.ref for due in taken if not due.slow] == [BOT_REF, OTHER_REF]
    for due in taken:
        post.outbox.release(due, slow=due.slow)
    assert sorted(due.ref for due in post.take()) == sorted([*SLOW[2:4], SERVER_REF]), "the others' turn"


@pytest.mark.parametrize("in_flight", [1, 2, 4, 7])
def test_slow_endpoints_with_backlogs_have_the_same_share_of_attempts(in_flight: int) -> None:
    policy = OutboxPolicy(in_flight, in_flight_per_endpoint=2, catch_up_gap_ms=20, look_ups=4)
    post = Post(policy, *SLOW[:3])
    post.make_slow(*SLOW[:3])
    for ref in SLOW[:3]:
        post.queue(*[f"{number} of {ref}" for number in range(9)], ref=ref)
    attempts: list[Due] = []
    while len(attempts) < 60:
        taken = post.take()
        attempts += taken
        for due in taken:
            post.time_out(due)
    assert all(19 <= number <= 22 for number in Counter(due.ref for due in attempts).values())
    assert {due.delivery_id for due in attempts} == {f"0 of {ref}" for ref in SLOW[:3]}


def test_a_test_to_a_slow_endpoint_takes_a_place_of_the_slow() -> None:
    post = Post(ONE_EACH, BOT_REF, *SLOW[:3])
    post.make_slow(*SLOW[:3])
    for ref in SLOW[:3]:
        post.queue(f"test of {ref}", ref=ref, test=True)
    running = post.take()
    assert [(due.ref, due.slow, due.urgent) for due in running] == [(ref, True, True) for ref in SLOW[:2]]
    post.outbox.release(running[0], slow=True)
    assert [due.ref for due in post.take()] == [SLOW[2]]


def test_a_slow_endpoint_that_has_become_another_waits_for_none_of_the_slow() -> None:
    post = Post(ONE_EACH, *SLOW[:4])
    post.make_slow(*SLOW[:4])
    for ref in SLOW[:4]:
        post.queue(f"second of {ref}", ref=ref)
    running = post.take()
    assert [due.ref for due in running] == SLOW[:2]
    post.commit(webhook_saved(SLOW[2], Webhook(URL, NOW_MS)))
    assert post.left() == [f"second of {SLOW[2]}"]
    for due in running:
        post.outbox.release(due, slow=True)
    assert post.left() == [f"second of {SLOW[3]}"]


def test_what_was_held_back_leaves_at_the_endpoint_s_pace_after_it_recovers() -> None:
    post = Post(WIDE, BOT_REF, OTHER_REF)
    post.suspend(BOT_REF, for_ms=60)
    post.queue(*[f"d{number}" for number in range(5)])
    post.take()
    post.recover(BOT_REF)
    assert post.timetable() == [(0, 1), (20, 1), (40, 1), (60, 1), (80, 1)]
    post.queue("later", "and later")
    assert post.timetable() == [(0, 2)], "what came afterwards is not held back"


def test_an_event_that_fails_for_good_does_not_quicken_the_pace() -> None:
    post = Post(WIDE, BOT_REF)
    post.suspend(BOT_REF, for_ms=60)
    post.queue(*[f"d{number}" for number in range(3)])
    post.take()
    post.recover(BOT_REF)
    assert len(post.left()) == 1
    post.commit(EndpointHealthSet(BOT_REF, 1, None))
    assert post.timetable() == [(20, 1), (40, 1)]


@pytest.mark.parametrize(
    "removal", [webhook_removed(BOT_REF), ListingRemoved(BOT_REF), UserErased("5", (BOT_REF,))], ids=type
)
def test_nothing_is_remembered_of_what_was_removed_while_it_waited_and_ran(removal: Event) -> None:
    post = Post(ONE_EACH, BOT_REF)
    post.queue("first")
    running = post.take()
    post.queue("second", "third")
    post.queue("test", "another", test=True)
    running += post.take()
    assert [due.delivery_id for due in running] == ["first", "test"]
    post.commit(removal)
    for due in running:
        post.outbox.release(due, slow=not isinstance(removal, UserErased))
    assert post.take() == []
    assert (post.outbox._entries, post.outbox._queues) == ({}, {})


def test_a_slow_endpoint_that_is_removed_is_forgotten() -> None:
    post = Post(ONE_EACH, BOT_REF)
    post.make_slow(BOT_REF)
    assert post.outbox._queues
    post.commit(ListingRemoved(BOT_REF))
    assert post.take() == []
    assert post.outbox._queues == {}


def test_while_every_slot_is_taken_no_time_is_due() -> None:
    policy = OutboxPolicy(1, in_flight_per_endpoint=2, catch_up_gap_ms=20, look_ups=4)
    post = Post(policy, BOT_REF)
    post.queue("running", "waiting")
    (running,) = post.take()
    post.outbox.hold(BOT_REF, NOW_MS + 60)
    assert post.outbox.next_due_ms() is None, "the end of the attempt wakes the outbox"
    post.outbox.release(running)
    assert post.outbox.next_due_ms() == NOW_MS + 60
