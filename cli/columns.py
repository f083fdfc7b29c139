"""How wide a line may be. Law: a line is broken for a terminal alone; in a file or a pipe it is whole."""

import textwrap
from typing import TextIO

UNLIMITED = 4_096
"""Columns of a file or a pipe."""
WIDEST = 80
"""Columns of sentences on a terminal."""


def folded(text: str, stream: TextIO) -> str:
    """Return the text as the stream shows it. No path is broken."""
    if not stream.isatty():
        return text
    return textwrap.fill(text, WIDEST, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
