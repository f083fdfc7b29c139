"""`python -m bench.state_folder FOLDER --scale 10`: a data folder of a large platform, to start a gateway on.

One tenth of the listings are servers, the others are bots with a key. Ten huge bots have half of the votes.
A scale of 1 is 100,000 listings, 10,000,000 votes of 1,000,000 users, and 50,000 accounts of owners.

Invariant: the memory that it takes does not grow with the scale. The snapshot is written in chunks, and no
chunk waits for another one. The same scale makes the same state, but for the day on which it is made.
"""

import argparse
import random
import time
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from bench.search import Texts
from core.actors import user_actor
from core.clock import day_of, month_of_day
from core.rows import AuditEntry, Key, Listing, Reviewed
from core.user_rows import UserProfile, UserRow, UserSession, user_ref
from core.vote_counts import VoteCounts
from core.vote_table import LEAF, MS_SHIFT, SLICE_BYTES, SLICE_LISTINGS, VoteTable
from kinds.bots import CATEGORIES, BotProfile
from kinds.registry import AnyProfile
from kinds.servers import TOPICS, ServerProfile
from snapshot import files
from snapshot.restore import begin_journal
from storage.folder import Folder, kept_keys, made_folder

LISTINGS = 100_000
VOTES_EACH = 100
USERS_EACH = 10
LISTINGS_OF_AN_OWNER = 2
HUGE = 10
SMALL = (1, 5, 10, 20, 40, 60, 90, 174)
"""The votes of small listings, half of `VOTES_EACH` on average."""
FIRST_HUGE, FIRST_BOT, FIRST_SERVER = 10**17, 2 * 10**17, 3 * 10**17
FIRST_VOTER, FIRST_OWNER = 4 * 10**17, 5 * 10**17
LAST_NAME = "Lastborn"
"""The name of the last listing: a search that finds it has read them all."""
POSITION = 1
TEXTS = 2_000
YEAR_MS = 365 * 86_400_000
ROWS_PER_CHUNK = 256


