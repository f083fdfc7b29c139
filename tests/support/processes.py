"""Processes of this machine: their parents and command lines."""

from contextlib import suppress
from pathlib import Path


def children(pid: int) -> set[int]:
    """Return the processes that a process has started."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            _, parent, *_ = stat.read_text().rpartition(")")[2].split()
            if int(parent) == pid:
                found.add(int(stat.parent.name))
    return found


def command_lines() -> dict[int, list[str]]:
    """Return the command line of each process."""
    found = {}
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            found[int(line.parent.name)] = line.read_text(errors="replace").split("\0")
    return found
