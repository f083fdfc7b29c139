"""Counts of the limits in memory that several workers of one machine map.

Invariant: each word has one writer. A worker writes its own table and reads those of the others.

A table has `SLOTS` entries of four words: a digest of the key, the start and the end of its window, and the
takes that this worker has allowed in it. The place of a key follows from its digest. If it is taken in any of
the tables, the next one is used, so that a key has the same place in all of them. A place is free once its
window is over. A key that finds no free place is counted by its worker alone.

Two workers may claim one place for two keys at the same moment, or two places for one key. So a worker notes
its claim first, and then looks at the tables of the others. If a claim there conflicts with its own, it gives
up its own and claims again. The later of two claims always finds the earlier one, so no entry is lost. After
`TRIES` failed claims, the key is counted by its worker alone until its window ends.

A window opens at the earliest start that any worker has noted for the key. So all workers end it at the same
moment, and each adds the takes of the others in that window to its own. A worker notes its take first, and
then looks at the others. So two takes at the same moment may both be refused, but never both get the last
token.

The entries survive their process: the next process of the worker goes on with its windows.
"""

from collections.abc import Sequence
from hashlib import blake2b

from ratelimit.bucket import NS, Decision, Policy, SharedBuckets

_Places = tuple[tuple[int, int], ...]
SLOTS = 1 << 16
ENTRY_WORDS = 4
TRIES = 8
WORDS = (SLOTS + 1) * ENTRY_WORDS
"""The words of one table. Behind the entries is one that nobody reads, for keys without a place."""
DIGEST, STARTED, ENDS, USED = range(ENTRY_WORDS)
NOWHERE = SLOTS * ENTRY_WORDS


class _Window:
    """An open window of a key. `taken` is by this worker, `heard` by other machines.

    `at` is the place of its entries, `own` that of its takes in the memory, and `others` has the places of
    end and takes at each other worker.
    """

    __slots__ = ("at", "digest", "ends_ns", "heard", "others", "own", "started_ns", "taken")

    def __init__(self, digest: int, at: int, started_ns: int, own: int, others: _Places) -> None:
        self.digest = digest
        self.at = at
        self.own = own
        self.others = others
        self.started_ns = started_ns
        self.ends_ns = 0
        self.taken = 0
        self.heard = 0


