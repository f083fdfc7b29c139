"""The terminal: the width of its lines, and progress bars.

Invariant: only a terminal gets broken lines and bars; a file or a pipe gets whole lines and no bars.
"""

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

UNLIMITED = 4_096
"""Columns of a file or a pipe."""
WIDEST = 80
"""Columns of sentences on a terminal, however wide it is."""
Bar = Callable[[int, int], None]
"""Takes how much is done, and the whole. A whole of 0 is unknown."""


def terminal_width() -> int:
    """Return the columns of the terminal; without one, as many as can be."""
    return shutil.get_terminal_size((UNLIMITED, 0)).columns


def folded(text: str, stream: TextIO) -> str:
    """Return the text as the stream shows it. No path is broken."""
    if not stream.isatty():
        return text
    return textwrap.fill(text, WIDEST, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


@contextmanager
def bars() -> Iterator[Callable[[str], Bar]]:
    """Yield a maker of bars by their names. They are on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: lambda _done, _whole: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    shown = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*shown, console=Console(stderr=True), transient=True) as progress:

        def bar(name: str) -> Bar:
            task = progress.add_task(escape(name), total=None)
            return lambda done, whole: progress.update(task, completed=done, total=whole or None)

        yield bar
