"""Packed rows at a start: it takes them from a snapshot with rows of this version's shape, and no other."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from core.packing import FIELDS, SHAPE, PackedRow, pack, pack_user
from core.rows import Listing, Reviewed
from core.state import State
from core.user_rows import UserProfile, UserRow, user_ref
from snapshot import files
from snapshot.files import (
    Chunk,
    EndChunk,
    ListingsChunk,
    PackedChunk,
    SnapshotCorrupt,
    SnapshotEncoder,
    UsersChunk,
    snapshot_path,
)
from snapshot.recovery import load_snapshot
from tests.support.gateways import BOT, OTHER_BOT, OTHER_USER, USER, ThreadGateway, running
from tests.support.journals import KEYS
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_REF, OWNER
from tests.support.suspended_endpoints import suspend, trying_once
from tests.support.webhook_receiver import Receiver

Fields = dict[str, tuple[str, ...]]
ROWS = [
    Listing(ref, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))
    for ref in (BOT_REF, OTHER_REF)
]


def loaded(folder: Path, chunks: Sequence[Chunk]) -> State:
    """The state that a file of these chunks holds."""
    encoder, path = SnapshotEncoder(5, NOW_MS, KEYS.new_seal()), snapshot_path(folder, 5)
    path.write_bytes(b"".join([encoder.header, *map(encoder.encode, chunks)]))
    return load_snapshot(path, KEYS, empty_state).state


def at_hand(state: State) -> list[Listing]:
    return list(state.listings.unpacked())


def test_a_snapshot_is_taken_up_packed(tmp_path: Path) -> None:
    state = loaded(tmp_path, [ListingsChunk(ROWS), EndChunk(2, 5)])
    assert at_hand(state) == []
    assert list(state.listings.values()) == ROWS


def loaded_of_shape(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chunk: PackedChunk | UsersChunk, fields: Fields
) -> State:
    """The state that a file of another version holds, whose rows have these fields."""
    with monkeypatch.context() as patch:
        patch.setattr(files, "SHAPE", "another")
        patch.setattr(files, "FIELDS", fields)
        encoder, path = SnapshotEncoder(5, NOW_MS, KEYS.new_seal()), snapshot_path(folder, 5)
        path.write_bytes(
            encoder.header + encoder.encode(chunk) + encoder.encode(EndChunk(len(chunk.rows), 5))
        )
    return load_snapshot(path, KEYS, empty_state).state


def test_rows_with_fewer_fields_are_unpacked_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [msgspec.msgpack.encode(msgspec.msgpack.decode(pack(row))[:-1]) for row in ROWS]
    chunk = PackedChunk([BOT_REF, OTHER_REF], rows, 0, [])
    fields = {**FIELDS, "Listing": FIELDS["Listing"][:-1]}
    assert at_hand(loaded_of_shape(tmp_path, monkeypatch, chunk, fields)) == ROWS


def test_users_with_fewer_fields_are_packed_again_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = UserRow(user_ref(OWNER), NOW_MS, UserProfile("ada"))
    fewer = msgspec.msgpack.encode(msgspec.msgpack.decode(pack_user(row))[:-1])
    chunk = UsersChunk([row.ref], [fewer], [[]], [])
    fields = {**FIELDS, "UserRow": FIELDS["UserRow"][:-1]}
    state = loaded_of_shape(tmp_path, monkeypatch, chunk, fields)
    stored = state.copy_rows()._rows_of(row.ref).row
    assert stored == PackedRow(row.ref, pack_user(row))


@pytest.mark.parametrize("fields", [("ref", "stars"), (*FIELDS["Listing"], "stars")], ids=["moved", "added"])
def test_rows_with_fields_that_this_version_does_not_know_are_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: tuple[str, ...]
) -> None:
    chunk = PackedChunk([BOT_REF], [pack(ROWS[0])], 0, [])
    with pytest.raises(SnapshotCorrupt, match="stars"):
        loaded_of_shape(tmp_path, monkeypatch, chunk, {**FIELDS, "Listing": fields})


def test_rows_of_another_shape_that_cannot_be_read_are_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = msgspec.msgpack.encode([5, *msgspec.msgpack.decode(pack(ROWS[0]))[1:]])
    with pytest.raises(SnapshotCorrupt, match="str"):
        loaded_of_shape(tmp_path, monkeypatch, PackedChunk([BOT_REF], [row], 0, []), FIELDS)


def test_the_shape_is_that_of_all_that_a_row_holds() -> None:
    schema = msgspec.json.encode(msgspec.json.schema(Listing)).decode()
    assert all(name in schema for name in ("short_description", "old_digest", "probe_ms", "window_seconds"))
    assert len(SHAPE) == 32


def refs_at_hand(gateway: ThreadGateway) -> list[str]:
    return gateway.on_loop(lambda: [row.ref for row in at_hand(gateway.gateway.ledger.state)])


def test_a_start_unpacks_no_listing_and_its_first_vote_check_is_answered(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        key = gateway.list_bot()
        gateway.list_bot(OTHER_BOT)
        gateway.cast()
        gateway.restart()
        assert refs_at_hand(gateway) == []

        for user, vote in ((USER, 1), (OTHER_USER, 0), (USER, 1)):
            answer = gateway.voters(key, user=user)
            assert (answer.status_code, answer.json()["vote"]) == (200, vote)
        assert gateway.voters(key, bot=OTHER_BOT).status_code == 401
        assert gateway.done("GET", "/debug/overview.json")["counts"]["keys"] == 2


def test_a_snapshot_keeps_packed_what_nobody_has_asked_for(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        keys = [gateway.list_bot(bot) for bot in (BOT, OTHER_BOT)]
        for user in (USER, OTHER_USER):  # what is packed and what is not, as they are and read again
            gateway.restart()
            gateway.cast(user)
            gateway.done("POST", "/debug/snapshot")
            assert refs_at_hand(gateway) == [f"bots/{BOT}"]

        assert gateway.done("GET", "/debug/overview.json")["counts"]["keys"] == 2
        assert gateway.done("POST", "/debug/verify")["equal"] is True
        for key, bot in zip(keys, (BOT, OTHER_BOT), strict=True):
            assert gateway.voters(key, bot=bot).status_code == 200


def test_a_stats_window_holds_for_a_bot_that_is_asked_for_long_after_a_start(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        key = gateway.list_bot()
        assert [gateway.stats(key, {"command_count": 1}).status_code for _ in range(2)] == [200, 200]
        gateway.restart(seconds_down=60)
        assert refs_at_hand(gateway) == []
        gateway.advance(60)

        refused = gateway.stats(key, {"command_count": 1})
        assert (refused.status_code, refused.headers["ratelimit-reset"]) == (429, str(7_200 - 120))


def test_an_endpoint_that_is_suspended_is_known_at_once_behind_a_start(
    tmp_path: Path, receiver: Receiver
) -> None:
    with trying_once(tmp_path, receiver) as gateway:
        gateway.list_bot(OTHER_BOT)
        suspend(gateway, receiver)
        gateway.restart()
        assert refs_at_hand(gateway) == [f"bots/{BOT}"]
        assert gateway.done("GET", "/debug/overview.json")["counts"]["endpoints_suspended"] == 1
