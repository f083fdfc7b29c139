"""The bytes of folders and files: read, replaced, damaged bit by bit, copied."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.support.examples import ALL_EXAMPLES

SOME_FLIPS = 1 if ALL_EXAMPLES else 9
"""A bit of nearly every byte, each time another one, where there is no time for every bit."""


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file of the folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def overwrite(path: Path, content: bytes) -> None:
    """Replaces a file's bytes in place: emptying it first would make some file systems sync it."""
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()


def flips(content: bytes, every: int = 1) -> Iterator[tuple[int, bytes]]:
    """(index of the byte, the content with one bit of it flipped), for every bit or every n-th."""
    for bit in range(0, len(content) * 8, every):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bit // 8, bytes(flipped)


def copied(folder: Path, copy: Path) -> Path:
    shutil.copytree(folder, copy)
    return copy
