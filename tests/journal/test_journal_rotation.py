"""Segments of the journal: when one ends and the next begins."""

from dataclasses import replace
from pathlib import Path

from journal.frames import FRAME_BYTES, HEADER_BYTES
from journal.segments import list_segments, segment_path
from tests.support.coroutines import run
from tests.support.journals import POLICY, append_all, frames_in, journalling, records_of

RECORDS = [b"one", b"two", b"three"]


def test_a_full_segment_is_followed_by_another(tmp_path: Path) -> None:
    async def main() -> None:
        policy = replace(POLICY, segment_bytes=HEADER_BYTES + FRAME_BYTES + 42)
        async with journalling(tmp_path, policy) as journal:
            await append_all(journal, [b"x" * 40] * 4)

    run(main())
    assert [first for first, _ in list_segments(tmp_path)] == [1, 3, 5]
    assert records_of(tmp_path) == [b"x" * 40] * 4


def test_a_segment_ends_on_request_with_the_frame_that_is_there(tmp_path: Path) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, RECORDS)
            journal.rotate()
            await append_all(journal, RECORDS)

    run(main())
    assert [first for first, _ in list_segments(tmp_path)] == [1, 4]
    assert records_of(tmp_path) == RECORDS * 2


def test_a_segment_without_records_is_used_before_another_begins(tmp_path: Path) -> None:
    async def main() -> None:
        for _ in range(3):
            async with journalling(tmp_path) as journal:
                journal.rotate()

    run(main())
    assert [first for first, _ in list_segments(tmp_path)] == [1]
    assert frames_in(segment_path(tmp_path, 1)) == [[], [], []]


def test_a_restart_right_after_a_rotation_goes_on_in_the_new_segment(tmp_path: Path) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, RECORDS)
            journal.rotate()
        assert [first for first, _ in list_segments(tmp_path)] == [1, 4]
        async with journalling(tmp_path) as journal:
            assert (journal.head, journal.durable_position) == (3, 3)
            await append_all(journal, [b"four"])

    run(main())
    assert [first for first, _ in list_segments(tmp_path)] == [1, 4]
    assert records_of(tmp_path) == [*RECORDS, b"four"]
