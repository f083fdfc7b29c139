"""The files of a gateway: what is kept, what is refused, and what the sweep removes."""

import asyncio
from pathlib import Path

import pytest

from blobs.blob_store import BlobBounds
from blobs.sealed_blobs import Blob
from core.failures import Unavailable
from languages.refusals import Invalid
from languages.said import Fault
from storage.disk import Disk
from storage.sealing import Keyring, new_key
from tests.support.coroutines import run, until
from tests.support.sample_rows import OTHER_REF, OWNER, USER
from tests.support.stored_blobs import BOUNDS, MIB, PNG, StoredBlobs, picture, saved

HOUR = 3_600


async def begun(folder: Path, bounds: BlobBounds = BOUNDS) -> StoredBlobs:
    stored = StoredBlobs(folder, bounds)
    await stored.blobs.survey()
    return stored


def test_a_file_is_read_as_it_was_kept_also_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        again = await begun(tmp_path)
        assert await again.blobs.get(file.digest) == PNG
        assert await again.blobs.ref(file.digest) == file == picture()
        assert (again.blobs.count, again.blobs.bytes) == (stored.blobs.count, stored.blobs.bytes)
        assert again.blobs.bytes == sum(found.bytes for found in again.blobs.on_disk.all())

    run(scenario())


def test_nothing_of_a_file_can_be_read_on_disk(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        kept = stored.blobs.on_disk.path / file.digest
        assert PNG not in kept.read_bytes()
        assert b"image/png" not in kept.read_bytes()
        assert kept.stat().st_mode & 0o777 == 0o600

    run(scenario())


def test_the_same_file_twice_is_kept_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        await asyncio.gather(*(stored.blobs.put(PNG, picture(), user) for user in (USER, OWNER, USER)))
        assert stored.on_disk == {picture().digest}
        assert stored.blobs.count == 1

    run(scenario())


def test_a_file_without_a_listing_stays_for_an_hour(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        await stored.swept_after(HOUR - 1)
        assert stored.on_disk == {file.digest}
        assert stored.blobs.has_sent(USER, file.digest)
        await stored.swept_after(1)
        assert stored.on_disk == set()
        assert await stored.blobs.get(file.digest) is None
        assert not stored.blobs.has_sent(USER, file.digest)
        assert stored.blobs.count == stored.blobs.bytes == 0

    run(scenario())


def test_the_hour_begins_again_with_an_upload_and_with_a_submission_that_looks(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        for again in (stored.blobs.put(PNG, picture(), USER), stored.blobs.ref(file.digest)):
            stored.clock.advance(HOUR - 1)
            await again
            await stored.swept_after(HOUR - 1)
            assert stored.on_disk == {file.digest}

    run(scenario())


def test_a_file_that_a_row_names_is_never_removed(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        stored.ledger.commit(saved(file))
        for _ in range(3):
            await stored.swept_after(10 * HOUR)
            assert stored.on_disk == {file.digest}
        stored.ledger.commit(saved(file, OTHER_REF))
        stored.ledger.commit(saved(None))
        await stored.swept_after(HOUR)
        await stored.swept_after(HOUR)
        assert stored.on_disk == {file.digest}, "another listing names it still"
        stored.ledger.commit(saved(None, OTHER_REF))
        await stored.swept_after(0)
        await stored.swept_after(HOUR - 1)
        assert stored.on_disk == {file.digest}, "a row named it an hour ago"
        await stored.swept_after(1)
        assert stored.on_disk == set()

    run(scenario())


def test_nothing_is_removed_before_every_row_was_looked_at(tmp_path: Path) -> None:
    async def scenario() -> None:
        before = await begun(tmp_path)
        file = await before.blobs.put(PNG, picture(), USER)
        stored = StoredBlobs(tmp_path)
        stored.state.apply(saved(file)[0])
        await stored.swept_after(2 * HOUR)
        await stored.swept_after(2 * HOUR)
        assert stored.on_disk == {file.digest}
        await stored.blobs.survey()
        await stored.swept_after(2 * HOUR)
        await stored.swept_after(2 * HOUR)
        assert stored.on_disk == {file.digest}

    run(scenario())


def test_a_submission_while_the_sweep_waits_keeps_its_file(tmp_path: Path) -> None:
    """The sweep has found the file due, and waits for the disk: a row that names it comes first."""

    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        stored.clock.advance(HOUR)
        async with stored.deleting:
            sweeping = asyncio.create_task(stored.blobs.sweep())
            await until(lambda: stored.deleting._waiters)
            stored.ledger.commit(saved(file))
        await sweeping
        assert stored.on_disk == {file.digest}

    run(scenario())


def test_an_unfinished_file_of_a_crash_is_removed_at_the_next_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        (stored.blobs.on_disk.path / f"{file.digest}.tmp").write_bytes(b"half")
        again = await begun(tmp_path)
        assert [path.name for path in again.blobs.on_disk.path.iterdir()] == [file.digest]

    run(scenario())


# -- bounds ----------------------------------------------------------------------------------------------


def big(number: int, size: int = MIB // 2) -> bytes:
    return bytes([number]) * size


def test_the_files_of_a_user_are_bounded_with_those_of_the_listings(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        named = await stored.blobs.put(big(1), picture(big(1)), OWNER)
        stored.ledger.commit(saved(named))
        await stored.swept_after(0)
        assert not stored.blobs.has_sent(OWNER, named.digest)
        await stored.blobs.put(big(2), picture(big(2)), OWNER)
        with pytest.raises(Invalid) as refusal:
            await stored.blobs.put(big(3), picture(big(3)), OWNER)
        assert refusal.value.faults == {"": Fault("files_full", {"most": 1})}
        assert picture(big(3)).digest not in stored.on_disk, "nothing is left behind on disk"
        await stored.blobs.put(big(2), picture(big(2)), OWNER)  # it is there already
        await stored.blobs.put(big(3), picture(big(3)), USER)  # another user has room

    run(scenario())


def test_a_user_has_room_again_once_a_file_is_swept(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        for number in (1, 2):
            await stored.blobs.put(big(number), picture(big(number)), USER)
        await stored.swept_after(HOUR)
        await stored.blobs.put(big(3), picture(big(3)), USER)

    run(scenario())


def test_a_small_file_counts_as_a_block_of_the_disk(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path, BlobBounds(2 * 4_096, MIB, MIB, HOUR))
        for number in (1, 2):
            await stored.blobs.put(big(number, 1), picture(big(number, 1)), USER)
        with pytest.raises(Invalid):
            await stored.blobs.put(big(3, 1), picture(big(3, 1)), USER)

    run(scenario())


def test_all_files_together_are_bounded(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path, BlobBounds(MIB, MIB, MIB, HOUR))
        await stored.blobs.put(big(1), picture(big(1)), USER)
        with pytest.raises(Unavailable):
            await stored.blobs.put(big(2), picture(big(2)), OWNER)
        again = await begun(tmp_path, BlobBounds(MIB, MIB, MIB, HOUR))
        with pytest.raises(Unavailable):
            await again.blobs.put(big(2), picture(big(2)), OWNER)

    run(scenario())


@pytest.mark.parametrize(("of_user", "in_all"), [(1, 8), (8, 1)])
def test_uploads_at_the_same_time_pass_no_bound(tmp_path: Path, of_user: int, in_all: int) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path, BlobBounds(of_user * MIB, in_all * MIB, MIB, HOUR))
        files = [big(number, 3 * MIB // 4) for number in range(4)]  # one has room, two have not
        sent = [stored.blobs.put(content, picture(content), USER) for content in files]
        outcomes = await asyncio.gather(*sent, return_exceptions=True)
        assert [isinstance(outcome, Invalid | Unavailable) for outcome in outcomes].count(False) == 1
        assert len(stored.on_disk) == stored.blobs.count == len(stored.blobs.sent_by(USER)) == 1
        assert stored.blobs.bytes == sum(found.bytes for found in stored.blobs.on_disk.all())

    run(scenario())


def test_the_files_in_memory_are_bounded_and_the_oldest_go(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path, BlobBounds(4 * MIB, 4 * MIB, MIB, HOUR))
        for number in (1, 2, 3):
            await stored.blobs.put(big(number), picture(big(number)), USER)
            await stored.blobs.get(picture(big(number)).digest)
        held = [stored.blobs.in_memory(picture(big(number)).digest) is not None for number in (1, 2, 3)]
        assert held == [False, True, True]
        assert await stored.blobs.get(picture(big(1)).digest) == big(1)

    run(scenario())


# -- a bad disk ------------------------------------------------------------------------------------------


class Refusing(Disk):
    """A disk that fails one call."""

    def __init__(self, call: str) -> None:
        self.call = call

    def _refuse(self, call: str) -> None:
        if call == self.call:
            raise OSError(28, "No space left on device")

    def write(self, file: int, content: bytes | memoryview, offset: int) -> int:
        self._refuse("write")
        return super().write(file, content, offset)

    def sync(self, file: int) -> None:
        self._refuse("sync")
        super().sync(file)

    def rename(self, path: Path, to: Path) -> None:
        self._refuse("rename")
        super().rename(path, to)

    def sync_folder(self, folder: Path) -> None:
        self._refuse("sync_folder" if folder.name == "blobs" else "")
        super().sync_folder(folder)


@pytest.mark.parametrize("call", ["write", "sync", "rename", "sync_folder"])
def test_a_disk_that_fails_refuses_the_file_and_keeps_nothing(tmp_path: Path, call: str) -> None:
    async def scenario() -> None:
        disk = Refusing(call)
        stored = StoredBlobs(tmp_path, disk=disk)
        await stored.blobs.survey()
        with pytest.raises(Unavailable):
            await stored.blobs.put(PNG, picture(), USER)
        assert [*stored.blobs.on_disk.path.iterdir()] == []
        assert stored.blobs.bytes == 0
        assert not stored.blobs.sent_by(USER)
        disk.call = ""
        await stored.blobs.put(PNG, picture(), USER)
        assert stored.on_disk == {picture().digest}

    run(scenario())


@pytest.mark.parametrize("call", ["write", "sync", "rename", "sync_folder"])
def test_a_disk_that_fails_while_a_file_is_sealed_newly_keeps_the_file(tmp_path: Path, call: str) -> None:
    async def scenario() -> None:
        old, new = new_key(), new_key()
        stored = StoredBlobs(tmp_path, keys=Keyring([old]))
        await stored.blobs.survey()
        await stored.blobs.put(PNG, picture(), USER)
        rotated = StoredBlobs(tmp_path, disk=Refusing(call), keys=Keyring([new, old]))
        await rotated.blobs.survey()
        await rotated.blobs.sweep()
        assert await rotated.blobs.get(picture().digest) == PNG
        assert rotated.on_disk == {picture().digest}

    run(scenario())


@pytest.mark.parametrize("at", [0, 10, 40, 200, -1])
def test_a_damaged_file_is_missing_until_it_is_sent_again(tmp_path: Path, at: int) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        path = stored.blobs.on_disk.path / file.digest
        content = bytearray(path.read_bytes())
        content[at % len(content)] ^= 1
        path.write_bytes(content)
        assert await stored.blobs.get(file.digest) is None
        await stored.blobs.put(PNG, picture(), USER)
        assert await stored.blobs.get(file.digest) == PNG
        assert stored.blobs.count == 1

    run(scenario())


def test_a_file_under_the_name_of_another_is_not_served(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        other = picture(b"other").digest
        (stored.blobs.on_disk.path / file.digest).rename(stored.blobs.on_disk.path / other)
        assert await stored.blobs.get(other) is None
        assert await stored.blobs.ref(other) is None

    run(scenario())


# -- other nodes -----------------------------------------------------------------------------------------


def test_a_missing_file_is_taken_from_another_node_and_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)

        async def elsewhere(_: str) -> Blob:
            return Blob(picture(), PNG)

        stored.blobs.elsewhere = elsewhere
        assert await stored.blobs.get(picture().digest) == PNG
        assert stored.on_disk == {picture().digest}

    run(scenario())


def test_what_another_node_sends_must_have_the_digest(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored, asked = await begun(tmp_path), list[str]()

        async def elsewhere(digest: str) -> Blob:
            asked.append(digest)
            return Blob(picture(), b"something else")

        stored.blobs.elsewhere = elsewhere
        for _ in range(3):
            assert await stored.blobs.get(picture().digest) is None
        assert stored.on_disk == set()
        assert len(asked) == 1, "nor is it asked for at every look"
        stored.clock.advance(60)
        await stored.blobs.get(picture().digest)
        assert len(asked) == 2

    run(scenario())


def test_a_key_that_is_gone_makes_a_file_missing_and_not_a_bug(tmp_path: Path) -> None:
    async def scenario() -> None:
        stored = await begun(tmp_path)
        file = await stored.blobs.put(PNG, picture(), USER)
        other = StoredBlobs(tmp_path, keys=Keyring([new_key()]))
        assert await other.blobs.get(file.digest) is None

    run(scenario())
