"""Progress bars. Law: they are on standard error, and only if that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Bar = Callable[[int, int], None]
"""Takes how much is done, and the whole. A whole of 0 is unknown."""


@contextmanager
def bars() -> Iterator[Callable[[str], Bar]]:
    """Yield a maker of bars by their names."""
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
