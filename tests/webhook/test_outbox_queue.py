"""webhook/outbox.py: the queue of one endpoint."""

from functools import partial
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from webhook.outbox import PATIENT_PROBES, EndpointQueue, QueueEntry

ROOM = 2
NEVER = -1  # nothing has waited since before then


def line_of(*names: str) -> EndpointQueue:
    line = EndpointQueue()
    for order, name in enumerate(names):
        line.enter(QueueEntry(0, order, name))
    return line


def drained(line: EndpointQueue, pending: set[str]) -> list[str]:
    names = []
    while (name := line.first(pending)) is not None:
        names.append(name)
        assert line.leave(NEVER).delivery_id == name
    return names


@examples(200)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30), st.randoms())
def test_a_line_is_in_the_order_of_votes_whoever_comes_first_without_those_that_are_removed(
    entries: list[tuple[int, bool]], random: Random
) -> None:
    line, pending = EndpointQueue(), set()
    arrivals = list(enumerate(entries))
    random.shuffle(arrivals)
    for number, (since_ms, stays) in arrivals:
        line.enter(QueueEntry(since_ms, number, str(number)))
        pending |= {str(number)} if stays else set()
    by_age = sorted(range(len(entries)), key=lambda number: entries[number][0])
    assert drained(line, pending) == [str(number) for number in by_age if entries[number][1]]
    assert line.is_idle


def test_looking_at_the_first_does_not_take_it() -> None:
    line = line_of("a", "b")
    assert line.first({"a", "b"}) == line.first({"a", "b"}) == "a"


def test_an_endpoint_has_its_room_or_room_for_one_while_it_is_slow() -> None:
    line = line_of("a")
    assert line.may_move(0, ROOM)
    line.in_flight = 1
    assert line.may_move(0, ROOM)
    line.slow = True
    assert not line.may_move(0, ROOM)
    line.slow, line.in_flight = False, ROOM
    assert not line.may_move(0, ROOM)


def test_a_suspended_endpoint_has_room_for_one_probe_from_its_time_on() -> None:
    line = line_of("a")
    line.probe_ms = 5
    assert [line.may_move(now_ms, ROOM) for now_ms in (4, 5, 6)] == [False, True, True]
    line.in_flight = 1
    assert not line.may_move(6, ROOM)


def test_who_leaves_takes_along_the_place_to_come_back_to() -> None:
    line = EndpointQueue()
    younger, older = QueueEntry(2, 1, "younger"), QueueEntry(1, 7, "older")
    line.enter(younger)
    line.enter(older)
    assert [line.leave(NEVER), line.leave(NEVER)] == [older, younger]


def probed(line: EndpointQueue, number: int, kept_since_ms: int = NEVER) -> list[str]:
    """Return the next probes. Each fails and comes back."""
    names = []
    for _ in range(number):
        line.suspend(probe_ms=5, probes=line.probes + 1)
        place = line.leave(kept_since_ms)
        line.enter(place)
        names.append(place.delivery_id)
    return names


def test_the_first_event_is_the_probe_until_it_has_failed_often_and_then_probes_go_round() -> None:
    line = line_of("a", "b", "c")
    assert probed(line, PATIENT_PROBES + 7) == [*"a" * PATIENT_PROBES, *"bcabcab"]


def test_a_probe_that_does_not_come_back_leaves_the_turn_to_the_one_behind_it() -> None:
    line = line_of("a", "b", "c")
    probed(line, PATIENT_PROBES)
    line.suspend(probe_ms=5, probes=PATIENT_PROBES + 1)
    assert line.leave(NEVER).delivery_id == "b"
    assert probed(line, 4) == [*"caca"]


def test_after_the_probes_all_leave_in_the_order_of_votes_and_later_probes_begin_at_the_first() -> None:
    line = line_of("a", "b", "c", "d")
    assert probed(line, PATIENT_PROBES + 2)[-1] == "c"
    line.flow()
    assert [line.leave(NEVER).delivery_id for _ in range(2)] == ["a", "b"]
    line.suspend(probe_ms=9, probes=1)
    assert line.leave(NEVER).delivery_id == "c"
    line.flow()
    assert drained(line, {*"d"}) == ["d"]


def test_what_has_waited_for_too_long_leaves_before_any_probe() -> None:
    line = line_of("a", "b")
    assert probed(line, PATIENT_PROBES + 1)[-1] == "b"
    assert probed(line, 2, kept_since_ms=0) == ["a", "a"]


def test_those_that_need_not_wait_are_taken_one_at_a_time_in_the_order_in_which_they_came() -> None:
    line = EndpointQueue()
    for order, name in enumerate(("removed", "first", "removed too", "second")):
        line.enter_urgent(QueueEntry(0, order, name))
    pending = {"first", "second"}
    assert not line.is_idle
    assert line.first_urgent(pending) == line.first_urgent(pending) == "first"
    line.urgent.popleft()
    line.urgent_in_flight = True
    assert line.first_urgent(pending) is None
    line.urgent_in_flight = False
    assert line.first_urgent(pending) == "second"
    assert line.first_urgent(set()) is None
    assert line.is_idle


def test_after_a_suspension_all_but_the_first_follow_at_the_endpoint_s_pace() -> None:
    for number, paced in ((0, 0), (1, 0), (4, 3)):
        line = line_of(*map(str, range(number)))
        line.probe_ms = 5
        line.flow()
        assert line.may_move(0, ROOM)
        assert line.to_catch_up == paced


def test_an_endpoint_that_was_not_suspended_has_nothing_more_to_catch_up_with() -> None:
    line = line_of("a", "b", "c")
    line.to_catch_up, line.slow, line.not_before_ms, line.misses = 1, True, 7, 2
    line.flow()
    assert (line.to_catch_up, line.slow, line.not_before_ms, line.misses) == (1, True, 7, 2)
    line.forget_pace()
    assert (line.slow, line.not_before_ms, line.misses) == (False, 0, 0)


def test_a_line_is_idle_when_there_is_nothing_to_remember() -> None:
    line = EndpointQueue()
    assert line.is_idle
    for name, value in (("in_flight", 1), ("slow", True), ("probe_ms", 0)):
        line = EndpointQueue()
        setattr(line, name, value)
        assert not line.is_idle


def test_what_waits_for_an_endpoint_that_is_gone_is_forgotten() -> None:
    line = line_of("a")
    line.enter_urgent(QueueEntry(0, 1, "test"))
    line.probe_ms, line.slow, line.to_catch_up = 5, True, 3
    assert not line.gone
    line.forget()
    assert (line.is_idle, line.gone) == (True, True)
    assert (line.first({"a"}), line.first_urgent({"test"}), line.to_catch_up) == (None, None, 0)


def test_whatever_comes_for_an_endpoint_that_was_gone_shows_that_it_is_back() -> None:
    line = EndpointQueue()
    for comes in (
        partial(line.enter, QueueEntry(0, 0, "a")),
        partial(line.enter_urgent, QueueEntry(0, 0, "test")),
    ):
        line.forget()
        comes()
        assert not line.gone
