"""Results as people read them: a Markdown table and a bar chart of the same numbers."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

import pygal
from pygal.style import CleanStyle

RESULTS = Path(__file__).parent / "results"


def machine() -> str:
    """Return a line on the machine that the numbers were measured on."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}"


class Report:
    """One document of several tables, each with its chart beside it in `bench/results/`."""

    def __init__(self, name: str, title: str, command: str) -> None:
        self._name = name
        self._parts = [f"# {title}\n\nMade by `{command}` on: {machine()}.\n"]

    def text(self, text: str) -> None:
        self._parts.append(text + "\n")
        print(text)

    def table(self, name: str, title: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        """Add rows of a label and numbers as text. The chart has a group of bars for each column."""
        lines = [f"| {title} | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        print("\n".join(lines), flush=True)
        self._parts.append("\n".join(lines) + f"\n\n![{title}]({self._name}-{name}.svg)\n")
        chart = pygal.HorizontalBar(
            style=CleanStyle(value_font_size=11),
            title=title,
            height=180 + 26 * len(rows) * len(columns),
            print_values=True,
            print_values_position="top",
            legend_at_bottom=True,
            legend_at_bottom_columns=1,
            truncate_legend=-1,
            truncate_label=-1,
        )
        chart.x_title = machine()
        chart.x_labels = list(reversed(columns))  # drawn from the bottom up
        for label, *cells in reversed(rows):
            chart.add(label, [float(cell) for cell in reversed(cells)])
        chart.render_to_file(str(RESULTS / f"{self._name}-{name}.svg"))

    def write(self) -> None:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{self._name}.md").write_text("\n".join(self._parts))