class Scale(NamedTuple):
    """A size of the platform."""

    factor: float

    @property
    def listings(self) -> int:
        return int(LISTINGS * self.factor)

    @property
    def votes(self) -> int:
        return self.listings * VOTES_EACH

    @property
    def users(self) -> int:
        return self.listings * USERS_EACH

    @property
    def owners(self) -> int:
        return self.listings // LISTINGS_OF_AN_OWNER

    def voters(self) -> Iterator[tuple[str, int]]:
        """Yield each listing with the number of its votes, in the order of refs."""
        bots, half = self.listings - self.listings // 10, self.votes // 2
        for number in range(HUGE):
            yield f"bots/{FIRST_HUGE + number}", half // HUGE
        for number in range(bots - HUGE):
            yield f"bots/{FIRST_BOT + number}", SMALL[number % len(SMALL)]
        for number in range(self.listings // 10):
            yield f"servers/{FIRST_SERVER + number}", SMALL[number % len(SMALL)]


def write_folder(path: Path, scale: Scale) -> int:
    """Make a data folder. Return the bytes of its snapshot."""
    made_folder(path)
    folder, now_ms = Folder(path, kept_keys(path, needed=False)), int(time.time() * 1_000)
    snapshot = files.snapshot_path(path, POSITION)
    file = files.SnapshotFile(
        folder.disk, snapshot, files.SnapshotEncoder(POSITION, now_ms, folder.keys.new_seal())
    )
    rows = 0
    try:
        for chunk in _chunks(scale, now_ms):
            rows += len(chunk.rows)
            file.add(chunk)
        file.add(files.EndChunk(rows, POSITION))
        file.finish()
    finally:
        file.close()
    begin_journal(folder, POSITION)
    return file.size


def _chunks(scale: Scale, now_ms: int) -> Iterator[files.Copied]:
    texts, counts = _Texts(), _counts(now_ms)
    voters = scale.voters()
    number = 0
    while some := list(islice(voters, ROWS_PER_CHUNK)):
        rows = [_listing(ref, number + at, texts, scale.owners, now_ms) for at, (ref, _) in enumerate(some)]
        number += len(some)
        if number == scale.listings:
            rows[-1] = replace(rows[-1], profile=replace(rows[-1].profile, name=LAST_NAME))
        yield files.ListingsChunk(rows)
        yield files.CountsChunk([(ref, counts[votes]) for ref, votes in some if votes in counts])
    for start in range(0, scale.owners, ROWS_PER_CHUNK):
        end = min(start + ROWS_PER_CHUNK, scale.owners)
        yield files.packed_users([_account(number, texts, now_ms) for number in range(start, end)])
    yield from _votes(scale, now_ms)


class _Texts:
    """Texts of a language that nobody speaks, put together from parts that are made once."""

    def __init__(self) -> None:
        made = Texts(1)
        self._chance = random.Random(2)
        self._names = [made.name() for _ in range(20 * TEXTS)]
        self._lines = [made.text(14)[:150] for _ in range(TEXTS)]
        self._proses = [made.text(25) for _ in range(TEXTS)]

    def name(self) -> str:
        return self._chance.choice(self._names)[:100]

    def line(self) -> str:
        return self._chance.choice(self._lines)

    def prose(self) -> str:
        return ". ".join(self._chance.choices(self._proses, k=self._chance.randrange(1, 4)))

    def tags(self) -> tuple[str, ...]:
        words = self._chance.choice(self._lines).split()
        return tuple(dict.fromkeys(word for word in words if 2 <= len(word) <= 20))[:3]


def _listing(ref: str, number: int, texts: _Texts, owners: int, now_ms: int) -> Listing:
    kind, _, listing_id = ref.partition("/")
    owner = str(FIRST_OWNER + number % owners)
    created_ms = now_ms - YEAR_MS + number * 30_011 % YEAR_MS
    keys: tuple[Key, ...] = ()
    if kind == "bots":
        profile: AnyProfile = BotProfile(
            texts.name(), texts.line(), texts.prose(), _category(number), tags=texts.tags()
        )
        keys = (Key(f"{number:024x}", "production", f"{int(listing_id):064x}", "vg_abcd...", created_ms),)
    else:
        category = [*TOPICS][number % len(TOPICS)]
        profile = ServerProfile(texts.name(), texts.prose(), texts.tags(), category)
    submitted = AuditEntry(created_ms, user_actor(owner), "submitted")
    review = Reviewed("approved", created_ms, created_ms + 60_000)
    return Listing(ref, owner, profile, created_ms, created_ms, review, audit_log=(submitted,), keys=keys)


def _category(number: int) -> tuple[str, ...]:
    known = [*CATEGORIES]
    return tuple(dict.fromkeys((known[number % len(known)], known[number * 7 // 3 % len(known)])))


def _account(number: int, texts: _Texts, now_ms: int) -> UserRow:
    user, seen_ms = str(FIRST_OWNER + number), now_ms - number * 7_919 % (20 * 86_400_000)
    profile = UserProfile(f"user_{number}", texts.name(), f"{number:032x}", "en-US")
    session = UserSession(f"{number + (1 << 255):064x}", "Firefox on Linux", seen_ms, seen_ms)
    return UserRow(user_ref(user), seen_ms, profile, (session,))


def _counts(now_ms: int) -> dict[int, tuple[bytes, ...]]:
    """Return the votes by day and month of a small listing, by the number of its votes."""
    today, found = day_of(now_ms), dict[int, tuple[bytes, ...]]()
    for votes in SMALL:
        counts, of_month = VoteCounts(VoteTable()), dict[int, int]()
        for at in range(min(votes, 90)):
            day = today - 89 + at * 89 // max(min(votes, 90) - 1, 1)
            of_day = max(votes // 90, 1)
            of_month[month_of_day(day)] = of_month.get(month_of_day(day), 0) + of_day
            counts.count("bots/1", 0, day, of_day, of_month[month_of_day(day)])
        found[votes] = counts.rows("bots/1")
    return found


def _votes(scale: Scale, now_ms: int) -> Iterator[files.LeavesChunk]:
    leaves, size, listings = list[tuple[str, bytes]](), 0, 0
    for number, (ref, votes) in enumerate(scale.voters()):
        listings += 1
        for leaf in _leaves(number, votes, scale.users, now_ms):
            leaves.append((ref, leaf))
            size += len(leaf)
            if size >= SLICE_BYTES:
                yield files.LeavesChunk(leaves)
                leaves, size, listings = [], 0, 0
        if listings >= SLICE_LISTINGS:
            yield files.LeavesChunk(leaves)
            leaves, size, listings = [], 0, 0
    yield files.LeavesChunk(leaves)


def _leaves(number: int, votes: int, users: int, now_ms: int) -> Iterator[bytes]:
    """Yield the leaves of a listing. Its voters are spread evenly over all users, and their votes over a
    year."""
    step = max(users // max(votes, 1), 1)
    first = FIRST_VOTER + number * 7_919 % step
    every_ms = YEAR_MS // max(votes, 1)
    for start in range(0, votes, LEAF):
        count = min(LEAF, votes - start)
        begin, begin_ms = first + start * step, now_ms - YEAR_MS + start * every_ms
        voters = array("Q", range(begin, begin + count * step, step))
        packed = range(
            begin_ms << MS_SHIFT | 1, (begin_ms + count * every_ms) << MS_SHIFT | 1, every_ms << MS_SHIFT
        )
        yield (voters + array("Q", packed)).tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.state_folder", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    started = time.perf_counter()
    size = write_folder(arguments.folder, Scale(arguments.scale))
    print(f"{size:,} bytes in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
