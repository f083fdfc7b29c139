"""The decoder as the gateway sees it: a few processes, each of which reads one file after the other.

A process is started for the first file, and again after it failed: killed, hung, out of memory, or wrong in
its answer. Then the file is refused with "try again", and nothing else happens. A thread speaks with it,
because pipes block; a process that takes too long is ended, and with it the wait of the thread.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Literal, cast, get_args

import msgspec

from decoder.decoder_messages import DecodeAnswer, DecodeOrder, receive, send
from forms.file_fields import Decoded, Files
from languages.refusals import Invalid, Refusal
from languages.said import Fault

log = logging.getLogger(__name__)

FILE_SECONDS = 60.0
"""The longest time for one file, with the start of the process. The time of the processor is bounded, too: a
machine with other work may take long."""
IDLE_SECONDS = 120.0
"""An idle process is ended after this time, which frees its memory."""
END_SECONDS = 1.0
MOST_WAITING = 64
HEAD_BYTES = 4_096
"""The largest size of an answer without its file."""
INHERITED = ("PATH", "TMPDIR", "LD_LIBRARY_PATH")
"""The only variables that the process gets: others of the gateway may have secrets."""
Outcome = Literal["clean", "refused", "failed"]
FAILURES = (OSError, EOFError, msgspec.MsgspecError, TimeoutError)


class Decoder:
    """Reads files in processes that `command` starts in the folder `place`, up to `most_processes` at once.

    Invariant: a process reads one file after the other. No more than `MOST_WAITING` files are read or wait.
    """

    def __init__(self, command: Callable[[], Sequence[str]], place: Path, most_processes: int = 1) -> None:
        self.outcomes: dict[Outcome, int] = dict.fromkeys(get_args(Outcome), 0)
        """The files that were given, by their outcomes."""
        self._free = [DecoderProcess(command, place) for _ in range(most_processes)]
        self._all = tuple(self._free)
        self._turns = asyncio.Semaphore(most_processes)
        self._waiting = 0

    @property
    def starts(self) -> int:
        """The processes that were started."""
        return sum(each.starts for each in self._all)

    @property
    def process_ids(self) -> list[int]:
        return [each.process_id for each in self._all if each.process_id is not None]

    async def decode(self, content: bytes, rules: Files) -> Decoded:
        """Return the clean file. Raises Invalid for a file that breaks a rule, and Refusal."""
        if self._waiting >= MOST_WAITING:
            self.outcomes["failed"] += 1
            raise Refusal("file_not_read")
        self._waiting += 1
        # Once begun, it goes on if the caller is cancelled: nobody else may get its answer.
        task = asyncio.create_task(self._decoded(DecodeOrder(content, rules)))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _decoded(self, order: DecodeOrder) -> Decoded:
        outcome: Outcome = "failed"
        try:
            answer = await self._answered(order)
            outcome = "clean" if answer.code is None else "refused"
        finally:
            self._waiting -= 1
            self.outcomes[outcome] += 1
        if answer.code is not None:
            raise Invalid({"": Fault(answer.code, answer.facts)})
        if answer.file is None:
            raise Refusal("file_not_read")
        return Decoded(answer.content, answer.file)

    async def _answered(self, order: DecodeOrder) -> DecodeAnswer:
        async with self._turns:
            process = self._free.pop()  # the last one that was used: the others end when they idle
            try:
                return await process.answered(order)
            finally:
                self._free.append(process)

    def close(self) -> None:
        """End the processes, without waiting for their end."""
        for each in self._all:
            each.close()


class DecoderProcess:
    """A process that reads files. It is started for the first one, and again after it failed or idled."""

    def __init__(self, command: Callable[[], Sequence[str]], place: Path) -> None:
        self.starts = 0
        self._command = command
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._idle: asyncio.TimerHandle | None = None

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def answered(self, order: DecodeOrder) -> DecodeAnswer:
        """Return the answer. Raises Refusal if the process fails."""
        if self._idle is not None:
            self._idle.cancel()
        asking = asyncio.ensure_future(asyncio.to_thread(self._asked, order))
        await asyncio.wait({asking}, timeout=FILE_SECONDS)
        if not asking.done():
            self.close()
        try:
            answer = await asking  # it ends with the process
        except FAILURES as error:
            log.warning("a file was not read: %r", error)
            self.close()
            raise Refusal("file_not_read") from error
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self.close)
        return answer

    def _asked(self, order: DecodeOrder) -> DecodeAnswer:
        """Return the answer of the process. Raises one of `FAILURES`. Runs in a thread."""
        process = self._process
        if process is not None and process.poll() is not None:
            self.close()  # it has ended since the last file
            process = None
        if process is None:
            process = self._process = self._started()
        send(cast(BinaryIO, process.stdin), order)
        body = receive(cast(BinaryIO, process.stdout), order.rules.most_bytes + HEAD_BYTES)
        if body is None:
            raise EOFError(f"the decoder has ended ({process.poll()})")
        answer = msgspec.msgpack.decode(body, type=DecodeAnswer)
        _check(answer, order.rules)
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        return subprocess.Popen(  # noqa: S603 (our own command, and no shell)
            self._command(),
            cwd=self._place,
            env={name: os.environ[name] for name in INHERITED if name in os.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def close(self) -> None:
        """End the process, if there is one, without waiting for its end."""
        process, self._process = self._process, None
        if process is not None:
            threading.Thread(target=_end, args=(process,), daemon=True).start()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()  # of the binary, this ends both of its processes, and removes what it unpacked
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _check(answer: DecodeAnswer, rules: Files) -> None:
    """Raise EOFError for an answer that an honest process does not give."""
    file = answer.file
    if file is None:
        is_right = answer.code is not None
    else:
        is_right = (
            file.size == len(answer.content)
            and file.digest == hashlib.sha256(answer.content).hexdigest()
            and rules.fault(file) is None
        )
    if not is_right:
        raise EOFError("the answer of the decoder is wrong")
