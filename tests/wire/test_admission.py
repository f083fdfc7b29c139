"""wire/admission.py: which connections are ended for others, and which are turned away."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from wire.admission import LOOKS, MOMENT_SECONDS, QUIET_SECONDS, Admission

MANY = 1_000_000


class Visitor:
    """A connection that is as idle as the test says."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.idle = True
        self.unread = False
        self.deadline = float("inf")
        self.ended = False

    def make_room(self) -> None:
        assert self.idle or self.unread, "somebody misses an answer"
        assert not self.ended, "ended twice"
        self.ended = True


class House:
    """An admission whose clock moves on with each request."""

    def __init__(self, room: int, per_address: int = MANY) -> None:
        self.admission = Admission(room, per_address, lambda peer: None if peer == "proxy" else peer)
        self.now = 0.0
        self.visitors: list[Visitor] = []

    def comes(self, name: str = "", peer: str = "proxy") -> Visitor | None:
        """Return the newcomer, if it may stay."""
        visitor = Visitor(name)
        if not self.admission.admits(visitor, peer, self.now, self.now + 75):
            return None
        self.visitors.append(visitor)
        return visitor

    def asks(self, visitor: Visitor) -> None:
        self.now += 1
        self.admission.asked(visitor, self.now + 75)
        visitor.deadline = self.now + 75

    def begins(self, visitor: Visitor) -> None:
        """A part of a request comes."""
        self.now += 1
        self.admission.begins(visitor, self.now)
        visitor.deadline = self.now + 10

    def ended(self) -> list[str]:
        return [visitor.name for visitor in self.visitors if visitor.ended]


def full(room: int, *, asked: bool, **options: int) -> tuple[House, list[Visitor]]:
    """Return a house without room for more, and its visitors."""
    house = House(room, **options)
    inside = [house.comes(str(number)) for number in range(room)]
    for visitor in inside:
        assert visitor is not None
        if asked:
            house.asks(visitor)
    return house, house.visitors[:]


def test_while_there_is_room_nobody_is_ended() -> None:
    house, _ = full(5, asked=False)
    assert house.ended() == []


def test_those_that_have_asked_nothing_are_ended_in_the_order_in_which_they_came() -> None:
    house, _ = full(3, asked=False)
    for _ in range(4):
        assert house.comes("new") is not None
    assert house.ended() == ["0", "1", "2", "new"]


def test_those_that_are_kept_alive_are_ended_by_their_last_request() -> None:
    house, inside = full(4, asked=True)
    for number in (1, 0, 3):
        house.asks(inside[number])
    ended = []
    for _ in range(4):
        newcomer = house.comes()
        assert newcomer is not None
        newcomer.idle = False
        ended += [each for each in house.ended() if each not in ended]
    assert ended == ["2", "1", "0", "3"]


def test_those_that_never_asked_go_before_those_that_did() -> None:
    house, _ = full(3, asked=True)
    house.admission.left(house.visitors[1])
    assert house.comes("silent") is not None
    house.now += MOMENT_SECONDS
    assert house.comes("new") is not None
    assert house.ended() == ["silent"]


def test_those_in_the_middle_of_a_request_go_first_and_who_has_waited_longest_before_all() -> None:
    house, inside = full(5, asked=True)
    for number in (3, 1, 4, 1):
        house.begins(inside[number])
    house.asks(inside[4])
    house.now += 1
    silent = house.visitors.index(inside[0])
    house.admission.left(inside[silent])
    assert house.comes("silent") is not None
    house.begins(inside[2])
    house.now += MOMENT_SECONDS
    ended = []
    for _ in range(5):
        newcomer = house.comes("new")
        assert newcomer is not None
        house.asks(newcomer)
        newcomer.idle = False
        ended += [each for each in house.ended() if each not in ended]
    assert ended == ["3", "1", "silent", "2", "4"]


def test_a_newcomer_has_a_moment_to_ask_while_others_have_been_idle_for_longer() -> None:
    house, _ = full(4, asked=True)
    house.now += MOMENT_SECONDS
    for number in range(3):
        assert house.comes(f"new {number}") is not None
    assert house.ended() == ["0", "1", "2"]
    house.now += MOMENT_SECONDS
    assert house.comes("new 3") is not None
    assert house.ended() == ["0", "1", "2", "new 0"]


def test_a_part_of_a_request_at_every_connection_keeps_no_newcomer_out_however_often_they_come_back() -> None:
    house, inside = full(20, asked=False)
    for _ in range(5):
        for visitor in house.visitors:
            house.begins(visitor)
        honest = house.comes("honest")
        assert honest is not None
        for _ in range(len(inside) - 1):
            assert house.comes("again") is not None
        assert "honest" not in house.ended()
        house.asks(honest)
        house.admission.left(honest)


def test_if_nobody_is_idle_the_one_that_has_left_its_answers_unread_for_the_longest_is_ended() -> None:
    house, inside = full(3, asked=True)
    for visitor in inside:
        visitor.idle = False
    for visitor in (inside[1], inside[0]):
        visitor.unread = True
        house.admission.unread(visitor, house.now)
        house.now += 0.1
    assert house.comes("early") is None, "a client has a moment to read"
    house.now += MOMENT_SECONDS
    house.admission.unread(inside[1], house.now)  # only the first call counts
    new = house.comes("new")
    assert new is not None
    assert house.ended() == ["1"]
    new.idle = False
    house.admission.reads(inside[0])
    assert house.comes("late") is None
    assert house.ended() == ["1"]


