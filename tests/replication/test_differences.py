"""replication/warnings.py: the log tells of clocks and settings that differ."""

from types import SimpleNamespace
from typing import cast

import pytest

from replication.members import Change, Registry, Status
from replication.warnings import CLOCK_SECONDS, Differences, Warnings
from tests.support.fake_clock import FakeClock
from tests.support.sample_rows import HOUR_MS, NOW_MS
from tests.support.warned import warned

DAY_MS = 24 * HOUR_MS
BEAT_SECONDS = 1.0
ALIKE = {"votes.cooldown_seconds": "86400", "limits.stats": "2 in 7200 s"}


class Words:
    """A node `b` as it tells of itself, to a node `a`."""

    def __init__(self) -> None:
        self.clock, self.warnings = FakeClock(NOW_MS), Warnings()
        registry = SimpleNamespace(name="a", settings=ALIKE, heartbeat_seconds=BEAT_SECONDS)
        self.differences = Differences(cast("Registry", registry), self.clock, self.warnings)

    def say(self, ahead_ms: int = 0, *, is_next: bool = True, **settings: str) -> None:
        theirs = {name.replace("__", "."): value for name, value in settings.items()}
        at_ms = self.clock.now_ms() + ahead_ms
        status = Status("b.1", "", 1, 0, {}, "", "", at_ms, {**ALIKE, **theirs})
        self.differences.compare(Change("b", status, is_next))


@pytest.mark.parametrize("ahead_ms", [HOUR_MS, DAY_MS, -HOUR_MS, -DAY_MS])
def test_clocks_that_are_apart_are_told_once_and_so_is_that_they_agree_again(
    ahead_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    words = Words()
    for _ in range(3):
        words.say(ahead_ms)
    side = "ahead of" if ahead_ms > 0 else "behind"
    assert warned(caplog) == [
        f"the clock of node b is {abs(ahead_ms) // 1_000} s {side} that of this node (a): "
        "votes end at the wrong time; synchronise the clocks"
    ]
    words.say(int(CLOCK_SECONDS * 800))
    assert len(words.warnings.current) == 1  # nearly
    words.say(0)
    assert warned(caplog) == ["the clocks of nodes a and b agree again"]


def test_a_word_of_any_age_or_one_that_was_held_up_says_nothing_about_a_clock(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = Words()
    for ahead_ms, is_next in ((-DAY_MS, False), (-HOUR_MS, True), (0, True), (-HOUR_MS, True)):
        words.say(ahead_ms, is_next=is_next)
    words.say(-int((CLOCK_SECONDS + BEAT_SECONDS) * 1_000))  # as old as a word can be
    assert warned(caplog) == []


def test_a_setting_that_differs_is_told_with_both_nodes_and_values(caplog: pytest.LogCaptureFixture) -> None:
    words = Words()
    for _ in range(2):
        words.say(is_next=False, votes__cooldown_seconds="43200")
    assert warned(caplog) == [
        "votes.cooldown_seconds is 86400 at this node (a) and 43200 at node b: give all nodes the same value"
    ]
    words.say()
    assert warned(caplog) == ["votes.cooldown_seconds is the same at nodes a and b again"]


def test_a_node_of_an_older_version_that_tells_neither_is_no_concern(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = Words()
    for _ in range(3):
        words.differences.compare(Change("b", Status("b.1", "", 1, 0, {}), is_next=True))
    assert warned(caplog) == []
