"""The data folder of the demo: the files of listings, a journal of everything that happened, and a snapshot
for a fast start."""

import asyncio
import hashlib
from pathlib import Path

from blobs.sealed_blobs import Blob, SealedBlobs
from core.clock import Clock
from core.ledger import Ledger
from core.state import State
from demo.story import Story, Terms
from gateway.delivery import retry_policy
from journal.journal import Journal, JournalPolicy
from journal.segments import EMPTY
from listings.keys import KeyDigester
from settings.model import Settings
from snapshot.files import Chain
from snapshot.snapshotter import Interval, Snapshotter
from storage.folder import DIGEST_SECRET, Folder, kept_keys, kept_secret, made_folder


def write_folder(path: Path, seed: int, settings: Settings, clock: Clock, receiver_url: str) -> Story:
    """Write a data folder that ends now, and return its story. Raises FolderUnusable and OSError.

    Args:
        settings: those of the gateway that will serve it.
        receiver_url: the endpoint of the main owners.
    """
    made_folder(path)
    # The seed makes the secret, so that it makes the digests of keys, too.
    secret = kept_secret(path, DIGEST_SECRET, lambda: hashlib.sha256(f"demo {seed}".encode()).hexdigest())
    folder = Folder(path, kept_keys(path, needed=False))
    terms = Terms(
        round(settings.votes.cooldown_seconds * 1_000), retry_policy(settings.webhooks), receiver_url
    )
    story = Story(seed, clock.now_ms(), terms, KeyDigester(secret.encode()).digest)
    state = State(settings.webhooks.deliveries_kept)
    blobs, files = SealedBlobs(folder), list(story.files())

    def keep_files() -> None:
        for each in files:
            blobs.write(Blob(each.file, each.content))

    async def write() -> None:
        keeping = asyncio.get_running_loop().run_in_executor(None, keep_files)  # it waits for the disk
        sizes = settings.journal
        policy = JournalPolicy("interval", sizes.fsync_interval_seconds, sizes.segment_bytes, 1 << 30)
        journal = Journal(folder, EMPTY, policy, clock)
        ledger = Ledger(state, journal, 0)
        running = asyncio.create_task(journal.run())
        story.write(ledger)
        await ledger.durable(ledger.head)
        await keeping
        snapshotter = Snapshotter(folder, ledger, journal, clock, Chain(), Interval(300))
        await snapshotter.take()
        await journal.close()
        await running

    asyncio.run(write())
    return story
