"""The width of lines. Invariant: only a terminal gets broken lines; a file or a pipe gets whole ones."""

import textwrap
from typing import TextIO

UNLIMITED = 4_096
"""Columns of a file or a pipe."""
WIDEST = 80
"""Columns of sentences on a terminal, however wide it is."""


def folded(text: str, stream: TextIO) -> str:
    """Return the text as the stream shows it. No path is broken."""
    if not stream.isatty():
        return text
    return textwrap.fill(text, WIDEST, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
