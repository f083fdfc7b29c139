"""storage/sealed_chunks.py: a chunk that is read was written whole, at its place."""

from pathlib import Path

import pytest

from storage.sealed_chunks import (
    FORM_BYTES,
    HEADER_BYTES,
    ChunksDamaged,
    NewChunks,
    Place,
    SealedChunks,
    chunks_found,
)
from storage.sealing import KeyMissing, Keyring, new_key
from tests.support.folder_bytes import overwrite
from tests.support.journals import KEYS, on

FORM = bytes(range(FORM_BYTES))
CHUNKS = [b"one" * 20, b"", b"three" * 40]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "chunks"
    new = NewChunks(on(tmp_path), path, FORM, 7)
    for chunk in CHUNKS:
        new.add(chunk)
    new.finish()
    new.close()
    return path


def read(path: Path) -> list[bytes]:
    return [chunk for chunk, _ in SealedChunks(on(path.parent), path).chunks()]


def test_the_chunks_are_read_as_they_were_written_and_the_header_needs_no_key(path: Path) -> None:
    assert read(path) == CHUNKS
    header = chunks_found(path)
    assert (header.form, header.created_ms, header.key_id) == (FORM, 7, KEYS.newest)
    assert all(chunk not in path.read_bytes() for chunk in CHUNKS if chunk)


def test_a_chunk_is_appended_behind_the_others_and_behind_one_that_is_cut_off(path: Path) -> None:
    *_, (_, last) = SealedChunks(on(path.parent), path).chunks()
    behind = SealedChunks(on(path.parent), path).append(b"four", last)
    assert behind == Place(4, path.stat().st_size)
    SealedChunks(on(path.parent), path).append(b"five", behind)
    overwrite(path, path.read_bytes()[:-1])
    assert read(path) == [*CHUNKS, b"four"]
    SealedChunks(on(path.parent), path).append(b"5", behind)
    assert read(path) == [*CHUNKS, b"four", b"5"]


def test_nothing_behind_a_damaged_chunk_is_read(path: Path) -> None:
    (_, first), *_ = SealedChunks(on(path.parent), path).chunks()
    for byte in range(first.offset, path.stat().st_size):
        content = bytearray(path.read_bytes())
        content[byte] ^= 1
        overwrite(path, bytes(content))
        found = read(path)
        assert found == CHUNKS[: len(found)]
        assert 1 <= len(found) < len(CHUNKS)
        content[byte] ^= 1
        overwrite(path, bytes(content))


def test_a_chunk_counts_at_its_own_place_alone(path: Path) -> None:
    (_, first), (_, second), _ = SealedChunks(on(path.parent), path).chunks()
    content = path.read_bytes()
    overwrite(path, content[: first.offset] + content[second.offset :])
    assert read(path) == CHUNKS[:1]


def test_a_file_with_a_damaged_header_or_without_its_key_is_refused(path: Path) -> None:
    with pytest.raises(KeyMissing):
        SealedChunks(on(path.parent, Keyring([new_key()])), path)
    for byte in range(HEADER_BYTES):
        content = bytearray(path.read_bytes())
        content[byte] ^= 1
        overwrite(path, bytes(content))
        with pytest.raises(ChunksDamaged):
            SealedChunks(on(path.parent), path)
        content[byte] ^= 1
        overwrite(path, bytes(content))


def test_a_file_that_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    new = NewChunks(on(tmp_path), tmp_path / "chunks", FORM, 7)
    new.add(b"one")
    new.close()
    assert [*tmp_path.iterdir()] == []