class CommonBuckets(SharedBuckets):
    """Buckets that the workers of one machine and the nodes of other machines take from."""

    def __init__(self, words: memoryview, own: int, others: Sequence[int]) -> None:
        """
        Args:
            words: the memory, in words of 8 bytes.
            own: the place of the first word of this worker's table.
            others: the same of the other workers.
        """
        super().__init__()
        self._words = words
        self._own = own
        self._others = tuple(others)
        self._windows: dict[str, _Window] = {}

    def __len__(self) -> int:
        return len(self._windows)

    def __contains__(self, key: str) -> bool:
        return key in self._windows

    def take(self, key: str, policy: Policy, now_ns: int) -> Decision:
        requests, window_seconds = policy.requests, policy.window_seconds
        window_ns = window_seconds * NS
        window = self._windows.get(key)
        if window is None or now_ns >= window.ends_ns or window.ends_ns - window.started_ns != window_ns:
            window = self._current(key, now_ns, window_ns)
        words, taken, ends_ns = self._words, window.taken, window.ends_ns
        used = taken + window.heard
        words[window.own] = taken + 1
        for ends_at, used_at in window.others:
            ends = words[ends_at]
            if ends == ends_ns:  # of the same window: each opens at the earliest start, to the nanosecond
                used += words[used_at]
            elif ends > now_ns:
                used += self._joined(window, ends_at, window_ns)
        reset_seconds = -((now_ns - window.ends_ns) // NS)
        allowed = used < requests
        if allowed:
            window.taken = taken + 1
            self._untold[key] += 1
        else:
            words[window.own] = taken
            self.refused += 1
        remaining = requests - used - 1 if allowed else 0
        return Decision(allowed, requests, remaining, reset_seconds, window_seconds, window.started_ns)

    def peek(self, key: str, policy: Policy, now_ns: int) -> Decision:
        requests, window_seconds = policy.requests, policy.window_seconds
        window_ns = window_seconds * NS
        window = self._windows.get(key)
        if window is None or now_ns - window.started_ns >= window_ns:
            digest = _digest(key)
            window = self._window(digest, self._place(digest, now_ns), now_ns)
        used, started_ns = window.taken + window.heard, window.started_ns
        for started, taken in self._elsewhere(window, now_ns):
            used, started_ns = used + taken, min(started_ns, started)
        reset_seconds = -((now_ns - started_ns - window_ns) // NS)
        remaining = max(requests - used, 0)
        return Decision(remaining > 0, requests, remaining, reset_seconds, window_seconds, started_ns)

    def give_back(self, key: str, decision: Decision) -> bool:
        window = self._windows.get(key)
        if window is None or window.started_ns != decision.started_ns or not decision.allowed:
            return False
        window.taken -= 1
        self._untold[key] -= 1
        self._words[window.own] = max(window.taken, 0)
        if window.taken + window.heard <= 0:
            self.forget(key)
        return True

    def restore(self, key: str, started_ns: int, used: int) -> None:
        raise NotImplementedError("a window of several workers opens with a take, or with one that is heard")

    def add(self, key: str, policy: Policy, now_ns: int, used: int) -> bool:
        window = self._windows.get(key)
        if window is None or now_ns - window.started_ns >= policy.window_seconds * NS:
            return False
        window.heard = max(window.heard + used, -window.taken)
        return True

    def heard(self, key: str, policy: Policy, now_ns: int, used: int) -> None:
        if not self.add(key, policy, now_ns, used) and used > 0:
            self._current(key, now_ns, policy.window_seconds * NS).heard = used

    def forget(self, key: str) -> None:
        window = self._windows.pop(key, None)
        if window is not None:
            self._words[self._own + window.at + ENDS] = 0

    def keys(self) -> list[str]:
        return list(self._windows)

    def _current(self, key: str, now_ns: int, window_ns: int) -> _Window:
        """Return the open window of a key; open one if there is none, or the policy has changed."""
        window = self._windows.get(key)
        # After the end of its window, another key may have its place.
        if window is not None and now_ns < min(window.ends_ns, window.started_ns + window_ns):
            self._start(window, window.started_ns, window_ns)
            return window
        window = self._windows[key] = self._opened(_digest(key), now_ns, window_ns)
        return window

    def _opened(self, digest: int, now_ns: int, window_ns: int) -> _Window:
        for _ in range(TRIES):
            window = self._window(digest, self._place(digest, now_ns), now_ns)
            self._claim(window, now_ns, window_ns)
            if not self._is_contested(window, now_ns):
                return window
            self._words[self._own + window.at + ENDS] = 0
        window = self._window(digest, NOWHERE, now_ns)
        self._claim(window, now_ns, window_ns)
        return window

    def _claim(self, window: _Window, now_ns: int, window_ns: int) -> None:
        words, own = self._words, self._own + window.at
        if words[own + DIGEST] == window.digest and now_ns < words[own + ENDS]:  # of an earlier process
            window.taken = words[own + USED]
            window.started_ns = words[own + STARTED]
        starts = [started for started, _ in self._elsewhere(window, now_ns)]
        words[own + USED] = window.taken
        words[own + DIGEST] = window.digest
        self._start(window, min([window.started_ns, *starts]), window_ns)

    def _is_contested(self, window: _Window, now_ns: int) -> bool:
        """Return true if another worker has another key at the place, or the key at another place."""
        words = self._words
        return any(
            now_ns < words[table + at + ENDS]
            and (words[table + at + DIGEST] == window.digest) != (at == window.at)
            for at in _places(window.digest)
            for table in self._others
        )

    def _window(self, digest: int, at: int, started_ns: int) -> _Window:
        others = self._others if at != NOWHERE else ()
        places = tuple((table + at + ENDS, table + at + USED) for table in others)
        return _Window(digest, at, started_ns, self._own + at + USED, places)

    def _joined(self, window: _Window, ends_at: int, window_ns: int) -> int:
        """Return the takes of another worker that has opened the window at another moment."""
        words, entry = self._words, ends_at - ENDS
        if words[entry + DIGEST] != window.digest:
            return 0
        if words[entry + STARTED] < window.started_ns:
            self._start(window, words[entry + STARTED], window_ns)
        return words[entry + USED]

    def _start(self, window: _Window, started_ns: int, window_ns: int) -> None:
        window.started_ns, window.ends_ns = started_ns, started_ns + window_ns
        own = self._own + window.at
        self._words[own + STARTED] = started_ns
        self._words[own + ENDS] = window.ends_ns  # last: from now on the entry counts

    def _elsewhere(self, window: _Window, now_ns: int) -> list[tuple[int, int]]:
        """Return start and takes of the window at each other worker that has it open."""
        words = self._words
        entries = [ends_at - ENDS for ends_at, _ in window.others]
        return [
            (words[entry + STARTED], words[entry + USED])
            for entry in entries
            if now_ns < words[entry + ENDS] and words[entry + DIGEST] == window.digest
        ]

    def _place(self, digest: int, now_ns: int) -> int:
        """Return the place of a key in all tables: the one that it has, or else a free one."""
        words, free = self._words, NOWHERE
        tables = (self._own, *self._others)
        for at in _places(digest):
            taken_by = {words[table + at] for table in tables if now_ns < words[table + at + ENDS]}
            if taken_by == {digest}:
                return at
            if not taken_by and free == NOWHERE:
                free = at
        return free


def _places(digest: int) -> list[int]:
    """Return the places that a key may have, in the order in which they are tried."""
    return [(digest + attempt) % SLOTS * ENTRY_WORDS for attempt in range(TRIES)]


def _digest(key: str) -> int:
    """Return 8 bytes of a digest. Two keys with one digest would share a limit: one in 10^9 for a fleet."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")
