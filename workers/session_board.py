"""The sessions of the operator, which the workers share in common memory.

Invariant: each worker writes its own notes. A session that one worker has ended is ended for all of them.

A worker has `NOTES` notes, and writes over its oldest one. A note has `NOTE_WORDS` words: its kind, the
digest of the session, the digest of the token that opened it, and the time at which it was opened. The
notes survive a restart of their worker, and end with the supervisor.
"""

from workers.common_memory import CommonMemory

NOTES = 128
NOTE_WORDS = 16
WORDS = NOTES * NOTE_WORDS
NONE, OPENED, ENDED = range(3)
_DIGEST, _TOKEN, _AT = slice(1, 5), slice(5, 9), 9


class SessionBoard:
    def __init__(self, memory: CommonMemory, worker: int) -> None:
        self._words = memory.words
        self._own = memory.notes(worker)
        self._all = [memory.notes(number + 1) for number in range(memory.workers)]
        self._next = sum(self._words[self._own + note * NOTE_WORDS] != NONE for note in range(NOTES))

    def opened(self, digest: bytes, token_digest: bytes, opened_ns: int) -> None:
        self._write(OPENED, digest, token_digest, opened_ns)

    def ended(self, digest: bytes) -> None:
        self._write(ENDED, digest, bytes(32), 0)

    def find(self, digest: bytes) -> tuple[bytes, int] | None:
        """Return the digest of the token and the beginning of a session; None if it is unknown or ended."""
        found = None
        for table in self._all:
            for at in range(table, table + WORDS, NOTE_WORDS):
                kind = self._words[at]
                if kind == NONE:
                    break
                note = self._words[at : at + NOTE_WORDS]
                if note[_DIGEST].tobytes() != digest:
                    continue
                if kind == ENDED:
                    return None
                found = note[_TOKEN].tobytes(), note[_AT]
        return found

    def _write(self, kind: int, digest: bytes, token_digest: bytes, at_ns: int) -> None:
        at = self._own + self._next % NOTES * NOTE_WORDS
        self._next += 1
        self._words[at] = NONE
        note = self._words[at : at + NOTE_WORDS]
        note[_DIGEST] = memoryview(digest).cast("Q")
        note[_TOKEN] = memoryview(token_digest).cast("Q")
        note[_AT] = at_ns
        self._words[at] = kind  # last: from now on the note counts
