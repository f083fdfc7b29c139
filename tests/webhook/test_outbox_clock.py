"""webhook/outbox.py: a wall clock that is set moves no waiting delivery, and delays none after a start."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import SystemClock, moment
from core.events import DeliveryAttempted, DeliveryMerged, DeliveryTaken, Merged
from core.rows import Attempt, Delivery
from tests.support.outbox_model import ONE_EACH, WIDE, Post
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF
from tests.support.sender_stage import KEPT_MS, RETRY
from webhook.attempts import to_steady_ms

RETRY_MS = 5_000
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
JUMPS_MS = [-20 * DAY_MS, -HOUR_MS, HOUR_MS, 20 * DAY_MS]
jumps = pytest.mark.parametrize("jump_ms", JUMPS_MS)


def put_off(post: Post, wait_ms: int = RETRY_MS) -> None:
    """The first of the bot's deliveries has failed, and waits."""
    post.queue("d1")
    (due,) = post.take()
    post.put_off(due, wait_ms)
    post.outbox.release(due)
    assert post.take() == []


@jumps
@pytest.mark.parametrize("right_again", [False, True])
def test_a_retry_is_made_when_its_delay_has_passed_however_the_clock_is_set(
    jump_ms: int, right_again: bool
) -> None:
    post = Post(WIDE, BOT_REF)
    put_off(post)
    post.ahead_ms += jump_ms
    assert post.take() == []
    if right_again:
        post.ahead_ms -= jump_ms
    assert post.timetable() == [(RETRY_MS, 1)]


@jumps
def test_a_suspended_endpoint_is_probed_when_it_was_to_be(jump_ms: int) -> None:
    post = Post(WIDE, BOT_REF)
    post.suspend(BOT_REF, for_ms=60_000)
    post.queue("d1")
    post.ahead_ms += jump_ms
    assert post.timetable() == [(60_000, 1)]


@jumps
def test_an_endpoint_is_caught_up_with_at_its_pace(jump_ms: int) -> None:
    post = Post(WIDE, BOT_REF)
    post.suspend(BOT_REF, for_ms=60_000)
    post.queue("d1", "d2", "d3")
    post.take()
    post.recover(BOT_REF)
    assert post.left() == ["d1"]
    post.ahead_ms += jump_ms
    assert post.timetable() == [(20, 1), (40, 1)]


@jumps
def test_what_is_kept_for_a_fortnight_is_kept_for_as_long(jump_ms: int) -> None:
    post = Post(WIDE, BOT_REF)
    post.suspend(BOT_REF, for_ms=60_000)
    post.queue("d1")
    post.queue("test", test=True)
    post.ahead_ms += jump_ms
    (test,) = post.take()
    assert (test.delivery_id, test.expired) == ("test", False)
    post.outbox.release(test)
    post.now_ms += KEPT_MS - 1
    (due,) = post.take()
    assert (due.delivery_id, due.expired) == ("d1", False)
    post.come_back(due)
    post.outbox.release(due)
    post.now_ms += 1
    assert [due.expired for due in post.take()] == [True], "its age goes on when it comes back"


def test_votes_leave_in_their_order_although_the_clock_was_set_back_between_them() -> None:
    post = Post(ONE_EACH, BOT_REF)
    put_off(post, wait_ms=1)
    post.now_ms += 1
    post.ahead_ms -= HOUR_MS
    post.queue("d2", "d3")
    assert post.left() == ["d1", "d2", "d3"]


@jumps
def test_after_a_start_nothing_waits_for_longer_than_it_was_to_wait(jump_ms: int) -> None:
    post = Post(WIDE, BOT_REF, OTHER_REF)
    put_off(post)
    post.suspend(OTHER_REF, for_ms=60_000)
    post.queue("d2", ref=OTHER_REF)
    post.ahead_ms += jump_ms
    post.start()
    if jump_ms < 0:
        assert post.timetable() == [(RETRY_MS, 1), (RETRY.longest_to_probe_ms(1), 1)]
    else:
        assert post.timetable() == [(0, 2)]


@jumps
def test_what_was_sent_again_by_hand_waits_for_nothing_after_a_start(jump_ms: int) -> None:
    post = Post(WIDE, BOT_REF)
    post.queue("d1")
    (due,) = post.take()
    attempt = Attempt(NOW_MS, 0, 500, "http_500", "")
    post.commit(DeliveryAttempted("d1", BOT_REF, 1, attempt, "failed", None))
    post.outbox.release(due)
    post.now_ms += DAY_MS
    post.queue("d1")
    post.ahead_ms += jump_ms
    post.start()
    assert post.timetable() == [(0, 1)]


@jumps
def test_what_is_taken_over_from_a_node_with_another_clock_leaves_at_once(jump_ms: int) -> None:
    post = Post(WIDE, BOT_REF)
    at_ms = NOW_MS - jump_ms
    row = Delivery("d1", BOT_REF, "5", False, at_ms, at_ms + RETRY_MS, owner="b.1")
    post.commit(Merged("b.1", 1), DeliveryMerged(row))
    post.commit(DeliveryTaken("d1", BOT_REF, post.now.wall_ms))
    (due,) = post.take()
    assert due.expired == (jump_ms >= KEPT_MS), "its age is a matter of both clocks"


def test_after_a_start_the_age_of_what_is_younger_than_the_clock_begins_then() -> None:
    post = Post(WIDE, BOT_REF)
    post.suspend(BOT_REF, for_ms=60_000)
    post.queue("d1", "d2")
    post.ahead_ms -= DAY_MS
    post.start()
    post.queue("d3")
    post.now_ms += KEPT_MS
    post.recover(BOT_REF)
    assert [due.delivery_id for due in post.take()][:1] == ["d1"]


@jumps
def test_what_is_put_back_keeps_its_place_and_its_age(jump_ms: int) -> None:
    post = Post(ONE_EACH, BOT_REF)
    post.queue("d1")
    (due,) = post.take()
    post.now_ms += KEPT_MS - 1
    post.ahead_ms += jump_ms
    post.queue("d2")
    post.outbox.put_back(due, post.now_ms)
    post.outbox.release(due)
    (due,) = post.take()
    assert (due.delivery_id, due.expired) == ("d1", False)
    post.outbox.put_back(due, post.now_ms)
    post.outbox.release(due)
    post.now_ms += 1
    (due,) = post.take()
    assert (due.delivery_id, due.expired) == ("d1", True)


@given(
    wall_ns=st.integers(0, 3_000_000),
    monotonic_ns=st.integers(0, 3_000_000),
    passed_ns=st.integers(0, 5_000_000),
    wait_ms=st.integers(1, 5),
)
def test_no_wait_ends_before_its_wall_time(
    wall_ns: int, monotonic_ns: int, passed_ns: int, wait_ms: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.time_ns", lambda: wall_ns)
        patch.setattr("time.monotonic_ns", lambda: monotonic_ns)
        clock = SystemClock()
        wall_ns, monotonic_ns = wall_ns + passed_ns, monotonic_ns + passed_ns
        promised_ms = clock.now_ms() + wait_ms
        due_ms = to_steady_ms(promised_ms, 1_000, moment(clock))
        while clock.steady_ms() < due_ms:
            wall_ns, monotonic_ns = wall_ns + 100_000, monotonic_ns + 100_000
        assert clock.now_ms() >= promised_ms
