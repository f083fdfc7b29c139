"""outbound/slots.py: the number of running attempts, and the order of those that wait."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from outbound.slots import Slot, Slots

NUMBER, LOOK_UPS = 4, 3


class Attempts:
    """Attempts that share some slots. `order` has those that came back, in their order."""

    def __init__(self, number: int = NUMBER, look_ups: int = LOOK_UPS) -> None:
        self.slots, self.look_ups = Slots(number), Slots(look_ups)
        self.order: list[Slot] = []
        self.left = 0

    def leaves(self) -> None:
        self.left += 1

    def begin(self, *, slow: bool = False) -> Slot:
        assert self.slots.is_free(slow=slow)
        self.slots.take(slow=slow)
        return Slot(self.slots, self.look_ups, slow=slow, left=self.leaves)

    def looking_up(self, *, slow: bool = False) -> Slot:
        slot = self.begin(slow=slow)
        slot.look_up()
        return slot

    def back(self, slot: Slot) -> None:
        slot.found()
        slot.come_back(lambda: self.order.append(slot))

    def end(self, slot: Slot) -> None:
        slot.found()
        slot.stay_away()
        if slot.held:
            self.slots.give(slow=slot.slow)


def test_an_attempt_that_looks_a_name_up_leaves_its_slot_to_others() -> None:
    attempts = Attempts(number=1)
    away = attempts.looking_up()
    assert (away.held, attempts.left) == (False, 1)
    assert attempts.begin().held


def test_who_comes_back_gets_the_next_slot_in_the_order_of_coming_back() -> None:
    attempts = Attempts(number=1)
    first, second = attempts.looking_up(), attempts.looking_up()
    held = attempts.begin()
    attempts.back(second)
    attempts.back(first)
    assert attempts.order == []
    attempts.end(held)
    assert attempts.order == [second]
    assert not attempts.slots.is_free(), "a new one waits until those have had theirs"
    attempts.end(second)
    assert attempts.order == [second, first]
    attempts.end(first)
    assert attempts.slots.is_free()


def test_who_comes_back_to_a_free_slot_has_it_at_once() -> None:
    attempts = Attempts()
    slot = attempts.looking_up()
    attempts.back(slot)
    assert (attempts.order, slot.held) == ([slot], True)


def test_when_too_many_look_names_up_the_next_one_keeps_its_slot_meanwhile() -> None:
    attempts = Attempts(number=1, look_ups=1)
    away, staying = attempts.looking_up(), attempts.looking_up()
    assert (away.held, staying.held) == (False, True)
    assert not attempts.slots.is_free()
    staying.found()
    attempts.end(staying)
    attempts.end(away)
    assert attempts.look_ups.is_free()


def test_the_slow_take_half_of_the_slots_and_half_of_the_look_ups() -> None:
    attempts = Attempts(number=4, look_ups=4)
    away = [attempts.looking_up(slow=True) for _ in range(2)]
    assert [slot.held for slot in away] == [False, False], "neither takes of the half of the slow"
    staying = [attempts.looking_up(slow=True) for _ in range(2)]
    assert [slot.held for slot in staying] == [True, True], "the other look-ups are for the quick"
    assert not attempts.slots.is_free(slow=True)
    assert attempts.slots.is_free()
    quick = attempts.looking_up()
    assert not quick.held


def test_a_slow_one_that_comes_back_waits_for_the_half_of_the_slow_and_holds_up_no_quick_one() -> None:
    attempts = Attempts(number=2)
    slow, quick = attempts.looking_up(slow=True), attempts.looking_up()
    held, other = attempts.begin(slow=True), attempts.begin()
    attempts.back(slow)
    attempts.back(quick)
    attempts.end(other)
    assert attempts.order == [quick]
    attempts.end(held)
    assert attempts.order == [quick, slow]


def test_an_attempt_that_ends_while_it_waits_takes_no_slot() -> None:
    attempts = Attempts(number=1)
    away = attempts.looking_up()
    held = attempts.begin()
    attempts.back(away)
    attempts.end(away)
    attempts.end(held)
    assert (attempts.order, away.held, attempts.slots.is_free()) == ([], False, True)


class SlotsMachine(RuleBasedStateMachine):
    """Whatever attempts do, the slots bound their number, and none waits for a slot that is free."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts = Attempts()
        self.running: list[Slot] = []
        self.away: list[Slot] = []
        self.waiting: list[Slot] = []

    @rule(slow=st.booleans())
    def one_begins(self, slow: bool) -> None:
        if self.attempts.slots.is_free(slow=slow):
            assert not [slot for slot in self.waiting if slot.slow == slow]
            self.running.append(self.attempts.begin(slow=slow))

    @precondition(lambda self: self.running)
    @rule(which=st.integers(0, 99))
    def one_looks_a_name_up(self, which: int) -> None:
        slot = self.running.pop(which % len(self.running))
        slot.look_up()
        self.away.append(slot)
        self.some_arrive()

    @precondition(lambda self: self.away)
    @rule(which=st.integers(0, 99))
    def one_has_found_its_name(self, which: int) -> None:
        slot = self.away.pop(which % len(self.away))
        if slot.held:
            slot.found()
            self.running.append(slot)
        else:
            self.waiting.append(slot)
            self.attempts.back(slot)
            self.some_arrive()

    @rule(which=st.integers(0, 99), what=st.sampled_from(["running", "running", "away", "waiting"]))
    def one_ends(self, which: int, what: str) -> None:
        among: list[Slot] = getattr(self, what)
        if among:
            self.attempts.end(among.pop(which % len(among)))
            self.some_arrive()

    def some_arrive(self) -> None:
        arrived = [slot for slot in self.waiting if slot.held]
        assert self.attempts.order == arrived
        self.attempts.order.clear()
        self.waiting = [slot for slot in self.waiting if not slot.held]
        self.running += arrived

    @invariant()
    def the_bounds_are_kept(self) -> None:
        held = [slot.slow for slot in self.running + self.away if slot.held]
        aside = [slot.slow for slot in self.away if not slot.held]
        assert len(held) <= NUMBER
        assert sum(held) <= NUMBER // 2
        assert len(aside) <= LOOK_UPS
        assert sum(aside) <= LOOK_UPS // 2
        slots = self.attempts.slots
        assert slots.is_free() == (len(held) < NUMBER)
        assert slots.is_free(slow=True) == (len(held) < NUMBER and sum(held) < NUMBER // 2)
        assert not [slot for slot in self.waiting if slots.is_free(slow=slot.slow)]
        assert not [slot for slot in self.waiting if slot.held]


TestSlots = SlotsMachine.TestCase
TestSlots.settings = settings(max_examples=50, stateful_step_count=40, derandomize=True, deadline=None)
