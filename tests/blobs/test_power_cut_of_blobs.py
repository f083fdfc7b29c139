"""After a power cut at any moment, each file that was kept is there, and no file is there in part."""

from pathlib import Path

from blobs.sealed_blobs import Blob, SealedBlobs
from tests.support.journals import on
from tests.support.simulated_disk import (
    RecordingDisk,
    cuts,
    every_image,
    old_bytes,
    scratch,
    what_matters,
)
from tests.support.stored_blobs import picture

CONTENTS = [b"one" * 9, b"two" * 300, b"three"]
KEPT = [Blob(picture(content), content) for content in CONTENTS]


def recorded() -> RecordingDisk:
    """Return the trace of a folder that gets three files; the last one replaces a damaged file."""
    with scratch({}) as path:
        folder = path / "blobs"
        folder.mkdir()
        (folder / KEPT[2].ref.digest).write_bytes(b"damaged")
        disk = RecordingDisk(folder)
        blobs = SealedBlobs(on(path, disk=disk))
        for number, blob in enumerate(KEPT, 1):
            blobs.write(blob)
            disk.promise(number)
        return disk


def check(path: Path, files: dict[str, bytes], promised: int) -> None:
    folder = path / "blobs"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    blobs = SealedBlobs(on(path))
    blobs.remove_unfinished()
    assert [blobs.read(blob.ref.digest) for blob in KEPT[:promised]] == KEPT[:promised]
    for found in blobs.all():
        if files[found.digest] != b"damaged":
            assert blobs.read(found.digest) in KEPT


def test_a_power_cut_at_any_moment_leaves_whole_files_alone() -> None:
    disk, checked = recorded(), set[tuple[int, int]]()
    for cut in cuts(disk):
        for files in every_image(cut, old_bytes(disk, cut)):
            seen = (what_matters(files), cut.promised)
            if seen not in checked:
                checked.add(seen)
                with scratch({}) as path:
                    check(path, files, cut.promised)
    assert len(checked) > 8
