"""A receiver for frameworks that block: its loop runs in a thread."""

import asyncio
import atexit
import concurrent.futures
import threading
from collections.abc import Iterable, Mapping

from votegate_client.receiver import Answer, Receiver

ANSWER_SECONDS = 5  # a gateway waits no longer
LAST_SECONDS = 10  # for the handlers that run when the process ends


class BlockingReceiver:
    """Hands requests to a receiver in the loop of another thread, and waits for the answers."""

    def __init__(self, receiver: Receiver, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Use a running loop, such as that of a bot whose objects the handlers need.

        Without one, a thread with a loop starts at the first request: a server may fork before it.
        """
        self._receiver = receiver
        self._loop = loop
        self._lock = threading.Lock()

    def receive(self, headers: Mapping[str, str] | Iterable[tuple[str, str]], body: bytes) -> Answer:
        """Return the answer to a request, as `Receiver.receive` does."""
        receiving = asyncio.run_coroutine_threadsafe(
            self._receiver.receive(headers, body), self._running_loop()
        )
        try:
            return receiving.result(ANSWER_SECONDS)
        except concurrent.futures.TimeoutError:
            return Answer(503, "The receiver is too slow.")

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_run, args=(self._loop,), name="votegate-receiver", daemon=True
                )
                thread.start()
                atexit.register(self._finish, self._loop, thread)
            return self._loop

    def _finish(self, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        """Wait for the handlers, and end the thread."""
        finishing = asyncio.run_coroutine_threadsafe(self._receiver.finish(), loop)
        concurrent.futures.wait([finishing], LAST_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(LAST_SECONDS)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()
