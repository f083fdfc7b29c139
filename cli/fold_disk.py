"""`python -m cli.fold_disk`: folds a data folder for the gateway that serves it; see snapshot/recovery.py.

It reads an `Order` from standard input and writes a `Folded` to standard output, as JSON.
"""

import gc
import os
import signal
import sys

import msgspec

from core.state import State
from snapshot.recovery import Order, folded

GIVES_WAY = 19


def main() -> None:
    os.nice(GIVES_WAY)  # everything else goes first
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a terminal sends it to every process, but means the gateway
    gc.disable()  # rows have no cycles
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    found = folded(order, lambda: State(order.deliveries_kept))
    sys.stdout.buffer.write(msgspec.json.encode(found))
    sys.stdout.flush()
    os._exit(0)  # ending the process is faster than freeing every row


if __name__ == "__main__":
    main()
