"""The start of the binary, in its second process: `server.py`, for every way to start it.

The binary's first process unpacks its libraries into a folder for temporary files, starts this one, forwards
signals to it and removes the folder behind it. systemd knows the first process only.

Modules stay in the binary until they are imported. An upgrade puts another file at its path, so this process
reads them from the file that it was started from, which it keeps open.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import sys

import pyimod01_archive  # type: ignore[import-not-found]  # PyInstaller's reader of modules

PR_SET_PDEATHSIG = 1


class Program:
    """The binary that runs, opened. Each has a position of its own, because threads import."""

    try:
        _descriptor = os.open("/proc/self/exe", os.O_RDONLY)
    except OSError:  # without /proc
        _descriptor = os.open(sys.executable, os.O_RDONLY)

    def __init__(self, *_: object) -> None:
        self._at = 0

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def seek(self, position: int) -> None:
        self._at = position

    def read(self, length: int) -> bytes:
        return os.pread(self._descriptor, length, self._at)


def main() -> None:
    first = os.getppid()
    # Without the first process nobody could stop this one by the number that was told: it stops then.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    for pid in ("LISTEN_PID", "WATCHDOG_PID"):  # the sockets and the watchdog of systemd came through to here
        if os.environ.get(pid) == str(first):
            os.environ[pid] = str(os.getpid())
    pyimod01_archive.open = Program  # instead of the builtin one: it opens the binary's path at each import
    # systemd-tmpfiles leaves a folder alone that somebody has locked (tmpfiles.d(5)).
    unpacked: str = sys._MEIPASS  # type: ignore[attr-defined]
    with contextlib.suppress(OSError):  # not every file system has locks
        fcntl.flock(os.open(unpacked, os.O_RDONLY), fcntl.LOCK_SH)
    if sys.argv[1:] == ["fold-disk"]:
        from cli.fold_disk import main as fold_disk

        fold_disk()
    else:
        from server import cli

        cli(prog_name="votegate")


main()
