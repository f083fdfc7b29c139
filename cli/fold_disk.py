"""`python -m cli.fold_disk`: folds a data folder for the gateway that serves it; see snapshot/folding.py.

It reads its order from the standard input and writes what it found to the standard output, as JSON.
"""

import gc
import os
import signal
import sys

import msgspec

from core.state import State
from snapshot.folding import Order, folded
from votes.table import VoteTable

GIVES_WAY = 19


def main() -> None:
    os.nice(GIVES_WAY)  # nobody is to wait for it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, which means the gateway
    gc.disable()  # rows have no cycles
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    found = folded(order, lambda: State(VoteTable(), order.deliveries_kept))
    sys.stdout.buffer.write(msgspec.json.encode(found))
    sys.stdout.flush()
    os._exit(0)  # the system takes the state back quicker than freeing every row of it


if __name__ == "__main__":
    main()
