"""A process that folds the disk. Invariant: the gateway that serves meanwhile is not slowed down.

A second state takes as much memory as the first. Sorting its listings, or freeing it, would hold the
interpreter for longer than a vote check may wait. A process returns all its memory when it ends. It is a new
process and not a fork of the gateway. It gets its order through a pipe, because the order contains keys.
"""

import asyncio
import logging
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path

import msgspec

from snapshot.recovery import UNREADABLE, EmptyState, recover
from storage.folder import Folder
from storage.sealing import keyring_of

FOLD_SECONDS = 3_600.0
log = logging.getLogger(__name__)


class Order(msgspec.Struct, frozen=True):
    """An order to fold the folder at `path` up to position `until`. `keys` is its key ring as a text."""

    path: str
    keys: str
    deliveries_kept: int
    until: int

    def __repr__(self) -> str:
        return f"Order(path={self.path!r}, keys=..., until={self.until})"


class Folded(msgspec.Struct, frozen=True):
    """The digest of the folded state, or the problem if there is none."""

    digest: str | None = None
    problem: str | None = None


class Folding:
    """A process that folds once.

    It runs the command that `command` returns in the folder `place`, and that command calls `folded`.
    `command` is called in the thread of `run`, and may raise OSError.
    """

    def __init__(self, command: Callable[[], Sequence[str]], place: Path) -> None:
        self._command = command
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self, order: Order) -> Folded:
        """Run the process and return when it has ended. Call this in a thread."""
        try:
            process = subprocess.Popen(  # noqa: S603 (our own command, and no shell)
                self._command(),
                cwd=self._place,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,  # or its traceback would be in the log, in the wrong form
            )
        except OSError as error:
            return Folded(problem=f"no process to fold the disk can be started ({error.strerror})")
        complaint = b""
        with process:
            self._process = process
            if self._stopped:
                process.kill()
            try:
                told, complaint = process.communicate(msgspec.json.encode(order), FOLD_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        if process.returncode:
            if complaint:
                text = "the process that folds the disk has failed: %s"
                log.error(text, complaint.decode("utf-8", "replace").strip())
            return Folded(problem=f"the process that folds the disk ended with status {process.returncode}")
        return msgspec.json.decode(told, type=Folded)

    def stop(self) -> None:
        """End the process if it runs or is about to."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()


async def folded_apart(folding: Folding, order: Order) -> Folded:
    """Return what the process has folded, without holding up the loop. A call that is cancelled ends it."""
    with ThreadPoolExecutor(1, "verify") as thread:
        try:
            run = partial(
                copy_context().run, folding.run, order
            )  # its log line belongs to the request that asks
            return await asyncio.get_running_loop().run_in_executor(thread, run)
        finally:
            folding.stop()  # or leaving the executor would wait for the process of a cancelled call


def folded(order: Order, empty_state: EmptyState) -> Folded:
    """Follow the order. Runs in the process that got it."""
    folder = Folder(Path(order.path), keyring_of(order.keys))
    try:
        return Folded(recover(folder, empty_state, order.until).state.digest())
    except UNREADABLE as error:
        return Folded(problem=str(error))
