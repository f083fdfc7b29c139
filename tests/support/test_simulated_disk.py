"""The simulated power cut itself: synced bytes stay, and any part of the others may be left."""

from collections.abc import Callable
from pathlib import Path

from tests.support.simulated_disk import SECTOR, Fill, RecordingDisk, cuts, every_image, image

OLD = b"o" * SECTOR
Images = set[frozenset[tuple[str, bytes]]]


def left_by(folder: Path, calls: Callable[[RecordingDisk], None]) -> Images:
    """Every folder that a power cut behind the calls may leave."""
    disk = RecordingDisk(folder)
    calls(disk)
    *_, last = cuts(disk)
    return {frozenset(files.items()) for files in every_image(last, OLD)}


def of(*folders: dict[str, bytes]) -> Images:
    return {frozenset(folder.items()) for folder in folders}


def with_files(folder: Path, **files: bytes) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def test_what_is_synced_stays_and_the_rest_is_kept_or_not(tmp_path: Path) -> None:
    def calls(disk: RecordingDisk) -> None:
        file = disk.create(tmp_path / "a")
        disk.write(file, b"synced", 0)
        disk.sync(file)
        disk.sync_folder(tmp_path)
        disk.write(file, b"!", 6)
        disk.close(file)

    assert left_by(tmp_path, calls) == of({"a": b"synced"}, {"a": b"synced!"}, {"a": b"synced\0"})


def test_a_new_file_is_there_only_once_its_folder_is_synced(tmp_path: Path) -> None:
    def calls(disk: RecordingDisk) -> None:
        file = disk.create(tmp_path / "a")
        disk.write(file, b"x", 0)
        disk.sync(file)
        disk.close(file)

    assert left_by(tmp_path, calls) == of({}, {"a": b"x"})


def test_changes_of_entries_are_kept_or_dropped_one_by_one(tmp_path: Path) -> None:
    with_files(tmp_path, a=b"new", b=b"old", c=b"gone")

    def calls(disk: RecordingDisk) -> None:
        disk.rename(tmp_path / "a", tmp_path / "b")
        disk.unlink(tmp_path / "c")

    renamed, as_before = {"b": b"new"}, {"a": b"new", "b": b"old"}
    there = {"c": b"gone"}
    assert left_by(tmp_path, calls) == of(renamed, as_before, renamed | there, as_before | there)


def test_a_later_write_may_be_kept_without_an_earlier_one(tmp_path: Path) -> None:
    with_files(tmp_path, a=b"..")

    def calls(disk: RecordingDisk) -> None:
        file = disk.open(tmp_path / "a")
        disk.write(file, b"1", 0)
        disk.write(file, b"2", 1)
        disk.close(file)

    assert left_by(tmp_path, calls) == of({"a": b".."}, {"a": b"1."}, {"a": b".2"}, {"a": b"12"})


def test_a_write_is_torn_between_sectors_and_a_file_that_has_grown_may_hold_what_was_there(
    tmp_path: Path,
) -> None:
    with_files(tmp_path, a=b"")
    first, second, nothing = b"1" * SECTOR, b"2" * SECTOR, bytes(SECTOR)

    def calls(disk: RecordingDisk) -> None:
        file = disk.open(tmp_path / "a")
        disk.write(file, first + second, 0)
        disk.close(file)

    contents = [b"", first, first + second, nothing + second, OLD + second, first + nothing, first + OLD]
    contents += [nothing + nothing, OLD + OLD]
    assert left_by(tmp_path, calls) == of(*({"a": content} for content in contents))


def test_old_bytes_begin_with_a_sector_of_their_own(tmp_path: Path) -> None:
    with_files(tmp_path, a=b"a")
    disk = RecordingDisk(tmp_path)
    file = disk.open(tmp_path / "a")
    disk.write(file, b"b" * SECTOR, 1)
    disk.close(file)
    *_, last = cuts(disk)
    assert image(last, [False], Fill.OLD_BYTES, OLD) == {"a": b"a" + bytes(SECTOR - 1) + b"o"}


def test_each_moment_has_its_own_image_and_promise(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    file = disk.create(tmp_path / "a")
    disk.sync_folder(tmp_path)
    disk.write(file, b"x", 0)
    disk.sync(file)
    disk.promise(1)
    disk.close(file)

    surest = [(image(cut, [False] * len(cut.unsynced), Fill.NOTHING), cut.promised) for cut in cuts(disk)]
    missing: dict[str, bytes] = {}
    empty, whole = {"a": b""}, {"a": b"x"}
    assert surest == [(missing, 0)] * 2 + [(empty, 0)] * 2 + [(whole, 0), (whole, 1)]
