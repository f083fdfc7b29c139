"""Clients that keep their connections. Invariant: no client sends a request again, so each lost one is
counted."""

import itertools
import select
import threading
from collections.abc import Sequence

from tests.support.raw_http_client import Caller


class Keeping:
    """Asks one request after the other over a connection, until it is told that an answer is its last.

    A connection that the server has closed before a request is sent is replaced, as every client does it.
    """

    def __init__(self, url: str, requests: Sequence[bytes], pause_seconds: float) -> None:
        self.answered = 0
        self.last_answers = 0
        """Answers that said that they were the last."""
        self.lost: list[str] = []
        self._url = url
        self._requests = itertools.cycle(requests)
        self._pause_seconds = pause_seconds
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._enough.set()
        self._thread.join()

    def _run(self) -> None:
        caller = None
        while not self._enough.wait(self._pause_seconds):
            if caller is not None and select.select([caller.socket], [], [], 0)[0]:
                caller.close()
                caller = None
            try:
                caller = caller or Caller(self._url)
                answer = caller.ask(next(self._requests))
            except (OSError, AssertionError) as error:
                self.lost.append(repr(error))
                return
            if answer.status != 200:
                self.lost.append(repr(answer))
            self.answered += 1
            if answer.closes:
                self.last_answers += 1
                caller.close()
                caller = None
        if caller is not None:
            caller.close()
