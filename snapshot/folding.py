"""The disk folded by a process of its own. Law: whoever serves meanwhile feels nothing of it.

A second state takes as much memory as the first; sorting its listings, and freeing it, would hold the
interpreter for longer than a vote check may wait. A process gives all of it back when it ends. It is a new
one and no fork of the one that serves. Its order comes through a pipe, because there are keys in it.
"""

import asyncio
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from snapshot.recovery import UNREADABLE, EmptyState, recover
from storage.folder import Folder
from storage.sealing import keyring_of

FOLD_SECONDS = 3_600.0


class Order(msgspec.Struct, frozen=True):
    """To fold the folder at `path` up to position `until`. `keys` are its sealing keys as a text."""

    path: str
    keys: str
    deliveries_kept: int
    until: int

    def __repr__(self) -> str:
        return f"Order(path={self.path!r}, keys=..., until={self.until})"


class Folded(msgspec.Struct, frozen=True):
    """The digest of the state that it folds to, or why there is none."""

    digest: str | None = None
    problem: str | None = None


class Folding:
    """A process that folds once: `command`, run in `place`, which calls `folded`."""

    def __init__(self, command: Sequence[str], place: Path) -> None:
        self._command = command
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self, order: Order) -> Folded:
        """Returns when it has ended; to be called in a thread."""
        try:
            process = subprocess.Popen(  # noqa: S603  # our own command, and no shell
                self._command, cwd=self._place, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            return Folded(problem=f"no process to fold the disk can be started ({error.strerror})")
        with process:
            self._process = process
            if self._stopped:
                process.kill()
            try:
                told, _ = process.communicate(msgspec.json.encode(order), FOLD_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        if process.returncode:
            return Folded(problem=f"the process that folds the disk ended with status {process.returncode}")
        return msgspec.json.decode(told, type=Folded)

    def stop(self) -> None:
        """Ends it, if it runs or is about to."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()


async def folded_apart(folding: Folding, order: Order) -> Folded:
    """Return what the process has folded, without holding up the loop. A call that is cancelled ends it."""
    with ThreadPoolExecutor(1, "verify") as thread:
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, folding.run, order)
        finally:
            folding.stop()  # or nobody who waits for it any more would come away


def folded(order: Order, empty_state: EmptyState) -> Folded:
    """Follows the order, in the process that it was given to."""
    folder = Folder(Path(order.path), keyring_of(order.keys))
    try:
        return Folded(recover(folder, empty_state, order.until).state.digest())
    except UNREADABLE as error:
        return Folded(problem=str(error))
