"""A backup of a state that no gateway serves. It equals the file that a running gateway sends."""

from collections.abc import Iterator

from snapshot.files import EndChunk, SnapshotEncoder
from snapshot.restore import Source
from snapshot.state_copy import StateCopy
from storage.sealing import Keyring


def backup_pieces(source: Source, keys: Keyring, now_ms: int) -> Iterator[bytes]:
    """Yield the bytes of the file, sealed with the newest key."""
    encoder = SnapshotEncoder(source.position, now_ms, keys.new_seal())
    yield encoder.header
    with StateCopy(source.state) as copy:
        for chunk in copy:
            yield encoder.encode(chunk)
        yield encoder.encode(EndChunk(copy.rows, source.position))
