"""replication/warnings.py: a stream is behind if it does not come in time to where the end was."""

import pytest

from replication.warnings import Pursuit

NS = 1_000_000_000


@pytest.mark.parametrize(
    ("looks", "behind"),
    [
        ([(0, 10, 0), (5, 20, 29), (9, 30, 29.9)], False),  # not long enough yet
        ([(0, 10, 0), (9, 30, 30)], True),
        ([(0, 10, 0), (9, 30, 30), (10, 30, 31)], True),  # it has come to where the end was 31 s ago
        ([(0, 10, 0), (9, 30, 30), (10, 30, 31), (30, 90, 45)], False),  # and to the next one in 14 s
        ([(0, 10, 0), (9, 30, 30), (10, 30, 31), (30, 90, 47)], True),  # in 16 s
        ([(0, 10, 0), (9, 30, 30), (30, 30, 31)], False),  # nothing is left
        ([(0, 10, 0), (10, 90, 29), (89, 99, 58)], False),  # each end is reached in time
        ([(0, 10, 0), (10, 10, 1), (10, 11, 1_000)], False),  # there was nothing to do for long
    ],
)
def test_a_position_that_does_not_reach_the_end_in_time_is_behind_until_it_is_quick_again(
    looks: list[tuple[int, int, float]], behind: bool
) -> None:
    pursuit = Pursuit()
    for at, end, seconds in looks:
        pursuit.look(at, end, round((100 + seconds) * NS))
    assert pursuit.is_behind is behind
