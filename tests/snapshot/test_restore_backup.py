"""A backup of a folder that no gateway holds."""

from pathlib import Path

from snapshot.restore import Source, backup_pieces, read_backup
from tests.support.exports import POSITION, SOME, assert_same, state_of
from tests.support.journals import KEYS
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import NOW_MS


def test_a_backup_of_a_state_is_read_back_as_that_state(tmp_path: Path) -> None:
    state, path = state_of(SOME), tmp_path / "votegate.backup"
    path.write_bytes(b"".join(backup_pieces(Source(state, POSITION), KEYS, NOW_MS)))
    read = read_backup(path, KEYS, empty_state)
    assert read.position == POSITION
    assert_same(read.state, state)
    assert state.digest() == read.state.digest()
