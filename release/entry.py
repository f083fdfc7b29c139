"""The start of the binary, in its second process. Law: it is `server.py`, whoever starts it, and however.

The binary's first process unpacks its libraries into a folder for temporary files, starts this one, forwards
signals to it and removes the folder behind it. systemd knows the first process only.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    first = os.getppid()
    # Without the first process nobody could stop this one by the number that was told: it stops then.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.environ.get("LISTEN_PID") == str(first):  # the sockets of systemd came through to here
        os.environ["LISTEN_PID"] = str(os.getpid())
    if sys.argv[1:] == ["fold-disk"]:
        from cli.fold_disk import main as fold_disk

        fold_disk()
    else:
        from server import cli

        cli(prog_name="votegate")


main()