@pytest.mark.parametrize("asked", [True, False])
def test_nobody_with_a_request_under_way_is_ended_and_then_the_newcomer_is_turned_away(asked: bool) -> None:
    house, inside = full(4, asked=asked)
    for visitor in inside:
        visitor.idle = False
    assert house.comes() is None
    inside[2].idle = True
    assert house.comes() is not None
    assert house.ended() == ["2"]
    assert (house.admission.refused, house.admission.ended) == (1, 1)


@pytest.mark.parametrize("asked", [True, False])
def test_one_that_is_idle_is_found_among_many_that_are_not(asked: bool) -> None:
    house, inside = full(4 * LOOKS, asked=asked)
    for visitor in inside:
        visitor.idle = visitor is inside[-1]
    newcomers = [house.comes() for _ in range(4)]
    assert any(newcomers), "as many newcomers look at everybody"
    assert house.ended() == [inside[-1].name]


def test_many_that_have_left_hide_nobody_and_are_not_kept() -> None:
    house, inside = full(5 * LOOKS, asked=True)
    for visitor in inside[:-1]:
        house.admission.left(visitor)
    for number in range(5 * LOOKS - 1):
        newcomer = house.comes(f"new {number}")
        assert newcomer is not None
        house.asks(newcomer)
        newcomer.idle = False
    assert house.comes() is not None
    assert house.ended() == [inside[-1].name]
    for visitor in house.visitors:
        house.admission.left(visitor)
    for _ in range(10 * LOOKS):
        newcomer = house.comes()
        assert newcomer is not None
        house.asks(newcomer)
        house.admission.left(newcomer)
    assert len(house.admission._asked) < LOOKS


def test_an_address_has_its_share_and_others_have_theirs() -> None:
    house = House(100, per_address=2)
    first = house.comes(peer="a")
    assert first is not None
    assert house.comes(peer="a") is not None
    assert house.comes(peer="a") is None
    assert house.comes(peer="b") is not None
    assert all(house.comes(peer="proxy") for _ in range(10)), "those that are counted for nobody"
    house.admission.left(first)
    house.admission.left(first)
    assert house.comes(peer="a") is not None
    assert house.comes(peer="a") is None
    for visitor in house.visitors:
        house.admission.left(visitor)
    assert house.admission._counts == {}


def test_one_line_tells_that_an_address_is_turned_away_and_one_that_it_is_not_any_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    house = House(100, per_address=1)
    kept = house.comes(peer="192.0.2.1")
    assert kept is not None
    for _ in range(50):
        assert house.comes(peer="192.0.2.1") is None
        house.admission.left(kept)
        kept = house.comes(peer="192.0.2.1")
        assert kept is not None
        house.now += 1
        house.admission.step(house.now)
    begin = "connections from 192.0.2.1 are closed as they come: it has 1 (server.connections_per_address)"
    assert [record.getMessage() for record in caplog.records] == [begin]
    house.now += QUIET_SECONDS
    for _ in range(2):
        house.admission.step(house.now)
    assert house.comes(peer="192.0.2.1") is None
    assert [record.getMessage() for record in caplog.records] == [
        begin,
        "connections from 192.0.2.1 are closed no longer; 50 were",
        begin,
    ]
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.INFO, logging.WARNING]


def first_to_end(idle: list[Visitor], waiting: dict[Visitor, float], now: float) -> Visitor | None:
    unfinished = min(filter(waiting.__contains__, idle), key=waiting.__getitem__, default=None)
    answered = [visitor for visitor in idle if visitor not in waiting]
    longest = min(answered, key=lambda visitor: visitor.deadline, default=None)
    if unfinished is None or longest is None:
        return unfinished or longest
    just_begun = waiting[unfinished] > now - MOMENT_SECONDS
    return longest if just_begun and longest.deadline <= now + 75 - MOMENT_SECONDS else unfinished


deeds = st.lists(
    st.tuples(st.sampled_from(["comes", "asks", "begins", "runs", "ends", "leaves"]), st.integers(0, 30)),
    max_size=80,
)


@examples(600)
@given(deeds, st.integers(1, 6), st.integers(1, 4))
def test_it_does_what_looking_at_everybody_would_do(
    deeds: list[tuple[str, int]], room: int, per_address: int
) -> None:
    house, peers = House(room, per_address), dict[Visitor, str]()
    waiting = dict[Visitor, float]()
    for deed, number in deeds:
        inside = [visitor for visitor in peers if not visitor.ended]
        if deed == "comes":
            peer = "abcd"[number % 4]
            share = sum(peers[visitor] == peer for visitor in inside) < per_address
            idle = [visitor for visitor in inside if visitor.idle]
            expected = first_to_end(idle, waiting, house.now)
            newcomer = house.comes(peer=peer)
            assert (newcomer is not None) == (share and (len(inside) < room or bool(idle)))
            ended = [visitor for visitor in inside if visitor.ended]
            assert len(ended) == (newcomer is not None and len(inside) == room)
            assert set(ended) <= {expected}
            if newcomer is not None:
                peers[newcomer] = peer
                house.now += 0.01
                waiting[newcomer] = house.now
        elif inside:
            visitor = inside[number % len(inside)]
            if deed == "leaves":
                house.admission.left(visitor)
                del peers[visitor]
            elif deed == "begins":
                if visitor.idle:
                    house.begins(visitor)
                    waiting.setdefault(visitor, house.now)
            elif deed == "runs":
                house.asks(visitor)
                waiting.pop(visitor, None)
                visitor.idle = False
            elif deed == "asks" or not visitor.idle:
                visitor.idle = True
                house.asks(visitor)
                waiting.pop(visitor, None)
