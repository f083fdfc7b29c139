"""Programs that tests call and that no package of the project brings, and the processes of this machine."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest


def installed(name: str) -> str:
    """Return the path of a program. Without it, the test is skipped; in CI it fails."""
    path = shutil.which(name)
    if path is None:
        why = f"{name} is not installed: `make test-packages`"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return path


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
