"""The decoder as the gateway sees it: a process that reads one file after the other.

It is started for the first file, and again after it failed: killed, hung, out of memory, or wrong in its
answer. Then the file is refused with "try again", and nothing else happens. A thread speaks with it, because
pipes block; a process that takes too long is ended, and with it the wait of the thread.
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
from typing import BinaryIO, cast

import msgspec

from decoder.decoder_messages import DecodeAnswer, DecodeOrder, receive, send
from forms.file_fields import Decoded, Files
from languages.refusals import Invalid, Refusal
from languages.said import Fault

log = logging.getLogger(__name__)

FILE_SECONDS = 10.0
"""The longest time for one file, with the start of the process."""
IDLE_SECONDS = 120.0
"""A process that has had nothing to do for so long is ended, which frees its memory."""
END_SECONDS = 1.0
MOST_WAITING = 64
HEAD_BYTES = 4_096
"""The room of an answer beside its file."""
INHERITED = ("PATH", "TMPDIR", "LD_LIBRARY_PATH")
"""The variables that the process gets: no other, because those of the gateway may have secrets."""
FAILURES = (OSError, EOFError, msgspec.MsgspecError, TimeoutError)


class Decoder:
    """Reads files in a process that `command` starts in the folder `place`.

    Invariant: of two files, the second waits for the first. No more than `MOST_WAITING` do.
    """

    def __init__(self, command: Callable[[], Sequence[str]], place: Path) -> None:
        self._command = command
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._idle: asyncio.TimerHandle | None = None

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def decode(self, content: bytes, rules: Files) -> Decoded:
        """Return the clean file. Raises Invalid for a file that breaks a rule, and Refusal."""
        if self._waiting >= MOST_WAITING:
            raise Refusal("file_not_read")
        self._waiting += 1
        # Once begun, it goes on if the caller is cancelled: nobody else may get its answer.
        task = asyncio.create_task(self._decoded(DecodeOrder(content, rules)))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _decoded(self, order: DecodeOrder) -> Decoded:
        try:
            async with self._turn:
                answer = await self._answered(order)
        finally:
            self._waiting -= 1
        if answer.code is not None:
            raise Invalid({"": Fault(answer.code, answer.facts)})
        if answer.file is None:
            raise Refusal("file_not_read")
        return Decoded(answer.content, answer.file)

    async def _answered(self, order: DecodeOrder) -> DecodeAnswer:
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
