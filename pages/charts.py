"""Bar charts, drawn by the server. Invariant: each count above 0 has a bar, and no bar leaves its chart.

In its own units, a chart is one unit wide for each bar and `HEIGHT` high; the page stretches it. Its axis
begins at 0 and has at most five lines, at round numbers. A chart without a count has its axis, too.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

HEIGHT = 100
WIDTH, PAIRED = 0.72, 0.36
"""The width of a single bar, and of one beside the bar of the period before."""
MOST_STEPS = 4
LEAST_HEIGHT = 1.0


class Bar(NamedTuple):
    """A bar of a chart, with its name and count. `before` is the count one period earlier."""

    x: float
    y: float
    width: float
    height: float
    name: str
    amount: int
    before: int = 0
    height_before: float = 0.0


class Chart(NamedTuple):
    """A chart.

    Args:
        ticks: the numbers of the axis, the greatest first.
        has_before: true if each bar is beside the bar of the period before.
    """

    bars: tuple[Bar, ...]
    ticks: tuple[int, ...]
    has_before: bool = False

    @property
    def total(self) -> int:
        return sum(bar.amount for bar in self.bars)

    @property
    def best(self) -> Bar:
        """The last bar with the greatest count."""
        return max(reversed(self.bars), key=lambda bar: bar.amount)

    @property
    def lines(self) -> str:
        """The path of the lines behind the bars."""
        last = len(self.ticks) - 1
        return "".join(f"M0 {HEIGHT * number / last:g}H{len(self.bars)}" for number in range(last + 1))


def chart_of(counts: Iterable[tuple[str, int]], before: Sequence[int] = ()) -> Chart:
    """Return a bar for each (name, count), from left to right.

    Args:
        before: the counts of the period before, in the same order; none for a chart without them.
    """
    named = list(counts)
    ticks = ticks_up_to(max((*(count for _, count in named), *before), default=0))
    bars = []
    for number, (name, count) in enumerate(named):
        then = before[number] if before else 0
        height = _height(count, ticks[0])
        x, width = (number + 0.5, PAIRED) if before else (number + (1 - WIDTH) / 2, WIDTH)
        bars.append(
            Bar(
                *(round(x, 2), round(HEIGHT - height, 2), width, height, name, count),
                before=then,
                height_before=_height(then, ticks[0]),
            )
        )
    return Chart(tuple(bars), ticks, bool(before))


def ticks_up_to(most: int) -> tuple[int, ...]:
    """Return round numbers from one that is not below `most` down to 0."""
    step, most = 1, max(most, 1)
    for power in range(len(str(most)) + 1):
        step = next((each * 10**power for each in (1, 2, 5) if each * 10**power * MOST_STEPS >= most), 0)
        if step:
            break
    return tuple(range(-(-most // step) * step, -1, -step))


def _height(count: int, most: int) -> float:
    return max(round(HEIGHT * count / most, 2), LEAST_HEIGHT) if count else 0.0
