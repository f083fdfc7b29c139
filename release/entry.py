"""The start of the binary, in its second process: `server.py`, for every way to start it.

The binary's first process makes a folder for temporary files, unpacks Python into it, starts this process and
forwards signals to it. After its end it removes the folder. systemd knows the first process only. This
process unpacks the rest when it is needed: see unpacking.py.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    first = os.getppid()
    # It stops with the first process, whose number is the one that others know.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    for pid in ("LISTEN_PID", "WATCHDOG_PID"):  # sockets and watchdog of systemd are inherited
        if os.environ.get(pid) == str(first):
            os.environ[pid] = str(os.getpid())
    # systemd-tmpfiles leaves a folder alone that somebody has locked (tmpfiles.d(5)).
    unpacked: str = sys._MEIPASS  # type: ignore[attr-defined]  # made by PyInstaller
    with contextlib.suppress(OSError):  # not every file system has locks
        fcntl.flock(os.open(unpacked, os.O_RDONLY), fcntl.LOCK_SH)
    if sys.argv[1:2] in (
        ["serve"],
        ["dev"],
    ):  # nothing that happens to the folder or its disk later can stop an import
        sys.unpacking.unpack_all()  # type: ignore[attr-defined]  # made by unpacking.py
    if sys.argv[1:] == ["fold-disk"]:
        from cli.fold_disk import main as fold_disk

        fold_disk()
    elif sys.argv[1:] == ["decode-files"]:
        from decoder.process import main as decode_files

        decode_files()
    else:
        from server import cli

        cli(prog_name="votegate")


main()
