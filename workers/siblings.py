"""Workers ask each other for their numbers, over a Unix socket in the folder of each.

Invariant: a worker that does not answer holds nobody up for longer than `ANSWER_SECONDS`.

A question is a word, and its answer is bytes. One connection has one question. The folder and the socket are
for one user only. The path of a folder may be longer than the address of a Unix socket can be, so the address
goes through a descriptor of the folder.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from workers.supervisor_channel import WorkerReport

ANSWER_SECONDS = 1.0
MOST_BYTES = 16 << 20
"""The longest answer."""
MOST_QUESTION_BYTES = 64
log = logging.getLogger(__name__)
Answers = Mapping[str, Callable[[], Awaitable[bytes]]]


class Siblings:
    """The other workers.

    Args:
        name: the name of the socket in each folder.
        own: the folder of this worker.
        others: the folders of the others by their numbers.
    """

    def __init__(self, name: str, own: Path, others: Mapping[int, Path]) -> None:
        self._name = name
        self._own = own
        self._others = others

    async def run(self, answers: Answers) -> None:
        """Answer questions of the others by these words, until cancelled."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    asked = (await reader.read(MOST_QUESTION_BYTES)).decode("ascii", "replace")
                    writer.write(await answers[asked]() if asked in answers else b"")
                    await writer.drain()
            except (OSError, TimeoutError) as error:
                log.debug("another worker got no answer: %r", error)
            finally:
                writer.close()

        with _address(self._own, self._name) as address:
            with suppress(FileNotFoundError):
                os.unlink(address)  # noqa: PTH108 (it is of an earlier process: this one holds the folder)
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(address)
            os.chmod(address, 0o600)  # noqa: PTH101
        server = await asyncio.start_unix_server(answer, sock=listening)
        try:
            await server.serve_forever()
        finally:
            with suppress(OSError):
                (self._own / self._name).unlink()

    async def ask(self, word: str) -> dict[int, bytes]:
        """Return the answers of the other workers by their numbers, without those that gave none in time."""
        numbers = list(self._others)
        found = await asyncio.gather(*(self._ask(self._others[number], word) for number in numbers))
        return {number: answer for number, answer in zip(numbers, found, strict=True) if answer}

    async def _ask(self, folder: Path, word: str) -> bytes:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                with _address(folder, self._name) as address:
                    reader, writer = await asyncio.open_unix_connection(address, limit=MOST_BYTES)
                try:
                    writer.write(word.encode())
                    writer.write_eof()
                    return await reader.read(-1)
                finally:
                    writer.close()
        except (OSError, TimeoutError) as error:
            log.debug("another worker does not answer: %r", error)
            return b""


@contextmanager
def _address(folder: Path, name: str) -> Iterator[str]:
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class AmongWorkers:
    """A worker's view of all workers.

    Args:
        number: that of this worker.
        count: the number of workers.
        reports: returns the states of all workers; nothing until the supervisor has told them.
        ask: asks the others a question, and returns their answers by their numbers.
        restart: asks the supervisor to replace all workers.
    """

    number: int
    count: int
    reports: Callable[[], Sequence[WorkerReport]]
    ask: Callable[[str], Awaitable[dict[int, bytes]]]
    restart: Callable[[], None]
